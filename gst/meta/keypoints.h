// Keypoints as a kind of result, for our own elements (not installed). Their public side is
// gstcufacefeaturemeta.h.
#pragma once

#include <memory>

#include "gst/meta/framemeta.h"
#include "gst/meta/gstcufacefeaturemeta.h"
#include "kernels/features/features.h"
#include "kernels/keypoints/keypoints.h"

namespace cuface {

/// The keypoints of one frame, in pixels of a width x height picture, with their descriptors.
/// Filled by one thread, then shared and never changed again.
struct FrameFeatures {
  int width = 0, height = 0;
  Features found;
  /// The settings that found them. Pictures that are compared with this one must be described with
  /// the same settings.
  FeatureConfig config = {};
};
using FrameFeaturesRef = std::shared_ptr<const FrameFeatures>;

}  // namespace cuface

namespace cuface::gst {

template <>
struct ResultKind<FrameFeatures> {
  static GType type() { return gst_cuface_feature_meta_api_get_type(); }
  static FrameFeaturesRef scaled(FrameFeaturesRef features, int width, int height);
  /// Without the keypoints outside.
  static FrameFeaturesRef cropped(const FrameFeatures& features, const PictureMap& map);
};

using FeaturesFound = FrameResult<FrameFeatures>;

}  // namespace cuface::gst
