// What cufeaturematch says of a frame.
#pragma once

#include <string>
#include <vector>

#include "gst/meta/gstcufacematchmeta.h"
#include "gst/meta/matches.h"

namespace cuface::test {

/// A buffer's matches in pixels of a frame of this size; -1 pictures without a meta.
struct MatchesRead {
  int pictures = -1;
  std::vector<MatchedPicture> references;
  std::vector<PictureMatch> matches;

  MatchesRead(GstBuffer* buffer, float width, float height) {
    GstCufaceMatchMeta* meta = buffer ? gst_cuface_buffer_get_match_meta(buffer) : nullptr;
    GstCufaceMatches* all = meta ? gst_cuface_match_meta_get_matches(meta) : nullptr;
    if (!all) return;
    pictures = static_cast<int>(gst_cuface_matches_get_reference_count(all));
    for (guint i = 0; static_cast<int>(i) < pictures; ++i) {
      guint w = 0, h = 0, keypoints = 0;
      const gchar* name = gst_cuface_matches_get_reference(all, i, &w, &h, &keypoints);
      references.push_back(
          {name, static_cast<int>(w), static_cast<int>(h), static_cast<std::int32_t>(keypoints)});
    }
    for (guint i = 0; i < gst_cuface_matches_get_count(all); ++i) {
      PictureMatch m;
      m.picture = static_cast<std::int32_t>(gst_cuface_matches_get_match(
          all, i, &m.at.x, &m.at.y, &m.in_picture.x, &m.in_picture.y, &m.distance));
      const MatchedPicture& in = references.at(static_cast<std::size_t>(m.picture));
      m.at = {m.at.x * width - 0.5f, m.at.y * height - 0.5f};
      m.in_picture = {m.in_picture.x * static_cast<float>(in.width) - 0.5f,
                      m.in_picture.y * static_cast<float>(in.height) - 0.5f};
      matches.push_back(m);
    }
    gst_cuface_matches_unref(all);
  }
  int of(int picture) const {
    int count = 0;
    for (const PictureMatch& m : matches) count += m.picture == picture;
    return count;
  }
};

}  // namespace cuface::test
