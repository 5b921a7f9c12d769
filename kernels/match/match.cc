#include "kernels/match/match.h"

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "kernels/common/simd.h"
#include "kernels/common/try.h"
#include "kernels/match/plan.h"
#include "kernels/match/reference.h"
#include "kernels/match/rows.h"

namespace cuface {
namespace {

constexpr float kFar = std::numeric_limits<float>::infinity();
constexpr int kQueriesPerLook = 64;

Status invalid(const std::string& what) { return {StatusCode::kInvalidArgument, what}; }

}  // namespace

Status validate(const MatchConfig& config) {
  if (!(config.ratio > 0 && config.ratio <= 1)) return invalid("ratio must be above 0, to 1");
  if (!(config.max_distance >= 0)) return invalid("max-distance must be 0 or more");
  if (!(config.early_out >= 0 && config.early_out <= 1)) return invalid("early-out must be 0 to 1");
  return {};
}

Result<Matcher> Matcher::create(const MatchConfig& config) {
  CUFACE_TRY(simd::status());
  CUFACE_TRY(validate(config));
  return Matcher(config);
}

Status Matcher::run(const BinarySet& query, const BinarySet& train, std::vector<Match>& out,
                    const StopFlag* stop) {
  if (config_.early_out > 0) return invalid("early-out needs float descriptors");
  const bool vectors = simd::vectors();
  const auto row = [&](int i) {
    if (vectors) return match::hamming_row(query.at(i), train, row_.data());
    for (int k = 0; k < train.count; ++k)
      row_[static_cast<std::size_t>(k)] =
          static_cast<float>(match::hamming(query.at(i), train.at(k)));
  };
  return run_rows(query, train, row, out, stop);
}

Status Matcher::run(const FloatSet& query, const FloatSet& train, std::vector<Match>& out,
                    const StopFlag* stop) {
  const bool vectors = simd::vectors();
  const auto row = [&](int i) {
    if (vectors && config_.early_out == 0)
      return match::squared_row(query.at(i), train, row_.data());
    for (int k = 0; k < train.count; ++k) {
      const float *ours = query.at(i), *theirs = train.at(k);
      const bool near = config_.early_out == 0 ||
                        match::centre_product(ours, theirs, train.size) > config_.early_out;
      row_[static_cast<std::size_t>(k)] =
          near ? match::squared_distance(ours, theirs, train.size) : kFar;
    }
  };
  CUFACE_TRY(run_rows(query, train, row, out, stop));
  return {};
}

template <typename T, typename Row>
Status Matcher::run_rows(const DescriptorSet<T>& query, const DescriptorSet<T>& train, Row row,
                         std::vector<Match>& out, const StopFlag* stop) {
  out.clear();
  CUFACE_TRY(match::validate_set(query, config_));
  CUFACE_TRY(match::validate_set(train, config_));
  if (query.count == 0 || train.count == 0) return {};
  if (query.size != train.size) return invalid("descriptors of two sizes do not match");
  const auto count = static_cast<std::size_t>(train.count);
  row_.resize(count);
  nearest_.resize(static_cast<std::size_t>(query.count));
  least_.assign(count, kFar);
  owner_.resize(count);
  for (int i = 0; i < query.count; ++i) {
    if (i % kQueriesPerLook == 0 && is_raised(stop)) return cancelled();
    row(i);
    Nearest nearest{-1, kFar, kFar};
    for (std::size_t k = 0; k < count; ++k) {
      if (config_.sign_check && query.signs[i] != train.signs[k]) continue;
      const float distance = row_[k];
      if (distance < nearest.first) {
        nearest = {static_cast<std::int32_t>(k), distance, nearest.first};
      } else if (distance < nearest.second) {
        nearest.second = distance;
      }
      if (distance < least_[k]) {
        least_[k] = distance;
        owner_[k] = i;
      }
    }
    nearest_[static_cast<std::size_t>(i)] = nearest;
  }
  const auto length = [](float sum) { return std::is_same_v<T, float> ? std::sqrt(sum) : sum; };
  for (int i = 0; i < query.count; ++i) {
    const Nearest& nearest = nearest_[static_cast<std::size_t>(i)];
    if (nearest.train < 0) continue;
    const float first = length(nearest.first), second = length(nearest.second);
    if (config_.max_distance > 0 && !(first <= config_.max_distance)) continue;
    if (config_.ratio < 1 && !(first < config_.ratio * second)) continue;
    if (config_.cross_check && owner_[static_cast<std::size_t>(nearest.train)] != i) continue;
    out.push_back({i, nearest.train, first});
  }
  return {};
}

}  // namespace cuface
