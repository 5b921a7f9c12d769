#include "gst/facepublish/facepublish.h"

#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gst/base/errors.h"
#include "gst/base/facefilter.h"
#include "gst/base/segmenttimes.h"
#include "gst/facepublish/line_writer.h"
#include "gst/faces/standardmetas.h"
#include "gst/meta/facemeta.h"

// Also of line_writer.cc.
GST_DEBUG_CATEGORY(cuface_publish_debug);
#define GST_CAT_DEFAULT cuface_publish_debug

using cuface::Status;
using cuface::gst::Frame;
using cuface::gst::Line;
using cuface::gst::LineWriter;
using cuface::gst::Positions;
using cuface::gst::SettingsLock;
using cuface::gst::WriteError;

namespace {

/// Named and numbered as GStreamer's queue does, which has one more.
enum class Leaky { kNo = 0, kDownstream = 2 };

struct Settings {
  std::optional<std::string> location, source;
  bool append = false, post_messages = false;
  Leaky leaky = Leaky::kNo;
};

struct PublishState {
  Settings settings;  // under SettingsLock, as is the pointer (flushes come from other threads)
  std::unique_ptr<LineWriter> writer;
  std::atomic<bool> failed{false};
  // The streaming thread's.
  std::uint64_t frames = 0;
  bool warned_no_meta = false, warned_dropped = false;
};

}  // namespace

struct GstCufacePublish {
  GstCufaceFilter parent;
  PublishState* state;
};

struct GstCufacePublishClass {
  GstCufaceFilterClass parent_class;
};

G_DEFINE_TYPE_WITH_CODE(GstCufacePublish, gst_cuface_publish, GST_TYPE_CUFACE_FILTER,
                        GST_DEBUG_CATEGORY_INIT(cuface_publish_debug, "cufacepublish", 0,
                                                "face publisher"))

