#include "kernels/overlay/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "kernels/overlay/raster.h"

namespace cuface {
namespace {

using raster::PictureLevel;
using raster::PicturePixel;

std::size_t pixels_with_rim(int width, int height) {
  return (static_cast<std::size_t>(width) + 2) * (static_cast<std::size_t>(height) + 2);
}

/// A sample of `depth` bits under that much of alpha, in the upper bits.
std::uint16_t premultiplied(int sample, int depth, std::uint32_t alpha) {
  const std::uint32_t whole = static_cast<std::uint32_t>(sample) << (16 - depth);
  return static_cast<std::uint16_t>((whole * alpha + 127) / 255);
}

PicturePixel converted(const FrameView& frame, ColorMatrix matrix, Argb color) {
  const std::uint32_t alpha = color >> 24;
  PicturePixel out{};
  if (alpha == 0) return out;
  const raster::Ink ink = raster::make_ink(frame, matrix, color);
  out.alpha = static_cast<std::uint16_t>(alpha * 257);
  for (std::size_t i = 0; i < 3; ++i) {
    if (frame.component[i].data)
      out.value[i] = premultiplied(ink.value[i], frame.component[i].depth, alpha);
  }
  return out;
}

/// The level half as large; a size that is odd counts a transparent row or column more.
void halve(const PictureLevel& in, int width, int height, PicturePixel* out) {
  const std::ptrdiff_t in_stride = in.width + 2, stride = width + 2;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const PicturePixel* upper = in.pixels + (2 * y + 1) * in_stride + 2 * x + 1;
      const PicturePixel* lower = upper + in_stride;
      const auto mean = [&](auto part) {
        const int sum = part(upper[0]) + part(upper[1]) + part(lower[0]) + part(lower[1]);
        return static_cast<std::uint16_t>((sum + 2) >> 2);
      };
      PicturePixel& to = out[(y + 1) * stride + x + 1];
      to.alpha = mean([](const PicturePixel& p) { return p.alpha; });
      for (int i = 0; i < 3; ++i)
        to.value[i] = mean([i](const PicturePixel& p) { return p.value[i]; });
    }
  }
}

}  // namespace

Result<FacePicture> FacePicture::create(Image<Argb> pixels) {
  const int width = pixels.width(), height = pixels.height();
  if (width < 1 || height < 1 || width > kMostPictureSide || height > kMostPictureSide ||
      std::int64_t{width} * height > kMostPicturePixels)
    return Status(StatusCode::kInvalidArgument,
                  "a picture of " + std::to_string(width) + " x " + std::to_string(height) +
                      " pixels; at most " + std::to_string(kMostPicturePixels) +
                      " are drawn, and " + std::to_string(kMostPictureSide) + " along a side");
  return FacePicture(std::move(pixels));
}

const raster::PictureLevels& FacePicture::in(const FrameView& frame, ColorMatrix matrix) {
  Kind kind{frame.rgb, frame.full_range, matrix, {}};
  for (int i = 0; i < 3; ++i)
    kind.depth[i] = frame.component[i].data ? frame.component[i].depth : 0;
  if (kind == kind_ && levels_.count > 0) return levels_;
  kind_ = kind;
  ++changes_;

  struct Size {
    int width, height;
  };
  std::vector<Size> sizes = {{pixels_.width(), pixels_.height()}};
  while (sizes.back().width > 1 || sizes.back().height > 1)
    sizes.push_back({(sizes.back().width + 1) / 2, (sizes.back().height + 1) / 2});
  std::size_t all = 0;
  for (const Size& size : sizes) all += pixels_with_rim(size.width, size.height);
  samples_.assign(all, PicturePixel{});
  levels_.count = 0;
  PicturePixel* at = samples_.data();
  for (const Size& size : sizes) {
    if (levels_.count > 0) {
      halve(levels_.level[levels_.count - 1], size.width, size.height, at);
    } else {
      for (int y = 0; y < size.height; ++y) {
        const Argb* row = pixels_.view().row(y);
        PicturePixel* to = at + (y + 1) * (static_cast<std::ptrdiff_t>(size.width) + 2) + 1;
        std::transform(row, row + size.width, to,
                       [&](Argb color) { return converted(frame, matrix, color); });
      }
    }
    levels_.level[levels_.count++] = {at, size.width, size.height};
    at += pixels_with_rim(size.width, size.height);
  }
  return levels_;
}

namespace raster {
namespace {

/// So many columns are made before they are blended.
constexpr int kStrip = 64;

/// The pixels of kAlign rows, to be blended.
struct Strip {
  Span2 area;
  PicturePixel pixels[kAlign][kStrip];
};

/// False where all of it is transparent.
template <typename Place>
bool look_up(const PictureLevel& level, const Place& place, Strip& strip) {
  std::uint32_t seen = 0;
  for (int y = strip.area.y0; y < strip.area.y1; ++y) {
    PicturePixel* row = strip.pixels[y - strip.area.y0];
    for (int x = strip.area.x0; x < strip.area.x1; ++x) {
      row[x - strip.area.x0] = picture_at(level, place, x, y);
      seen |= row[x - strip.area.x0].alpha;
    }
  }
  return seen != 0;
}

void blend(const Component& c, int i, const Strip& strip) {
  const int width = strip.area.x1 - strip.area.x0, height = strip.area.y1 - strip.area.y0;
  const int step_x = 1 << c.sub_x, step_y = 1 << c.sub_y;
  for (int y = 0; y < height; y += step_y) {
    std::uint8_t* at = sample(c, strip.area.x0 >> c.sub_x, (strip.area.y0 + y) >> c.sub_y);
    const int bottom = std::min(y + step_y, height);
    for (int x = 0; x < width; x += step_x, at += c.pixel_stride) {
      const int right = std::min(x + step_x, width);
      std::uint32_t alphas = 0, values = 0;
      for (int v = y; v < bottom; ++v)
        for (int u = x; u < right; ++u) {
          alphas += strip.pixels[v][u].alpha;
          values += strip.pixels[v][u].value[i];
        }
      if (alphas == 0) continue;
      const auto n = static_cast<std::uint32_t>((right - x) * (bottom - y));
      store(c, at, with_picture(load(c, at), c.depth, alphas, values, n));
    }
  }
}

template <typename Place>
void draw_at(const FrameView& frame, const PictureLevels& levels, const Place& place) {
  const Span2 area = visible(frame, place.area);
  Strip strip;
  for (int y = area.y0; y < area.y1; y += kAlign) {
    for (int x = area.x0; x < area.x1; x += kStrip) {
      strip.area = intersect({x, y, x + kStrip, y + kAlign}, area);
      if (!look_up(levels.level[place.level], place, strip)) continue;
      for (int i = 0; i < 3; ++i)
        if (frame.component[i].data) blend(frame.component[i], i, strip);
    }
  }
}

}  // namespace

void draw_picture(const FrameView& frame, const PictureLevels& levels, const PicturePlace& place) {
  draw_at(frame, levels, place);
}
void draw_picture(const FrameView& frame, const PictureLevels& levels, const PlanePlace& place) {
  draw_at(frame, levels, place);
}

}  // namespace raster
}  // namespace cuface
