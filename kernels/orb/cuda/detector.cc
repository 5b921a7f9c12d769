#include "kernels/orb/cuda/detector.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/common/cuda/tables.h"
#include "kernels/common/try.h"
#include "kernels/fast/cuda/corners.h"
#include "kernels/orb/cuda/choose.h"
#include "kernels/orb/cuda/describe.h"
#include "kernels/orb/plan.h"
#include "kernels/pyramid/atlas.h"

namespace cuface::cuda {
namespace {

constexpr int kWordBits = 32;
/// Before the rows and bits: corners and candidates of each level, and corners of each score.
constexpr std::size_t kCounts = kMostOrbLevels * (2 + fast::kScores);

int words_of_row(int width) { return (width + kWordBits - 1) / kWordBits; }

}  // namespace

Result<OrbDetector> OrbDetector::create(const OrbConfig& config, int width, int height,
                                        ScratchLayout& layout) {
  CUFACE_TRY(cuface::orb::validate_plan(config, width, height));
  OrbDetector made;
  made.config_ = config;
  made.width_ = width;
  made.height_ = height;
  made.levels_ = cuface::orb::plan_levels(config, width, height);
  for (std::size_t i = 1; i < made.levels_.size(); ++i) {
    const cuface::orb::OrbLevel &from = made.levels_[i - 1], &to = made.levels_[i];
    CUFACE_TAKE(resize,
                LevelResize::create(from.width, from.height, {{0, 0, to.width, to.height}}));
    made.resizes_.push_back(std::move(resize));
  }
  // Of a single level there is nothing to resize, but counts to set to 0.
  if (made.levels_.size() == 1) {
    CUFACE_TAKE(none, LevelResize::create(width, height, {}));
    made.resizes_.push_back(std::move(none));
  }
  const std::vector<cuface::orb::Pair> pattern(std::begin(cuface::orb::kPattern),
                                               std::end(cuface::orb::kPattern));
  CUFACE_TRY(take(upload(pattern), made.pattern_));
  made.plan(layout);
  return Result<OrbDetector>(std::move(made));
}

void OrbDetector::plan(ScratchLayout& layout) {
  std::size_t corners = 0, words = 0;
  places_.count = static_cast<std::int32_t>(levels_.size());
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const cuface::orb::OrbLevel& from = levels_[i];
    const Rect part = cuface::orb::inner(from, config_.edge);
    orb::LevelPart& level = places_.all[i];
    level.share = from.share;
    level.scale = from.scale;
    level.first = static_cast<std::uint32_t>(corners);
    level.first_row = static_cast<std::uint32_t>(rows_);
    level.first_word = static_cast<std::uint32_t>(words);
    level.words_across = words_of_row(part.w);
    level.left = part.x;
    level.top = part.y;
    level.rows = part.h;
    corners += most_corners(part.w, part.h);
    rows_ += static_cast<std::size_t>(part.h);
    words += static_cast<std::size_t>(level.words_across) * static_cast<std::size_t>(part.h);
    if (i > 0)
      pictures_.push_back(layout.add<std::uint8_t>(ScratchLayout::stride_of(from.width) *
                                                   static_cast<std::size_t>(from.height)));
  }
  most_ = std::min<std::size_t>(corners, kMostKeypoints);
  zeros_ = layout.add<std::uint32_t>((kCounts + rows_ + words + 3) / 4 * 4);
  corners_ = layout.add<std::uint32_t>(corners);
  scores_ = layout.add<std::uint8_t>(corners);
  candidates_ = layout.add<orb::Candidate>(corners);
  least_ = layout.add<std::uint32_t>(kMostOrbLevels);
  keypoint_counts_ = layout.add<std::uint32_t>(kMostOrbLevels);
}

void OrbDetector::bind(std::byte* scratch) {
  for (ScratchPart<std::uint8_t>& picture : pictures_) picture.bind(scratch);
  zeros_.bind(scratch);
  corners_.bind(scratch);
  scores_.bind(scratch);
  candidates_.bind(scratch);
  least_.bind(scratch);
  keypoint_counts_.bind(scratch);
}

Status OrbDetector::validate_picture(ImageView<const std::uint8_t> grey) const {
  if (grey.data && grey.width == width_ && grey.height == height_) return {};
  return {StatusCode::kInvalidArgument, "the picture has another size"};
}

Result<orb::LevelParts> OrbDetector::enqueue_levels(ImageView<const std::uint8_t> grey,
                                                    Launcher launch) const {
  orb::LevelParts levels = places_;
  Zeros zeros{reinterpret_cast<uint4*>(zeros_.data()), zeros_.size() / 4};
  ImageView<const std::uint8_t> picture = grey;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const cuface::orb::OrbLevel& of = levels_[i];
    if (i > 0) {
      const ImageView<std::uint8_t> to{
          pictures_[i - 1].data(), of.width, of.height,
          static_cast<std::ptrdiff_t>(ScratchLayout::stride_of(of.width))};
      CUFACE_TRY(resizes_[i - 1].enqueue(picture, to, nullptr, launch, zeros));
      zeros = {};
      picture = to;
    }
    levels.all[i].grey = picture;
  }
  if (levels_.size() == 1) CUFACE_TRY(resizes_[0].enqueue(grey, {}, nullptr, launch, zeros));
  return levels;
}

Status OrbDetector::enqueue(ImageView<const std::uint8_t> grey, DeviceFeatures* out,
                            Launcher launch, std::uint64_t* counted) const {
  CUFACE_TRY(validate_picture(grey));
  orb::Work work{};
  work.corners.counts = zeros_.data();
  work.candidate_counts = work.corners.counts + kMostOrbLevels;
  work.corners.of_scores = work.candidate_counts + kMostOrbLevels;
  work.rows = zeros_.data() + kCounts;
  work.bits = work.rows + rows_;
  work.corners.places = corners_.data();
  work.corners.scores = scores_.data();
  work.candidates = candidates_.data();
  work.least = least_.data();
  work.keypoint_counts = keypoint_counts_.data();

  CUFACE_TAKE(levels, enqueue_levels(grey, launch));
  if (!levels_.empty()) {
    fast::Pictures pictures{};
    for (std::size_t i = 0; i < levels_.size(); ++i)
      fast::add_picture(pictures, levels.all[i].grey, cuface::orb::inner(levels_[i], config_.edge),
                        levels.all[i].first);
    CUFACE_TRY(fast::find_corners(pictures, config_.threshold, work.corners, launch));
    CUFACE_TRY(orb::measure(levels, config_.score, corners_.size(), work, launch));
    CUFACE_TRY(orb::choose(levels, config_.score, work, launch));
  }
  // Ties come on top of twice the keypoints, and take longer.
  const std::size_t expected =
      std::min(corners_.size(), 2 * static_cast<std::size_t>(config_.max_keypoints));
  return orb::describe(levels, work, pattern_.data(), config_.upright, expected, out, counted,
                       launch);
}

Status OrbDetector::describe(ImageView<const std::uint8_t> grey, const Keypoint* given, int count,
                             DeviceFeatures* out, Launcher launch) const {
  CUFACE_TRY(validate_picture(grey));
  if (count < 0 || count > kMostKeypoints)
    return {StatusCode::kInvalidArgument,
            "more than " + std::to_string(kMostKeypoints) + " keypoints are given"};
  CUFACE_TAKE(levels, enqueue_levels(grey, launch));
  return orb::describe_given(levels, given, count, pattern_.data(), out, launch);
}

}  // namespace cuface::cuda
