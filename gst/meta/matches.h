// Matches with pictures as a kind of result, for our own elements (not installed). Their public
// side is gstcufacematchmeta.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gst/meta/framemeta.h"
#include "gst/meta/gstcufacematchmeta.h"
#include "kernels/common/geometry.h"

namespace cuface {

/// A picture that frames are compared with.
struct MatchedPicture {
  std::string name;  ///< of its file; longer than 255 bytes only its end is kept
  int width = 0, height = 0;
  std::int32_t keypoints = 0;
  friend bool operator==(const MatchedPicture&, const MatchedPicture&) = default;
};

/// A place of the frame that means the same as one of a picture.
struct PictureMatch {
  std::int32_t picture = 0;
  Point at;          ///< in pixels of the frame
  Point in_picture;  ///< in pixels of the picture
  float distance = 0;
};

/// The matches of one frame of width x height, picture by picture. Filled by one thread, then
/// shared and never changed again.
struct FrameMatches {
  int width = 0, height = 0;
  std::vector<MatchedPicture> pictures;
  std::vector<PictureMatch> matches;
};
using FrameMatchesRef = std::shared_ptr<const FrameMatches>;

}  // namespace cuface

namespace cuface::gst {

template <>
struct ResultKind<FrameMatches> {
  static GType type() { return gst_cuface_match_meta_api_get_type(); }
  static FrameMatchesRef scaled(FrameMatchesRef matches, int width, int height);
  /// Without the matches outside.
  static FrameMatchesRef cropped(const FrameMatches& matches, const PictureMap& map);
};

using MatchesFound = FrameResult<FrameMatches>;

/// A picture's name, and into those that are not null what else is known of it.
inline const gchar* describe_picture(const MatchedPicture& picture, guint* width, guint* height,
                                     guint* keypoints) {
  if (width) *width = static_cast<guint>(picture.width);
  if (height) *height = static_cast<guint>(picture.height);
  if (keypoints) *keypoints = static_cast<guint>(picture.keypoints);
  return picture.name.c_str();
}

}  // namespace cuface::gst
