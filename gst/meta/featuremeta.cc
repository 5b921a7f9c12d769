// The public functions of keypoints.
#include "gst/meta/keypoints.h"
#include "gst/meta/serialise.h"
#include "gst/meta/snapshot.h"
#include "gst/meta/view.h"

namespace {
constexpr const char* kKind = "feature";
}

struct _GstCufaceFeatureMeta {
  cuface::gst::ViewMeta view;
};

struct _GstCufaceFeatures : cuface::gst::Snapshot<cuface::FrameFeatures> {
  using Snapshot::Snapshot;
  const cuface::FrameFeatures& features() const { return *value(); }
};

GType gst_cuface_feature_meta_api_get_type() {
  static const GType type = [] {
    cuface::gst::init_meta_log();
    return cuface::gst::register_view("GstCuFaceFeatureMetaAPI", "GstCufaceFeatureMeta",
                                      cuface::gst::wire_for<cuface::FrameFeatures>());
  }();
  return type;
}

G_DEFINE_BOXED_TYPE(GstCufaceFeatures, gst_cuface_features, gst_cuface_features_ref,
                    gst_cuface_features_unref)

GstCufaceFeatureMeta* gst_cuface_buffer_get_feature_meta(GstBuffer* buffer) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);
  return reinterpret_cast<GstCufaceFeatureMeta*>(
      gst_buffer_get_meta(buffer, gst_cuface_feature_meta_api_get_type()));
}

GstCufaceFeatures* gst_cuface_feature_meta_get_features(GstCufaceFeatureMeta* meta) {
  g_return_val_if_fail(meta, nullptr);
  auto features = cuface::gst::fitting_result<cuface::FrameFeatures>(meta->view.buffer, kKind);
  cuface::FrameFeaturesRef read;  // whoever waits does it here
  if (!cuface::gst::read_logged(features, kKind, read) || !read) return nullptr;
  return new GstCufaceFeatures(std::move(read));
}

GstCufaceFeatures* gst_cuface_features_ref(GstCufaceFeatures* features) {
  g_return_val_if_fail(features, nullptr);
  features->ref();
  return features;
}

void gst_cuface_features_unref(GstCufaceFeatures* features) {
  g_return_if_fail(features);
  if (features->unref()) delete features;
}

guint gst_cuface_features_get_count(const GstCufaceFeatures* features) {
  g_return_val_if_fail(features, 0);
  return static_cast<guint>(features->features().found.keypoints.size());
}

guint gst_cuface_features_get_keypoint(const GstCufaceFeatures* features, guint index, gfloat* x,
                                       gfloat* y, gfloat* size, gfloat* angle, gfloat* response) {
  for (gfloat* out : {x, y, size, angle, response})
    if (out) *out = 0;
  g_return_val_if_fail(features, 0);
  const cuface::FrameFeatures& known = features->features();
  g_return_val_if_fail(index < known.found.keypoints.size(), 0);
  const cuface::Keypoint& k = known.found.keypoints[index];
  const auto w = static_cast<float>(known.width), h = static_cast<float>(known.height);
  if (x) *x = (k.x + 0.5f) / w;
  if (y) *y = (k.y + 0.5f) / h;
  if (size) *size = k.size / w;
  if (angle) *angle = k.angle;
  if (response) *response = k.response;
  return static_cast<guint>(k.octave);
}

const guint8* gst_cuface_features_get_descriptor(const GstCufaceFeatures* features, guint index,
                                                 gsize* length) {
  if (length) *length = 0;
  g_return_val_if_fail(features && length, nullptr);
  const cuface::Features& found = features->features().found;
  g_return_val_if_fail(index < found.keypoints.size(), nullptr);
  if (found.descriptors.empty()) return nullptr;
  *length = cuface::kBinaryBytes;
  return found.descriptor(index);
}

const gfloat* gst_cuface_features_get_floats(const GstCufaceFeatures* features, guint index,
                                             gsize* length) {
  if (length) *length = 0;
  g_return_val_if_fail(features && length, nullptr);
  const cuface::Features& found = features->features().found;
  g_return_val_if_fail(index < found.keypoints.size(), nullptr);
  if (found.floats.empty()) return nullptr;
  *length = found.floats_each();
  return found.floats_of(index);
}

gint gst_cuface_features_get_sign(const GstCufaceFeatures* features, guint index) {
  g_return_val_if_fail(features, 0);
  const cuface::Features& found = features->features().found;
  g_return_val_if_fail(index < found.keypoints.size(), 0);
  return found.signs[index];
}
