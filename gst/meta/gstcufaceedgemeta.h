/* GstCufaceEdgeMeta: the edges that cuedgedetect found in a video frame.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GST_CUFACE_EDGE_META_H
#define GST_CUFACE_EDGE_META_H

#include "gstcufacemeta.h"

G_BEGIN_DECLS

/**
 * GstCufaceEdgeMeta:
 *
 * The edges of one frame. Opaque; belongs to its buffer.
 */
typedef struct _GstCufaceEdgeMeta GstCufaceEdgeMeta;

/**
 * GstCufaceEdges:
 *
 * An immutable snapshot of the edges of one frame. It outlives the buffer and may be used from any
 * thread.
 */
typedef struct _GstCufaceEdges GstCufaceEdges;

#define GST_TYPE_CUFACE_EDGES (gst_cuface_edges_get_type())
/* registered as "GstCuFaceEdgeMetaAPI" */
#define GST_CUFACE_EDGE_META_API_TYPE (gst_cuface_edge_meta_api_get_type())

#ifndef __GI_SCANNER__ /* which takes GstCuFaceEdgeMetaAPI for a type of namespace Gst */
GST_CUFACE_API GType gst_cuface_edge_meta_api_get_type(void);
#endif

/**
 * gst_cuface_buffer_get_edge_meta:
 * @buffer: a #GstBuffer
 *
 * Returns: (transfer none) (nullable): the buffer's edge meta, or %NULL when no cuedgedetect has
 *     seen the buffer
 */
GST_CUFACE_API GstCufaceEdgeMeta* gst_cuface_buffer_get_edge_meta(GstBuffer* buffer);

/**
 * gst_cuface_edge_meta_get_edges:
 * @meta: a #GstCufaceEdgeMeta
 *
 * Returns: (transfer full) (nullable): a snapshot of the newest result; %NULL when an element
 *     moved pixels since and did not say where to (a warning is logged once), or when the edges
 *     cannot be read from a GPU (an error is logged)
 */
GST_CUFACE_API GstCufaceEdges* gst_cuface_edge_meta_get_edges(GstCufaceEdgeMeta* meta);

GST_CUFACE_API GType gst_cuface_edges_get_type(void);

/**
 * gst_cuface_edges_ref:
 * @edges: a #GstCufaceEdges
 *
 * Returns: (transfer full): @edges
 */
GST_CUFACE_API GstCufaceEdges* gst_cuface_edges_ref(GstCufaceEdges* edges);

/**
 * gst_cuface_edges_unref:
 * @edges: (transfer full): a #GstCufaceEdges
 */
GST_CUFACE_API void gst_cuface_edges_unref(GstCufaceEdges* edges);

/**
 * gst_cuface_edges_get_width:
 * @edges: a #GstCufaceEdges
 *
 * Returns: the width of the picture that the edges were found in; 0 behind a crop rectangle
 */
GST_CUFACE_API guint gst_cuface_edges_get_width(const GstCufaceEdges* edges);

/**
 * gst_cuface_edges_get_height:
 * @edges: a #GstCufaceEdges
 *
 * Returns: the height of that picture
 */
GST_CUFACE_API guint gst_cuface_edges_get_height(const GstCufaceEdges* edges);

/**
 * gst_cuface_edges_get_pixel:
 * @edges: a #GstCufaceEdges
 * @x: which column, below gst_cuface_edges_get_width()
 * @y: which row, below gst_cuface_edges_get_height()
 *
 * Returns: whether the pixel is of an edge
 */
GST_CUFACE_API gboolean gst_cuface_edges_get_pixel(const GstCufaceEdges* edges, guint x, guint y);

/**
 * gst_cuface_edges_get_row:
 * @edges: a #GstCufaceEdges
 * @y: which row, below gst_cuface_edges_get_height()
 * @length: (out): how many bytes the row has
 *
 * Returns: (array length=length) (transfer none): a bit a pixel: that of column x is bit x % 8 of
 *     byte x / 8. Bits beyond the width are 0.
 */
GST_CUFACE_API const guint8* gst_cuface_edges_get_row(const GstCufaceEdges* edges, guint y,
                                                      gsize* length);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(GstCufaceEdges, gst_cuface_edges_unref)

G_END_DECLS

#endif /* GST_CUFACE_EDGE_META_H */
