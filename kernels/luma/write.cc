#include "kernels/luma/write.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

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

/// The greys of a row where they are bytes in a layout that vector code knows: how many are done.
int put_bytes(const std::uint8_t* in, int y, const FrameView& frame) {
  const Component& c = frame.component[0];
  if (c.depth != 8 || !simd::vectors()) return 0;
  std::uint8_t* out = c.data + y * c.stride;
  if (frame.rgb) {
    const Component &green = frame.component[1], &blue = frame.component[2];
    const auto [first, last] = std::minmax({c.data, green.data, blue.data});
    const bool packed = last == first + 2 && are_alike(c, green) && are_alike(c, blue);
    if (!packed || (c.pixel_stride != 3 && c.pixel_stride != 4)) return 0;
    return grey::rgb_samples_row(in, frame.width, first + y * c.stride, c.pixel_stride);
  }
  if (c.pixel_stride != 1) return 0;
  if (frame.full_range)
    std::memcpy(out, in, static_cast<std::size_t>(frame.width));
  else
    grey::limited_samples_row(in, frame.width, out);
  return frame.width;
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

/// The frame's greys, row by row: row_of(y).
template <typename RowOf>
void write_rows(const RowOf& row_of, const FrameView& frame) {
  const int depth = frame.component[0].depth;
  std::uint32_t samples[256];
  for (int v = 0; v < 256; ++v)
    samples[v] = grey::sample_of(static_cast<std::uint8_t>(v), depth, frame.full_range);
  const int greys = frame.rgb ? 3 : 1;
  for (int y = 0; y < frame.height; ++y) {
    const std::uint8_t* in = row_of(y);
    const int done = put_bytes(in, y, frame);
    for (int i = 0; i < greys; ++i) {
      const Component& c = frame.component[i];
      std::uint8_t* out = c.data + y * c.stride;
      for (int x = done; x < frame.width; ++x)
        grey::put(out + x * c.pixel_stride, depth, c.shift, samples[in[x]]);
    }
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
  write_rows([&](int y) { return picture.row(y); }, frame);
  if (!frame.rgb) put_neutral_chroma(frame);
}

void write_bits(ImageView<const std::uint64_t> bits, const FrameView& frame) {
  const Component& c = frame.component[0];
  if (!frame.rgb && c.depth == 8 && c.pixel_stride == 1) {
    const auto sample = [&](std::uint8_t grey) {
      return static_cast<std::uint8_t>(grey::sample_of(grey, 8, frame.full_range));
    };
    for (int y = 0; y < frame.height; ++y)
      draw_bits(bits.row(y), frame.width, sample(0), sample(255), c.data + y * c.stride);
  } else {
    std::vector<std::uint8_t> row(static_cast<std::size_t>(frame.width));
    write_rows(
        [&](int y) {
          draw_bits(bits.row(y), frame.width, 0, 255, row.data());
          return row.data();
        },
        frame);
  }
  if (!frame.rgb) put_neutral_chroma(frame);
}

}  // namespace cuface
