// The public functions of edges.
#include <bit>

#include "gst/meta/edges.h"
#include "gst/meta/serialise.h"
#include "gst/meta/snapshot.h"
#include "gst/meta/view.h"

static_assert(std::endian::native == std::endian::little, "rows of words are handed out as bytes");

namespace {
constexpr const char* kKind = "edge";
}

struct _GstCufaceEdgeMeta {
  cuface::gst::ViewMeta view;
};

struct _GstCufaceEdges : cuface::gst::Snapshot<cuface::Edges> {
  using Snapshot::Snapshot;
  const cuface::Edges& edges() const { return *value(); }
};

GType gst_cuface_edge_meta_api_get_type() {
  static const GType type = [] {
    cuface::gst::init_meta_log();
    return cuface::gst::register_view("GstCuFaceEdgeMetaAPI", "GstCufaceEdgeMeta",
                                      cuface::gst::wire_for<cuface::Edges>());
  }();
  return type;
}

G_DEFINE_BOXED_TYPE(GstCufaceEdges, gst_cuface_edges, gst_cuface_edges_ref, gst_cuface_edges_unref)

GstCufaceEdgeMeta* gst_cuface_buffer_get_edge_meta(GstBuffer* buffer) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);
  return reinterpret_cast<GstCufaceEdgeMeta*>(
      gst_buffer_get_meta(buffer, gst_cuface_edge_meta_api_get_type()));
}

GstCufaceEdges* gst_cuface_edge_meta_get_edges(GstCufaceEdgeMeta* meta) {
  g_return_val_if_fail(meta, nullptr);
  auto edges = cuface::gst::fitting_result<cuface::Edges>(meta->view.buffer, kKind);
  cuface::EdgesRef read;  // whoever waits does it here
  if (!cuface::gst::read_logged(edges, kKind, read) || !read) return nullptr;
  return new GstCufaceEdges(std::move(read));
}

GstCufaceEdges* gst_cuface_edges_ref(GstCufaceEdges* edges) {
  g_return_val_if_fail(edges, nullptr);
  edges->ref();
  return edges;
}

void gst_cuface_edges_unref(GstCufaceEdges* edges) {
  g_return_if_fail(edges);
  if (edges->unref()) delete edges;
}

guint gst_cuface_edges_get_width(const GstCufaceEdges* edges) {
  g_return_val_if_fail(edges, 0);
  return static_cast<guint>(edges->edges().width());
}

guint gst_cuface_edges_get_height(const GstCufaceEdges* edges) {
  g_return_val_if_fail(edges, 0);
  return static_cast<guint>(edges->edges().height());
}

gboolean gst_cuface_edges_get_pixel(const GstCufaceEdges* edges, guint x, guint y) {
  g_return_val_if_fail(edges && x < gst_cuface_edges_get_width(edges), FALSE);
  gsize length = 0;
  const guint8* row = gst_cuface_edges_get_row(edges, y, &length);
  return row && (row[x / 8] >> (x % 8) & 1);
}

const guint8* gst_cuface_edges_get_row(const GstCufaceEdges* edges, guint y, gsize* length) {
  if (length) *length = 0;
  g_return_val_if_fail(edges && length, nullptr);
  const cuface::Edges& known = edges->edges();
  g_return_val_if_fail(y < static_cast<guint>(known.height()), nullptr);
  *length = static_cast<gsize>(known.width() + 7) / 8;
  return reinterpret_cast<const guint8*>(known.bits.view().row(static_cast<int>(y)));
}
