// cufacepublish: writes what was found, one JSON object a frame; the video passes untouched.
#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "gst/base/errors.h"
#include "gst/base/readyqueue.h"
#include "gst/facepublish/line_writer.h"
#include "gst/faces/counters.h"
#include "gst/faces/elements.h"
#include "gst/faces/faceelement.h"
#include "gst/faces/linemaker.h"
#include "kernels/common/try.h"

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

class FacePublish final : public FaceElementWith<Settings> {
 public:
  explicit FacePublish(GstCufaceFilter* filter) : FaceElementWith(filter), lines_(element()) {}

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
    lines_.start();
    warned_dropped_ = false;
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
        post_waiting();
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

  void reset_faces(Reset) override { messages_.clear(); }
  GstFlowReturn flow() const override { return failed_ ? GST_FLOW_ERROR : GST_FLOW_OK; }
  void settings_changed() override {
    if (writer_) writer_->set_leaky(settings_.leaky == Leaky::kDownstream);
  }

 protected:
  Status process_faces(Frame& frame) override {
    const Settings settings = copy_settings();
    Line line =
        lines_.next(frame, segment(), known_faces(frame), before().positions, settings.source);
    if (settings.post_messages)
      CUFACE_TRY(messages_.push(line, [this](const Line& ready) { return post(ready); }));
    else
      messages_.clear();
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

  Status post(const Line& line) {
    CUFACE_TAKE(message, to_message(line));
    post_message(element(), message);
    return {};
  }

  void post_waiting() {
    const Status status = messages_.drain([this](const Line& line) { return post(line); });
    if (!status.ok()) post_error(element(), status);
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
  ReadyQueue<Line> messages_;
  LineMaker lines_;
  bool warned_dropped_ = false;
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
           "File to write, one JSON object a frame; - is standard output. Required unless "
           "post-messages is set.",
           FIELD(location), kReady),
      boolean("append", "Append",
              "Appends to the file instead of replacing it. Set it where a restart must not lose "
              "earlier lines.",
              FIELD(append), kReady),
      text("source", "Source",
           "Name of the source, written into each line. Set it where several cameras write.",
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

}  // namespace

constexpr ElementInfo kFacePublish{
    .name = "cufacepublish",
    .debug = &cuface_publish_debug,
    .type = "GstCufacePublish",
    .title = "Face publisher",
    .category = "Filter/Analyzer/Video",
    .description = "Writes the results of the elements before it as a line of JSON a frame",
    .cuda_use = CudaUse::kPasses,
    .make = make_element<FacePublish>,
    .settings = publish_settings,
    .stats = kStats,
};

}  // namespace cuface::gst
