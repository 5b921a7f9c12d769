#include "models/train/cascade_progress.h"

#include <algorithm>
#include <cmath>

namespace cuface::train {
namespace {

MiningOptions mining_options(const CascadeSettings& settings) {
  return {settings.seed, settings.negatives, settings.generated, 0};
}

/// Of the stages that are done, the mean share of negatives that one lets through.
double mean_false_alarm(const CascadeState& state) {
  double logs = 0;
  for (const BoostedStage& stage : state.stages)
    logs += std::log(std::fmax(static_cast<double>(stage.false_alarm), 1e-3));
  return std::exp(logs / static_cast<double>(state.stages.size()));
}

/// The shares of the windows that passed before the last stage, which pass before each of those to
/// come.
std::vector<double> shares_to_come(const CascadeState& state, const CascadeSettings& settings) {
  std::vector<double> shares;
  double share = static_cast<double>(state.stages.back().false_alarm);
  const double mean = mean_false_alarm(state);
  for (std::size_t i = state.stages.size(); i < static_cast<std::size_t>(settings.stages); ++i) {
    shares.push_back(share);
    share *= mean;
  }
  return shares;
}

/// Seconds for the stages to come if each has as many trees as the last one.
double seconds_left(const CascadeState& state, const CascadeSettings& settings,
                    std::size_t backgrounds) {
  const StageRecord& last = state.records[state.stages.size() - 1];
  const double looks = static_cast<double>(last.mining.pictures + last.mining.generated);
  const double all = static_cast<double>(backgrounds * kMiningPasses + settings.generated);
  const double longest = looks > 0 ? last.mining_seconds * std::fmax(all / looks, 1) : 0;
  double seconds = 0;
  for (const double share : shares_to_come(state, settings)) {
    const double mining = last.mining_seconds / std::fmax(share, 1e-9);
    seconds += last.boosting_seconds + std::fmin(mining, longest);
  }
  return seconds;
}

std::string as_rate(float rate) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", static_cast<double>(rate));
  return text;
}

std::string windows_a_second(const StageRecord& record) {
  return as_count(static_cast<double>(record.mining.windows) /
                  std::fmax(record.mining_seconds, 1e-9)) +
         " windows/s";
}

std::string passing(const MiningPosition& p) {
  return as_percent(static_cast<double>(p.passed) /
                    static_cast<double>(std::max<std::int64_t>(p.windows, 1)));
}

/// So many pictures tell a rate.
constexpr std::uint64_t kLooksToTell = 32;

}  // namespace

int starving_stage(const CascadeState& state, const CascadeSettings& settings,
                   std::size_t backgrounds) {
  if (state.stages.empty()) return 0;
  const MiningPosition& looked = state.records[state.stages.size() - 1].mining;
  // Where windows were drawn it is not known what others hold.
  if (draws_windows(std::span(state.stages).first(state.stages.size() - 1))) return 0;
  int stage = static_cast<int>(state.stages.size()) + 1;
  for (const double share : shares_to_come(state, settings)) {
    const double found = expected_samples(looked, backgrounds, mining_options(settings), share);
    if (found < static_cast<double>(settings.negatives)) return stage;
    ++stage;
  }
  return 0;
}

std::string more_backgrounds_advice() {
  return "Give more pictures to --negatives, let stages draw backgrounds with --generated N (also "
         "of cuface-train resume), or ask for fewer --stages or --negatives-per-stage";
}

CascadeProgress::CascadeProgress(const CascadeSettings& settings, std::size_t backgrounds,
                                 Progress& progress)
    : settings_(settings), backgrounds_(backgrounds), progress_(progress) {}

std::string CascadeProgress::head(std::size_t stage) const {
  return "stage " + std::to_string(stage) + " of " + std::to_string(settings_.stages) + ": ";
}

