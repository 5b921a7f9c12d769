#include "source.h"

#include <gst/cuface/gstcufacemeta.h>

#include <stdexcept>
#include <utility>

namespace {

/// Elements of a chain that works on frames as they come: a full queue leaves out old frames of a
/// camera, and makes a file wait.
std::string chain_text(bool is_file) {
  return std::string("queue name=in max-size-buffers=4 max-size-bytes=0 max-size-time=0") +
         (is_file ? "" : " leaky=downstream") +
         " ! videoconvert ! cufacedetect ! culktrack post-messages=true ! cufacelandmark "
         "name=faces ! cufaceoverlay"
         " ! textoverlay name=label valignment=bottom halignment=left shaded-background=true"
         " ! queue name=out max-size-buffers=2 max-size-bytes=0 max-size-time=0";
}

/// Makes a pad of the bin's element `name` a pad of the bin.
void expose_pad(GstBin* bin, const char* name, const char* pad_name) {
  g_autoptr(GstElement) element = gst_bin_get_by_name(bin, name);
  g_autoptr(GstPad) pad = gst_element_get_static_pad(element, pad_name);
  gst_element_add_pad(GST_ELEMENT(bin), gst_ghost_pad_new(pad_name, pad));
}

double seconds(GstClockTime time) {
  return static_cast<double>(time) / static_cast<double>(GST_SECOND);
}

}  // namespace

Source::Source(GstPipeline* pipeline, GstElement* view, Tile tile, int number, std::string uri,
               guint retry_ms)
    : pipeline_(pipeline),
      number_(number),
      uri_(std::move(uri)),
      retry_ms_(retry_ms),
      is_file_(gst_uri_has_protocol(uri_.c_str(), "file")) {
  g_autoptr(GError) error = nullptr;
  chain_ = gst_parse_bin_from_description(chain_text(is_file_).c_str(), FALSE, &error);
  if (!chain_) throw std::runtime_error(error->message);
  expose_pad(GST_BIN(chain_), "in", "sink");
  expose_pad(GST_BIN(chain_), "out", "src");
  gst_bin_add(GST_BIN(pipeline_), chain_);
  label_ = gst_bin_get_by_name(GST_BIN(chain_), "label");
  gst_object_unref(label_);  // the chain keeps it

  g_autoptr(GstPad) to_view = gst_element_request_pad_simple(view, "sink_%u");
  // A source that is gone shows black, not its last picture for ever.
  g_object_set(to_view, "xpos", tile.x, "ypos", tile.y, "width", tile.width, "height", tile.height,
               "max-last-buffer-repeat", 2 * GST_SECOND, nullptr);
  gst_util_set_object_arg(G_OBJECT(to_view), "sizing-policy", "keep-aspect-ratio");
  g_autoptr(GstPad) from_chain = gst_element_get_static_pad(chain_, "src");
  gst_pad_link(from_chain, to_view);

  g_autoptr(GstElement) faces = gst_bin_get_by_name(GST_BIN(chain_), "faces");
  g_autoptr(GstPad) with_faces = gst_element_get_static_pad(faces, "src");
  constexpr auto kData =
      static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM);
  gst_pad_add_probe(
      with_faces, kData,
      [](GstPad*, GstPadProbeInfo* info, gpointer self) {
        return static_cast<Source*>(self)->on_data(info);
      },
      this, nullptr);
}

/// Frames and events between the faces and the drawing, in the source's thread.
GstPadProbeReturn Source::on_data(GstPadProbeInfo* info) {
  if (GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER)
    on_frame(GST_PAD_PROBE_INFO_BUFFER(info));
  else if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_EOS)
    over_ = true;
  return GST_PAD_PROBE_OK;
}