namespace {

GstCufacePublish* self_of(gpointer object) { return static_cast<GstCufacePublish*>(object); }

enum Property { kPropLocation = 1, kPropAppend, kPropSource, kPropPostMessages, kPropLeaky };

GType leaky_type() {
  static const GEnumValue values[] = {
      {static_cast<int>(Leaky::kNo), "The video waits until there is room", "no"},
      {static_cast<int>(Leaky::kDownstream), "The oldest lines are dropped", "downstream"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstCufacePublishLeaky", values);
  return type;
}

GstBaseTransformClass* parent_transform() {
  return GST_BASE_TRANSFORM_CLASS(gst_cuface_publish_parent_class);
}

Settings settings_of(GstCufacePublish* self) {
  SettingsLock lock(self);
  return self->state->settings;
}

// ---- errors ------------------------------------------------------------------------------------

void post_resource_error(GstCufacePublish* self, GstResourceError code, const WriteError& error) {
  GST_DEBUG_OBJECT(self, "errno %d", error.code);
  cuface::gst::post_error(GST_ELEMENT_CAST(self), GST_RESOURCE_ERROR, code, error.text,
                          error.made_at);
}

bool is_out_of_space(int code) { return code == ENOSPC || code == EDQUOT || code == EFBIG; }

GstResourceError resource_error(int code) {
  if (code == 0) return GST_RESOURCE_ERROR_READ;
  return is_out_of_space(code) ? GST_RESOURCE_ERROR_NO_SPACE_LEFT : GST_RESOURCE_ERROR_WRITE;
}

/// On the writer's thread; the streaming thread sees `failed` at the next frame.
void on_write_error(GstCufacePublish* self, const WriteError& error) {
  self->state->failed = true;
  post_resource_error(self, resource_error(error.code), error);
}

// ---- start and stop ----------------------------------------------------------------------------

void release_writer(GstCufacePublish* self, bool on) {
  SettingsLock lock(self);
  if (self->state->writer) self->state->writer->release(on);
}

void stop_writer(GstCufacePublish* self) {
  SettingsLock lock(self);
  if (self->state->writer) self->state->writer->stop();
}

void close_writer(GstCufacePublish* self) {
  std::unique_ptr<LineWriter> writer;
  {
    SettingsLock lock(self);
    writer = std::move(self->state->writer);
  }
}  // writes what waits, without the lock

gboolean start(GstBaseTransform* trans) {
  GstCufacePublish* self = self_of(trans);
  PublishState* state = self->state;
  const Settings settings = settings_of(self);
  if (!settings.location && !settings.post_messages) {
    post_resource_error(self, GST_RESOURCE_ERROR_NOT_FOUND,
                        {0,
                         "No file to write faces to: set location to a path or to - for standard "
                         "output, or set post-messages=true."});
    return FALSE;
  }
  state->failed = false;
  state->frames = 0;
  state->warned_no_meta = state->warned_dropped = false;
  if (settings.location) {
    WriteError error;
    auto writer = LineWriter::open(
        *settings.location, settings.append,
        [self](const WriteError& failure) { on_write_error(self, failure); }, error);
    if (!writer) {
      post_resource_error(self,
                          is_out_of_space(error.code) ? GST_RESOURCE_ERROR_NO_SPACE_LEFT
                                                      : GST_RESOURCE_ERROR_OPEN_WRITE,
                          error);
      return FALSE;
    }
    SettingsLock lock(self);
    state->writer = std::move(writer);
    state->writer->set_leaky(state->settings.leaky == Leaky::kDownstream);
  }
  if (parent_transform()->start(trans)) return TRUE;
  close_writer(self);
  return FALSE;
}

gboolean stop(GstBaseTransform* trans) {
  close_writer(self_of(trans));
  return parent_transform()->stop(trans);
}

GstStateChangeReturn change_state(GstElement* element, GstStateChange change) {
  // The streaming thread must not wait for a stalled reader while it is being stopped, and what
  // the reader still gets is counted from here.
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY) stop_writer(self_of(element));
  return GST_ELEMENT_CLASS(gst_cuface_publish_parent_class)->change_state(element, change);
}

// ---- streaming ---------------------------------------------------------------------------------

std::optional<std::uint64_t> valid(GstClockTime time) {
  return GST_CLOCK_TIME_IS_VALID(time) ? std::optional(time) : std::nullopt;
}

void post_faces(GstCufacePublish* self, const Line& line) {
  GstCufaceFaces* faces = cuface::gst::make_faces_snapshot(line.faces);
  GstStructure* structure = gst_structure_new(
      "cuface-faces", "frame", G_TYPE_UINT64, line.frame, "timestamp", G_TYPE_UINT64,
      line.timestamp.value_or(GST_CLOCK_TIME_NONE), "running-time", G_TYPE_UINT64,
      line.running_time.value_or(GST_CLOCK_TIME_NONE), "source", G_TYPE_STRING,
      line.source ? line.source->c_str() : nullptr, "width", G_TYPE_INT, line.width, "height",
      G_TYPE_INT, line.height, "faces", GST_TYPE_CUFACE_FACES, faces, nullptr);
  gst_cuface_faces_unref(faces);
  gst_element_post_message(GST_ELEMENT_CAST(self),
                           gst_message_new_element(GST_OBJECT_CAST(self), structure));
}

void warn_dropped(GstCufacePublish* self, const Settings& settings) {
  if (std::exchange(self->state->warned_dropped, true)) return;
  const std::string text =
      "Whoever reads " + cuface::gst::shown(settings.location.value_or("-")) +
      " takes the lines more slowly than frames come: the oldest are dropped (stats counts them in "
      "dropped-lines). Let it read faster; leaky=no holds the video back instead.";
  cuface::gst::post_warning(GST_ELEMENT_CAST(self), GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE,
                            text);
}

Status process(GstCufaceFilter* filter, Frame& frame) {
  GstCufacePublish* self = self_of(filter);
  PublishState* state = self->state;
  Settings settings = settings_of(self);
  cuface::gst::FaceResult faces = cuface::gst::known_faces(frame);
  if (!faces && frame.upstream().positions == Positions::kNone &&
      !std::exchange(state->warned_no_meta, true))
    cuface::gst::post_warning(GST_ELEMENT_CAST(self), GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
                              "The video brings no faces: cufacedetect (then culktrack, "
                              "cufacelandmark) is missing before cufacepublish. "
                              "Lines without faces are written.");
  Line line{state->frames++,
            valid(frame.pts()),
            valid(cuface::gst::running_time_of(GST_BASE_TRANSFORM(self)->segment, frame.pts())),
            std::move(settings.source),
            frame.width(),
            frame.height(),
            std::move(faces)};
  if (settings.post_messages) post_faces(self, line);
  // After an error the line is dropped here and transform_ip ends the stream.
  if (state->writer) frame.dropped_lines += state->writer->push(std::move(line));
  if (frame.dropped_lines > 0) warn_dropped(self, settings);
  return {};
}

GstFlowReturn transform_ip(GstBaseTransform* trans, GstBuffer* buffer) {
  const GstFlowReturn flow = parent_transform()->transform_ip(trans, buffer);
  return self_of(trans)->state->failed ? GST_FLOW_ERROR : flow;
}

gboolean sink_event(GstBaseTransform* trans, GstEvent* event) {
  GstCufacePublish* self = self_of(trans);
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_EOS:  // who waits for it finds all lines in the file
      if (self->state->writer) self->state->writer->drain();
      break;
    case GST_EVENT_FLUSH_START:
      release_writer(self, true);
      break;
    case GST_EVENT_FLUSH_STOP:
      release_writer(self, false);
      if (self->state->writer) self->state->writer->drain(LineWriter::kFlushPatience);
      break;
    default:
      break;
  }
  return parent_transform()->sink_event(trans, event);
}

// ---- properties --------------------------------------------------------------------------------

std::optional<std::string> optional_string(const GValue* value) {
  const char* text = g_value_get_string(value);
  return text && *text ? std::optional<std::string>(text) : std::nullopt;
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  Settings& settings = self_of(object)->state->settings;
  SettingsLock lock(object);
  switch (id) {
    case kPropLocation:
      settings.location = optional_string(value);
      break;
    case kPropAppend:
      settings.append = g_value_get_boolean(value);
      break;
    case kPropSource:
      settings.source = optional_string(value);
      break;
    case kPropPostMessages:
      settings.post_messages = g_value_get_boolean(value);
      break;
    case kPropLeaky:
      settings.leaky = static_cast<Leaky>(g_value_get_enum(value));
      if (const auto& writer = self_of(object)->state->writer)
        writer->set_leaky(settings.leaky == Leaky::kDownstream);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec* spec) {
  const Settings& settings = self_of(object)->state->settings;
  SettingsLock lock(object);
  switch (id) {
    case kPropLocation:
      g_value_set_string(value, settings.location ? settings.location->c_str() : nullptr);
      break;
    case kPropAppend:
      g_value_set_boolean(value, settings.append);
      break;
    case kPropSource:
      g_value_set_string(value, settings.source ? settings.source->c_str() : nullptr);
      break;
    case kPropPostMessages:
      g_value_set_boolean(value, settings.post_messages);
      break;
    case kPropLeaky:
      g_value_set_enum(value, static_cast<int>(settings.leaky));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

void finalize(GObject* object) {
  delete self_of(object)->state;
  G_OBJECT_CLASS(gst_cuface_publish_parent_class)->finalize(object);
}

}  // namespace

static void gst_cuface_publish_init(GstCufacePublish* self) { self->state = new PublishState; }

static void gst_cuface_publish_class_init(GstCufacePublishClass* klass) {
  auto* object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = set_property;
  object_class->get_property = get_property;
  object_class->finalize = finalize;

  const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
  const auto ready = static_cast<GParamFlags>(flags | GST_PARAM_MUTABLE_READY);
  const auto playing = static_cast<GParamFlags>(flags | GST_PARAM_MUTABLE_PLAYING);
  g_object_class_install_property(
      object_class, kPropLocation,
      g_param_spec_string("location", "Location",
                          "File for one JSON object a frame; - is standard output. Required unless "
                          "post-messages is set.",
                          nullptr, ready));
  g_object_class_install_property(
      object_class, kPropAppend,
      g_param_spec_boolean("append", "Append",
                           "Keeps what the file holds and writes behind it. Set it where a restart "
                           "must not lose earlier lines.",
                           FALSE, ready));
  g_object_class_install_property(
      object_class, kPropSource,
      g_param_spec_string("source", "Source",
                          "Name put into each line. Set it where several cameras write.", nullptr,
                          playing));
  g_object_class_install_property(
      object_class, kPropPostMessages,
      g_param_spec_boolean("post-messages", "Post messages",
                           "Posts an element message cuface-faces for each frame. Set it in "
                           "applications that read faces from the bus.",
                           FALSE, playing));
  g_object_class_install_property(
      object_class, kPropLeaky,
      g_param_spec_enum("leaky", "Leaky",
                        "What happens when the reader of location is too slow. Set downstream "
                        "where live video must not be held back.",
                        leaky_type(), static_cast<int>(Leaky::kNo), playing));
  gst_type_mark_as_plugin_api(leaky_type(), static_cast<GstPluginAPIFlags>(0));

  auto* element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(element_class, "Face publisher", "Filter/Analyzer/Video",
                                        "Writes the faces of each frame as a line of JSON",
                                        "The gst-cuface project");
  cuface::gst::add_pad_templates(element_class, cuface::gst::CudaUse::kPasses);
  element_class->change_state = change_state;

  auto* trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  trans_class->start = start;
  trans_class->stop = stop;
  trans_class->transform_ip = transform_ip;
  trans_class->sink_event = sink_event;

  GST_CUFACE_FILTER_CLASS(klass)->process = process;
  GST_CUFACE_FILTER_CLASS(klass)->counts = cuface::gst::kCountsLines;
}
