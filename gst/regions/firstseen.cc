#include "gst/regions/firstseen.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/track/track.h"

namespace cuface::gst {

bool FirstSeen::see(std::uint64_t id, GstClockTime now) {
  if (id == 0) return false;
  Seen& seen = seen_.try_emplace(id, Seen{now, now, 0}).first->second;
  if (!GST_CLOCK_TIME_IS_VALID(seen.first)) seen.first = now;
  const bool more = seen.last_frame != frame_;
  seen.last_frame = frame_;
  seen.last = now;
  return more;
}

void FirstSeen::keep_those_here(std::size_t here) {
  const std::size_t most = here + std::size_t{kMaxTracks};
  if (seen_.size() <= most) return;
  const std::size_t surplus = seen_.size() - most;
  using LastFrameAndId = std::pair<std::uint64_t, std::uint64_t>;
  std::vector<LastFrameAndId> all;
  all.reserve(seen_.size());
  for (const auto& [id, seen] : seen_) all.emplace_back(seen.last_frame, id);
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(surplus);
  std::nth_element(all.begin(), end, all.end());
  std::for_each(all.begin(), end, [&](const LastFrameAndId& old) { seen_.erase(old.second); });
}

GstClockTime FirstSeen::of(std::uint64_t id) const {
  const auto found = seen_.find(id);
  return found == seen_.end() ? GST_CLOCK_TIME_NONE : found->second.first;
}

std::vector<LostRegion> FirstSeen::lost() const {
  std::vector<LostRegion> all;
  for (const auto& [id, seen] : seen_)
    if (seen.last_frame + 1 == frame_) all.push_back({id, seen.first, seen.last});
  std::ranges::sort(all, {}, &LostRegion::id);
  return all;
}

}  // namespace cuface::gst
