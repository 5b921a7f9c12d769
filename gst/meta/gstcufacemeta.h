/* GstCufaceMeta: the faces that cufacedetect, culktrack and cufacelandmark found in a video frame.
 *
 * All coordinates are normalised to the frame: 0 is its left or top edge, 1 its right or bottom
 * edge. A box is its edges, x / width; a point whose pixel coordinate is an integer in the centre
 * of a pixel (OpenCV, dlib) is (x + 0.5) / width.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GST_CUFACE_META_H
#define GST_CUFACE_META_H

#include <gst/gst.h>

#ifndef GST_CUFACE_API
#ifdef GST_CUFACE_COMPILATION
#define GST_CUFACE_API GST_API_EXPORT
#else
#define GST_CUFACE_API GST_API_IMPORT
#endif
#endif

G_BEGIN_DECLS

/**
 * GstCufaceMeta:
 *
 * The faces of one frame. Opaque; belongs to its buffer.
 */
typedef struct _GstCufaceMeta GstCufaceMeta;

/**
 * GstCufaceFaces:
 *
 * An immutable snapshot of the faces of one frame. It outlives the buffer and may be used from any
 * thread.
 */
typedef struct _GstCufaceFaces GstCufaceFaces;

/**
 * GstCufaceOrigin:
 * @GST_CUFACE_ORIGIN_DETECTED: a search of this frame found the box
 * @GST_CUFACE_ORIGIN_TRACKED: the box was moved here from the previous frame
 *
 * Where a face's box comes from.
 */
typedef enum {
  GST_CUFACE_ORIGIN_DETECTED,
  GST_CUFACE_ORIGIN_TRACKED,
} GstCufaceOrigin;

#define GST_TYPE_CUFACE_ORIGIN (gst_cuface_origin_get_type())
#define GST_TYPE_CUFACE_FACES (gst_cuface_faces_get_type())
/* registered as "GstCuFaceMetaAPI" */
#define GST_CUFACE_META_API_TYPE (gst_cuface_meta_api_get_type())

GST_CUFACE_API GType gst_cuface_origin_get_type(void);
#ifndef __GI_SCANNER__ /* which takes GstCuFaceMetaAPI for a type of namespace Gst */
GST_CUFACE_API GType gst_cuface_meta_api_get_type(void);
#endif

/**
 * gst_cuface_register_metas:
 *
 * Registers the metas of faces, motion, edges, keypoints, matches and flat objects. A program that
 * gets buffers from another process (unixfdsrc, GStreamer 1.24 or later) must call it before the
 * first buffer, or the buffers come without the metas. Other programs need not call it. Call it
 * from any thread, any number of times.
 */
GST_CUFACE_API void gst_cuface_register_metas(void);

/**
 * gst_cuface_buffer_add_face:
 * @buffer: a writable #GstBuffer with a video frame
 * @frame_width: the frame's width in pixels
 * @frame_height: the frame's height in pixels
 * @x: left edge of the face's box, normalised to the frame
 * @y: top edge
 * @width: width, more than 0
 * @height: height, more than 0
 * @confidence: 0 to 1
 *
 * Adds a face of the application to those of the buffer. culktrack and cufacelandmark treat it as
 * one that a search of this frame has found. Call it before these elements get the buffer: a face
 * has no landmarks yet.
 *
 * Returns: %FALSE, with the buffer unchanged, if an argument is out of its range, if the buffer is
 *     not writable, if its faces have landmarks or no longer fit the picture, or if it has 16384
 *     faces
 */
GST_CUFACE_API gboolean gst_cuface_buffer_add_face(GstBuffer* buffer, guint frame_width,
                                                   guint frame_height, gfloat x, gfloat y,
                                                   gfloat width, gfloat height, gfloat confidence);

/**
 * gst_cuface_buffer_get_face_meta:
 * @buffer: a #GstBuffer
 *
 * Returns: (transfer none) (nullable): the buffer's face meta, or %NULL when no element of
 *     gst-cuface has seen the buffer
 */
GST_CUFACE_API GstCufaceMeta* gst_cuface_buffer_get_face_meta(GstBuffer* buffer);

/**
 * gst_cuface_meta_get_n_faces:
 * @meta: a #GstCufaceMeta
 *
 * Returns: the number of faces. 0 also when an element moved pixels since and did not say where to
 *     (a warning is logged once): the positions would be wrong. 0 also when the faces cannot be
 *     read from the GPU (an error is logged); gst_cuface_meta_get_faces() tells the two apart.
 */
GST_CUFACE_API guint gst_cuface_meta_get_n_faces(GstCufaceMeta* meta);

/**
 * gst_cuface_meta_get_faces:
 * @meta: a #GstCufaceMeta
 *
 * Returns: (transfer full) (nullable): a snapshot of the newest result, empty where there are no
 *     faces; %NULL when the faces cannot be read from the GPU (an error is logged). The next call
 *     tries again.
 */
GST_CUFACE_API GstCufaceFaces* gst_cuface_meta_get_faces(GstCufaceMeta* meta);

/**
 * gst_cuface_meta_is_ready:
 * @meta: a #GstCufaceMeta
 *
 * Returns: whether gst_cuface_meta_get_faces() returns at once; %FALSE means that it would wait for
 *     the GPU
 */
GST_CUFACE_API gboolean gst_cuface_meta_is_ready(GstCufaceMeta* meta);

GST_CUFACE_API GType gst_cuface_faces_get_type(void);

/**
 * gst_cuface_faces_ref:
 * @faces: a #GstCufaceFaces
 *
 * Returns: (transfer full): @faces
 */
GST_CUFACE_API GstCufaceFaces* gst_cuface_faces_ref(GstCufaceFaces* faces);

