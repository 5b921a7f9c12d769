/* GstCufaceMotionMeta: what cumotiondetect saw move in a video frame.
 *
 * Boxes are normalised to the frame: 0 is its left or top edge, 1 its right or bottom edge.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GST_CUFACE_MOTION_META_H
#define GST_CUFACE_MOTION_META_H

#include "gstcufacemeta.h"

G_BEGIN_DECLS

/**
 * GstCufaceMotionMeta:
 *
 * The motion of one frame. Opaque; belongs to its buffer.
 */
typedef struct _GstCufaceMotionMeta GstCufaceMotionMeta;

/**
 * GstCufaceMotion:
 *
 * An immutable snapshot of the motion of one frame. It outlives the buffer and may be used from any
 * thread.
 */
typedef struct _GstCufaceMotion GstCufaceMotion;

#define GST_TYPE_CUFACE_MOTION (gst_cuface_motion_get_type())
/* registered as "GstCuFaceMotionMetaAPI" */
#define GST_CUFACE_MOTION_META_API_TYPE (gst_cuface_motion_meta_api_get_type())

#ifndef __GI_SCANNER__ /* which takes GstCuFaceMotionMetaAPI for a type of namespace Gst */
GST_CUFACE_API GType gst_cuface_motion_meta_api_get_type(void);
#endif

/**
 * gst_cuface_buffer_get_motion_meta:
 * @buffer: a #GstBuffer
 *
 * Returns: (transfer none) (nullable): the buffer's motion meta, or %NULL when no cumotiondetect
 *     has seen the buffer
 */
GST_CUFACE_API GstCufaceMotionMeta* gst_cuface_buffer_get_motion_meta(GstBuffer* buffer);

/**
 * gst_cuface_motion_meta_get_motion:
 * @meta: a #GstCufaceMotionMeta
 *
 * Returns: (transfer full) (nullable): a snapshot of the newest result; %NULL when an element
 *     moved pixels since and did not say where to (a warning is logged once), or when the motion
 *     cannot be read from a GPU (an error is logged)
 */
GST_CUFACE_API GstCufaceMotion* gst_cuface_motion_meta_get_motion(GstCufaceMotionMeta* meta);

GST_CUFACE_API GType gst_cuface_motion_get_type(void);

/**
 * gst_cuface_motion_ref:
 * @motion: a #GstCufaceMotion
 *
 * Returns: (transfer full): @motion
 */
GST_CUFACE_API GstCufaceMotion* gst_cuface_motion_ref(GstCufaceMotion* motion);

/**
 * gst_cuface_motion_unref:
 * @motion: (transfer full): a #GstCufaceMotion
 */
GST_CUFACE_API void gst_cuface_motion_unref(GstCufaceMotion* motion);

/**
 * gst_cuface_motion_get_compared:
 * @motion: a #GstCufaceMotion
 *
 * Returns: whether the frame was compared with earlier ones. %FALSE on the first frames, and behind
 *     a jump in time: nothing is known then, and nothing moves.
 */
GST_CUFACE_API gboolean gst_cuface_motion_get_compared(const GstCufaceMotion* motion);

/**
 * gst_cuface_motion_get_global_change:
 * @motion: a #GstCufaceMotion
 *
 * Returns: whether the picture changed as a whole, as where light is switched; nothing moves then
 */
GST_CUFACE_API gboolean gst_cuface_motion_get_global_change(const GstCufaceMotion* motion);

/**
 * gst_cuface_motion_get_in_event:
 * @motion: a #GstCufaceMotion
 *
 * Returns: whether the frame is within an event: between the messages of its begin and its end
 */
GST_CUFACE_API gboolean gst_cuface_motion_get_in_event(const GstCufaceMotion* motion);

/**
 * gst_cuface_motion_get_share:
 * @motion: a #GstCufaceMotion
 *
 * Returns: the share of the pixels that changed, 0 to 1; pixels that are ignored count nowhere
 */
GST_CUFACE_API gfloat gst_cuface_motion_get_share(const GstCufaceMotion* motion);

/**
 * gst_cuface_motion_get_columns:
 * @motion: a #GstCufaceMotion
 *
 * Returns: columns of cells; 0 where nothing was compared, or a crop rectangle was set since
 */
GST_CUFACE_API guint gst_cuface_motion_get_columns(const GstCufaceMotion* motion);

/**
 * gst_cuface_motion_get_rows:
 * @motion: a #GstCufaceMotion
 *
 * Returns: rows of cells
 */
GST_CUFACE_API guint gst_cuface_motion_get_rows(const GstCufaceMotion* motion);

/**
 * gst_cuface_motion_get_n_moving:
 * @motion: a #GstCufaceMotion
 *
 * Returns: the number of cells that move
 */
GST_CUFACE_API guint gst_cuface_motion_get_n_moving(const GstCufaceMotion* motion);

/**
 * gst_cuface_motion_get_cell:
 * @motion: a #GstCufaceMotion
 * @column: which column, below gst_cuface_motion_get_columns()
 * @row: which row, below gst_cuface_motion_get_rows()
 * @share: (out) (optional): the share of its pixels that changed, 0 to 1
 *
 * Returns: whether the cell moves
 */
GST_CUFACE_API gboolean gst_cuface_motion_get_cell(const GstCufaceMotion* motion, guint column,
                                                   guint row, gfloat* share);

/**
 * gst_cuface_motion_get_n_boxes:
 * @motion: a #GstCufaceMotion
 *
 * Returns: the number of boxes, each around cells that move and touch
 */
GST_CUFACE_API guint gst_cuface_motion_get_n_boxes(const GstCufaceMotion* motion);

/**
 * gst_cuface_motion_get_box:
 * @motion: a #GstCufaceMotion
 * @index: which box, below gst_cuface_motion_get_n_boxes()
 * @x: (out) (optional): left edge
 * @y: (out) (optional): top edge
 * @width: (out) (optional): width
 * @height: (out) (optional): height
 *
 * The box, normalised to the frame.
 *
 * Returns: the box's lasting id, from 1
 */
GST_CUFACE_API guint64 gst_cuface_motion_get_box(const GstCufaceMotion* motion, guint index,
                                                 gfloat* x, gfloat* y, gfloat* width,
                                                 gfloat* height);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(GstCufaceMotion, gst_cuface_motion_unref)

G_END_DECLS

#endif /* GST_CUFACE_MOTION_META_H */