void Source::connect() {
  decoder_ = gst_element_factory_make("uridecodebin", nullptr);
  g_autoptr(GstCaps) video = gst_caps_from_string("video/x-raw(ANY)");
  g_object_set(decoder_, "uri", uri_.c_str(), "caps", video, "expose-all-streams", FALSE, nullptr);
  // A pipeline that plays already does not take a newcomer along that prepares itself in the
  // background (ASYNC): it has to get to PLAYING by itself.
  g_object_set(decoder_, "async-handling", TRUE, nullptr);
  g_signal_connect(decoder_, "source-setup", G_CALLBACK(+[](GstElement*, GstElement* source) {
                     // Of rtspsrc: 2 s is long to wait, and TCP notices a server that has died.
                     if (!g_object_class_find_property(G_OBJECT_GET_CLASS(source), "protocols"))
                       return;
                     g_object_set(source, "latency", 200, nullptr);
                     gst_util_set_object_arg(G_OBJECT(source), "protocols", "tcp");
                   }),
                   nullptr);
  g_signal_connect(decoder_, "pad-added",
                   G_CALLBACK(+[](GstElement*, GstPad* pad, Source* self) { self->on_pad(pad); }),
                   this);
  gst_bin_add(GST_BIN(pipeline_), decoder_);
  gst_element_sync_state_with_parent(decoder_);
}

void Source::disconnect() {
  if (!decoder_) return;
  gst_element_set_state(decoder_, GST_STATE_NULL);
  gst_bin_remove(GST_BIN(pipeline_), decoder_);
  decoder_ = nullptr;
  // A pipeline that was still on its way to PLAYING takes a part that leaves for the end of the
  // way.
  gst_element_set_state(GST_ELEMENT(pipeline_), GST_STATE_PLAYING);
}

/// A new pad of the decoder, in its thread.
void Source::on_pad(GstPad* pad) {
  g_autoptr(GstPad) in = gst_element_get_static_pad(chain_, "sink");
  if (gst_pad_is_linked(in)) return;  // a second video stream
  gst_pad_add_probe(
      pad, GST_PAD_PROBE_TYPE_BUFFER,
      [](GstPad* pad, GstPadProbeInfo* info, gpointer self) {
        return static_cast<Source*>(self)->on_first_frame(pad, GST_PAD_PROBE_INFO_BUFFER(info));
      },
      this, nullptr);
  // The end of a camera's stream does not end ours.
  if (!is_file_)
    gst_pad_add_probe(
        pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
        [](GstPad* pad, GstPadProbeInfo* info, gpointer) {
          if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) != GST_EVENT_EOS)
            return GST_PAD_PROBE_OK;
          g_autoptr(GstElement) decoder = gst_pad_get_parent_element(pad);
          GST_ELEMENT_ERROR(decoder, RESOURCE, READ, ("the stream has ended"), (nullptr));
          return GST_PAD_PROBE_DROP;
        },
        nullptr, nullptr);
  gst_pad_link(pad, in);
}

/// A file begins at 0, whenever it is opened; the view runs at the pipeline's clock. Moves the
/// file's time to now.
GstPadProbeReturn Source::on_first_frame(GstPad* pad, GstBuffer* buffer) {
  ++connections_;
  g_print("%d: connected\n", number_);
  g_autoptr(GstQuery) query = gst_query_new_latency();
  gboolean live = FALSE;
  if (gst_pad_query(pad, query)) gst_query_parse_latency(query, &live, nullptr, nullptr);
  g_autoptr(GstEvent) event = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0);
  if (live || !event) return GST_PAD_PROBE_REMOVE;
  const GstSegment* segment;
  gst_event_parse_segment(event, &segment);
  const GstClockTime begins =
      gst_segment_to_running_time(segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
  const GstClockTime now = gst_element_get_current_running_time(GST_ELEMENT(pipeline_));
  if (GST_CLOCK_TIME_IS_VALID(begins) && GST_CLOCK_TIME_IS_VALID(now))
    gst_pad_set_offset(pad, GST_CLOCK_DIFF(begins, now));
  return GST_PAD_PROBE_REMOVE;
}

