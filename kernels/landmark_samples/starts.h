// The first look at a face that is not known: from several boxes about the detector's, each with a
// few samples. Where the forest is lost (a collar for a mouth) its samples disagree, so of all
// looks that one is believed whose samples agree best. One source for the CPU and CUDA.
// docs/design/landmark_samples.md tells what it is worth.
#pragma once

#include <cmath>
#include <span>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/landmark_samples/landmark_samples.h"
#include "kernels/landmarks/head_box.h"
#include "kernels/landmarks/landmarks.h"

namespace cuface::forest {

struct StartScratch {
  Point mean[kStarts][kMaxLandmarks];       ///< of the look's samples
  double distance[kStarts][kMaxLandmarks];  ///< of the samples from their mean, added up, px
  HeadBox head[kStarts];
  double disagreement[kStarts];  ///< the distances, in parts of the head's side; < 0: no head fits
};

/// `at(row, i)` is landmark i of the sample in the box of make_start_maps().map[row]. False, and
/// `out` untouched, where no look has found landmarks with an extent. Among equals the first pass
/// wins.
CUFACE_HD_GENERIC
template <typename Lanes, typename At>
CUFACE_HD void best_look(const Lanes& lanes, StartScratch& scratch,
                         std::span<const Point> mean_shape, At at, bool& found, HeadBox& out) {
  const int landmarks = static_cast<int>(mean_shape.size());
  lanes.each(kStarts * landmarks, [&](int k) {
    const int look = k / landmarks, i = k % landmarks, row = look * kStartSamples;
    const Point mean = mean_of_samples(kStartSamples, [&](int s) { return at(row + s, i); });
    double sum = 0;
    for (int s = 0; s < kStartSamples; ++s) {
      const double dx = static_cast<double>(at(row + s, i).x) - static_cast<double>(mean.x);
      const double dy = static_cast<double>(at(row + s, i).y) - static_cast<double>(mean.y);
      sum += std::sqrt(dx * dx + dy * dy);
    }
    scratch.mean[look][i] = mean;
    scratch.distance[look][i] = sum;
  });
  lanes.each(kStarts, [&](int look) {
    scratch.disagreement[look] = -1;
    if (!fit_head(mean_shape, {scratch.mean[look], mean_shape.size()}, scratch.head[look])) return;
    double sum = 0;
    for (int i = 0; i < landmarks; ++i) sum += scratch.distance[look][i];
    scratch.disagreement[look] = sum / static_cast<double>(scratch.head[look].box.w);
  });
  lanes.once([&] {
    int best = -1;
    for (int look = 0; look < kStarts; ++look) {
      const double disagreement = scratch.disagreement[look];
      if (disagreement >= 0 && (best < 0 || disagreement < scratch.disagreement[best])) best = look;
    }
    found = best >= 0;
    if (found) out = scratch.head[best];
  });
}

}  // namespace cuface::forest
