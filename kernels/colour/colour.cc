#include "kernels/colour/colour.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/colour/bgr.h"
#include "kernels/colour/cpu/rows.h"
#include "kernels/common/guarded.h"
#include "kernels/common/simd.h"
#include "kernels/common/try.h"

namespace cuface {
namespace {

Status invalid(const char* what) {
  return {StatusCode::kInvalidArgument, std::string("colour: ") + what};
}

/// Row y of the picture, by the definition.
void plain_row(const FrameView& frame, const bgr::Weights& weights, const LinearResize& resize,
               int y, Bgr* out) {
  const LinearResize::Tap& row = resize.rows()[static_cast<std::size_t>(y)];
  for (const LinearResize::Tap& column : resize.columns())
    *out++ = bgr::pixel_of(frame, weights, column, row);
}

}  // namespace

BgrSize bgr_size(int width, int height, int input_size) {
  const int longer = std::max(width, height);
  const auto scaled = [&](int side) {
    if (input_size == 0 || longer <= input_size) return side;
    const double exact = static_cast<double>(side) * input_size / longer;
    return std::max(1, static_cast<int>(std::lrint(exact)));
  };
  return {scaled(width), scaled(height)};
}

Status validate_colour(const FrameView& frame) {
  CUFACE_TRY(validate(frame));
  if (bgr::is_grey(frame)) return {};
  for (int c = 1; c < 3; ++c) {
    CUFACE_TRY(validate(frame.component[c], frame.width));
    if (frame.component[c].depth != frame.component[0].depth)
      return invalid("components differ in depth");
  }
  return {};
}

Status bgr::validate_plan(int width, int height, int input_size) {
  if (width < 1 || height < 1) return invalid("a frame's side is below 1");
  if (input_size < 0) return invalid("the input size is below 0");
  return {};
}

Status bgr::validate_run(const FrameView& frame, int width, int height, ImageView<Bgr> out,
                         const BgrSize& size) {
  CUFACE_TRY(validate_colour(frame));
  if (frame.width != width || frame.height != height)
    return invalid("the frame has not the planned size");
  if (!out.data || out.width != size.width || out.height != size.height)
    return invalid("the picture has not the planned size");
  return {};
}

BgrScaler::BgrScaler(int width, int height, const BgrSize& size, int threads)
    : width_(width),
      height_(height),
      size_(size),
      resize_(width, height, size.width, size.height),
      workers_(std::make_unique<Workers>(threads)) {
  for (int i = 0; i < workers_->count(); ++i) makers_.emplace_back(width, size.width);
}

BgrScaler::BgrScaler(BgrScaler&&) noexcept = default;
BgrScaler& BgrScaler::operator=(BgrScaler&&) noexcept = default;
BgrScaler::~BgrScaler() = default;

Result<BgrScaler> BgrScaler::create(int width, int height, int input_size, int threads) {
  CUFACE_TRY(bgr::validate_plan(width, height, input_size));
  if (threads < 1) return invalid("less than one thread");
  return guarded("planning a BGR picture", [&]() -> Result<BgrScaler> {
    return BgrScaler(width, height, bgr_size(width, height, input_size), threads);
  });
}

Status BgrScaler::run(const FrameView& frame, ColorMatrix matrix, ImageView<Bgr> out,
                      const StopFlag* stop) {
  CUFACE_TRY(bgr::validate_run(frame, width_, height_, out, size_));
  const bgr::Weights weights = bgr::make_weights(matrix, frame.full_range);
  const int bands = (size_.height + kRowsPerLook - 1) / kRowsPerLook;
  for (bgr::RowMaker& maker : makers_) maker.forget();
  const bool vectors = simd::vectors();
  workers_->run(bands, [&](int band, int worker) {
    if (is_raised(stop)) return;
    const int end = std::min((band + 1) * kRowsPerLook, size_.height);
    for (int y = band * kRowsPerLook; y < end; ++y)
      if (vectors)
        makers_[static_cast<std::size_t>(worker)].make(frame, weights, resize_, y, out);
      else
        plain_row(frame, weights, resize_, y, out.row(y));
  });
  return is_raised(stop) ? cancelled() : Status();
}

}  // namespace cuface