/// Every frame of the source, in its thread.
void Source::on_frame(GstBuffer* buffer) {
  ++frames_;
  GstCufaceMeta* meta = gst_cuface_buffer_get_face_meta(buffer);
  if (!meta) return;
  // A snapshot: it could be kept, or handed to another thread, and holds no frame back.
  g_autoptr(GstCufaceFaces) faces = gst_cuface_meta_get_faces(meta);
  if (!faces) return;  // a GPU that failed had them: nobody knows whether there are any
  faces_now_ = gst_cuface_faces_get_count(faces);
}

/// What the source's tracker posts: says which faces come and go.
void Source::on_faces(GstMessage* message) {
  if (!gst_object_has_as_ancestor(GST_MESSAGE_SRC(message), GST_OBJECT(chain_))) return;
  const GstStructure* face = gst_message_get_structure(message);
  guint64 id, time, duration;
  int frame_width, frame_height;
  float x, y, width, height;  // pixels
  if (gst_structure_has_name(face, "face-lost") &&
      gst_structure_get(face, "id", G_TYPE_UINT64, &id, "duration", G_TYPE_UINT64, &duration,
                        nullptr))
    g_print("%d: face %" G_GUINT64_FORMAT " goes, seen for %.3f s\n", number_, id,
            seconds(duration));
  if (!gst_structure_has_name(face, "face-appeared") ||
      !gst_structure_get(face, "id", G_TYPE_UINT64, &id, "timestamp", G_TYPE_UINT64, &time,
                         "frame-width", G_TYPE_INT, &frame_width, "frame-height", G_TYPE_INT,
                         &frame_height, "x", G_TYPE_FLOAT, &x, "y", G_TYPE_FLOAT, &y, "width",
                         G_TYPE_FLOAT, &width, "height", G_TYPE_FLOAT, &height, nullptr))
    return;
  ++faces_;
  const auto w = static_cast<float>(frame_width), h = static_cast<float>(frame_height);
  g_print("%d: face %" G_GUINT64_FORMAT " comes at %.3f s, box %.4f %.4f %.4f %.4f\n", number_, id,
          seconds(time), x / w, y / h, width / w, height / h);
}

bool Source::on_error(GstObject* failed, const char* reason) {
  if (!decoder_ ||
      !(failed == GST_OBJECT(decoder_) || gst_object_has_as_ancestor(failed, GST_OBJECT(decoder_))))
    return false;
  lost(reason);
  return true;
}

/// What comes from a network or a camera may come back; a file that cannot be read stays so.
void Source::lost(const std::string& reason) {
  disconnect();
  faces_now_ = 0;
  if (is_file_) {
    g_printerr("%d: %s: %s\n", number_, uri_.c_str(), reason.c_str());
    return end();
  }
  g_print("%d: lost: %s; again in %u ms\n", number_, reason.c_str(), retry_ms_);
  const auto again = [](gpointer self) {
    auto* source = static_cast<Source*>(self);
    if (!source->ended_) source->connect();
    return G_SOURCE_REMOVE;
  };
  g_timeout_add(retry_ms_, again, this);
}

void Source::end() {
  if (std::exchange(ended_, true)) return;
  disconnect();
  g_autoptr(GstPad) in = gst_element_get_static_pad(chain_, "sink");
  gst_pad_send_event(in, gst_event_new_eos());
}

std::string Source::report(double seconds) {
  const guint64 frames = frames_;
  const double rate =
      static_cast<double>(frames - std::exchange(frames_reported_, frames)) / seconds;
  g_autofree char* text = g_strdup_printf("%d: %.1f frames/s, faces: %" G_GUINT64_FORMAT, number_,
                                          rate, faces_now_.load());
  g_object_set(label_, "text", text, nullptr);
  if (over_) return std::to_string(number_) + ": over";
  return decoder_ ? text : std::to_string(number_) + ": lost";
}

std::string Source::summary() const {
  g_autofree char* text = g_strdup_printf(
      "%d: %" G_GUINT64_FORMAT " frames, %" G_GUINT64_FORMAT " faces, connected %d times: %s",
      number_, frames_.load(), faces_, connections_.load(), uri_.c_str());
  return text;
}
