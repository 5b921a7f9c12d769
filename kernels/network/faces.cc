#include "kernels/network/faces.h"

namespace cuface {

FaceList faces_from_network(std::span<const NetworkFace> found, int searched_width,
                            int searched_height, const FaceLimits& limits, int width, int height) {
  FaceList list;
  list.width = width;
  list.height = height;
  list.searched = true;
  list.detector = kNetworkDetector;
  const float scale_x = static_cast<float>(width) / static_cast<float>(searched_width);
  const float scale_y = static_cast<float>(height) / static_cast<float>(searched_height);
  for (const NetworkFace& face : found) {
    if (list.faces.size() == static_cast<std::size_t>(limits.max_faces)) break;
    const Face made = face_from_network(face, scale_x, scale_y);
    if (is_wanted(made.box, limits, width, height)) list.faces.push_back(made);
  }
  return list;
}

}  // namespace cuface
