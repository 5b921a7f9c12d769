// Several boxes for each face, and the mean of what the forest finds in them: the regression reacts
// to a pixel's noise and to a box's place, and both average out without any delay.
//
// Sample boxes are the face's box moved by at most kSampleShift and scaled by at most kSampleScale.
// They come in pairs on either side of the box, so that their mean is the box; if their number is
// odd, one is the box itself. docs/log/landmarks.md tells how the figures were chosen.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/landmarks/head_box.h"
#include "kernels/landmarks/landmarks.h"

namespace cuface {

namespace forest {
struct StartScratch;
}

inline constexpr int kMaxSamples = 32;
inline constexpr float kSampleShift = 0.02f;  ///< of the box's side
inline constexpr float kSampleScale = 0.03f;

/// A first look is from the face's box and from boxes moved and scaled by as much.
inline constexpr int kStarts = 7;
inline constexpr int kStartSamples = 2;
inline constexpr float kStartShift = 0.1f;  ///< of the box's side
inline constexpr float kStartScale = 0.1f;

/// How to get from a detector's box to each sample box.
struct SampleMaps {
  BoxMap map[kMaxSamples];
  int count = 1;
};

/// The samples about what `map` gives. Computed on the host, for devices too. kInvalidArgument
/// unless 1 <= samples <= kMaxSamples.
Result<SampleMaps> make_sample_maps(const BoxMap& map, int samples);
/// The kStartSamples samples of each of the kStarts boxes about what `map` gives, look after look.
SampleMaps make_start_maps(const BoxMap& map);

/// The mean of one landmark over its samples: doubles added in the order of the samples.
/// `at(k)` is the landmark of sample k.
CUFACE_HD_GENERIC
template <typename At>
CUFACE_HD Point mean_of_samples(int samples, At at) {
  double x = 0, y = 0;
  for (int k = 0; k < samples; ++k) {
    const Point p = at(k);
    x += static_cast<double>(p.x);
    y += static_cast<double>(p.y);
  }
  return {static_cast<float>(x / samples), static_cast<float>(y / samples)};
}

/// The head that a first look has found.
struct FirstLook {
  forest::HeadBox head;
  double disagreement = 0;  ///< of its samples: mean distance from their mean, in the head's sides
};

/// Landmarks of faces by means over samples. Allocates where there are more boxes than ever before.
/// One thread at a time.
class SampledLandmarker {
 public:
  /// As Landmarker::create(). `samples` is checked with each call.
  static Result<std::unique_ptr<SampledLandmarker>> create(
      Backend backend, const std::shared_ptr<const ForestModel>& model, int iterations = 0,
      const StopFlag* stop = nullptr);
  ~SampledLandmarker();

  /// `boxes` as the detector gave them, `out` and `rolls` as in Landmarker::enqueue(). With one
  /// sample the bits are Landmarker's in map.apply(box, roll). kInvalidArgument, and `out`
  /// untouched, for a wrong number of samples, a wrong size of `out`, `rolls` or `twice`, or a
  /// sample box that is empty or not finite.
  ///
  /// A face whose `twice` is not 0 has two passes (an empty `twice`: no face has). The first pass
  /// starts from several boxes (starts.h). The samples are then taken in the box that fits its
  /// points, turned with them (fit_head()), which is nearer to the face than a detector's. If no
  /// box fits, or a box of the first pass is not finite, they are taken in the face's box.
  ///
  /// `confidences`: empty, or one for each point, where has_confidences() (spread.h).
  Status enqueue(ImageView<const std::uint8_t> luma, std::span<const Box> boxes, const BoxMap& map,
                 int samples, std::span<Point> out, std::span<const Roll> rolls = {},
                 std::span<const std::uint8_t> twice = {}, std::span<float> confidences = {});
  /// Whether enqueue() gives confidences: it needs several samples, and a model with a table.
  bool has_confidences(int samples) const { return samples > 1 && table_.is_known(); }

  /// The first pass alone, for one face. Empty if the landmarks have no extent, or a box of the
  /// pass is not finite.
  Result<std::optional<FirstLook>> look(ImageView<const std::uint8_t> luma, const Box& box,
                                        const BoxMap& map, Roll roll);

 private:
  SampledLandmarker(std::unique_ptr<Landmarker> landmarker, std::vector<Point> mean,
                    const ConfidenceTable& table, const StopFlag* stop);
  Status find(ImageView<const std::uint8_t> luma, std::span<const Box> boxes, const BoxMap& map,
              int samples, std::span<Point> out, std::span<const Roll> rolls,
              std::span<const std::uint8_t> twice, std::span<float> confidences);
  Status search_starts(ImageView<const std::uint8_t> luma, std::span<const Box> boxes,
                       const BoxMap& map, std::span<const Roll> rolls,
                       std::span<const std::uint8_t> twice);

  const StopFlag* const stop_;
  const ConfidenceTable table_;
  std::unique_ptr<Landmarker> landmarker_;
  std::vector<Point> mean_;
  std::size_t landmarks_;
  std::vector<Box> boxes_;  // face after face
  std::vector<Roll> rolls_;
  std::vector<Point> points_;
  std::vector<std::optional<FirstLook>> looks_;  // of faces that were looked at first
  std::vector<std::size_t> looked_at_;
  std::unique_ptr<forest::StartScratch> start_scratch_;  // once it is needed
};

}  // namespace cuface
