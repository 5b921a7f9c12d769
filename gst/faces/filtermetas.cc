// When an element writes the standard metas.
#include <utility>

#include "gst/base/facefilter.h"
#include "gst/base/filterstate.h"
#include "gst/faces/standardmetas.h"

namespace cuface::gst {
namespace {

/// Plain numbers make the streaming thread wait for a GPU, so `auto` has none where one works. How
/// far it is at the moment does not matter: two runs write the same.
bool are_wanted(GstCufaceFilter* self, StandardMetas setting) {
  FilterState* state = self->state;
  if (setting != StandardMetas::kAuto) return setting == StandardMetas::kAlways;
  if (state->backend == Backend::kCpu) return true;
  if (!state->in_cuda_memory && !std::exchange(state->told_no_standard_metas, true)) {
    GST_DEBUG_CATEGORY_STATIC(category);
    GST_DEBUG_CATEGORY_GET(category, "cufacefilter");
    GST_CAT_INFO_OBJECT(category, self,
                        "the GPU works on frames in system memory: standard-metas=auto writes no "
                        "GstVideoRegionOfInterestMeta; standard-metas=always does, and waits for "
                        "the GPU on each frame");
  }
  return false;
}

}  // namespace

Status write_standard_metas(GstCufaceFilter* self, const Frame& frame) {
  if (!frame.delivered()) return {};
  StandardMetas setting;
  {
    SettingsLock lock(self);
    setting = self->state->settings.standard_metas;
  }
  if (!are_wanted(self, setting)) return {};
  return publish_standard_metas(frame.buffer(), self->state->info, frame.delivered(),
                                self->state->first_seen);
}

}  // namespace cuface::gst
