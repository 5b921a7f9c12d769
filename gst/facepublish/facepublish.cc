#include "gst/facepublish/facepublish.h"

#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gst/base/errors.h"
#include "gst/base/segmenttimes.h"
#include "gst/facepublish/line_writer.h"
#include "gst/faces/counters.h"
#include "gst/faces/faceelement.h"

// Also of line_writer.cc.
GST_DEBUG_CATEGORY(cuface_publish_debug);
#define GST_CAT_DEFAULT cuface_publish_debug

namespace cuface::gst {
namespace {

/// Named and numbered as GStreamer's queue does, which has one more.
enum class Leaky { kNo = 0, kDownstream = 2 };

struct Settings : FaceSettings {
  std::string location, source;
  bool append = false, post_messages = false;
  Leaky leaky = Leaky::kNo;
};

bool is_out_of_space(int code) { return code == ENOSPC || code == EDQUOT || code == EFBIG; }

GstResourceError resource_error(int code) {
  if (code == 0) return GST_RESOURCE_ERROR_READ;
  return is_out_of_space(code) ? GST_RESOURCE_ERROR_NO_SPACE_LEFT : GST_RESOURCE_ERROR_WRITE;
}

std::optional<std::uint64_t> valid(GstClockTime time) {
  return GST_CLOCK_TIME_IS_VALID(time) ? std::optional(time) : std::nullopt;
}

class FacePublish final : public FaceElementWith<Settings> {
 public:
  using FaceElementWith::FaceElementWith;

  Status load() override {
    const Settings settings = copy_settings();
    if (settings.location.empty() && !settings.post_messages) {
      post_resource_error(GST_RESOURCE_ERROR_NOT_FOUND,
                          {0,
                           "No file to write faces to: set location to a path or to - for standard "
                           "output, or set post-messages=true."});
      return cancelled();
    }
    failed_ = false;
    frames_ = 0;
    warned_no_meta_ = warned_dropped_ = false;
    if (settings.location.empty()) return {};
    WriteError error;
    auto writer = LineWriter::open(
        settings.location, settings.append,
        [this](const WriteError& failure) { on_write_error(failure); }, error);
    if (!writer) {
      post_resource_error(is_out_of_space(error.code) ? GST_RESOURCE_ERROR_NO_SPACE_LEFT
                                                      : GST_RESOURCE_ERROR_OPEN_WRITE,
                          error);
      return cancelled();
    }
    SettingsLock lock(filter());
    writer_ = std::move(writer);
    settings_changed();
    return {};
  }

  void close() override {
    std::unique_ptr<LineWriter> writer;
    {
      SettingsLock lock(filter());
      writer = std::move(writer_);
    }
  }  // writes what waits, without the lock

  void change_state(GstStateChange change) override {
    // The streaming thread must not wait for a stalled reader while it is being stopped, and what
    // the reader still gets is counted from here.
    if (change != GST_STATE_CHANGE_PAUSED_TO_READY) return;
    SettingsLock lock(filter());
    if (writer_) writer_->stop();
  }

  void sink_event(GstEvent* event) override {
    switch (GST_EVENT_TYPE(event)) {
      case GST_EVENT_EOS:  // who waits for it finds all lines in the file
        if (writer_) writer_->drain();
        break;
      case GST_EVENT_FLUSH_START:
        release_writer(true);
        break;
      case GST_EVENT_FLUSH_STOP:
        release_writer(false);
        if (writer_) writer_->drain(LineWriter::kFlushPatience);
        break;
      default:
        break;
    }
  }

  bool has_failed() const override { return failed_; }
  void settings_changed() override {
    if (writer_) writer_->set_leaky(settings_.leaky == Leaky::kDownstream);
  }

 protected:
  Status process_faces(Frame& frame) override {
    const Settings settings = copy_settings();
    FaceResult faces = known_faces(frame);
    if (!faces && before().positions == Positions::kNone && !std::exchange(warned_no_meta_, true))
      post_warning(element(), GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
                   "The video brings no faces: cufacedetect (then culktrack, cufacelandmark) is "
                   "missing before cufacepublish. Lines without faces are written.");
    Line line{frames_++,
              valid(frame.pts()),
              valid(running_time_of(segment(), frame.pts())),
              settings.source.empty() ? std::nullopt : std::optional(settings.source),
              frame.width(),
              frame.height(),
              std::move(faces)};
    if (settings.post_messages) post_faces(line);
    // After an error the line is dropped here and the stream ends.
    if (!writer_) return {};
    frame.count(kDroppedLines, writer_->push(std::move(line)));
    if (frame.counts()[kDroppedLines] > 0) warn_dropped(settings);
    return {};
  }

