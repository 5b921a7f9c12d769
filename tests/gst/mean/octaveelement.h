// The kind of result, and the element.
#pragma once

#include "gst/base/element.h"
#include "gst/meta/framemeta.h"
#include "gst/meta/view.h"
#include "tests/gst/mean/octaves.h"

template <>
struct cuface::gst::ResultKind<cuface::Octaves> {
  static GType type() {
    static const GType type = register_view("CufaceOctavesMetaAPI", "CufaceOctavesMeta");
    return type;
  }
};
extern const cuface::gst::ElementInfo kOctaveElement;
