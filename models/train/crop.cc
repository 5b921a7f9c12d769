#include "models/train/crop.h"

#include <algorithm>
#include <cmath>

#include "kernels/faces/landmark_scheme.h"
#include "kernels/pyramid/pyramid.h"
#include "kernels/similarity/similarity.h"

namespace cuface::train {
namespace {

/// Larger coordinates are in no picture; so conversions to int are safe.
constexpr float kMostCoordinate = 1e8f;

int rounded(float v) {
  return static_cast<int>(std::floor(std::clamp(v, -kMostCoordinate, kMostCoordinate) + 0.5f));
}

// Places in the picture in 1/65536 of a pixel.
constexpr double kOne = 65536;

}  // namespace

Rect whole_pixels(const Box& box) {
  const int left = rounded(box.x), top = rounded(box.y);
  return {left, top, rounded(box.x + box.w) - left, rounded(box.y + box.h) - top};
}

bool lies_inside(const Rect& rect, ImageView<const std::uint8_t> picture) {
  return rect.x >= 0 && rect.y >= 0 && rect.w > 0 && rect.h > 0 &&
         rect.w <= picture.width - rect.x && rect.h <= picture.height - rect.y;
}

bool is_large_enough(const Rect& rect, const WindowSize& size) {
  return rect.w >= size.width && rect.h >= size.height;
}

std::vector<std::uint8_t> crop(ImageView<const std::uint8_t> picture, const Rect& rect,
                               const WindowSize& size) {
  std::vector<std::uint8_t> window(size.pixels());
  const ImageView<const std::uint8_t> part{picture.row(rect.y) + rect.x, rect.w, rect.h,
                                           picture.stride};
  const ImageView<std::uint8_t> out{window.data(), size.width, size.height, size.width};
  resize_linear_exact(part, out);
  return window;
}

bool find_eyes(std::span<const LabelledPart> parts, Point& left, Point& right) {
  const Eyes eyes = known_scheme(static_cast<int>(parts.size())).eyes;
  if (eyes.count == 0) return false;
  const auto centre = [&](int first) {
    Point sum;
    for (int i = first; i < first + eyes.count; ++i) {
      sum.x += parts[static_cast<std::size_t>(i)].at.x;
      sum.y += parts[static_cast<std::size_t>(i)].at.y;
    }
    return Point{sum.x / static_cast<float>(eyes.count), sum.y / static_cast<float>(eyes.count)};
  };
  left = centre(eyes.left);
  right = centre(eyes.right);
  if (left.x > right.x) std::swap(left, right);
  return true;
}

std::vector<std::uint8_t> crop_aligned(ImageView<const std::uint8_t> picture, Point left,
                                       Point right, const WindowSize& size) {
  const float w = static_cast<float>(size.width), h = static_cast<float>(size.height);
  const Point from[2] = {{0.29f * w - 0.5f, 0.38f * h - 0.5f},
                         {0.71f * w - 0.5f, 0.38f * h - 0.5f}};
  const Point to[2] = {left, right};
  Similarity s;
  if (!fit_similarity(from, to, s)) return {};
  const double scale = std::max(std::fabs(s.a), std::fabs(s.b));
  if (s.a * s.a + s.b * s.b < 1) return {};  // the face is smaller than the window
  for (const Point corner : {Point{-0.5f, -0.5f}, Point{w - 0.5f, -0.5f}, Point{-0.5f, h - 0.5f},
                             Point{w - 0.5f, h - 0.5f}}) {
    const Point p = s.apply(corner);
    if (!(p.x >= -0.5f && p.y >= -0.5f && p.x <= static_cast<float>(picture.width) - 0.5f &&
          p.y <= static_cast<float>(picture.height) - 0.5f)) {
      return {};
    }
  }
  // So many samples of each pixel, along both sides, that none of the picture's is passed over.
  const int n = std::clamp(static_cast<int>(std::ceil(scale * 1.5)), 1, 64);
  const std::int64_t a = std::llround(s.a * kOne / n), b = std::llround(s.b * kOne / n);
  const double first = 0.5 / n - 0.5;  // of the samples of the pixel 0
  const std::int64_t x0 = std::llround((s.a * first - s.b * first + s.tx + 0.5) * kOne);
  const std::int64_t y0 = std::llround((s.b * first + s.a * first + s.ty + 0.5) * kOne);
  std::vector<std::uint32_t> sums(size.pixels());
  for (int sy = 0; sy < size.height * n; ++sy) {
    for (int sx = 0; sx < size.width * n; ++sx) {
      const std::int64_t x = (x0 + a * sx - b * sy) >> 16, y = (y0 + b * sx + a * sy) >> 16;
      const int px = static_cast<int>(std::clamp<std::int64_t>(x, 0, picture.width - 1));
      const int py = static_cast<int>(std::clamp<std::int64_t>(y, 0, picture.height - 1));
      sums[static_cast<std::size_t>(sy / n * size.width + sx / n)] += picture.at(px, py);
    }
  }
  std::vector<std::uint8_t> window(size.pixels());
  const std::uint32_t count = static_cast<std::uint32_t>(n * n);
  std::transform(sums.begin(), sums.end(), window.begin(), [&](std::uint32_t sum) {
    return static_cast<std::uint8_t>((sum + count / 2) / count);
  });
  return window;
}

}  // namespace cuface::train
