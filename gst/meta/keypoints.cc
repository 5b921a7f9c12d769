// The library and the plugin both compile this file.
#include "gst/meta/keypoints.h"

#include <utility>

namespace cuface::gst {
namespace {

template <typename T>
void append(std::vector<T>& to, const T* from, std::size_t count) {
  to.insert(to.end(), from, from + count);
}

}  // namespace

FrameFeaturesRef ResultKind<FrameFeatures>::scaled(FrameFeaturesRef features, int width,
                                                   int height) {
  if (features->width == width && features->height == height) return features;
  const float sx = static_cast<float>(width) / static_cast<float>(features->width);
  const float sy = static_cast<float>(height) / static_cast<float>(features->height);
  auto scaled = std::make_shared<FrameFeatures>(*features);
  scaled->width = width;
  scaled->height = height;
  for (Keypoint& k : scaled->found.keypoints) {
    const Point at = scaled_point({k.x, k.y}, sx, sy);
    k.x = at.x;
    k.y = at.y;
    k.size *= (sx + sy) / 2;
  }
  return scaled;
}

FrameFeaturesRef ResultKind<FrameFeatures>::cropped(const FrameFeatures& features,
                                                    const FrameGeometry& from,
                                                    const FrameGeometry& to) {
  auto cropped = std::make_shared<FrameFeatures>();
  cropped->width = to.width;
  cropped->height = to.height;
  cropped->config = features.config;
  const Features& all = features.found;
  for (std::size_t i = 0; i < all.keypoints.size(); ++i) {
    Keypoint k = all.keypoints[i];
    k.x += static_cast<float>(from.crop_x - to.crop_x);
    k.y += static_cast<float>(from.crop_y - to.crop_y);
    if (!is_visible({k.x, k.y, 0.5f, 0.5f}, to)) continue;
    cropped->found.keypoints.push_back(k);
    if (all.floats.empty()) {
      append(cropped->found.descriptors, all.descriptor(i), std::size_t{kBinaryBytes});
    } else {
      append(cropped->found.floats, all.floats_of(i), all.floats_each());
      cropped->found.signs.push_back(all.signs[i]);
    }
  }
  return cropped;
}

}  // namespace cuface::gst
