// The library and the plugin both compile this file.
#include "gst/meta/matches.h"

#include <utility>

namespace cuface::gst {

FrameMatchesRef ResultKind<FrameMatches>::scaled(FrameMatchesRef matches, int width, int height) {
  if (matches->width == width && matches->height == height) return matches;
  const float sx = static_cast<float>(width) / static_cast<float>(matches->width);
  const float sy = static_cast<float>(height) / static_cast<float>(matches->height);
  auto scaled = std::make_shared<FrameMatches>(*matches);
  scaled->width = width;
  scaled->height = height;
  for (PictureMatch& match : scaled->matches) match.at = scaled_point(match.at, sx, sy);
  return scaled;
}

FrameMatchesRef ResultKind<FrameMatches>::cropped(const FrameMatches& matches,
                                                  const FrameGeometry& from,
                                                  const FrameGeometry& to) {
  auto cropped = std::make_shared<FrameMatches>();
  cropped->width = to.width;
  cropped->height = to.height;
  cropped->pictures = matches.pictures;
  for (PictureMatch match : matches.matches) {
    match.at.x += static_cast<float>(from.crop_x - to.crop_x);
    match.at.y += static_cast<float>(from.crop_y - to.crop_y);
    if (is_visible({match.at.x, match.at.y, 0.5f, 0.5f}, to)) cropped->matches.push_back(match);
  }
  return cropped;
}

}  // namespace cuface::gst
