#include "kernels/match/match.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

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
  if (config_.early_out > 0) {
    out.clear();
    return invalid("early-out needs float descriptors");
  }
  return run_any(query, train, out, stop);
}

Status Matcher::run(const FloatSet& query, const FloatSet& train, std::vector<Match>& out,
                    const StopFlag* stop) {
  return run_any(query, train, out, stop);
}

template <typename T>
DescriptorSet<T> Matcher::Part<T>::take(const DescriptorSet<T>& all, std::int8_t sign) {
  data.clear();
  of.clear();
  for (int i = 0; i < all.count; ++i) {
    if (all.signs[i] != sign) continue;
    of.push_back(i);
    data.insert(data.end(), all.at(i), all.at(i) + all.size);
  }
  return {data.data(), static_cast<int>(of.size()), all.size, nullptr};
}

/// Signs split both sets: the parts are matched on their own, so that a sign costs no comparison.
template <typename T>
Status Matcher::run_any(const DescriptorSet<T>& query, const DescriptorSet<T>& train,
                        std::vector<Match>& out, const StopFlag* stop) {
  out.clear();
  CUFACE_TRY(match::validate_set(query, config_));
  CUFACE_TRY(match::validate_set(train, config_));
  if (query.count == 0 || train.count == 0) return {};
  if (query.size != train.size) return invalid("descriptors of two sizes do not match");
  if (!config_.sign_check) return run_set(query, train, out, stop);
  auto& parts = std::get<Parts<T>>(parts_);
  bool done[256] = {};
  for (int i = 0; i < query.count; ++i) {
    const std::int8_t sign = query.signs[i];
    if (std::exchange(done[static_cast<std::uint8_t>(sign)], true)) continue;
    const DescriptorSet<T> ours = parts.query.take(query, sign),
                           theirs = parts.train.take(train, sign);
    if (theirs.count == 0) continue;
    const Status status = run_set(ours, theirs, of_part_, stop);
    if (!status.ok()) {
      out.clear();
      return status;
    }
    for (const Match& m : of_part_)
      out.push_back({parts.query.of[static_cast<std::size_t>(m.query)],
                     parts.train.of[static_cast<std::size_t>(m.train)], m.distance});
  }
  std::sort(out.begin(), out.end(),
            [](const Match& a, const Match& b) { return a.query < b.query; });
  return {};
}

Status Matcher::run_set(const BinarySet& query, const BinarySet& train, std::vector<Match>& out,
                        const StopFlag* stop) {
  const bool vectors = simd::vectors();
  const auto row = [&](int i) {
    if (vectors) return match::hamming_row(query.at(i), train, row_.data());
    for (int k = 0; k < train.count; ++k)
      row_[static_cast<std::size_t>(k)] =
          static_cast<float>(match::hamming(query.at(i), train.at(k)));
  };
  return run_rows(query, train, row, out, stop);
}

Status Matcher::run_set(const FloatSet& query, const FloatSet& train, std::vector<Match>& out,
                        const StopFlag* stop) {
  const bool vectors = simd::vectors(), early = config_.early_out > 0;
  if (vectors && early) {
    centres_.resize(match::centre_floats(train));
    match::centre_lanes(train, centres_.data());
  }
  const auto row = [&](int i) {
    if (vectors && early)
      return match::squared_row_near(query.at(i), train, centres_.data(), config_.early_out,
                                     row_.data());
    if (vectors) return match::squared_row(query.at(i), train, row_.data());
    for (int k = 0; k < train.count; ++k) {
      const float *ours = query.at(i), *theirs = train.at(k);
      const bool near =
          !early || match::centre_product(ours, theirs, train.size) > config_.early_out;
      row_[static_cast<std::size_t>(k)] =
          near ? match::squared_distance(ours, theirs, train.size) : kFar;
    }
  };
  return run_rows(query, train, row, out, stop);
}

template <typename T, typename Row>
Status Matcher::run_rows(const DescriptorSet<T>& query, const DescriptorSet<T>& train, Row row,
                         std::vector<Match>& out, const StopFlag* stop) {
  out.clear();
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
