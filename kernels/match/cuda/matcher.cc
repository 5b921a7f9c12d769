#include "kernels/match/cuda/matcher.h"

#include <string>
#include <type_traits>

#include "kernels/common/try.h"
#include "kernels/match/plan.h"

namespace cuface::cuda {
namespace {

Status invalid(const std::string& what) { return {StatusCode::kInvalidArgument, what}; }

/// Bytes that are read at once.
constexpr std::ptrdiff_t kAtOnce = 16;

template <typename T>
bool is_aligned(const DeviceSet<T>& set) {
  return reinterpret_cast<std::uintptr_t>(set.data) % kAtOnce == 0 && set.stride % kAtOnce == 0;
}

}  // namespace

Result<Matcher> Matcher::create(const MatchConfig& config, int most_queries, int most_trains,
                                ScratchLayout& layout) {
  CUFACE_TRY(validate(config));
  const auto fits = [](int most) { return most >= 0 && most <= kMostKeypoints; };
  if (!fits(most_queries) || !fits(most_trains))
    return invalid("a set has 0 to " + std::to_string(kMostKeypoints) + " descriptors");
  Matcher made(config);
  made.parts_ = match::train_parts(most_queries, most_trains);
  made.of_queries_ = layout.add<match::Nearest>(static_cast<std::size_t>(most_queries) *
                                                static_cast<std::size_t>(made.parts_));
  made.most_queries_ = most_queries;
  made.most_trains_ = most_trains;
  if (config.cross_check)
    made.owners_ = layout.add<match::Owner>(static_cast<std::size_t>(most_trains));
  return made;
}

void Matcher::bind(std::byte* scratch) {
  of_queries_.bind(scratch);
  if (config_.cross_check) owners_.bind(scratch);
}

template <typename T>
Status Matcher::enqueue_sets(const DeviceSet<T>& query, const DeviceSet<T>& train,
                             DeviceMatches* out, Launcher launch) const {
  for (const DeviceSet<T>* set : {&query, &train}) {
    CUFACE_TRY(
        cuface::match::validate_set<T>({set->data, set->most, set->size, set->signs}, config_));
    if (!is_aligned(*set)) return invalid("a descriptor does not begin at a multiple of 16 bytes");
  }
  if (query.most > 0 && train.most > 0 && query.size != train.size)
    return invalid("descriptors of two sizes do not match");
  if (query.most > most_queries_ || train.most > most_trains_)
    return invalid("a set is larger than planned");
  CUFACE_TRY(match::find_nearest(query, train, config_, of_queries_.data(), parts_, owners_.data(),
                                 launch));
  return match::check_nearest(query, train, config_, of_queries_.data(), parts_, owners_.data(),
                              out, launch);
}

Status Matcher::enqueue(const DeviceBinarySet& query, const DeviceBinarySet& train,
                        DeviceMatches* out, Launcher launch) const {
  if (config_.early_out > 0) return invalid("early-out needs float descriptors");
  return enqueue_sets(query, train, out, launch);
}

Status Matcher::enqueue(const DeviceFloatSet& query, const DeviceFloatSet& train,
                        DeviceMatches* out, Launcher launch) const {
  return enqueue_sets(query, train, out, launch);
}

}  // namespace cuface::cuda
