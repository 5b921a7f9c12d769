#include "kernels/keypoints/reference.h"

#include <algorithm>
#include <utility>

#include "kernels/common/try.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface {
namespace {

constexpr int kLarger = 2;

bool is_small(const FeatureConfig& config, ImageView<const std::uint8_t> grey) {
  return config.detector == FeatureDetector::kFast &&
         std::min(grey.width, grey.height) < kEdgesOfSmallPicture * config.orb.edge;
}

template <typename T>
void append(const std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

Status find_in_reference(const FeatureConfig& config, ImageView<const std::uint8_t> grey,
                         Features& out, const StopFlag* stop) {
  CUFACE_TRY(find_keypoints(config, grey, out, stop));
  FeatureConfig rest = config;
  rest.orb.max_keypoints -= static_cast<int>(out.keypoints.size());
  if (!is_small(config, grey) || rest.orb.max_keypoints <= 0) return {};

  Image<std::uint8_t> enlarged(kLarger * grey.width, kLarger * grey.height);
  LinearResize(grey.width, grey.height, enlarged.width(), enlarged.height())
      .run(grey, enlarged.view());
  Features more;
  CUFACE_TRY(find_keypoints(rest, std::as_const(enlarged).view(), more, stop));
  for (Keypoint& keypoint : more.keypoints) {
    keypoint.x = (keypoint.x + 0.5f) / kLarger - 0.5f;
    keypoint.y = (keypoint.y + 0.5f) / kLarger - 0.5f;
    keypoint.size /= kLarger;
  }
  append(more.keypoints, out.keypoints);
  append(more.descriptors, out.descriptors);
  append(more.signs, out.signs);
  append(more.floats, out.floats);
  return {};
}

}  // namespace cuface
