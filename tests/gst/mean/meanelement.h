// The kind of result, and the element.
#pragma once

#include "gst/base/element.h"
#include "gst/meta/framemeta.h"
#include "gst/meta/view.h"
#include "tests/gst/mean/mean.h"

template <>
struct cuface::gst::ResultKind<cuface::Mean> {
  static GType type() {
    static const GType type = register_view("CufaceMeanMetaAPI", "CufaceMeanMeta");
    return type;
  }
};
extern const cuface::gst::ElementInfo kMeanElement;
