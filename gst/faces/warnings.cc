#include "gst/faces/warnings.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "gst/base/errors.h"
#include "gst/base/filter.h"
#include "gst/meta/neighbour.h"

namespace cuface::gst {
namespace {

/// Elements between ours that never move a pixel, whatever their properties.
constexpr std::array<std::string_view, 14> kStill = {
    "capsfilter",  "cudaconvert", "cudadownload", "cudaupload", "identity",
    "multiqueue",  "queue",       "queue2",       "tee",        "textoverlay",
    "timeoverlay", "valve",       "videoconvert", "videorate"};

Ref<GstPad> only_sink_pad(GstElement* element) {
  Ref<GstPad> pad;
  GST_OBJECT_LOCK(element);
  if (element->numsinkpads == 1) pad.reset(GST_PAD(gst_object_ref(element->sinkpads->data)));
  GST_OBJECT_UNLOCK(element);
  return pad;
}

/// The elements between `self` and our element before it that may have moved pixels, in words; ""
/// where there is none in sight.
std::string suspects(GstElement* self) {
  std::string names;
  Ref<GstElement> element = neighbour(GST_BASE_TRANSFORM_SINK_PAD(self));
  while (element && !GST_IS_CUFACE_FILTER(element.get())) {
    if (std::find(kStill.begin(), kStill.end(), factory_name(element.get())) == kStill.end())
      names = name_and_type(element.get()) + (names.empty() ? "" : " or ") + names;
    const Ref<GstPad> sink = only_sink_pad(element.get());
    if (!sink) break;
    element = neighbour(sink.get());
  }
  return names;
}

}  // namespace

void warn_interlaced(GstElement* self) {
  post_warning(self, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
               "the video is interlaced: faces that move are torn into two fields; put a "
               "deinterlace element before the face elements");
}

void warn_positions_lost(GstElement* self, const std::string& moved_by) {
  std::string who = moved_by.empty() ? suspects(self) : moved_by;
  if (who.empty()) who = "an element";
  post_warning(self, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
               who +
                   " between the face elements cropped, flipped or padded the picture; the faces "
                   "found before it no longer fit and are ignored from here on: put it in front of "
                   "the face elements");
}

}  // namespace cuface::gst
