#include "gst/motiondetect/ignored.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "kernels/common/try.h"
#include "models/png_picture.h"

namespace cuface::gst {
namespace {

bool is_polygons(std::string_view text) {
  return text.find_first_not_of("0123456789.,; ") == text.npos;
}

/// Takes a number from the front of the text.
bool take_fraction(std::string_view& text, float& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0 || number > 1) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_point(std::string_view& text, Point& point) {
  if (!take_fraction(text, point.x) || !text.starts_with(',')) return false;
  text.remove_prefix(1);
  return take_fraction(text, point.y) && (text.empty() || text[0] == ' ' || text[0] == ';');
}

void skip_spaces(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
}

/// Whether the middle of a pixel is in the polygon: the sides to its left that cross its row are
/// odd in number.
bool is_in(const std::vector<Point>& polygon, float x, float y) {
  bool in = false;
  Point from = polygon.back();
  for (const Point& to : polygon) {
    if ((from.y > y) != (to.y > y) &&
        x > from.x + (to.x - from.x) * ((y - from.y) / (to.y - from.y)))
      in = !in;
    from = to;
  }
  return in;
}

}  // namespace

Result<Ignored> Ignored::read(const std::string& text) {
  Ignored ignored;
  if (text.empty()) return ignored;
  if (!is_polygons(text)) {
    auto picture = load_png_grey(text);
    if (!picture.ok())
      return Status(picture.status().code(),
                    "ignore: " + picture.status().message() +
                        ". Set ignore to a PNG file, or to polygons such as 0,0 1,0 1,0.2 0,0.2");
    ignored.picture_ = std::move(picture.value());
    return ignored;
  }
  std::vector<Point> polygon;
  const auto wrong = [&](std::string_view at) {
    return Status(StatusCode::kInvalidArgument,
                  "ignore=" + text + ": wrong at '" + std::string(at) +
                      "'. A polygon is three or more corners x,y in fractions of the picture, 0 to "
                      "1, with spaces between them; semicolons stand between polygons");
  };
  for (std::string_view rest = text;;) {
    skip_spaces(rest);
    const std::string_view here = rest;
    if (rest.empty() || rest[0] == ';') {
      if (polygon.size() < 3) return wrong(here);
      ignored.polygons_.push_back(std::exchange(polygon, {}));
      if (rest.empty()) return ignored;
      rest.remove_prefix(1);
      continue;
    }
    if (!take_point(rest, polygon.emplace_back())) return wrong(here);
  }
}

Image<std::uint8_t> Ignored::pixels(int width, int height) const {
  if (picture_.width() == 0 && polygons_.empty()) return {};
  Image<std::uint8_t> out(width, height);
  for (int y = 0; y < height; ++y) {
    std::uint8_t* row = out.view().row(y);
    if (picture_.width() > 0) {
      const auto at = [](int i, int size, int of) {
        return static_cast<int>((2 * std::int64_t{i} + 1) * of / (2 * std::int64_t{size}));
      };
      const std::uint8_t* in = picture_.view().row(at(y, height, picture_.height()));
      for (int x = 0; x < width; ++x) row[x] = in[at(x, width, picture_.width())] >= 128;
      continue;
    }
    const float fy = (static_cast<float>(y) + 0.5f) / static_cast<float>(height);
    for (int x = 0; x < width; ++x) {
      const float fx = (static_cast<float>(x) + 0.5f) / static_cast<float>(width);
      row[x] = std::any_of(polygons_.begin(), polygons_.end(),
                           [&](const auto& polygon) { return is_in(polygon, fx, fy); });
    }
  }
  return out;
}

}  // namespace cuface::gst
