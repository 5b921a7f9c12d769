// The library and the plugin both compile this file.
#include "gst/meta/matches.h"

#include <utility>

namespace cuface::gst {

FrameMatchesRef ResultKind<FrameMatches>::scaled(FrameMatchesRef matches, int width, int height) {
  if (matches->width == width && matches->height == height) return matches;
  const auto map = PictureMap::scaling(matches->width, matches->height, width, height);
  auto scaled = std::make_shared<FrameMatches>(*matches);
  scaled->width = width;
  scaled->height = height;
  for (PictureMatch& match : scaled->matches) match.at = map.point(match.at);
  return scaled;
}

FrameMatchesRef ResultKind<FrameMatches>::cropped(const FrameMatches& matches,
                                                  const PictureMap& map) {
  auto cropped = std::make_shared<FrameMatches>();
  cropped->width = map.width;
  cropped->height = map.height;
  cropped->pictures = matches.pictures;
  for (PictureMatch match : matches.matches) {
    match.at = map.point(match.at);
    if (map.shows({match.at.x, match.at.y, 0.5f, 0.5f})) cropped->matches.push_back(match);
  }
  return cropped;
}

}  // namespace cuface::gst
