#include "gst/features/featureprops.h"

#include <algorithm>

#include "kernels/fast/fast.h"

namespace cuface::gst {
namespace {

constexpr int kHessianThreshold = 100, kMostThreshold = 1'000'000;

GType detector_type() {
  static const GEnumValue fast = {static_cast<int>(FeatureDetector::kFast),
                                  "FAST: corners, on a pyramid", "fast"},
                          hessian = {static_cast<int>(FeatureDetector::kHessian),
                                     "SURF's detector: blobs, by boxes of growing size", "hessian"};
  return has_surf() ? enum_type("GstCufaceFeatureDetector", {fast, hessian})
                    : enum_type("GstCufaceFeatureDetector", {fast});
}

GType descriptor_type() {
  static const GEnumValue orb = {static_cast<int>(FeatureDescriptor::kOrb),
                                 "ORB: 256 comparisons, as 32 bytes", "orb"},
                          surf = {static_cast<int>(FeatureDescriptor::kSurf),
                                  "SURF: 64 or 36 sums of gradients, as floats", "surf"};
  return has_surf() ? enum_type("GstCufaceFeatureDescriptor", {orb, surf})
                    : enum_type("GstCufaceFeatureDescriptor", {orb});
}

GType size_type() {
  return enum_type("GstCufaceDescriptorSize",
                   {{64, "4 x 4 cells", "64"}, {36, "3 x 3 cells of a smaller window", "36"}});
}

GType sampling_type() {
  return enum_type(
      "GstCufaceSurfSampling",
      {{static_cast<int>(SurfSampling::kPatch), "Differences in a resized window, as OpenCV",
        "patch"},
       {static_cast<int>(SurfSampling::kIntegral), "Haar wavelets in the integral picture",
        "integral"},
       {static_cast<int>(SurfSampling::kMipmap), "Haar wavelets in a mipmap", "mipmap"}});
}

GType orientation_type() {
  return enum_type(
      "GstCufaceSurfOrientation",
      {{static_cast<int>(SurfOrientation::kHaar), "72 windows of gradients, as OpenCV", "haar"},
       {static_cast<int>(SurfOrientation::kSliding),
        "A window that begins at each gradient, as Bay describes it", "sliding"},
       {static_cast<int>(SurfOrientation::kCentroid),
        "The direction to the centroid of grey levels", "centroid"}});
}

GType window_type() {
  return enum_type("GstCufaceSurfWindow",
                   {{static_cast<int>(SurfWindow::kGrid), "Cells side by side, as OpenCV", "grid"},
                    {static_cast<int>(SurfWindow::kOverlap), "Cells that overlap", "overlap"}});
}

GType precision_type() {
  const auto bits = [](SurfPrecision precision, const char* title, const char* name) {
    return GEnumValue{static_cast<int>(precision), title, name};
  };
  return enum_type("GstCufaceSurfPrecision",
                   {bits(SurfPrecision::kFp32, "Floats", "fp32"),
                    bits(SurfPrecision::kFp16, "Floats of 16 bits", "fp16"),
                    bits(SurfPrecision::k8, "Fractions of 8 bits", "8"),
                    bits(SurfPrecision::k10, "Fractions of 10 bits", "10"),
                    bits(SurfPrecision::k13, "Fractions of 13 bits", "13"),
                    bits(SurfPrecision::k16, "Fractions of 16 bits", "16"),
                    bits(SurfPrecision::k23, "Fractions of 23 bits", "23"),
                    bits(SurfPrecision::k24, "Fractions of 24 bits", "24")});
}

GType score_type() {
  return enum_type("GstCufaceFeatureScore",
                   {{static_cast<int>(KeypointScore::kHarris), "Harris' measure", "harris"},
                    {static_cast<int>(KeypointScore::kFast), "FAST's own score", "fast"}});
}

/// Both elements have the same ones, registered once.
struct Types {
  GType detector = detector_type(), descriptor = descriptor_type(), score = score_type(),
        size = size_type(), sampling = sampling_type(), orientation = orientation_type(),
        window = window_type(), precision = precision_type();
};
const Types& types() {
  static const Types made;
  return made;
}

}  // namespace

#define FIELD(member) CUFACE_FIELD(S, member)

template <typename S>
std::vector<Setting> feature_settings() {
  std::vector<Setting> all = {
      choice("detector", "Detector", "Method that finds keypoints.", FIELD(config.detector),
             types().detector),
      choice("descriptor", "Descriptor",
             "Method that describes keypoints. Use orb with detector=fast only.",
             FIELD(config.descriptor), types().descriptor),
      number("max-keypoints", "Most keypoints",
             "Most keypoints a frame; FAST also keeps those that tie with the last one. Raise it "
             "for large pictures.",
             FIELD(config.orb.max_keypoints), 1, kMostKeypoints),
      number("threshold", "Threshold",
             has_surf() ? "The least strength of a keypoint; 0 is the detector's own: 20 of fast, "
                          "100 of hessian. Lower it for weak ones."
                        : "How much a corner differs from what is around it; 0 is the detector's "
                          "own, 20. Lower it for weak corners.",
             FIELD(threshold), 0, has_surf() ? kMostThreshold : kMostFastThreshold),
      number("levels", "Levels",
             "Pyramid levels in which FAST looks for keypoints. Raise it where things come nearer.",
             FIELD(config.orb.levels), 1, kMostOrbLevels),
      number("scale-factor", "Scale factor",
             "Ratio of the sizes of one pyramid level and the next. Raise it to save time.",
             FIELD(config.orb.scale_factor), kLeastScale, kMostScale),
      number("edge", "Edge",
             "Width, in pixels, of each level's border, which has no keypoints. Lower it for small "
             "pictures.",
             FIELD(config.orb.edge), kLeastEdge, kMostEdge),
      choice("score", "Score",
             "Measure that ranks keypoints of FAST. Set fast to save time, for worse keypoints.",
             FIELD(config.orb.score), types().score),
      boolean("upright", "Upright",
              "Computes descriptors without rotating them; works up to about 15 degrees. Set it "
              "where nothing turns.",
              FIELD(config.orb.upright)),
  };
  if (!has_surf()) return all;
  all.push_back(number("octaves", "Octaves",
                       "Octaves of hessian, each with boxes of twice the size. Lower it to save "
                       "time, raise it for large blobs.",
                       FIELD(config.surf.octaves), 1, kMostSurfOctaves));
  all.push_back(number(
      "layers", "Layers",
      "Scales of an octave at which hessian looks for keypoints. Raise it for more keypoints.",
      FIELD(config.surf.layers), 1, kMostSurfLayers));
  all.push_back(choice("descriptor-size", "Descriptor's size",
                       "Floats of a descriptor of surf. Set 36 to save time, for worse matches.",
                       FIELD(config.surf.descriptor_size), types().size));
  all.push_back(
      choice("sampling", "Sampling",
             "How surf computes gradients. Set integral to save time where keypoints turn.",
             FIELD(config.surf.sampling), types().sampling));
  all.push_back(choice("orientation", "Orientation",
                       "How surf finds the direction of a keypoint. Set centroid to save time at "
                       "corners.",
                       FIELD(config.surf.orientation), types().orientation));
  all.push_back(choice("window", "Window",
                       "How surf's cells share gradients. Set overlap where gradients at the sides "
                       "of cells spoil matches; it takes longer.",
                       FIELD(config.surf.window), types().window));
  all.push_back(
      choice("precision", "Precision",
             "Precision of surf's numbers. Leave it at fp32; the others are there for comparisons.",
             FIELD(config.surf.precision), types().precision));
  return all;
}

template std::vector<Setting> feature_settings<FeatureSettings>();
template std::vector<Setting> feature_settings<SurfSettings>();

FeatureConfig config_of(const FeatureSettings& settings) {
  FeatureConfig config = settings.config;
  const bool is_own = settings.threshold > 0;
  if (config.descriptor == FeatureDescriptor::kOrb) {
    config.surf = {};
  } else if (config.detector == FeatureDetector::kFast) {
    config.surf = {.upright = config.orb.upright,
                   .descriptor_size = config.surf.descriptor_size,
                   .sampling = config.surf.sampling,
                   .orientation = config.surf.orientation,
                   .window = config.surf.window,
                   .precision = config.surf.precision};
  } else {
    config.surf.threshold = is_own ? static_cast<float>(settings.threshold) : kHessianThreshold;
    config.surf.max_keypoints = config.orb.max_keypoints;
    config.surf.upright = config.orb.upright;
  }
  if (config.surf.upright) config.surf.orientation = {};
  // What does not count has one value, so that pictures are not described again for it. No pixel
  // differs by more than FAST's most.
  if (config.detector == FeatureDetector::kHessian)
    config.orb = {};
  else
    config.orb.threshold =
        is_own ? static_cast<int>(std::min<double>(settings.threshold, kMostFastThreshold)) : 20;
  return config;
}

}  // namespace cuface::gst
