#include "gst/faces/firstseen.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/track/track.h"

namespace cuface::gst {

void FirstSeen::update(const FaceList& faces, GstClockTime now) {
  ++frame_;
  std::size_t here = 0;
  for (const Face& face : faces.faces) {
    if (face.id == 0) continue;
    Seen& seen = seen_.try_emplace(face.id, Seen{now, 0}).first->second;
    if (!GST_CLOCK_TIME_IS_VALID(seen.first)) seen.first = now;
    here += seen.last_frame != frame_;
    seen.last_frame = frame_;
  }
  const std::size_t most = here + std::size_t{kMaxTracks};
  if (seen_.size() > most) forget(seen_.size() - most);
}

void FirstSeen::forget(std::size_t surplus) {
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

}  // namespace cuface::gst
