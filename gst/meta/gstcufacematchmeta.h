/* GstCufaceMatchMeta: what cufeaturematch found of its reference pictures in a video frame.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GST_CUFACE_MATCH_META_H
#define GST_CUFACE_MATCH_META_H

#include "gstcufacemeta.h"

G_BEGIN_DECLS

/**
 * GstCufaceMatchMeta:
 *
 * The matches of one frame. Opaque; belongs to its buffer.
 */
typedef struct _GstCufaceMatchMeta GstCufaceMatchMeta;

/**
 * GstCufaceMatches:
 *
 * An immutable snapshot of the matches of one frame. It outlives the buffer and may be used from
 * any thread.
 */
typedef struct _GstCufaceMatches GstCufaceMatches;

#define GST_TYPE_CUFACE_MATCHES (gst_cuface_matches_get_type())
/* registered as "GstCuFaceMatchMetaAPI" */
#define GST_CUFACE_MATCH_META_API_TYPE (gst_cuface_match_meta_api_get_type())

#ifndef __GI_SCANNER__ /* which takes GstCuFaceMatchMetaAPI for a type of namespace Gst */
GST_CUFACE_API GType gst_cuface_match_meta_api_get_type(void);
#endif

/**
 * gst_cuface_buffer_get_match_meta:
 * @buffer: a #GstBuffer
 *
 * Returns: (transfer none) (nullable): the buffer's match meta, or %NULL when no cufeaturematch
 *     has matched the buffer
 */
GST_CUFACE_API GstCufaceMatchMeta* gst_cuface_buffer_get_match_meta(GstBuffer* buffer);

/**
 * gst_cuface_match_meta_get_matches:
 * @meta: a #GstCufaceMatchMeta
 *
 * Returns: (transfer full) (nullable): a snapshot of the newest result; %NULL when an element
 *     moved pixels since and did not say where to (a warning is logged once), or when the matches
 *     cannot be read from a GPU (an error is logged)
 */
GST_CUFACE_API GstCufaceMatches* gst_cuface_match_meta_get_matches(GstCufaceMatchMeta* meta);

GST_CUFACE_API GType gst_cuface_matches_get_type(void);

/**
 * gst_cuface_matches_ref:
 * @matches: a #GstCufaceMatches
 *
 * Returns: (transfer full): @matches
 */
GST_CUFACE_API GstCufaceMatches* gst_cuface_matches_ref(GstCufaceMatches* matches);

/**
 * gst_cuface_matches_unref:
 * @matches: (transfer full): a #GstCufaceMatches
 */
GST_CUFACE_API void gst_cuface_matches_unref(GstCufaceMatches* matches);

/**
 * gst_cuface_matches_get_reference_count:
 * @matches: a #GstCufaceMatches
 *
 * Returns: the number of reference pictures
 */
GST_CUFACE_API guint gst_cuface_matches_get_reference_count(const GstCufaceMatches* matches);

/**
 * gst_cuface_matches_get_reference:
 * @matches: a #GstCufaceMatches
 * @reference: which picture, below gst_cuface_matches_get_reference_count()
 * @width: (out) (optional): its width in pixels
 * @height: (out) (optional): its height in pixels
 * @keypoints: (out) (optional): how many keypoints it has
 *
 * Returns: (transfer none) (nullable): the name of its file, as the element's property has it; of
 *     a name of more than 255 bytes its end
 */
GST_CUFACE_API const gchar* gst_cuface_matches_get_reference(const GstCufaceMatches* matches,
                                                             guint reference, guint* width,
                                                             guint* height, guint* keypoints);

/**
 * gst_cuface_matches_get_count:
 * @matches: a #GstCufaceMatches
 *
 * Returns: the number of matches, with all pictures
 */
GST_CUFACE_API guint gst_cuface_matches_get_count(const GstCufaceMatches* matches);

/**
 * gst_cuface_matches_get_match:
 * @matches: a #GstCufaceMatches
 * @index: which match, below gst_cuface_matches_get_count()
 * @x: (out) (optional): where it is across, as a fraction of the frame's width
 * @y: (out) (optional): where it is down, as a fraction of the frame's height
 * @reference_x: (out) (optional): the same in the picture, as a fraction of the picture's width
 * @reference_y: (out) (optional): the same in the picture, as a fraction of the picture's height
 * @distance: (out) (optional): how far the two descriptors are apart; in bits for ORB's
 *
 * Matches come picture by picture, and of each picture in the order of its keypoints.
 *
 * Returns: the reference picture
 */
GST_CUFACE_API guint gst_cuface_matches_get_match(const GstCufaceMatches* matches, guint index,
                                                  gfloat* x, gfloat* y, gfloat* reference_x,
                                                  gfloat* reference_y, gfloat* distance);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(GstCufaceMatches, gst_cuface_matches_unref)

G_END_DECLS

#endif /* GST_CUFACE_MATCH_META_H */
