#include "kernels/edges/cuda/detector.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/common/try.h"
#include "kernels/edges/cuda/full.h"
#include "kernels/edges/cuda/link.h"
#include "kernels/edges/full.h"
#include "kernels/edges/plan.h"
#include "kernels/edges/reference.h"

namespace cuface::cuda {
namespace {

constexpr int kRowBits = 32;

/// Words of a row: whole tiles, which the 64-bit words of a map are too.
int row_words(int width) {
  return (width + edges::kTileWidth - 1) / edges::kTileWidth * (edges::kTileWidth / kRowBits);
}

edges::Blur blur_of(const EdgeConfig& config) {
  const std::vector<int> weights = gaussian_weights(config.kernel_size, config.sigma).value();
  edges::Blur blur;
  blur.size = config.kernel_size;
  std::copy(weights.begin(), weights.end(), blur.weights);
  return blur;
}

}  // namespace

/// Around a picture as Convolution::kFull has it, and what is found there.
struct EdgeDetector::Full {
  struct Part {
    Part(int w, int h, ScratchLayout& layout)
        : width(w),
          height(h),
          memory(
              layout.add<std::uint8_t>(ScratchLayout::stride_of(w) * static_cast<std::size_t>(h))) {
    }
    ImageView<std::uint8_t> view() const {
      return {memory.data(), width, height,
              static_cast<std::ptrdiff_t>(ScratchLayout::stride_of(width))};
    }
    int width, height;
    ScratchPart<std::uint8_t> memory;
  };

  Full(EdgeDetector behind, int m, int w, int h, ScratchLayout& layout)
      : detector(std::move(behind)),
        margin(m),
        blurred(w, h, layout),
        map(w, h, layout),
        magnitude(w, h, layout),
        angle(w, h, layout) {}

  void bind(std::byte* scratch) {
    detector.bind(scratch);
    for (Part* part : {&blurred, &map, &magnitude, &angle}) part->memory.bind(scratch);
  }

  Status enqueue(ImageView<const std::uint8_t> grey, const edges::Blur& blur, const EdgeViews& out,
                 Launcher launch) const {
    EdgeViews found;
    if (out.map.data || out.bits.data) found.map = map.view();
    if (out.magnitude.data) found.magnitude = magnitude.view();
    if (out.angle.data) found.angle = angle.view();
    if (!found.map.data && !found.magnitude.data && !found.angle.data) return {};
    CUFACE_TRY(edges::blur_full(grey, blur, margin, blurred.view(), launch));
    CUFACE_TRY(detector.enqueue(blurred.view(), found, launch));
    return edges::cut_middle(found, margin, out, grey.width, grey.height, launch);
  }

  EdgeDetector detector;
  int margin;
  Part blurred, map, magnitude, angle;
};

Result<EdgeDetector> EdgeDetector::create_full(const EdgeConfig& config, int width, int height,
                                               ScratchLayout& layout) {
  const int margin = cuface::edges::full_margin(config);
  EdgeConfig behind = config;  // the blur
  behind.kernel_size = 1;
  behind.convolution = Convolution::kOpenCv;
  const int w = width + 2 * margin, h = height + 2 * margin;
  CUFACE_TAKE(detector, create(behind, w, h, layout));
  EdgeDetector made;
  made.width_ = width;
  made.height_ = height;
  made.blur_ = blur_of(config);
  made.full_ = std::make_shared<Full>(std::move(detector), margin, w, h, layout);
  return made;
}

Result<EdgeDetector> EdgeDetector::create(const EdgeConfig& config, int width, int height,
                                          ScratchLayout& layout) {
  CUFACE_TRY(validate_plan(config, width, height));
  if (config.convolution == Convolution::kFull) return create_full(config, width, height, layout);
  EdgeDetector made;
  made.width_ = width;
  made.height_ = height;
  made.rules_ = edge_rules(config);
  made.blur_ = blur_of(config);
  const std::size_t words =
      static_cast<std::size_t>(row_words(width)) * static_cast<std::size_t>(height);
  made.ridges_ = layout.add<std::uint32_t>(words);
  if (config.linking != Linking::kNone) made.edges_ = layout.add<std::uint32_t>(words);
  if (config.linking == Linking::kApron) made.widened_ = layout.add<std::uint32_t>(words);
  if (config.linking == Linking::kHysteresis)
    made.parents_ = layout.add<std::uint32_t>(words * kRowBits + 1);
  return made;
}

void EdgeDetector::bind(std::byte* scratch) {
  if (full_) full_->bind(scratch);
  for (ScratchPart<std::uint32_t>* part : {&ridges_, &edges_, &widened_, &parents_}) {
    if (part->size() > 0) part->bind(scratch);
  }
}

ImageView<std::uint32_t> EdgeDetector::bits(const ScratchPart<std::uint32_t>& part) const {
  const int words = row_words(width_);
  return {part.data(), words, height_, words * static_cast<std::ptrdiff_t>(sizeof(std::uint32_t))};
}

Status EdgeDetector::enqueue(ImageView<const std::uint8_t> grey, const EdgeViews& out,
                             Launcher launch) const {
  CUFACE_TRY(validate_run(grey, out, width_, height_));
  if (full_) return full_->enqueue(grey, blur_, out, launch);
  const bool mapped = out.map.data || out.bits.data;
  edges::ClassifyViews found{out.magnitude, out.angle, {}, {}, nullptr};
  if (mapped) found = {out.magnitude, out.angle, bits(ridges_), bits(edges_), parents_.data()};
  if (mapped || out.magnitude.data || out.angle.data)
    CUFACE_TRY(edges::classify(grey, rules_, blur_, cuface::edges::kOctave, found, launch));
  if (!mapped) return {};
  switch (rules_.linking) {
    case Linking::kHysteresis:
      CUFACE_TRY(edges::join_tiles(bits(ridges_), bits(edges_), parents_.data(), launch));
      return edges::draw(bits(ridges_), bits(edges_), parents_.data(), out.map, out.bits, launch);
    case Linking::kApron:
      CUFACE_TRY(edges::widen(bits(ridges_), bits(edges_), rules_.apron, bits(widened_), launch));
      return edges::draw(bits(widened_), {}, nullptr, out.map, out.bits, launch);
    case Linking::kNone:
      break;
  }
  return edges::draw(bits(ridges_), {}, nullptr, out.map, out.bits, launch);
}

}  // namespace cuface::cuda
