// The library and the plugin both compile this file.
#include "gst/meta/keypoints.h"

#include <utility>

namespace cuface::gst {
namespace {

template <typename T>
void append(std::vector<T>& to, const T* from, std::size_t count) {
  to.insert(to.end(), from, from + count);
}

Keypoint mapped(Keypoint k, const PictureMap& map) {
  const Point at = map.point({k.x, k.y});
  k.x = at.x;
  k.y = at.y;
  k.size *= (map.sx + map.sy) / 2;
  return k;
}

}  // namespace

FrameFeaturesRef ResultKind<FrameFeatures>::scaled(FrameFeaturesRef features, int width,
                                                   int height) {
  if (features->width == width && features->height == height) return features;
  const auto map = PictureMap::scaling(features->width, features->height, width, height);
  auto scaled = std::make_shared<FrameFeatures>(*features);
  scaled->width = width;
  scaled->height = height;
  for (Keypoint& k : scaled->found.keypoints) k = mapped(k, map);
  return scaled;
}

FrameFeaturesRef ResultKind<FrameFeatures>::cropped(const FrameFeatures& features,
                                                    const PictureMap& map) {
  auto cropped = std::make_shared<FrameFeatures>();
  cropped->width = map.width;
  cropped->height = map.height;
  cropped->config = features.config;
  const Features& all = features.found;
  for (std::size_t i = 0; i < all.keypoints.size(); ++i) {
    const Keypoint k = mapped(all.keypoints[i], map);
    if (!map.shows({k.x, k.y, 0.5f, 0.5f})) continue;
    cropped->found.keypoints.push_back(k);
    if (all.floats.empty()) {
      append(cropped->found.descriptors, all.descriptor(i), std::size_t{kBinaryBytes});
    } else {
      append(cropped->found.floats, all.floats_of(i), all.floats_each());
    }
    cropped->found.signs.push_back(all.signs[i]);
  }
  return cropped;
}

}  // namespace cuface::gst
