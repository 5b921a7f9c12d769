// Keypoints of a frame that are on the GPU.
#pragma once

#include <algorithm>
#include <cstddef>

#include "gst/base/cuda/deviceframe.h"
#include "gst/meta/keypoints.h"
#include "kernels/common/try.h"
#include "kernels/keypoints/cuda/finder.h"

namespace cuface::gst {

struct KeypointList {
  const std::byte* bytes = nullptr;  ///< null: they are elsewhere, or there are none
  int floats = 0;                    ///< of a descriptor; 0: it has bytes, in a DeviceFeatures
  int most = 0;                      ///< how many the list may have
  /// All that the host knows of them without waiting; as long as the frame.
  const FrameFeatures* outline = nullptr;
};

/// Keypoints that are on a GPU, found in pictures of the frame's size; null without such.
inline auto list_on_device(const Frame& frame, const FeaturesFound& found) {
  auto known = on_device<RawDeviceResult>(found.pending);
  if (known && (known->width() != frame.width() || known->height() != frame.height()))
    known.reset();
  return known;
}

/// The keypoints that are on the frame's GPU.
inline Result<KeypointList> keypoints_on_device(Frame& frame, const FeaturesFound& found) {
  const auto known = list_on_device(frame, found);
  if (!known) return KeypointList();
  CUFACE_TAKE(bytes, frame.device()->use(known));
  if (!bytes) return KeypointList();
  const auto* outline = known->outline<FrameFeatures>();
  const int floats = outline->config.floats();
  const std::size_t most =
      std::min<std::size_t>(kMostKeypoints, cuda::most_of_list(known->slot_bytes(), floats));
  return KeypointList{bytes, floats, static_cast<int>(most), outline};
}

}  // namespace cuface::gst
