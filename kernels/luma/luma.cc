#include "kernels/luma/luma.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "kernels/common/simd.h"
#include "kernels/common/try.h"
#include "kernels/luma/cpu/limited.h"
#include "kernels/luma/cpu/rgb.h"
#include "kernels/luma/grey.h"

namespace cuface {
namespace {

/// `Stride` 0 = known at run time only; constants let the compiler vectorise the usual layouts.
template <int Depth, bool Full, int Stride>
void luma_row(const std::uint8_t* in, int pixel_stride, int shift, int width, std::uint8_t* out) {
  const std::ptrdiff_t step = Stride ? Stride : pixel_stride;
  for (int x = 0; x < width; ++x) {
    const std::uint32_t v = grey::sample(in + x * step, Depth, shift);
    out[x] = Full ? grey::full(v, Depth) : grey::limited(v, Depth);
  }
}

/// Deeper samples are cut to 8 bits first.
template <int Depth, int Stride>
void rgb_row(const FrameView& frame, int y, std::uint8_t* out) {
  const std::uint8_t* in[3];
  for (int c = 0; c < 3; ++c) in[c] = frame.component[c].data + y * frame.component[c].stride;
  const std::ptrdiff_t step = Stride ? Stride : frame.component[0].pixel_stride;
  const int shift = frame.component[0].shift;
  int x = 0;
  if (Depth == 8 && simd::vectors())
    x = grey::rgb_row_vector({{in[0], in[1], in[2]}, static_cast<int>(step)}, frame.width, out);
  for (; x < frame.width; ++x) {
    std::uint32_t v[3];
    for (int c = 0; c < 3; ++c)
      v[c] = grey::full(grey::sample(in[c] + x * step, Depth, shift), Depth);
    out[x] = grey::rgb(v[0], v[1], v[2]);
  }
}

template <int Depth>
void luma_rgb(const FrameView& frame, ImageView<std::uint8_t> out) {
  for (int y = 0; y < frame.height; ++y) {
    switch (frame.component[0].pixel_stride) {
      case 3:
        rgb_row<Depth, 3>(frame, y, out.row(y));
        break;
      case 4:
        rgb_row<Depth, 4>(frame, y, out.row(y));
        break;
      default:
        rgb_row<Depth, 0>(frame, y, out.row(y));
    }
  }
}

template <int Depth, bool Full>
void luma_yuv(const FrameView& frame, ImageView<std::uint8_t> out) {
  constexpr int kBytes = Depth > 8 ? 2 : 1;
  const Component& luma = frame.component[0];
  const bool vectors = simd::vectors();
  for (int y = 0; y < frame.height; ++y) {
    const std::uint8_t* in = luma.data + y * luma.stride;
    if (Full && Depth == 8 && luma.pixel_stride == 1)
      std::memcpy(out.row(y), in, static_cast<std::size_t>(frame.width));
    else if (!Full && Depth == 8 && luma.pixel_stride == 1 && vectors)
      grey::limited_row(in, frame.width, out.row(y));
    else if (luma.pixel_stride == kBytes)
      luma_row<Depth, Full, kBytes>(in, 0, luma.shift, frame.width, out.row(y));
    else
      luma_row<Depth, Full, 0>(in, luma.pixel_stride, luma.shift, frame.width, out.row(y));
  }
}

template <int Depth>
void luma_of_depth(const FrameView& frame, ImageView<std::uint8_t> out) {
  if (frame.rgb)
    luma_rgb<Depth>(frame, out);
  else if (frame.full_range)
    luma_yuv<Depth, true>(frame, out);
  else
    luma_yuv<Depth, false>(frame, out);
}

Status invalid(const char* what) {
  return {StatusCode::kInvalidArgument, std::string("frame: ") + what};
}

void luma_rows(const FrameView& frame, ImageView<std::uint8_t> out) {
  switch (frame.component[0].depth) {
    case 8:
      return luma_of_depth<8>(frame, out);
    case 9:
      return luma_of_depth<9>(frame, out);
    case 10:
      return luma_of_depth<10>(frame, out);
    case 11:
      return luma_of_depth<11>(frame, out);
    case 12:
      return luma_of_depth<12>(frame, out);
    case 13:
      return luma_of_depth<13>(frame, out);
    case 14:
      return luma_of_depth<14>(frame, out);
    case 15:
      return luma_of_depth<15>(frame, out);
    default:
      return luma_of_depth<16>(frame, out);
  }
}

}  // namespace

Status validate(const Component& c, int width) {
  if (!c.data) return invalid("a component has no data");
  if (c.depth < 8 || c.depth > 16) return invalid("depth is not 8..16 bits");
  if (c.sub_x < 0 || c.sub_x > 2 || c.sub_y < 0 || c.sub_y > 2)
    return invalid("a component is subsampled by more than 4");
  const int bytes = c.depth > 8 ? 2 : 1;
  if (c.shift < 0 || c.depth + c.shift > 8 * bytes) return invalid("shift is out of range");
  if (c.pixel_stride < bytes || c.pixel_stride > 64) return invalid("pixel stride is out of range");
  const std::ptrdiff_t row = std::ptrdiff_t{(width - 1) >> c.sub_x} * c.pixel_stride + bytes;
  if (std::abs(c.stride) < row) return invalid("stride is smaller than a row");
  return {};
}

Status validate(const FrameView& frame) {
  if (frame.width < 1 || frame.height < 1) return invalid("size is below 1x1");
  const int read = frame.rgb ? 3 : 1;
  for (int c = 0; c < read; ++c) {
    CUFACE_TRY(validate(frame.component[c], frame.width));
    if (frame.component[c].sub_x != 0 || frame.component[c].sub_y != 0)
      return invalid("the component grey is made of is subsampled");
  }
  for (int c = 1; c < read; ++c)
    if (frame.component[c].depth != frame.component[0].depth ||
        frame.component[c].shift != frame.component[0].shift ||
        frame.component[c].pixel_stride != frame.component[0].pixel_stride)
      return invalid("R, G and B differ in layout");
  return {};
}

bool luma(const FrameView& frame, ImageView<std::uint8_t> out, const StopFlag* stop) {
  if (!stop) {
    luma_rows(frame, out);
    return true;
  }
  for (int y = 0; y < frame.height; y += kRowsPerLook) {
    if (stop->raised()) return false;
    FrameView part = frame;
    part.height = std::min(kRowsPerLook, frame.height - y);
    for (Component& c : part.component)
      if (c.data) c.data += (y >> c.sub_y) * c.stride;
    luma_rows(part, {out.row(y), out.width, part.height, out.stride});
  }
  return true;
}

}  // namespace cuface
