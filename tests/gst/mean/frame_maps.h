// How often elements of this program have mapped a frame: only luma maps one for reading, so that
// is how often luma was made. For programs that hold the elements themselves, one file of each.
#pragma once

#include <dlfcn.h>
#include <gst/video/video.h>

#include <atomic>

namespace cuface::test {
inline std::atomic<int> frame_maps = 0;
}

extern "C" gboolean gst_video_frame_map(GstVideoFrame* frame, const GstVideoInfo* info,
                                        GstBuffer* buffer, GstMapFlags flags) {
  Dl_info caller, here;
  if (dladdr(__builtin_return_address(0), &caller) &&
      dladdr(reinterpret_cast<void*>(&gst_video_frame_map), &here) &&
      caller.dli_fbase == here.dli_fbase && !(flags & GST_MAP_WRITE))
    ++cuface::test::frame_maps;
  return gst_video_frame_map_id(frame, info, buffer, -1, flags);
}
