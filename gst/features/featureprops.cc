#include "gst/features/featureprops.h"

#include "kernels/fast/fast.h"

namespace cuface::gst {
namespace {

GType detector_type() {
  return enum_type("GstCufaceFeatureDetector",
                   {{static_cast<int>(FeatureDetector::kFast), "Corners, on a pyramid", "fast"}});
}

GType descriptor_type() {
  return enum_type("GstCufaceFeatureDescriptor",
                   {{static_cast<int>(FeatureDescriptor::kOrb), "256 comparisons", "orb"}});
}

GType score_type() {
  return enum_type("GstCufaceFeatureScore",
                   {{static_cast<int>(KeypointScore::kHarris), "Harris' measure", "harris"},
                    {static_cast<int>(KeypointScore::kFast), "FAST's own score", "fast"}});
}

}  // namespace

#define FIELD(member) CUFACE_FIELD(FeatureSettings, member)

std::vector<Setting> feature_settings() {
  return {
      choice("detector", "Detector", "What finds keypoints.", FIELD(detector), detector_type()),
      choice("descriptor", "Descriptor", "What describes keypoints.", FIELD(descriptor),
             descriptor_type()),
      number("max-keypoints", "Most keypoints",
             "Keypoints a frame; those that equal the last one come on top. Raise it for large "
             "pictures.",
             FIELD(orb.max_keypoints), 1, kMostKeypoints),
      number("threshold", "Threshold",
             "How much a corner differs from what is around it; 0 is the detector's own, 20. "
             "Lower it for weak corners.",
             FIELD(threshold), 0, kMostFastThreshold),
      number("levels", "Levels",
             "Sizes of the picture in which keypoints are looked for. Raise it where things come "
             "nearer.",
             FIELD(orb.levels), 1, kMostOrbLevels),
      number("scale-factor", "Scale factor",
             "How much smaller each level is than the one before. Raise it to save time.",
             FIELD(orb.scale_factor), kLeastScale, kMostScale),
      number("edge", "Edge",
             "Pixels along the sides of each level without keypoints. Lower it for small "
             "pictures.",
             FIELD(orb.edge), kLeastEdge, kMostEdge),
      choice("score", "Score",
             "Which keypoints are the best. Set fast to save time, for worse keypoints.",
             FIELD(orb.score), score_type()),
      boolean("upright", "Upright",
              "Describes keypoints without turning them; good to about 15 degrees. Set it where "
              "nothing turns.",
              FIELD(orb.upright)),
  };
}

OrbConfig config_of(const FeatureSettings& settings) {
  OrbConfig config = settings.orb;
  config.threshold = settings.threshold > 0 ? static_cast<int>(settings.threshold) : 20;
  return config;
}

}  // namespace cuface::gst