void CascadeProgress::step(const CascadeState& state, CascadeStep step) {
  switch (step) {
    case CascadeStep::kMining:
      warn_of_few(state);
      progress_.update([&] { return mining(state); });
      break;
    case CascadeStep::kMined:
      progress_.update([&] { return mining(state); });
      break;
    case CascadeStep::kBoosting:
      progress_.update([&] { return boosting(state); });
      break;
    case CascadeStep::kStage:
      progress_.tell(stage(state));
      if (const int starving = starving_stage(state, settings_, backgrounds_);
          starving > 0 && !foretold_) {
        foretold_ = true;
        progress_.warn("at this rate stage " + std::to_string(starving) +
                       " will not find its negatives, and the training ends before it. " +
                       more_backgrounds_advice());
      }
      break;
  }
}

void CascadeProgress::warn_of_few(const CascadeState& state) {
  const std::size_t stage = state.stages.size() + 1;
  const MiningPosition& looked = state.position;
  if (warned_ == stage || looked.pictures + looked.generated < kLooksToTell) return;
  const double found = expected_samples(looked, backgrounds_, mining_options(settings_), 1);
  if (found >= static_cast<double>(settings_.negatives)) return;
  warned_ = stage;
  progress_.warn(head(stage) + "at this rate the backgrounds give " + as_count(found) + " of " +
                 std::to_string(settings_.negatives) + " negatives, and the training ends here. " +
                 more_backgrounds_advice());
}

std::string CascadeProgress::mining(const CascadeState& state) const {
  const StageRecord& record = state.records.back();
  std::string text = head(state.stages.size() + 1) + std::to_string(record.negatives) + " of " +
                     std::to_string(settings_.negatives) + " negatives, " +
                     windows_a_second(record) + ", " + passing(record.mining) + " pass";
  if (record.negatives > 0) {
    const double missing = static_cast<double>(settings_.negatives - record.negatives);
    text += ", " + as_duration(record.mining_seconds * missing / record.negatives) + " left";
  }
  return text;
}

std::string CascadeProgress::boosting(const CascadeState& state) const {
  const BoostedStage& begun = state.begun;
  const auto trees = static_cast<double>(begun.trees.size());
  const double search = state.records.back().boosting_seconds;
  char rate[32];
  std::snprintf(rate, sizeof rate, "%.2g", trees / std::fmax(search, 1e-9));
  std::string text = head(state.stages.size() + 1) + std::to_string(begun.trees.size()) +
                     " trees, " + rate + " a second, hit rate " + as_rate(begun.hit_rate) +
                     ", false alarms " + as_rate(begun.false_alarm);
  // False alarms fall by about the same factor with each tree.
  const double fallen = -std::log(std::fmax(static_cast<double>(begun.false_alarm), 1e-9));
  if (fallen > 0.01) {
    const double goal = -std::log(static_cast<double>(settings_.boost.max_false_alarm));
    text += ", " + as_duration(search * std::fmax(goal / fallen - 1, 0)) + " left";
  }
  return text;
}

std::string CascadeProgress::stage(const CascadeState& state) const {
  const BoostedStage& stage = state.stages.back();
  const StageRecord& record = state.records[state.stages.size() - 1];
  std::string text =
      head(state.stages.size()) + std::to_string(stage.trees.size()) + " trees, hit rate " +
      as_rate(stage.hit_rate) + ", false alarms " + as_rate(stage.false_alarm) + "; negatives in " +
      as_duration(record.mining_seconds) + " (" + windows_a_second(record) + ", " +
      passing(record.mining) + " pass), boosting " + (record.on_gpu ? "on the GPU in " : "in ") +
      as_duration(record.boosting_seconds);
  if (stage.end == StageEnd::kMostTrees) text += "; ended by --max-weak-count";
  if (stage.end == StageEnd::kNoBetterSplit) text += "; no feature tells the rest apart";
  if (state.stages.size() < static_cast<std::size_t>(settings_.stages)) {
    text += "; about " + as_duration(seconds_left(state, settings_, backgrounds_)) + " left";
  }
  return text;
}

}  // namespace cuface::train
