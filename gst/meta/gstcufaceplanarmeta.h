/* GstCufacePlanarMeta: the flat objects that cuplanartrack follows in a video frame.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GST_CUFACE_PLANAR_META_H
#define GST_CUFACE_PLANAR_META_H

#include "gstcufacemeta.h"

G_BEGIN_DECLS

/**
 * GstCufacePlanarMeta:
 *
 * The flat objects of one frame. Opaque; belongs to its buffer.
 */
typedef struct _GstCufacePlanarMeta GstCufacePlanarMeta;

/**
 * GstCufacePlanarObjects:
 *
 * An immutable snapshot of the flat objects of one frame. It outlives the buffer and may be used
 * from any thread.
 */
typedef struct _GstCufacePlanarObjects GstCufacePlanarObjects;

#define GST_TYPE_CUFACE_PLANAR_OBJECTS (gst_cuface_planar_objects_get_type())
/* registered as "GstCuFacePlanarMetaAPI" */
#define GST_CUFACE_PLANAR_META_API_TYPE (gst_cuface_planar_meta_api_get_type())

#ifndef __GI_SCANNER__ /* which takes GstCuFacePlanarMetaAPI for a type of namespace Gst */
GST_CUFACE_API GType gst_cuface_planar_meta_api_get_type(void);
#endif

/**
 * gst_cuface_buffer_get_planar_meta:
 * @buffer: a #GstBuffer
 *
 * Returns: (transfer none) (nullable): the buffer's planar meta, or %NULL when no cuplanartrack
 *     has seen the buffer
 */
GST_CUFACE_API GstCufacePlanarMeta* gst_cuface_buffer_get_planar_meta(GstBuffer* buffer);

/**
 * gst_cuface_planar_meta_get_objects:
 * @meta: a #GstCufacePlanarMeta
 *
 * Returns: (transfer full) (nullable): a snapshot of the newest result; %NULL when an element
 *     moved pixels since and did not say where to (a warning is logged once), or when the objects
 *     cannot be read from a GPU (an error is logged)
 */
GST_CUFACE_API GstCufacePlanarObjects* gst_cuface_planar_meta_get_objects(
    GstCufacePlanarMeta* meta);

GST_CUFACE_API GType gst_cuface_planar_objects_get_type(void);

/**
 * gst_cuface_planar_objects_ref:
 * @objects: a #GstCufacePlanarObjects
 *
 * Returns: (transfer full): @objects
 */
GST_CUFACE_API GstCufacePlanarObjects* gst_cuface_planar_objects_ref(
    GstCufacePlanarObjects* objects);

/**
 * gst_cuface_planar_objects_unref:
 * @objects: (transfer full): a #GstCufacePlanarObjects
 */
GST_CUFACE_API void gst_cuface_planar_objects_unref(GstCufacePlanarObjects* objects);

/**
 * gst_cuface_planar_objects_get_reference_count:
 * @objects: a #GstCufacePlanarObjects
 *
 * Returns: the number of reference pictures, visible or not
 */
GST_CUFACE_API guint
gst_cuface_planar_objects_get_reference_count(const GstCufacePlanarObjects* objects);

/**
 * gst_cuface_planar_objects_get_reference:
 * @objects: a #GstCufacePlanarObjects
 * @reference: which picture, below gst_cuface_planar_objects_get_reference_count()
 * @width: (out) (optional): its width in pixels
 * @height: (out) (optional): its height in pixels
 * @keypoints: (out) (optional): how many keypoints it has
 *
 * Returns: (transfer none) (nullable): its name, as the element's property has it: before the
 *     equals sign, or the file; of a name of more than 255 bytes its end
 */
GST_CUFACE_API const gchar* gst_cuface_planar_objects_get_reference(
    const GstCufacePlanarObjects* objects, guint reference, guint* width, guint* height,
    guint* keypoints);

/**
 * gst_cuface_planar_objects_get_count:
 * @objects: a #GstCufacePlanarObjects
 *
 * Returns: the number of objects that are visible
 */
GST_CUFACE_API guint gst_cuface_planar_objects_get_count(const GstCufacePlanarObjects* objects);

/**
 * gst_cuface_planar_objects_get_object:
 * @objects: a #GstCufacePlanarObjects
 * @index: which object, below gst_cuface_planar_objects_get_count()
 * @id: (out) (optional): its id, which lasts: it is the same when the object comes back
 * @inliers: (out) (optional): points of it that look like the picture
 * @found: (out) (optional): whether its descriptors found it on this frame; else it is followed
 *
 * Objects come in the order of the reference pictures.
 *
 * Returns: the reference picture
 */
GST_CUFACE_API guint gst_cuface_planar_objects_get_object(const GstCufacePlanarObjects* objects,
                                                          guint index, guint64* id, guint* inliers,
                                                          gboolean* found);

/**
 * gst_cuface_planar_objects_get_corner:
 * @objects: a #GstCufacePlanarObjects
 * @index: which object, below gst_cuface_planar_objects_get_count()
 * @corner: which corner of the picture: 0 top left, 1 top right, 2 bottom right, 3 bottom left
 * @x: (out) (optional): where it is across, as a fraction of the frame's width
 * @y: (out) (optional): where it is down, as a fraction of the frame's height
 *
 * Corners may lie outside of the frame.
 */
GST_CUFACE_API void gst_cuface_planar_objects_get_corner(const GstCufacePlanarObjects* objects,
                                                         guint index, guint corner, gfloat* x,
                                                         gfloat* y);

/**
 * gst_cuface_planar_objects_get_homography:
 * @objects: a #GstCufacePlanarObjects
 * @index: which object, below gst_cuface_planar_objects_get_count()
 * @length: (out): 9
 *
 * The map h from fractions u, v of the picture's width and height to those of the frame:
 * x = (h[0] u + h[1] v + h[2]) / w and y = (h[3] u + h[4] v + h[5]) / w with
 * w = h[6] u + h[7] v + h[8].
 *
 * Returns: (array length=length) (transfer none): the map, row by row
 */
GST_CUFACE_API const gdouble* gst_cuface_planar_objects_get_homography(
    const GstCufacePlanarObjects* objects, guint index, gsize* length);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(GstCufacePlanarObjects, gst_cuface_planar_objects_unref)

G_END_DECLS

#endif /* GST_CUFACE_PLANAR_META_H */
