#include "kernels/fast/fast.h"

#include <algorithm>
#include <string>

#include "kernels/common/simd.h"
#include "kernels/common/try.h"
#include "kernels/fast/reference.h"
#include "kernels/fast/rows.h"
#include "kernels/fast/rules.h"

namespace cuface {
namespace {

constexpr int kRows = 3;

std::size_t row_bytes(int width) { return static_cast<std::size_t>(width + 2 * fast::kRowMargin); }

}  // namespace

FastDetector::FastDetector(int width, int height)
    : width_(width), height_(height), rows_(kRows * row_bytes(width)) {}

Result<FastDetector> FastDetector::create(int width, int height) {
  CUFACE_TRY(simd::status());
  if (width < 1 || height < 1 || width > kMostFastSide || height > kMostFastSide) {
    return Status(StatusCode::kInvalidArgument,
                  "a picture needs sides of 1 to " + std::to_string(kMostFastSide) + " pixels");
  }
  return FastDetector(width, height);
}

Status FastDetector::run(ImageView<const std::uint8_t> grey, int threshold, Rect part,
                         std::vector<Corner>& corners, const StopFlag* stop) {
  if (!grey.data || grey.width > width_ || grey.height > height_)
    return {StatusCode::kInvalidArgument, "the picture is larger than planned"};
  if (threshold < 0 || threshold > kMostFastThreshold) {
    return {StatusCode::kInvalidArgument, "the threshold must be 0 to " +
                                              std::to_string(kMostFastThreshold) + ", not " +
                                              std::to_string(threshold)};
  }
  corners.clear();
  // Where a pixel has its circle, and which of those the part and its rim need.
  const int left = std::max(part.x, fast::kRadius), top = std::max(part.y, fast::kRadius);
  const int right = std::min(part.x + part.w, grey.width - fast::kRadius);
  const int bottom = std::min(part.y + part.h, grey.height - fast::kRadius);
  if (left >= right || top >= bottom) return {};
  const int first = std::max(left - 1, fast::kRadius);
  const int end = std::min(right + 1, grey.width - fast::kRadius);
  const bool vectors = simd::vectors();

  const auto scores = [&](int y) {
    return rows_.data() + static_cast<std::size_t>(y % kRows) * row_bytes(width_) +
           fast::kRowMargin;
  };
  const auto make = [&](int y) {
    std::uint8_t* row = scores(y);
    row[first - 1] = row[end] = 0;
    if (y < fast::kRadius || y >= grey.height - fast::kRadius) {
      std::fill(row + first, row + end, std::uint8_t{0});
    } else if (vectors) {
      fast::score_row(grey, y, threshold, first, end, row);
    } else {
      for (int x = first; x < end; ++x)
        row[x] = static_cast<std::uint8_t>(fast::score_of(grey, x, y, threshold));
    }
  };
  make(top - 1);
  make(top);
  for (int y = top; y < bottom; ++y) {
    if (y % kRowsPerLook == 0 && is_raised(stop)) return cancelled();
    make(y + 1);
    const auto pick = vectors ? fast::pick_row : fast::pick_plain;
    pick(scores(y - 1), scores(y), scores(y + 1), y, left, right, corners);
  }
  return {};
}

}  // namespace cuface
