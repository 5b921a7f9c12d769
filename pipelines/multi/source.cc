#include "source.h"

#include <gst/cuface/gstcufacemeta.h>

#include <stdexcept>
#include <utility>

namespace {

/// Elements of a chain that works on frames as they come: a full queue leaves out old frames of a
/// camera, and makes a file wait. On a GPU, frames that were decoded there stay there.
std::string chain_text(bool is_file, bool on_gpu, bool is_viewed) {
  return std::string("queue name=in max-size-buffers=4 max-size-bytes=0 max-size-time=0") +
         (is_file ? "" : " leaky=downstream") + " ! videoconvert" +
         (on_gpu ? " ! cudaupload" : "") +
         " ! cufacedetect ! culktrack post-messages=true ! cufacelandmark name=faces" +
         (!is_viewed ? " ! cufacepublish name=lines ! fakesink sync=false async=false"
                     : std::string(" ! cufaceoverlay") + (on_gpu ? " ! cudadownload" : "") +
                           " ! textoverlay name=label valignment=bottom halignment=left "
                           "shaded-background=true"
                           " ! queue name=out max-size-buffers=2 max-size-bytes=0 max-size-time=0");
}

/// Makes a pad of the bin's element `name` a pad of the bin.
void expose_pad(GstBin* bin, const char* name, const char* pad_name) {
  g_autoptr(GstElement) element = gst_bin_get_by_name(bin, name);
  g_autoptr(GstPad) pad = gst_element_get_static_pad(element, pad_name);
  gst_element_add_pad(GST_ELEMENT(bin), gst_ghost_pad_new(pad_name, pad));
}

/// Sets it of all elements of the bin that have it.
void set_all(GstBin* bin, const char* property, int value) {
  for (GList* each = GST_BIN_CHILDREN(bin); each; each = each->next)
    if (g_object_class_find_property(G_OBJECT_GET_CLASS(each->data), property))
      g_object_set(each->data, property, value, nullptr);
}

/// Answers a decoder that asks what is behind it, before anything is: frames may stay on the GPU.
gboolean on_query(GstElement*, GstPad*, GstElement*, GstQuery* query, gpointer) {
  if (GST_QUERY_TYPE(query) != GST_QUERY_CAPS) return FALSE;
  g_autoptr(GstCaps) taken = gst_caps_from_string("video/x-raw(memory:CUDAMemory); video/x-raw");
  GstCaps* filter = nullptr;
  gst_query_parse_caps(query, &filter);
  g_autoptr(GstCaps) answer = filter ? gst_caps_intersect(taken, filter) : gst_caps_ref(taken);
  gst_query_set_caps_result(query, answer);
  return TRUE;
}

double seconds(GstClockTime time) {
  return static_cast<double>(time) / static_cast<double>(GST_SECOND);
}

}  // namespace

