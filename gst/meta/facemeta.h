// Faces as a kind of result, for our own elements (not installed). Their public side is
// gstcufacemeta.h.
#pragma once

#include <gst/gst.h>

#include "gst/meta/framemeta.h"
#include "gst/meta/gstcufacemeta.h"
#include "kernels/faces/faces.h"

namespace cuface::gst {

template <>
struct ResultKind<FaceList> {
  static GType type() { return gst_cuface_meta_api_get_type(); }
  static FaceListRef scaled(FaceListRef faces, int width, int height);
  /// Faces outside are left out.
  static FaceListRef cropped(const FaceList& faces, const PictureMap& map);
};

using FaceResult = FrameResult<FaceList>;
using FoundFaces = FoundResult<FaceList>;

}  // namespace cuface::gst
