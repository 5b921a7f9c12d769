#include "kernels/luma/write.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "kernels/common/bits.h"
#include "kernels/common/draw_bits.h"
#include "kernels/common/simd.h"
#include "kernels/luma/cpu/grey_rows.h"
#include "kernels/luma/grey.h"

namespace cuface {
namespace {

bool are_alike(const Component& a, const Component& b) {
  return a.stride == b.stride && a.pixel_stride == b.pixel_stride && a.depth == b.depth &&
         a.sub_x == b.sub_x && a.sub_y == b.sub_y;
}

/// Where the pixels of an 8-bit frame begin whose red, green and blue are three neighbours of three
/// or four bytes: a layout that vector code knows. Else null.
std::uint8_t* packed_pixels(const FrameView& frame) {
  const Component &red = frame.component[0], &green = frame.component[1],
                  &blue = frame.component[2];
  if (!frame.rgb || red.depth != 8 || !simd::vectors()) return nullptr;
  const auto [first, last] = std::minmax({red.data, green.data, blue.data});
  const bool packed = last == first + 2 && are_alike(red, green) && are_alike(red, blue);
  return packed && (red.pixel_stride == 3 || red.pixel_stride == 4) ? first : nullptr;
}

/// Whether a row's luma is bytes side by side.
bool has_plain_luma(const FrameView& frame) {
  return !frame.rgb && frame.component[0].depth == 8 && frame.component[0].pixel_stride == 1;
}

/// Writes the greys grey_of(x, y) row by row, but for the first done_of(y) pixels.
template <typename DoneOf, typename GreyOf>
void put_greys(const FrameView& frame, const DoneOf& done_of, const GreyOf& grey_of) {
  const int depth = frame.component[0].depth;
  std::uint32_t samples[256];
  for (int v = 0; v < 256; ++v)
    samples[v] = grey::sample_of(static_cast<std::uint8_t>(v), depth, frame.full_range);
  for (int y = 0; y < frame.height; ++y) {
    const int done = done_of(y);
    for (int i = 0; i < (frame.rgb ? 3 : 1); ++i) {
      const Component& c = frame.component[i];
      std::uint8_t* out = c.data + y * c.stride;
      for (int x = done; x < frame.width; ++x)
        grey::put(out + x * c.pixel_stride, depth, c.shift, samples[grey_of(x, y)]);
    }
  }
}

void put_neutral_chroma(const FrameView& frame) {
  const Component &u = frame.component[1], &v = frame.component[2];
  if (!u.data || !v.data) return;
  const bool pairs =
      u.depth == 8 && u.pixel_stride == 2 && are_alike(u, v) && std::abs(u.data - v.data) == 1;
  for (const Component& c : {u, v}) {
    const int width = ((frame.width - 1) >> c.sub_x) + 1;
    const int height = ((frame.height - 1) >> c.sub_y) + 1;
    const std::uint32_t neutral = grey::neutral_chroma(c.depth);
    for (int y = 0; y < height; ++y) {
      std::uint8_t* out = (pairs ? std::min(u.data, v.data) : c.data) + y * c.stride;
      if (pairs || (c.depth == 8 && c.pixel_stride == 1))
        std::memset(out, static_cast<int>(neutral),
                    static_cast<std::size_t>(width) * (pairs ? 2 : 1));
      else
        for (int x = 0; x < width; ++x)
          grey::put(out + x * c.pixel_stride, c.depth, c.shift, neutral);
    }
    if (pairs) return;
  }
}

/// A row of samples, each of the mask's columns and rows that it covers.
void blacken_row(ImageView<const std::uint8_t> mask, int top, int bottom, const Component& c,
                 std::uint32_t black, std::uint8_t* out) {
  for (int left = 0; left < mask.width; left += 1 << c.sub_x, out += c.pixel_stride) {
    const int right = std::min(left + (1 << c.sub_x), mask.width);
    bool stays = false;
    for (int y = top; y < bottom; ++y)
      for (int x = left; x < right; ++x) stays |= mask.at(x, y) != 0;
    if (!stays) grey::put(out, c.depth, c.shift, black);
  }
}

/// The same of bytes, for one or two rows and 1 << SubX columns of the mask. Constants let the
/// compiler vectorise; Stride 0 = known at run time only.
template <int Stride, int SubX>
void blacken_bytes(const std::uint8_t* first, const std::uint8_t* last, int width, int pixel_stride,
                   std::uint8_t black, std::uint8_t* out) {
  const std::ptrdiff_t step = Stride ? Stride : pixel_stride;
  const int whole = width >> SubX;
  for (int x = 0; x < whole; ++x) {
    int stays = first[x << SubX] | last[x << SubX];
    if (SubX) stays |= first[2 * x + 1] | last[2 * x + 1];
    std::uint8_t& sample = out[x * step];
    sample = stays ? sample : black;
  }
  if (whole << SubX < width && !(first[width - 1] | last[width - 1])) out[whole * step] = black;
}

}  // namespace

void write_black(ImageView<const std::uint8_t> mask, const FrameView& frame) {
  for (int i = 0; i < 3; ++i) {
    const Component& c = frame.component[i];
    if (!c.data) continue;
    const bool has_grey = i == 0 || frame.rgb;
    const std::uint32_t black =
        has_grey ? grey::sample_of(0, c.depth, frame.full_range) : grey::neutral_chroma(c.depth);
    for (int top = 0; top < frame.height; top += 1 << c.sub_y) {
      const int bottom = std::min(top + (1 << c.sub_y), frame.height);
      std::uint8_t* out = c.data + (top >> c.sub_y) * c.stride;
      if (c.depth != 8 || bottom - top > 2 || c.sub_x > 1) {
        blacken_row(mask, top, bottom, c, black, out);
        continue;
      }
      const std::uint8_t *first = mask.row(top), *last = mask.row(bottom - 1);
      const auto byte = static_cast<std::uint8_t>(black);
      const auto blacken = c.sub_x == 1          ? blacken_bytes<0, 1>
                           : c.pixel_stride == 1 ? blacken_bytes<1, 0>
                           : c.pixel_stride == 3 ? blacken_bytes<3, 0>
                           : c.pixel_stride == 4 ? blacken_bytes<4, 0>
                                                 : blacken_bytes<0, 0>;
      blacken(first, last, frame.width, c.pixel_stride, byte, out);
    }
  }
}

void write_grey(ImageView<const std::uint8_t> picture, const FrameView& frame) {
  const Component& c = frame.component[0];
  std::uint8_t* const packed = packed_pixels(frame);
  const bool plain = has_plain_luma(frame) && simd::vectors();
  const auto done_of = [&](int y) {
    const std::uint8_t* in = picture.row(y);
    std::uint8_t* out = c.data + y * c.stride;
    if (packed)
      return grey::rgb_samples_row(in, frame.width, packed + y * c.stride, c.pixel_stride);
    if (!plain) return 0;
    if (frame.full_range)
      std::memcpy(out, in, static_cast<std::size_t>(frame.width));
    else
      grey::limited_samples_row(in, frame.width, out);
    return frame.width;
  };
  put_greys(frame, done_of, [&](int x, int y) { return picture.at(x, y); });
  if (!frame.rgb) put_neutral_chroma(frame);
}

void write_bits(ImageView<const std::uint64_t> bits, const FrameView& frame) {
  const Component& c = frame.component[0];
  if (has_plain_luma(frame)) {
    const auto sample = [&](std::uint8_t grey) {
      return static_cast<std::uint8_t>(grey::sample_of(grey, 8, frame.full_range));
    };
    draw_bits(bits, {c.data, frame.width, frame.height, c.stride}, sample(0), sample(255));
  } else {
    std::uint8_t* const packed = packed_pixels(frame);
    const auto done_of = [&](int y) {
      if (!packed) return 0;
      return grey::rgb_bits_row(bits.row(y), frame.width, packed + y * c.stride, c.pixel_stride);
    };
    put_greys(frame, done_of, [&](int x, int y) { return bit_at(bits, x, y) ? 255 : 0; });
  }
  if (!frame.rgb) put_neutral_chroma(frame);
}

}  // namespace cuface