Source::Source(GstPipeline* pipeline, const Place& place, int number, std::string uri,
               guint retry_ms, Gpus* gpus)
    : pipeline_(pipeline),
      number_(number),
      uri_(std::move(uri)),
      retry_ms_(retry_ms),
      is_file_(gst_uri_has_protocol(uri_.c_str(), "file")),
      gpus_(gpus) {
  g_autoptr(GError) error = nullptr;
  const bool is_viewed = place.view != nullptr;
  chain_ = gst_parse_bin_from_description(chain_text(is_file_, gpus != nullptr, is_viewed).c_str(),
                                          FALSE, &error);
  if (!chain_) throw std::runtime_error(error->message);
  // It starts when it is known where.
  gst_element_set_locked_state(chain_, TRUE);
  expose_pad(GST_BIN(chain_), "in", "sink");
  gst_bin_add(GST_BIN(pipeline_), chain_);
  label_ = gst_bin_get_by_name(GST_BIN(chain_), "label");
  if (is_viewed) {
    gst_object_unref(label_);  // the chain keeps it
    expose_pad(GST_BIN(chain_), "out", "src");
    g_autoptr(GstPad) to_view = gst_element_request_pad_simple(place.view, "sink_%u");
    // A source that is gone shows black, not its last picture for ever.
    g_object_set(to_view, "xpos", place.x, "ypos", place.y, "width", place.width, "height",
                 place.height, "max-last-buffer-repeat", 2 * GST_SECOND, nullptr);
    gst_util_set_object_arg(G_OBJECT(to_view), "sizing-policy", "keep-aspect-ratio");
    g_autoptr(GstPad) from_chain = gst_element_get_static_pad(chain_, "src");
    gst_pad_link(from_chain, to_view);
  } else {
    g_autoptr(GstElement) lines = gst_bin_get_by_name(GST_BIN(chain_), "lines");
    g_object_set(lines, "location", place.file.c_str(), "source", uri_.c_str(), nullptr);
  }

  // A file's lines are written once cufacepublish lets the end through.
  g_autoptr(GstElement) faces = gst_bin_get_by_name(GST_BIN(chain_), is_viewed ? "faces" : "lines");
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
    finish();
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
  if (gpus_) {
    g_signal_connect(
        decoder_, "autoplug-select",
        G_CALLBACK(+[](GstElement*, GstPad*, GstCaps* stream, GstElementFactory* decoder,
                       Source* self) { return self->on_decoder(stream, decoder); }),
        this);
    g_signal_connect(decoder_, "autoplug-query", G_CALLBACK(on_query), nullptr);
  } else {
    start_chain();
  }
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

/// Of the decoders for a stream only that of this source's GPU, and none of the CPU where there is
/// one: the ranks of GStreamer would choose the first GPU for all.
int Source::on_decoder(const GstCaps* stream, GstElementFactory* decoder) {
  constexpr int kTake = 0, kLeaveOut = 2;
  if (!gst_element_factory_list_is_type(
          decoder, GST_ELEMENT_FACTORY_TYPE_DECODER | GST_ELEMENT_FACTORY_TYPE_MEDIA_VIDEO))
    return kTake;
  choose_gpu(stream);
  const auto gpu = gpu_of(decoder);
  if (gpu == gpu_) return kTake;
  return gpu || decodes(gpu_, stream) ? kLeaveOut : kTake;
}

/// Once: the chain stays where it is, and so does what comes back.
void Source::choose_gpu(const GstCaps* stream) {
  if (gpu_ < 0) {
    gpu_ = gpus_->assign(stream, number_);
    set_all(GST_BIN(chain_), "cuda-device-id", gpu_);
    gpus_->share_context(gpu_, chain_);
    start_chain();
  }
  gpus_->share_context(gpu_, decoder_);
}

void Source::start_chain() {
  gst_element_set_locked_state(chain_, FALSE);
  gst_element_sync_state_with_parent(chain_);
}

void Source::stop_chain() {
  gst_element_set_locked_state(chain_, TRUE);
  gst_element_set_state(chain_, GST_STATE_NULL);
}

/// A new pad of the decoder, in its thread.
void Source::on_pad(GstPad* pad) {
  g_autoptr(GstPad) in = gst_element_get_static_pad(chain_, "sink");
  if (gst_pad_is_linked(in)) return;  // a second video stream
  if (gpus_ && gpu_ < 0) {            // a camera's pictures, which nobody decodes
    g_autoptr(GstCaps) pictures = gst_pad_query_caps(pad, nullptr);
    choose_gpu(pictures);
  }
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
/// file's time to now, where there is a view.
GstPadProbeReturn Source::on_first_frame(GstPad* pad, GstBuffer* buffer) {
  ++connections_;
  g_print("%d: connected\n", number_);
  g_autoptr(GstCaps) caps = gst_pad_get_current_caps(pad);
  if (gpus_ && !gst_caps_features_contains(gst_caps_get_features(caps, 0), "memory:CUDAMemory"))
    g_print("%d: not decoded on the GPU, so each frame is copied to it\n", number_);
  g_autoptr(GstQuery) query = gst_query_new_latency();
  gboolean live = FALSE;
  if (gst_pad_query(pad, query)) gst_query_parse_latency(query, &live, nullptr, nullptr);
  g_autoptr(GstEvent) event = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0);
  if (live || !event || !label_) return GST_PAD_PROBE_REMOVE;
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
  if (frames_++ == 0) began_ = g_get_monotonic_time();
  if (!label_) return;  // nobody sees the number, and on a GPU it would be waited for
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
  const auto is_of = [failed](GstElement* element) {
    return element && (failed == GST_OBJECT(element) ||
                       gst_object_has_as_ancestor(failed, GST_OBJECT(element)));
  };
  if (is_of(decoder_)) {
    lost(reason);
    return true;
  }
  if (!is_of(chain_)) return false;
  if (std::exchange(failed_, true)) return true;  // the rest of what it says
  g_printerr("%d: %s: %s\n", number_, GST_OBJECT_NAME(failed), reason);
  ended_ = true;
  stop_chain();
  disconnect();
  finish();
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
  // A chain that never started does not take it.
  if (!gst_pad_send_event(in, gst_event_new_eos())) finish();
}

void Source::finish() {
  over_at_ = g_get_monotonic_time();
  over_ = true;
}

std::string Source::report(double seconds) {
  const guint64 frames = frames_;
  const double rate =
      static_cast<double>(frames - std::exchange(frames_reported_, frames)) / seconds;
  std::string text = std::to_string(number_);
  g_autofree char* rate_text = g_strdup_printf(": %.1f frames/s", rate);
  text += rate_text;
  if (label_) {
    text += ", faces: " + std::to_string(faces_now_);
    g_object_set(label_, "text", text.c_str(), nullptr);
  }
  if (over_) return std::to_string(number_) + ": over";
  return decoder_ ? text : std::to_string(number_) + ": lost";
}

std::string Source::summary() const {
  g_autofree char* text = g_strdup_printf(
      "%d: %" G_GUINT64_FORMAT " frames, %" G_GUINT64_FORMAT " faces, connected %d times: %s",
      number_, frames_.load(), faces_, connections_.load(), uri_.c_str());
  return text;
}
