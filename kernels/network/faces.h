// A network's finds in a scaled picture, as faces of the frame.
#pragma once

#include <span>

#include "kernels/common/host_device.h"
#include "kernels/faces/faces.h"
#include "kernels/network/network.h"

namespace cuface {

/// The name by which landmark models know the boxes of this family of networks.
inline constexpr const char* kNetworkDetector = "yunet";

/// Which faces are wanted, in pixels of the frame.
struct FaceLimits {
  int min_size = 0, max_size = 0;  ///< of a box's larger side; 0 = none
  int max_faces = 64;
};

static_assert(kNetworkPoints == kFaceKeypoints);

/// The face in pixels of a frame that is so many times as wide and high as the searched picture.
CUFACE_HD inline Face face_from_network(const NetworkFace& found, float scale_x, float scale_y) {
  Face face;
  face.confidence = found.score;
  face.box = {found.box.x * scale_x, found.box.y * scale_y, found.box.w * scale_x,
              found.box.h * scale_y};
  face.has_keypoints = true;
  for (int i = 0; i < kFaceKeypoints; ++i)
    face.keypoints[i] = scaled_point(found.points[i], scale_x, scale_y);
  face.roll = roll_of_eyes(face.keypoints[0], face.keypoints[1]);
  return face;
}

/// Whether a face is of a wanted size, and its centre in the frame.
CUFACE_HD inline bool is_wanted(const Box& box, const FaceLimits& limits, int width, int height) {
  const float size = box.w > box.h ? box.w : box.h;
  const float x = box.x + box.w / 2, y = box.y + box.h / 2;
  return size >= static_cast<float>(limits.min_size) &&
         (limits.max_size == 0 || size <= static_cast<float>(limits.max_size)) && x >= 0 &&
         y >= 0 && x < static_cast<float>(width) && y < static_cast<float>(height);
}

/// The wanted faces of a frame of width x height, from those of a picture of
/// searched_width x searched_height, the best first.
FaceList faces_from_network(std::span<const NetworkFace> found, int searched_width,
                            int searched_height, const FaceLimits& limits, int width, int height);

}  // namespace cuface
