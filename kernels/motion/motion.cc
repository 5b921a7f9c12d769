#include "kernels/motion/motion.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "kernels/common/simd.h"
#include "kernels/common/try.h"
#include "kernels/motion/background.h"
#include "kernels/motion/counted.h"
#include "kernels/motion/references.h"
#include "kernels/motion/steps.h"

namespace cuface {
namespace {

using motion::BitImage;

Status invalid(const std::string& what) { return {StatusCode::kInvalidArgument, what}; }

}  // namespace

Result<MotionPlan> plan_motion(const MotionConfig& config, int width, int height) {
  const auto is_in = [](std::int64_t value, std::int64_t least, std::int64_t most) {
    return value >= least && value <= most;
  };
  if (!is_in(width, 1, kMostMotionSide) || !is_in(height, 1, kMostMotionSide))
    return invalid("pictures of " + std::to_string(width) + " x " + std::to_string(height));
  if (!is_in(config.columns, 1, std::min(width, kMostMotionCells)) ||
      !is_in(config.rows, 1, std::min(height, kMostMotionCells)))
    return invalid(std::to_string(config.columns) + " x " + std::to_string(config.rows) +
                   " cells for " + std::to_string(width) + " x " + std::to_string(height) +
                   " pixels: at most " + std::to_string(kMostMotionCells) +
                   " along a side, and no more than pixels");
  if (!is_in(static_cast<std::int64_t>(config.method), 0, 2)) return invalid("an unknown method");
  if (config.interval < 0 || config.gap < 0) return invalid("a negative time");
  if (!is_in(config.tolerance, 0, kMostMotionTolerance))
    return invalid("a tolerance of " + std::to_string(config.tolerance) + " pixels");
  if (!is_in(config.threshold, 0, kMillion))
    return invalid("a threshold of " + std::to_string(config.threshold) + " millionths");
  if (config.border < 0) return invalid("a negative border");
  if (!is_in(config.min_frames, 1, 255))
    return invalid("motion of at least " + std::to_string(config.min_frames) + " frames");
  MotionPlan plan = {config, width, height};
  if (plan.config.tolerance == 0) plan.config.tolerance = motion_tolerance(width);
  return plan;
}

class MotionDetector::Impl {
 public:
  explicit Impl(const MotionPlan& plan)
      : plan_(plan), mask_(plan.width, plan.height), counted_(plan) {
    const int width = plan.width, height = plan.height;
    switch (plan.config.method) {
      case MotionMethod::kEdges:
        edges_.emplace(width, height, plan.config.tolerance, plan.config.symmetric);
        for (motion::EdgeFrame& frame : maps_) frame = {width, height};
        break;
      case MotionMethod::kDifference:
        for (Image<std::uint8_t>& picture : pictures_) picture = {width, height};
        majority_ = motion::Majority(width, motion::kDifferenceMajority);
        differing_ = BitImage(width, height);
        break;
      case MotionMethod::kBackground:
        background_.emplace(width, height);
        for (BitImage* half : {&found_, &before_})
          *half = BitImage(motion::half_size(width), motion::half_size(height));
        stirred_ = BitImage(width, 1);
        break;
    }
  }

  void ignore(ImageView<const std::uint8_t> pixels) { counted_.ignore(pixels); }

  const MotionResult& look(ImageView<const std::uint8_t> picture, std::int64_t time) {
    if (background_) return follow(background_->look(picture, found_.view()), time);
    const References::Choice slots = references_.choose(time, plan_.config.interval);
    if (edges_) {
      motion::pack(picture, maps_[slots.now].map.view());
      compare_edges(slots);
    } else {
      compare(picture, slots);
    }
    return follow({.compared = slots.then >= 0}, time);
  }

  const MotionResult& look(ImageView<const std::uint64_t> edges, std::int64_t time) {
    const References::Choice slots = references_.choose(time, plan_.config.interval);
    const ImageView<std::uint64_t> now = maps_[slots.now].map.view();
    for (int y = 0; y < edges.height; ++y) std::copy_n(edges.row(y), edges.width, now.row(y));
    compare_edges(slots);
    return follow({.compared = slots.then >= 0}, time);
  }
  void forget() {
    references_ = {};
    if (background_) {
      background_->forget();
      before_.clear();
    }
    std::fill(std::begin(state_.streak), std::end(state_.streak), std::uint8_t{0});
    state_.known_count = 0;
    mask_.clear();
  }

  const MotionResult& finish() {
    clear_result();
    mask_.clear();
    end_event(state_, result_);
    return result_;
  }

  const MotionPlan& plan() const { return plan_; }
  ImageView<const std::uint64_t> mask() const { return mask_.view(); }

 private:
  int cells() const { return plan_.config.columns * plan_.config.rows; }

  /// Entries behind the last cell are never written, so they stay 0.
  void clear_result() {
    static_cast<MotionSummary&>(result_) = {};
    for (std::uint32_t* counts : {result_.cell_changed, result_.cell_pixels, result_.cell_stirred})
      std::fill_n(counts, cells(), 0u);
  }

  /// A frame that was compared with nothing.
  const MotionResult& rest(std::int64_t time) {
    follow_event(plan_, time, state_, result_);
    return result_;
  }

  /// What the mask of a frame comes to.
  const MotionResult& follow(const motion::Background::Seen& seen, std::int64_t time) {
    clear_result();
    result_.learning = seen.learning;
    if (!seen.compared || seen.global) {
      mask_.clear();
      found_.clear();
    }
    if (!seen.compared) return rest(time);
    std::copy_n(counted_.cell_pixels(), cells(), result_.cell_pixels);
    if (background_)
      count_found();
    else
      for (int y = 0; y < plan_.height; ++y) count(y);
    follow_cells(plan_, seen.global, time, state_, result_);
    return result_;
  }

