// The one way from the plugin into its library: a table of functions on the face meta's private
// side. Not installed. The table passes C++ objects by pointer. This is safe because library and
// plugin come from one build, which the version verifies. docs/design/metadata.md tells why the
// table exists.
#pragma once

#include <gst/gst.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "gst/meta/edges.h"
#include "gst/meta/facemeta.h"
#include "gst/meta/keypoints.h"
#include "gst/meta/matches.h"
#include "gst/meta/motion.h"
#include "gst/meta/planar.h"
#include "gst/meta/view.h"

G_BEGIN_DECLS

/// The functions of framemeta.h and facemeta.h, for code that does not link the library's own
/// sources. Each function behaves like the one of its name there; an object that is passed by value
/// there is moved from here.
typedef struct _GstCufaceInternal {
  cuface::gst::FrameRecord* (*get_frame_record)(GstBuffer* buffer);
  cuface::gst::FrameRecord* (*ensure_frame_record)(GstBuffer* buffer);
  void (*append_any)(GstBuffer* buffer, GType kind, cuface::gst::AnyResult* result,
                     bool has_places);
  void (*place_any)(GstBuffer* buffer, GType kind, int width, int height,
                    cuface::gst::Placement* place);
} GstCufaceInternal;

/// The library's table, or null where `version` is not the library's own; `library` then names the
/// library's version in words. Both are static. From any thread.
GST_CUFACE_API const GstCufaceInternal* gst_cuface_get_internal(guint version,
                                                                const gchar** library);

G_END_DECLS

namespace cuface::gst {

/// The version of the table and of all that its pointers lead to. Other releases and other layouts
/// have other versions by themselves; where a function's meaning changes, count `kMeaning` up.
constexpr guint internal_version() {
  constexpr guint kMeaning = 3;
  guint version = kMeaning;
  const auto add = [&version](std::size_t value) {
    version = version * 31 + static_cast<guint>(value);
  };
  for (const char c : std::string_view(CUFACE_VERSION)) add(static_cast<unsigned char>(c));
  for (const std::size_t size :
       {sizeof(GstCufaceInternal), sizeof(FrameRecord), sizeof(FrameRecord::Entry),
        sizeof(Placement), sizeof(ViewMeta), sizeof(FaceList), sizeof(Face), sizeof(MotionMap),
        sizeof(MotionCell), sizeof(MotionRegion), sizeof(Edges), sizeof(FrameFeatures),
        sizeof(FrameMatches), sizeof(MatchedPicture), sizeof(PictureMatch), sizeof(FramePlanar),
        sizeof(PlanarObject)})
    add(size);
  return version;
}

/// Release and table, as a message names them: "0.1.0 (1234)".
inline std::string internal_version_text() {
  return CUFACE_VERSION " (" + std::to_string(internal_version()) + ")";
}

/// For the plugin: why it cannot use the library that it was loaded with; "" where the library is
/// of the plugin's own build. Ask before any function of framemeta.h is called.
std::string library_mismatch();

}  // namespace cuface::gst
