// Faces as a mirror shows them, for face_set.h.
#include <algorithm>
#include <charconv>

#include "kernels/common/try.h"
#include "kernels/faces/landmark_scheme.h"
#include "models/train/face_set.h"
#include "models/train/picture.h"

namespace cuface::train {

Result<std::vector<int>> mirror_table(const std::string& path, int points) {
  std::vector<int> table;
  if (path.empty()) {
    for (int i = 0; i < points; ++i) table.push_back(mirrored_landmark(points, i));
    if (table[0] >= 0) return table;
    return Status(StatusCode::kInvalidArgument,
                  "which of " + std::to_string(points) +
                      " points mirror which is not known; give --mirror-table a file with a number "
                      "for each point, the one that it becomes");
  }
  CUFACE_TAKE(text, read_label_text(path, 1 << 16));
  TextLines lines(text);
  for (std::string_view line; lines.next(line);) {
    while (!(line = trimmed_blanks(line)).empty() && line[0] != '#') {
      const std::string_view word = line.substr(0, line.find_first_of(" \t,"));
      int to = -1;
      const auto result = std::from_chars(word.data(), word.data() + word.size(), to);
      if (word.empty() || result.ec != std::errc() || result.ptr != word.data() + word.size() ||
          to < 0 || to >= points) {
        return Status(StatusCode::kCorrupt, path + ":" + std::to_string(lines.number()) +
                                                ": numbers of points from 0 to " +
                                                std::to_string(points - 1) + " are expected");
      }
      table.push_back(to);
      line.remove_prefix(std::min(word.size() + 1, line.size()));
    }
  }
  if (table.size() != static_cast<std::size_t>(points)) {
    return Status(StatusCode::kCorrupt, path + ": " + std::to_string(table.size()) +
                                            " numbers, but there are " + std::to_string(points) +
                                            " points");
  }
  for (int i = 0; i < points; ++i) {
    const int to = table[static_cast<std::size_t>(i)];
    if (table[static_cast<std::size_t>(to)] != i) {
      return Status(StatusCode::kCorrupt, path + ": point " + std::to_string(i) + " becomes " +
                                              std::to_string(to) + ", but " + std::to_string(to) +
                                              " does not become it");
    }
  }
  return table;
}

void add_mirrored(const std::vector<int>& table, FaceSet& set) {
  const std::size_t pictures = set.pictures.size(), faces = set.boxes.size();
  const std::size_t landmarks = table.size();
  for (std::size_t i = 0; i < pictures; ++i) {
    const ImageView<const std::uint8_t> from = set.pictures[i].view();
    Image<std::uint8_t> picture(from.width, from.height);
    for (int y = 0; y < from.height; ++y)
      std::reverse_copy(from.row(y), from.row(y) + from.width, picture.view().row(y));
    set.hashes.push_back(hash_of(picture.view()));
    set.pictures.push_back(std::move(picture));
  }
  for (std::size_t face = 0; face < faces; ++face) {
    const std::uint32_t picture = set.picture_of[face];
    const auto width = static_cast<float>(set.pictures[picture].width());
    const Box box = set.boxes[face];
    set.picture_of.push_back(picture + static_cast<std::uint32_t>(pictures));
    set.boxes.push_back({width - (box.x + box.w), box.y, box.w, box.h});
    for (const int from : table) {
      const std::size_t i = face * landmarks + static_cast<std::size_t>(from);
      const Point p = set.points[i];
      const std::uint8_t present = set.present[i];
      set.points.push_back({width - 1 - p.x, p.y});
      set.present.push_back(present);
    }
    set.weights.push_back(set.weights[face]);
    set.where.push_back(set.where[face] + " (mirrored)");
  }
}

}  // namespace cuface::train
