// A table with a head: the picture, its box or none, and the points x0, y0, x1, y1 ... or none.
#include <algorithm>
#include <array>

#include "kernels/common/try.h"
#include "models/train/labels.h"

namespace cuface::train {
namespace {

constexpr std::size_t kMostColumns = 2 * kMostParts + 64;

/// The fields of a line; quotes around a field are taken off. False where one is not closed.
bool split(std::string_view line, std::vector<std::string>& out) {
  out.clear();
  for (bool more = true; more && out.size() <= kMostColumns;) {
    std::string field;
    line = trimmed_blanks(line);
    std::size_t end = line.find(',');
    if (line.starts_with('"')) {
      std::size_t at = 1;
      for (;; ++at) {
        if (at >= line.size()) return false;
        if (line[at] != '"') {
          field.push_back(line[at]);
        } else if (at + 1 < line.size() && line[at + 1] == '"') {
          field.push_back('"');
          ++at;
        } else {
          break;
        }
      }
      end = line.find(',', at);
    } else {
      field = trimmed_blanks(line.substr(0, end));
    }
    out.push_back(std::move(field));
    more = end != std::string_view::npos;
    line.remove_prefix(more ? end + 1 : line.size());
  }
  return true;
}

/// Where the columns stand; -1 = there is none.
struct Columns {
  int path = -1, x = -1, y = -1, w = -1, h = -1, right = -1, bottom = -1, group = -1;
  std::vector<std::pair<int, int>> parts;

  bool has_box() const {
    return x >= 0 && y >= 0 && (w >= 0 || right >= 0) && (h >= 0 || bottom >= 0);
  }
};

int find(const std::vector<std::string>& head, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto it = std::find(head.begin(), head.end(), name);
    if (it != head.end()) return static_cast<int>(it - head.begin());
  }
  return -1;
}

Columns columns_of(const std::vector<std::string>& head) {
  Columns c;
  c.path = find(head, {"path", "file", "filename", "image", "picture"});
  c.group = find(head, {"group"});
  c.x = find(head, {"x", "left", "xmin", "x_min"});
  c.y = find(head, {"y", "top", "ymin", "y_min"});
  c.w = find(head, {"w", "width"});
  c.h = find(head, {"h", "height"});
  c.right = find(head, {"right", "xmax", "x_max"});
  c.bottom = find(head, {"bottom", "ymax", "y_max"});
  // A table of corners often has the picture's own width and height beside them.
  if (c.right >= 0 && c.bottom >= 0) c.w = c.h = -1;
  for (std::size_t i = 0; i < kMostParts; ++i) {
    const std::string n = std::to_string(i);
    const int x = find(head, {"x" + n}), y = find(head, {"y" + n});
    if (x < 0 || y < 0) break;
    c.parts.emplace_back(x, y);
  }
  return c;
}

/// False where a field is no number. A point without both numbers is not there.
bool read_row(const std::vector<std::string>& fields, const Columns& c, LabelledObject& out) {
  const auto number = [&](int column, float& to) {
    return parse_number(fields[static_cast<std::size_t>(column)], to);
  };
  for (std::size_t i = 0; i < c.parts.size(); ++i) {
    LabelledPart part{std::to_string(i), {}};
    const auto empty = [&](int column) { return fields[static_cast<std::size_t>(column)].empty(); };
    if (empty(c.parts[i].first) && empty(c.parts[i].second)) continue;
    if (!number(c.parts[i].first, part.at.x) || !number(c.parts[i].second, part.at.y)) return false;
    out.parts.push_back(std::move(part));
  }
  if (!c.has_box()) {
    out.box = box_around(out.parts);
    out.boxed = false;
    return true;
  }
  float right = 0, bottom = 0;
  Box& b = out.box;
  if (!number(c.x, b.x) || !number(c.y, b.y)) return false;
  if (!number(c.w >= 0 ? c.w : c.right, c.w >= 0 ? b.w : right) ||
      !number(c.h >= 0 ? c.h : c.bottom, c.h >= 0 ? b.h : bottom)) {
    return false;
  }
  if (c.w < 0) b.w = right - b.x;
  if (c.h < 0) b.h = bottom - b.y;
  return true;
}

}  // namespace

Status read_csv_labels(std::string_view text, LabelList& out) {
  TextLines lines(text);
  std::vector<std::string> fields;
  std::string_view line;
  const auto corrupt = [&](const std::string& what) {
    return Status(StatusCode::kCorrupt, out.at_line(lines.number()) + ": " + what);
  };
  if (!lines.next(line) || !split(line, fields)) return corrupt("no head with names of columns");
  const Columns columns = columns_of(fields);
  const std::size_t width = fields.size();
  if (columns.path < 0 || (!columns.has_box() && columns.parts.size() < 2)) {
    return corrupt(
        "the head has to name path and x,y,w,h (or left,top,right,bottom), or points x0,y0,x1,y1; "
        "it is " +
        shortened(line));
  }
  while (lines.next(line)) {
    if (line.empty() || line[0] == '#') continue;
    if (!split(line, fields)) return corrupt("a quote is not closed");
    if (fields.size() != width) {
      return corrupt(std::to_string(fields.size()) + " fields, the head has " +
                     std::to_string(width));
    }
    LabelledObject object{{}, out.at_line(lines.number()), {}};
    if (!read_row(fields, columns, object)) {
      return corrupt("a box or a point is no number: " + shortened(line));
    }
    if (columns.group >= 0) object.group = fields[static_cast<std::size_t>(columns.group)];
    CUFACE_TRY(out.add_picture(fields[static_cast<std::size_t>(columns.path)],
                               out.at_line(lines.number())));
    CUFACE_TRY(out.add_object(std::move(object)));
  }
  return {};
}

}  // namespace cuface::train