 private:
  void post_resource_error(GstResourceError code, const WriteError& error) {
    GST_DEBUG_OBJECT(element(), "errno %d", error.code);
    post_error(element(), GST_RESOURCE_ERROR, code, error.text, error.made_at);
  }

  /// On the writer's thread; the streaming thread sees it at the next frame.
  void on_write_error(const WriteError& error) {
    failed_ = true;
    post_resource_error(resource_error(error.code), error);
  }

  void release_writer(bool on) {
    SettingsLock lock(filter());
    if (writer_) writer_->release(on);
  }

  void post_faces(const Line& line) {
    GstCufaceFaces* faces = make_faces_snapshot(line.faces);
    GstStructure* structure = gst_structure_new(
        "cuface-faces", "frame", G_TYPE_UINT64, line.frame, "timestamp", G_TYPE_UINT64,
        line.timestamp.value_or(GST_CLOCK_TIME_NONE), "running-time", G_TYPE_UINT64,
        line.running_time.value_or(GST_CLOCK_TIME_NONE), "source", G_TYPE_STRING,
        line.source ? line.source->c_str() : nullptr, "width", G_TYPE_INT, line.width, "height",
        G_TYPE_INT, line.height, "faces", GST_TYPE_CUFACE_FACES, faces, nullptr);
    gst_cuface_faces_unref(faces);
    gst_element_post_message(element(),
                             gst_message_new_element(GST_OBJECT_CAST(element()), structure));
  }

  void warn_dropped(const Settings& settings) {
    if (std::exchange(warned_dropped_, true)) return;
    post_warning(element(), GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE,
                 "Whoever reads " + shown(settings.location) +
                     " takes the lines more slowly than frames come: the oldest are dropped (stats "
                     "counts them in dropped-lines). Let it read faster; leaky=no holds the video "
                     "back instead.");
  }

  std::unique_ptr<LineWriter> writer_;  // under SettingsLock: flushes come from other threads
  std::atomic<bool> failed_{false};
  // The streaming thread's.
  std::uint64_t frames_ = 0;
  bool warned_no_meta_ = false, warned_dropped_ = false;
};

GType leaky_type() {
  return enum_type(
      "GstCufacePublishLeaky",
      {{static_cast<int>(Leaky::kNo), "The video waits until there is room", "no"},
       {static_cast<int>(Leaky::kDownstream), "The oldest lines are dropped", "downstream"}});
}

#define FIELD(member) CUFACE_FIELD(Settings, member)

std::vector<Setting> publish_settings() {
  return {
      standard_metas_setting<Settings>(),
      text("location", "Location",
           "File for one JSON object a frame; - is standard output. Required unless post-messages "
           "is set.",
           FIELD(location), kReady),
      boolean("append", "Append",
              "Keeps what the file holds and writes behind it. Set it where a restart must not "
              "lose earlier lines.",
              FIELD(append), kReady),
      text("source", "Source", "Name put into each line. Set it where several cameras write.",
           FIELD(source)),
      boolean("post-messages", "Post messages",
              "Posts an element message cuface-faces for each frame. Set it in applications that "
              "read faces from the bus.",
              FIELD(post_messages)),
      choice("leaky", "Leaky",
             "What happens when the reader of location is too slow. Set downstream where live "
             "video must not be held back.",
             FIELD(leaky), leaky_type()),
  };
}

constexpr StatsField kStats[] = {{"dropped-lines", kDroppedLines}};

constexpr ElementInfo kInfo{
    .type = "GstCufacePublish",
    .title = "Face publisher",
    .category = "Filter/Analyzer/Video",
    .description = "Writes the faces of each frame as a line of JSON",
    .cuda_use = CudaUse::kPasses,
    .make = make_element<FacePublish>,
    .settings = publish_settings,
    .stats = kStats,
};

}  // namespace
}  // namespace cuface::gst

GType gst_cuface_publish_get_type() {
  static const GType type = [] {
    GST_DEBUG_CATEGORY_INIT(cuface_publish_debug, "cufacepublish", 0, "face publisher");
    return cuface::gst::register_element(cuface::gst::kInfo);
  }();
  return type;
}
