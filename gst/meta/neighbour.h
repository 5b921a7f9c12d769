// The element on the other side of a link, through the walls of bins.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <string>
#include <string_view>

namespace cuface::gst {

struct UnrefObject {
  void operator()(gpointer object) const { gst_object_unref(object); }
};
/// Owns one reference.
template <class T>
using Ref = std::unique_ptr<T, UnrefObject>;

/// The element that gets what a source pad pushes, or that a sink pad gets its data from; null
/// where nothing is linked.
inline Ref<GstElement> neighbour(GstPad* of) {
  Ref<GstPad> pad(gst_pad_get_peer(of));
  while (pad) {
    if (GST_IS_GHOST_PAD(pad.get())) {  // into a bin
      pad.reset(gst_ghost_pad_get_target(GST_GHOST_PAD(pad.get())));
      continue;
    }
    Ref<GstObject> parent(gst_object_get_parent(GST_OBJECT_CAST(pad.get())));
    if (!parent) return nullptr;
    if (GST_IS_ELEMENT(parent.get())) return Ref<GstElement>(GST_ELEMENT(parent.release()));
    if (!GST_IS_PAD(parent.get())) return nullptr;
    pad.reset(gst_pad_get_peer(GST_PAD(parent.get())));  // out of a bin
  }
  return nullptr;
}

/// The type of an element as gst-launch names it; "" where no factory made it.
inline std::string_view factory_name(GstElement* element) {
  GstElementFactory* factory = gst_element_get_factory(element);
  return factory ? GST_OBJECT_NAME(factory) : "";
}

/// An element as a warning names it.
inline std::string name_and_type(GstElement* element) {
  return std::string(GST_OBJECT_NAME(element)) + " (" + std::string(factory_name(element)) + ")";
}

}  // namespace cuface::gst
