// cuface2json: what was found, as buffers of JSON in place of the video.
#include <memory>
#include <string>
#include <utility>

#include "gst/base/errors.h"
#include "gst/base/readyqueue.h"
#include "gst/faces/elements.h"
#include "gst/faces/faceelement.h"
#include "gst/faces/linemaker.h"
#include "kernels/common/try.h"

GST_DEBUG_CATEGORY_STATIC(cuface_json_debug);
#define GST_CAT_DEFAULT cuface_json_debug

namespace cuface::gst {
namespace {

struct Settings : FaceSettings {
  std::string source;
};

/// A line, and what else its buffer has of the frame.
struct Waiting {
  Line line;
  GstClockTime duration;
  bool is_ready() const { return line.is_ready(); }
};

class Face2Json final : public FaceElementWith<Settings> {
 public:
  explicit Face2Json(GstCufaceFilter* filter) : FaceElementWith(filter), lines_(element()) {}

  Status load() override {
    lines_.start();
    return {};
  }

  void sink_event(GstEvent* event) override {
    // Behind an event come no lines of frames before it.
    if (!GST_EVENT_IS_SERIALIZED(event) || GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) return;
    const Status read = waiting_.drain([this](const Waiting& next) { return push(next); });
    if (!read.ok()) post_error(element(), read);
  }

  /// The frame itself goes no further.
  GstFlowReturn flow() const override {
    return flow_ == GST_FLOW_OK ? GST_BASE_TRANSFORM_FLOW_DROPPED : flow_;
  }

 protected:
  void reset_faces(Reset) override {
    waiting_.clear();
    flow_ = GST_FLOW_OK;
  }

  Status process_faces(Frame& frame) override {
    Line line = lines_.next(frame, segment(), known_faces(frame), before().positions,
                            copy_settings().source);
    return waiting_.push({std::move(line), GST_BUFFER_DURATION(frame.buffer())},
                         [this](const Waiting& next) { return push(next); });
  }

 private:
  Status push(const Waiting& next) {
    CUFACE_TAKE(text, to_json(next.line));
    auto* owned = new std::string(std::move(text));
    GstBuffer* buffer = gst_buffer_new_wrapped_full(
        GST_MEMORY_FLAG_READONLY, owned->data(), owned->size(), 0, owned->size(), owned,
        [](gpointer mine) { delete static_cast<std::string*>(mine); });
    GST_BUFFER_PTS(buffer) = next.line.time.timestamp;
    GST_BUFFER_DURATION(buffer) = next.duration;
    GST_BUFFER_OFFSET(buffer) = next.line.frame;
    flow_ = gst_pad_push(src_pad(), buffer);
    return {};
  }

  // The streaming thread's.
  LineMaker lines_;
  ReadyQueue<Waiting> waiting_;
  GstFlowReturn flow_ = GST_FLOW_OK;
};

std::vector<Setting> json_settings() {
  return {
      text("source", "Source",
           "Name of the source, written into each line. Set it where several cameras write.",
           CUFACE_FIELD(Settings, source)),
  };
}

}  // namespace

constexpr ElementInfo kFace2Json{
    .name = "cuface2json",
    .debug = &cuface_json_debug,
    .type = "GstCuface2Json",
    .title = "Faces to JSON",
    .category = "Converter/Video",
    .description =
        "Replaces each frame by a JSON buffer with the results of the elements before it",
    .cuda_use = CudaUse::kPasses,
    .make = make_element<Face2Json>,
    .settings = json_settings,
    .makes = "application/x-json",
};

}  // namespace cuface::gst