  void compare_edges(const References::Choice& slots) {
    edges_->prepare(maps_[slots.now]);
    if (slots.then >= 0) edges_->run(maps_[slots.then], maps_[slots.now], mask_.view());
  }

  void compare(ImageView<const std::uint8_t> picture, const References::Choice& slots) {
    const ImageView<std::uint8_t> now = pictures_[slots.now].view();
    for (int y = 0; y < plan_.height; ++y) std::copy_n(picture.row(y), plan_.width, now.row(y));
    if (slots.then < 0) return;
    for (int y = 0; y < plan_.height; ++y) {
      motion::differing(pictures_[slots.then].view().row(y), now.row(y), plan_.width,
                        motion::kLeastDifference, differing_.view().row(y));
      majority_->take(y, std::as_const(differing_).view(), mask_.view());
    }
  }

  /// Counts a row of the mask, of which only what is to be kept is left.
  void count(int y) {
    std::uint64_t* row = mask_.view().row(y);
    for (int i = 0; i < words_of(plan_.width); ++i) row[i] &= counted_.kept().row(y)[i];
    counted_.count_row(y, row, result_.cell_changed);
  }

  /// Doubles a row of the half map into row y of the mask, and counts it `times` times.
  void count_half(int y, const std::uint64_t* half, int times, std::uint64_t* out,
                  std::uint32_t* cells) const {
    const int words = words_of(plan_.width);
    if (motion::is_empty(half, found_.view().width)) {
      std::fill_n(out, words, std::uint64_t{0});
      return;
    }
    const std::uint64_t* kept = counted_.kept().row(y);
    for (int i = 0; i < words; ++i) out[i] = motion::doubled_word(half, i) & kept[i];
    counted_.count_row(y, out, cells, times);
  }

  /// The mask of what the background has found, and what differs from that of the frame before.
  void count_found() {
    const int words = words_of(plan_.width), halves = found_.view().width;
    for (int y = 0; y < plan_.height; y += 2) {
      const std::uint64_t* now = found_.view().row(y / 2);
      std::uint64_t* before = before_.view().row(y / 2);
      for (int i = 0; i < halves; ++i) before[i] ^= now[i];
      const int end = std::min(y + 2, plan_.height), times = counted_.has_twin(y) ? 2 : 1;
      for (int v = y; v < end; v += times) {
        count_half(v, now, times, mask_.view().row(v), result_.cell_changed);
        count_half(v, before, times, stirred_.view().row(0), result_.cell_stirred);
      }
      if (times == 2) std::copy_n(mask_.view().row(y), words, mask_.view().row(y + 1));
    }
    std::swap(found_, before_);
  }

  const MotionPlan plan_;
  BitImage mask_;
  // The method background.
  BitImage found_, before_;  ///< half as large: what it has found, on this frame and before
  BitImage stirred_;         ///< a row of the mask that differs from that before
  motion::CountedPixels counted_;
  References references_;
  std::optional<motion::EdgeDifference> edges_;
  motion::EdgeFrame maps_[References::kSlots];
  std::optional<motion::Majority> majority_;
  BitImage differing_;  ///< the method difference
  Image<std::uint8_t> pictures_[References::kSlots];
  std::optional<motion::Background> background_;
  MotionState state_;
  MotionResult result_;
};

MotionDetector::MotionDetector(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MotionDetector::MotionDetector(MotionDetector&&) noexcept = default;
MotionDetector& MotionDetector::operator=(MotionDetector&&) noexcept = default;
MotionDetector::~MotionDetector() = default;

Result<MotionDetector> MotionDetector::create(const MotionConfig& config, int width, int height) {
  CUFACE_TRY(simd::status());
  const Result<MotionPlan> plan = plan_motion(config, width, height);
  if (!plan.ok()) return plan.status();
  return MotionDetector(std::make_unique<Impl>(std::as_const(plan).value()));
}

Status MotionDetector::ignore(ImageView<const std::uint8_t> pixels) {
  if (pixels.data && (pixels.width != plan().width || pixels.height != plan().height))
    return invalid("a mask of another size than the pictures");
  impl_->ignore(pixels);
  return {};
}

Result<const MotionResult*> MotionDetector::look(ImageView<const std::uint8_t> picture,
                                                 std::int64_t time) {
  if (picture.width != plan().width || picture.height != plan().height)
    return invalid("a picture of another size than planned");
  return &impl_->look(picture, time);
}

Result<const MotionResult*> MotionDetector::look(ImageView<const std::uint64_t> edges,
                                                 std::int64_t time) {
  if (plan().config.method != MotionMethod::kEdges)
    return invalid("a bit map of edges for another method");
  if (edges.width != words_of(plan().width) || edges.height != plan().height)
    return invalid("a picture of another size than planned");
  return &impl_->look(edges, time);
}

void MotionDetector::forget() { impl_->forget(); }
const MotionResult& MotionDetector::finish() { return impl_->finish(); }
ImageView<const std::uint64_t> MotionDetector::mask() const { return impl_->mask(); }
const MotionPlan& MotionDetector::plan() const { return impl_->plan(); }

void draw_cells(const MotionPlan& plan, const MotionResult& result, ImageView<std::uint8_t> out) {
  for (int y = 0; y < out.height; ++y) {
    const std::uint64_t moving = result.moving[cell_of(y, plan.config.rows, plan.height)];
    for (int x = 0; x < out.width; ++x)
      out.at(x, y) = moving >> cell_of(x, plan.config.columns, plan.width) & 1 ? 255 : 0;
  }
}

}  // namespace cuface
