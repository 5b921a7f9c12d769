// An element of any kind adds two things to the base: a class derived from Element, and an
// ElementInfo for its registration. docs/guide/adding-an-element.md goes through one.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gst/base/device.h"
#include "gst/base/frame.h"
#include "gst/base/settings.h"
#include "kernels/common/backend.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/common/try.h"

struct GstCufaceFilter;

namespace cuface::gst {

/// Why an element forgets earlier frames.
enum class Reset {
  kStart,  ///< READY to PAUSED
  kFlush,
  kCaps,  ///< the next frame has another size or layout
};

/// The part of a GStreamer element that is its own. The base makes it with the GObject and calls
/// it; but for events, queries and changes of the state all functions are called with the stream
/// lock or before data flows, one at a time. A Status that is not ok is posted as an error and ends
/// the stream. With kCancelled nothing is posted: stop_flag() has stopped the work, and the frame
/// is dropped; or load() has told by itself why there is no start.
class Element {
 public:
  explicit Element(GstCufaceFilter* filter) : filter_(filter) {}
  virtual ~Element() = default;
  Element(const Element&) = delete;
  Element& operator=(const Element&) = delete;

  /// READY to PAUSED: loads and opens what the MUTABLE_READY properties name.
  virtual Status load() { return {}; }
  /// Validates and allocates for frames of this kind, on the processor of backend(): when caps have
  /// come (follows reset(kCaps)), on CUDA with the first frame after them.
  virtual Status plan(const GstVideoInfo&) { return {}; }
  /// One frame.
  virtual Status process(Frame& frame) = 0;
  /// Forgets earlier frames.
  virtual void reset(Reset) {}
  /// PAUSED to READY, before unplan(): closes what load() opened.
  virtual void close() {}
  /// PAUSED to READY, or before another plan(): frees what plan() made.
  virtual void unplan() {}
  /// READY to NULL: frees what load() made.
  virtual void unload() {}

  /// Each of these sees an event or query before the base does.
  virtual void sink_event(GstEvent*) {}
  /// True: the event was of use, even if nobody else handles it.
  virtual bool src_event(GstEvent*) { return false; }
  /// True: the query, which comes from downstream or upstream, is answered.
  virtual bool answer(GstPadDirection, GstQuery*) { return false; }
  virtual void change_state(GstStateChange) {}
  /// Whether it goes onto the GPU with the elements before it, which have left results of this
  /// frame there. Asked where the frame is in system memory and `backend` is auto.
  virtual bool follows_to_gpu(const Frame&) { return true; }
  /// The flow return that upstream gets for a processed frame. Not GST_FLOW_OK where another thread
  /// has posted an error, or where the frame goes no further.
  virtual GstFlowReturn flow() const { return GST_FLOW_OK; }

  /// The struct that ElementInfo::settings describes, and a notice that a setting has changed;
  /// under SettingsLock.
  virtual void* settings_address() { return nullptr; }
  virtual void settings_changed() {}

 protected:
  GstCufaceFilter* filter() const { return filter_; }
  GstElement* element() const { return reinterpret_cast<GstElement*>(filter_); }

  /// The processor that works on the frames: known from plan() on.
  Backend backend() const;
  bool in_cuda_memory() const;  ///< the frames are
  /// Whether the source is live. The streaming thread's.
  bool is_live() const;
  /// Up while the stream must get free: in a flush, and on the way to READY. Work that may take
  /// longer than 20 ms looks at it in between. Lowered while none of the functions above runs.
  StopFlag& stop_flag() const;
  /// The segment that frames are of.
  const GstSegment& segment() const;
  GstPad* src_pad() const;
  /// The counters since the start, for finished frames, on either processor.
  Counts counts() const;
  /// The GPU's part of the counters; zeros without a GPU.
  Counts device_counts() const;

 private:
  GstCufaceFilter* const filter_;
};

/// A field of `stats`.
struct StatsField {
  const char* name;
  int counter;  ///< Frame::count() and the kernels count there
};

/// Data that all elements of one kind have in common. Lives as long as the program.
struct ElementInfo {
  const char* name;  ///< in a pipeline, and of its lines in the debug log
  GstDebugCategory** debug = nullptr;
  const char* type;  ///< the name of the GType
  const char *title, *category, *description;
  CudaUse cuda_use;
  std::unique_ptr<Element> (*make)(GstCufaceFilter*);
  std::vector<Setting> (*settings)() = nullptr;
  std::span<const StatsField> stats = {};
  bool has_presets = false;
  /// The caps of the buffers that it pushes by itself; flow() drops the frames then. Null: frames
  /// pass through.
  const char* makes = nullptr;
};

/// The GType, registered with the first call.
GType element_type(const ElementInfo& info);

template <typename E>
std::unique_ptr<Element> make_element(GstCufaceFilter* filter) {
  return std::make_unique<E>(filter);
}

}  // namespace cuface::gst
