// GstCufaceFilter: the GObject of all our elements. In place: it passes each buffer on with what
// the element has found on it, and changes pixels only where Frame::change_pixels() says so.
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>

#include <vector>

#include "gst/base/element.h"
#include "gst/base/settings.h"

G_BEGIN_DECLS
/// cufacefilter, of what all elements have in common; it is there once the type is.
GST_DEBUG_CATEGORY_EXTERN(cuface_filter_debug);

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
}

struct GstCufaceFilter {
  GstBaseTransform parent;
  cuface::gst::FilterState* state;
};

struct GstCufaceFilterClass {
  GstBaseTransformClass parent_class;
  const cuface::gst::ElementInfo* info;               ///< of element_type()
  const std::vector<cuface::gst::Setting>* settings;  ///< the element's own
};

namespace cuface::gst {

inline const ElementInfo& info_of(GstCufaceFilter* self) {
  return *GST_CUFACE_FILTER_GET_CLASS(self)->info;
}

/// The caps of both pads. Frames in CUDA memory come first, and are not offered without a driver
/// and a GPU.
void add_pad_templates(GstElementClass* element_class, const ElementInfo& info);
/// The template caps of a pad, restricted to the filter, which may be null.
GstCaps* template_caps(GstPad* pad, GstCaps* filter);

}  // namespace cuface::gst