/**
 * gst_cuface_faces_unref:
 * @faces: (transfer full): a #GstCufaceFaces
 */
GST_CUFACE_API void gst_cuface_faces_unref(GstCufaceFaces* faces);

/**
 * gst_cuface_faces_get_count:
 * @faces: a #GstCufaceFaces
 *
 * Returns: the number of faces
 */
GST_CUFACE_API guint gst_cuface_faces_get_count(const GstCufaceFaces* faces);

/**
 * gst_cuface_faces_get_searched:
 * @faces: a #GstCufaceFaces
 *
 * Returns: whether a detector searched this frame, and all of it: a search of cufacedetect that is
 * spread over frames (property `spread`) looks at a part of each
 */
GST_CUFACE_API gboolean gst_cuface_faces_get_searched(const GstCufaceFaces* faces);

/**
 * gst_cuface_faces_get_id:
 * @faces: a #GstCufaceFaces
 * @index: which face, below gst_cuface_faces_get_count()
 *
 * Returns: the tracker's lasting id, from 1; 0 without a tracker
 */
GST_CUFACE_API guint64 gst_cuface_faces_get_id(const GstCufaceFaces* faces, guint index);

/**
 * gst_cuface_faces_get_confidence:
 * @faces: a #GstCufaceFaces
 * @index: which face
 *
 * Returns: 0 to 1. Detected: n / (n + 3) for n agreeing windows of a cascade, or the score of a
 *     network; tracked: the tracker's check.
 */
GST_CUFACE_API gfloat gst_cuface_faces_get_confidence(const GstCufaceFaces* faces, guint index);

/**
 * gst_cuface_faces_get_origin:
 * @faces: a #GstCufaceFaces
 * @index: which face
 *
 * Returns: where the box comes from
 */
GST_CUFACE_API GstCufaceOrigin gst_cuface_faces_get_origin(const GstCufaceFaces* faces,
                                                           guint index);

/**
 * gst_cuface_faces_get_age:
 * @faces: a #GstCufaceFaces
 * @index: which face
 *
 * Returns: frames since a detection last confirmed the box; 0 = on this frame
 */
GST_CUFACE_API guint gst_cuface_faces_get_age(const GstCufaceFaces* faces, guint index);

/**
 * gst_cuface_faces_get_neighbors:
 * @faces: a #GstCufaceFaces
 * @index: which face
 *
 * Returns: windows that agreed on the detection; -1 for a tracked face, and for one that a network
 *     found
 */
GST_CUFACE_API gint gst_cuface_faces_get_neighbors(const GstCufaceFaces* faces, guint index);

/**
 * gst_cuface_faces_get_box:
 * @faces: a #GstCufaceFaces
 * @index: which face
 * @x: (out) (optional): left edge
 * @y: (out) (optional): top edge
 * @width: (out) (optional): width
 * @height: (out) (optional): height
 *
 * The box, normalised to the frame. It may reach beyond the frame.
 */
GST_CUFACE_API void gst_cuface_faces_get_box(const GstCufaceFaces* faces, guint index, gfloat* x,
                                             gfloat* y, gfloat* width, gfloat* height);

/**
 * gst_cuface_faces_get_n_landmarks:
 * @faces: a #GstCufaceFaces
 *
 * Returns: landmarks of each face: 0 before cufacelandmark, then the model's number (68, 5, ...)
 */
GST_CUFACE_API guint gst_cuface_faces_get_n_landmarks(const GstCufaceFaces* faces);

/**
 * gst_cuface_faces_get_landmark:
 * @faces: a #GstCufaceFaces
 * @index: which face
 * @landmark: which landmark, below gst_cuface_faces_get_n_landmarks()
 * @x: (out) (optional): horizontal position
 * @y: (out) (optional): vertical position
 *
 * One landmark, normalised to the frame.
 */
GST_CUFACE_API void gst_cuface_faces_get_landmark(const GstCufaceFaces* faces, guint index,
                                                  guint landmark, gfloat* x, gfloat* y);

/**
 * gst_cuface_faces_get_landmark_confidence:
 * @faces: a #GstCufaceFaces
 * @index: which face
 * @landmark: which landmark, below gst_cuface_faces_get_n_landmarks()
 *
 * How sure cufacelandmark is of this landmark: about the share of such points that lie within 10 %
 * of the distance between the eyes.
 *
 * Returns: 0 to 1; -1 where it is not known, with `samples=1` and with models that are not
 *     calibrated
 */
GST_CUFACE_API gfloat gst_cuface_faces_get_landmark_confidence(const GstCufaceFaces* faces,
                                                               guint index, guint landmark);

/**
 * gst_cuface_faces_get_n_keypoints:
 * @faces: a #GstCufaceFaces
 * @index: which face
 *
 * Returns: keypoints of this face: 5 where a network found it, 0 where a cascade did
 */
GST_CUFACE_API guint gst_cuface_faces_get_n_keypoints(const GstCufaceFaces* faces, guint index);

/**
 * gst_cuface_faces_get_keypoint:
 * @faces: a #GstCufaceFaces
 * @index: which face
 * @keypoint: which keypoint, below gst_cuface_faces_get_n_keypoints(): right eye, left eye, tip of
 *     the nose, right and left corner of the mouth; right and left are the person's
 * @x: (out) (optional): horizontal position
 * @y: (out) (optional): vertical position
 *
 * One keypoint, normalised to the frame. It may lie beyond the frame. A tracker moves it with the
 * face.
 */
GST_CUFACE_API void gst_cuface_faces_get_keypoint(const GstCufaceFaces* faces, guint index,
                                                  guint keypoint, gfloat* x, gfloat* y);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(GstCufaceFaces, gst_cuface_faces_unref)

G_END_DECLS

#endif /* GST_CUFACE_META_H */
