#include "kernels/edges/cuda/detector.h"

#include <algorithm>
#include <utility>

#include "kernels/common/try.h"
#include "kernels/edges/cuda/link.h"
#include "kernels/edges/plan.h"
#include "kernels/edges/reference.h"

namespace cuface::cuda {
namespace {

constexpr int kRowBits = 32;

/// Words of a row: whole tiles, which the 64-bit words of a map are too.
int row_words(int width) {
  return (width + edges::kTileWidth - 1) / edges::kTileWidth * (edges::kTileWidth / kRowBits);
}

}  // namespace

Result<EdgeDetector> EdgeDetector::create(const EdgeConfig& config, int width, int height,
                                          ScratchLayout& layout) {
  CUFACE_TRY(validate_plan(config, width, height));
  if (config.convolution == Convolution::kFull)
    return Status(StatusCode::kUnsupported, "convolution=full is for the CPU alone");
  EdgeDetector made;
  made.width_ = width;
  made.height_ = height;
  made.rules_ = edge_rules(config);
  const std::vector<int> weights = gaussian_weights(config.kernel_size, config.sigma).value();
  made.blur_.size = config.kernel_size;
  std::copy(weights.begin(), weights.end(), made.blur_.weights);
  const std::size_t words =
      static_cast<std::size_t>(row_words(width)) * static_cast<std::size_t>(height);
  made.ridges_ = layout.add<std::uint32_t>(words);
  if (config.linking == Linking::kApron) {
    made.edges_ = layout.add<std::uint32_t>(words);
    made.widened_ = layout.add<std::uint32_t>(words);
  }
  if (config.linking == Linking::kHysteresis)
    made.parents_ = layout.add<std::uint32_t>(words * kRowBits + 1);
  return made;
}

void EdgeDetector::bind(std::byte* scratch) {
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
  const bool mapped = out.map.data || out.bits.data;
  edges::ClassifyViews found{out.magnitude, out.angle, {}, {}, nullptr};
  if (mapped) found = {out.magnitude, out.angle, bits(ridges_), bits(edges_), parents_.data()};
  if (mapped || out.magnitude.data || out.angle.data)
    CUFACE_TRY(edges::classify(grey, rules_, blur_, cuface::edges::kOctave, found, launch));
  if (!mapped) return {};
  switch (rules_.linking) {
    case Linking::kHysteresis:
      CUFACE_TRY(edges::join_tiles(bits(ridges_), parents_.data(), launch));
      return edges::draw(bits(ridges_), parents_.data(), out.map, out.bits, launch);
    case Linking::kApron:
      CUFACE_TRY(edges::widen(bits(ridges_), bits(edges_), rules_.apron, bits(widened_), launch));
      return edges::draw(bits(widened_), nullptr, out.map, out.bits, launch);
    case Linking::kNone:
      break;
  }
  return edges::draw(bits(ridges_), nullptr, out.map, out.bits, launch);
}

}  // namespace cuface::cuda
