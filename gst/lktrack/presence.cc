#include "gst/lktrack/presence.h"

#include <utility>

#include "gst/faces/facemessages.h"
#include "kernels/common/try.h"

namespace cuface::gst {

Status Presence::follow(FaceResult faces, const FrameTime& time) {
  return waiting_.push({std::move(faces), time},
                       [this](const Waiting& ready) { return compare(ready); });
}

Status Presence::end() {
  const Status read = waiting_.drain([this](const Waiting& ready) { return compare(ready); });
  for (const auto& [id, seen] : here_) post("face-lost", seen, true);
  forget();
  return read;
}

void Presence::forget() {
  waiting_.clear();
  here_.clear();
}

Status Presence::compare(const Waiting& ready) {
  CUFACE_TAKE(faces, ready.faces.read());
  std::map<std::uint64_t, Seen> now;
  for (std::size_t i = 0; faces && i < faces->faces.size(); ++i) {
    const std::uint64_t id = faces->faces[i].id;
    const auto before = here_.find(id);
    const GstClockTime since =
        before == here_.end() ? ready.time.running_time : before->second.since;
    now[id] = {faces, i, ready.time, since};
  }
  for (const auto& [id, seen] : here_)
    if (!now.contains(id)) post("face-lost", seen, true);
  for (const auto& [id, seen] : now)
    if (!here_.contains(id)) post("face-appeared", seen, false);
  here_ = std::move(now);
  return {};
}

void Presence::post(const char* name, const Seen& seen, bool is_over) const {
  GstStructure* structure = new_message(name, seen.time);
  if (is_over) {
    const GstClockTime until = seen.time.running_time;
    const bool known = GST_CLOCK_TIME_IS_VALID(until) && GST_CLOCK_TIME_IS_VALID(seen.since);
    gst_structure_set(structure, "duration", G_TYPE_UINT64,
                      known ? until - seen.since : GST_CLOCK_TIME_NONE, nullptr);
  }
  gst_structure_set(structure, "frame-width", G_TYPE_INT, seen.faces->width, "frame-height",
                    G_TYPE_INT, seen.faces->height, nullptr);
  describe_face(structure, *seen.faces, seen.index);
  post_message(element_, structure);
}

}  // namespace cuface::gst
