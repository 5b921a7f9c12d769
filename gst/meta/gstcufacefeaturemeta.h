/* GstCufaceFeatureMeta: the keypoints that cufeatures found in a video frame.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GST_CUFACE_FEATURE_META_H
#define GST_CUFACE_FEATURE_META_H

#include "gstcufacemeta.h"

G_BEGIN_DECLS

/**
 * GstCufaceFeatureMeta:
 *
 * The keypoints of one frame. Opaque; belongs to its buffer.
 */
typedef struct _GstCufaceFeatureMeta GstCufaceFeatureMeta;

/**
 * GstCufaceFeatures:
 *
 * An immutable snapshot of the keypoints of one frame. It outlives the buffer and may be used from
 * any thread.
 */
typedef struct _GstCufaceFeatures GstCufaceFeatures;

#define GST_TYPE_CUFACE_FEATURES (gst_cuface_features_get_type())
/* registered as "GstCuFaceFeatureMetaAPI" */
#define GST_CUFACE_FEATURE_META_API_TYPE (gst_cuface_feature_meta_api_get_type())

#ifndef __GI_SCANNER__ /* which takes GstCuFaceFeatureMetaAPI for a type of namespace Gst */
GST_CUFACE_API GType gst_cuface_feature_meta_api_get_type(void);
#endif

/**
 * gst_cuface_buffer_get_feature_meta:
 * @buffer: a #GstBuffer
 *
 * Returns: (transfer none) (nullable): the buffer's feature meta, or %NULL when no cufeatures has
 *     seen the buffer
 */
GST_CUFACE_API GstCufaceFeatureMeta* gst_cuface_buffer_get_feature_meta(GstBuffer* buffer);

/**
 * gst_cuface_feature_meta_get_features:
 * @meta: a #GstCufaceFeatureMeta
 *
 * Returns: (transfer full) (nullable): a snapshot of the newest result; %NULL when an element
 *     moved pixels since and did not say where to (a warning is logged once), or when the
 *     keypoints cannot be read from a GPU (an error is logged)
 */
GST_CUFACE_API GstCufaceFeatures* gst_cuface_feature_meta_get_features(GstCufaceFeatureMeta* meta);

GST_CUFACE_API GType gst_cuface_features_get_type(void);

/**
 * gst_cuface_features_ref:
 * @features: a #GstCufaceFeatures
 *
 * Returns: (transfer full): @features
 */
GST_CUFACE_API GstCufaceFeatures* gst_cuface_features_ref(GstCufaceFeatures* features);

/**
 * gst_cuface_features_unref:
 * @features: (transfer full): a #GstCufaceFeatures
 */
GST_CUFACE_API void gst_cuface_features_unref(GstCufaceFeatures* features);

/**
 * gst_cuface_features_get_count:
 * @features: a #GstCufaceFeatures
 *
 * Returns: the number of keypoints
 */
GST_CUFACE_API guint gst_cuface_features_get_count(const GstCufaceFeatures* features);

/**
 * gst_cuface_features_get_keypoint:
 * @features: a #GstCufaceFeatures
 * @index: which keypoint, below gst_cuface_features_get_count()
 * @x: (out) (optional): where it is across, as a fraction of the frame's width
 * @y: (out) (optional): where it is down, as a fraction of the frame's height
 * @size: (out) (optional): the diameter of what is described, as a fraction of the frame's width
 * @angle: (out) (optional): its direction in degrees, clockwise, 0 to 360
 * @response: (out) (optional): how strong it is, by the element's detector and score
 *
 * Keypoints of FAST come level by level, and of each level row by row; those of the Hessian come
 * the strongest first.
 *
 * Returns: the level or octave on which it was found; 0 is the picture itself
 */
GST_CUFACE_API guint gst_cuface_features_get_keypoint(const GstCufaceFeatures* features,
                                                      guint index, gfloat* x, gfloat* y,
                                                      gfloat* size, gfloat* angle,
                                                      gfloat* response);

/**
 * gst_cuface_features_get_descriptor:
 * @features: a #GstCufaceFeatures
 * @index: which keypoint, below gst_cuface_features_get_count()
 * @length: (out): how many bytes the descriptor has
 *
 * Two descriptors are near where few of their bits differ.
 *
 * Returns: (array length=length) (transfer none) (nullable): the descriptor; %NULL where it is one
 *     of floats
 */
GST_CUFACE_API const guint8* gst_cuface_features_get_descriptor(const GstCufaceFeatures* features,
                                                                guint index, gsize* length);

/**
 * gst_cuface_features_get_floats:
 * @features: a #GstCufaceFeatures
 * @index: which keypoint, below gst_cuface_features_get_count()
 * @length: (out): how many floats the descriptor has
 *
 * SURF's descriptor, of unit length. Two are near where their Euclidean distance is small.
 *
 * Returns: (array length=length) (transfer none) (nullable): the descriptor; %NULL where it is one
 *     of bytes
 */
GST_CUFACE_API const gfloat* gst_cuface_features_get_floats(const GstCufaceFeatures* features,
                                                            guint index, gsize* length);

/**
 * gst_cuface_features_get_sign:
 * @features: a #GstCufaceFeatures
 * @index: which keypoint, below gst_cuface_features_get_count()
 *
 * Returns: 1 for dark on light, -1 for light on dark, 0 for neither
 */
GST_CUFACE_API gint gst_cuface_features_get_sign(const GstCufaceFeatures* features, guint index);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(GstCufaceFeatures, gst_cuface_features_unref)

G_END_DECLS

#endif /* GST_CUFACE_FEATURE_META_H */
