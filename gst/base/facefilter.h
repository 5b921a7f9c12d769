// GstCufaceFilter: what all our elements have in common. In place, pixels untouched.
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include "gst/base/device.h"
#include "gst/base/frame.h"
#include "kernels/common/backend.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"

G_BEGIN_DECLS
#define GST_TYPE_CUFACE_FILTER (gst_cuface_filter_get_type())
#define GST_CUFACE_FILTER(obj) \
  (G_TYPE_CHECK_INSTANCE_CAST((obj), GST_TYPE_CUFACE_FILTER, GstCufaceFilter))
#define GST_IS_CUFACE_FILTER(obj) (G_TYPE_CHECK_INSTANCE_TYPE((obj), GST_TYPE_CUFACE_FILTER))
#define GST_CUFACE_FILTER_CLASS(klass) \
  (G_TYPE_CHECK_CLASS_CAST((klass), GST_TYPE_CUFACE_FILTER, GstCufaceFilterClass))
#define GST_CUFACE_FILTER_GET_CLASS(obj) \
  (G_TYPE_INSTANCE_GET_CLASS((obj), GST_TYPE_CUFACE_FILTER, GstCufaceFilterClass))

GType gst_cuface_filter_get_type(void);
G_END_DECLS

namespace cuface::gst {

struct FilterState;

/// Why an element forgets what it knew of earlier frames.
enum class Reset {
  kStart,  ///< READY to PAUSED
  kFlush,
  kCaps,  ///< the next frame has another size or layout
};

/// What an element counts of its frames, beside how many there are and the time they take: fields
/// of `stats`.
enum Counted : guint {
  kCountsFaces = 1,     ///< faces
  kCountsSearches = 2,  ///< searches, skipped-searches, overflows
  kCountsTracks = 4,    ///< lost-tracks
  kCountsLines = 8,     ///< dropped-lines
};

/// A mutex taken for as long as settings are copied or written, no longer.
class SettingsLock {
 public:
  explicit SettingsLock(gpointer element) : element_(GST_OBJECT_CAST(element)) {
    GST_OBJECT_LOCK(element_);
  }
  ~SettingsLock() { GST_OBJECT_UNLOCK(element_); }
  SettingsLock(const SettingsLock&) = delete;
  SettingsLock& operator=(const SettingsLock&) = delete;

 private:
  GstObject* element_;
};

}  // namespace cuface::gst

struct GstCufaceFilter {
  GstBaseTransform parent;
  cuface::gst::FilterState* state;
};

/// Everything but `process` is optional. All are called with the stream lock or before data flows,
/// one at a time. A Status that is not ok is posted as an error and ends the stream; but with
/// kCancelled, which is for work that stop_flag_of() has stopped, the frame is dropped in silence.
struct GstCufaceFilterClass {
  GstBaseTransformClass parent_class;

  /// READY to PAUSED: loads what the MUTABLE_READY properties name.
  cuface::Status (*load)(GstCufaceFilter* self);
  /// Validates and allocates for frames of this kind, on the processor backend_of() names: when
  /// caps have come (follows reset(kCaps)), on CUDA with the first frame after them.
  cuface::Status (*plan)(GstCufaceFilter* self, const GstVideoInfo& info);
  /// One frame.
  cuface::Status (*process)(GstCufaceFilter* self, cuface::gst::Frame& frame);
  /// Forgets earlier frames.
  void (*reset)(GstCufaceFilter* self, cuface::gst::Reset why);
  /// PAUSED to READY, or before another plan(): frees what plan() made.
  void (*unplan)(GstCufaceFilter* self);
  /// READY to NULL: frees what load() made.
  void (*unload)(GstCufaceFilter* self);

  /// The element writes into the frames it passes on, so luma computed before it is not the luma
  /// behind it.
  gboolean changes_pixels;
  guint counts;  ///< cuface::gst::Counted, any of them
  cuface::gst::CudaUse cuda_use;
};

namespace cuface::gst {

/// The caps of both pads; every element's class_init calls it, after its metadata. Frames in CUDA
/// memory come first, and are not offered without a driver and a GPU.
void add_pad_templates(GstElementClass* element_class, CudaUse cuda_use);

/// The processor that works on the frames: known from plan() on.
Backend backend_of(GstCufaceFilter* self);

/// Whether the source is live. The streaming thread's.
bool is_live(GstCufaceFilter* self);

/// Up while the stream must get free: in a flush, and on the way to READY. Work that may take
/// longer than 20 ms looks at it in between. Lowered while none of the element's functions runs.
StopFlag& stop_flag_of(GstCufaceFilter* self);

/// What the element has counted since the start, on the frames that are done, on either processor.
DeviceCounts counts_of(GstCufaceFilter* self);

/// What of it the GPU has counted; zeros without one.
DeviceCounts device_counts(GstCufaceFilter* self);

}  // namespace cuface::gst
