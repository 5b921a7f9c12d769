// cufeaturematch: where the keypoints of reference pictures are in each frame, in a meta.
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gst/base/errors.h"
#include "gst/featurematch/cuda_match.h"
#include "gst/featurematch/element.h"
#include "gst/meta/keypoints.h"
#include "gst/meta/matches.h"
#include "gst/references/references.h"
#include "kernels/common/try.h"
#include "kernels/match/match_features.h"

GST_DEBUG_CATEGORY_STATIC(cuface_featurematch_debug);
#define GST_CAT_DEFAULT cuface_featurematch_debug

namespace cuface::gst {
namespace {

enum Counter { kMatches };
static_assert(kMatches == 0, "the device's counter too");

/// What is warned of once a start.
enum Warning { kNoFeatures, kMoved, kBytesOnly, kWarnings };

struct Settings {
  std::string reference;
  MatchConfig match;
};

class FeatureMatch final : public Element {
 public:
  using Element::Element;

  void* settings_address() override { return &settings_; }

  Status load() override {
    for (bool& warned : warned_) warned = false;
    std::string reference;
    {
      SettingsLock lock(filter());
      reference = settings_.reference;
    }
    CUFACE_TAKE(references, ReferencePictures::load(reference));
    references_.emplace(std::move(references));
    return {};
  }
  void unload() override {
    references_.reset();
    matcher_.reset();
  }

  Status plan(const GstVideoInfo&) override {
    if (backend() == Backend::kCuda) device_ = make_device_feature_matcher();
    return {};
  }
  void unplan() override { device_.reset(); }

  /// A gap has no picture to look at.
  Status process(Frame& frame) override {
    if (frame.is_gap()) return {};
    const FoundResult<FrameFeatures> before = frame.find<FrameFeatures>();
    if (device_) {
      CUFACE_TAKE(known, device_->find(frame, before.result));
      if (known) {
        CUFACE_TRY(describe(known->config));
        return device_->match(frame, *references_, match_config(known->config.descriptor));
      }
    }
    CUFACE_TAKE(features, before.result.read());
    if (!features) {
      warn_of_none(before);
      return {};
    }
    CUFACE_TRY(prepare(match_config(features->config.descriptor)));
    CUFACE_TRY(describe(features->config));
    auto matches = std::make_shared<FrameMatches>();
    matches->width = frame.width();
    matches->height = frame.height();
    matches->pictures = references_->names();
    CUFACE_TRY(match(features->found, features->config, matches->matches));
    frame.count(kMatches, matches->matches.size());
    frame.add_result<FrameMatches>(std::move(matches));
    return {};
  }

 private:
  /// Bytes have no centre parts, so that setting is left out.
  MatchConfig match_config(FeatureDescriptor descriptor) {
    MatchConfig config;
    {
      SettingsLock lock(filter());
      config = settings_.match;
    }
    if (descriptor == FeatureDescriptor::kOrb) {
      if (config.early_out > 0)
        warn(kBytesOnly, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
             "early-out does nothing with ORB's descriptors: these have no parts of a product. "
             "Leave it at its default");
      config.early_out = 0;
    }
    return config;
  }

  Status prepare(const MatchConfig& config) {
    if (matcher_ && config == config_) return {};
    matcher_.reset();
    CUFACE_TAKE(made, Matcher::create(config));
    matcher_.emplace(std::move(made));
    config_ = config;
    return {};
  }

  Status describe(const FeatureConfig& config) {
    return describe_and_tell(
        *references_, config, find_keypoints, &stop_flag(), element(), GST_CAT_DEFAULT,
        "so nothing matches it. Lower threshold or edge of cufeatures, or take a picture with "
        "corners");
  }

  Status match(const Features& in_frame, const FeatureConfig& config,
               std::vector<PictureMatch>& out) {
    std::int32_t number = 0;
    for (const ReferencePictures::Picture& picture : references_->pictures()) {
      CUFACE_TRY(match_features(*matcher_, picture.found, in_frame, config.floats(), found_,
                                &stop_flag()));
      for (const Match& m : found_) {
        const Keypoint& ours = in_frame.keypoints[static_cast<std::size_t>(m.train)];
        const Keypoint& theirs = picture.found.keypoints[static_cast<std::size_t>(m.query)];
        out.push_back({number, {ours.x, ours.y}, {theirs.x, theirs.y}, m.distance});
      }
      ++number;
    }
    return {};
  }

  void warn(Warning what, GQuark domain, int code, const std::string& text) {
    if (!std::exchange(warned_[what], true)) post_warning(element(), domain, code, text);
  }

  void warn_of_none(const FoundResult<FrameFeatures>& before) {
    if (before.positions == Positions::kUnknown)
      warn(kMoved, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
           (before.moved_by ? *before.moved_by : "an element") +
               " between cufeatures and cufeaturematch cropped, flipped or padded the picture; "
               "nothing is matched from here on: put it in front of cufeatures");
    else
      warn(kNoFeatures, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
           "The video brings no keypoints: cufeatures is missing before cufeaturematch. Nothing "
           "is matched.");
  }

  Settings settings_;  // under SettingsLock

  // The streaming thread's.
  std::unique_ptr<DeviceFeatureMatcher> device_;  ///< while planned for the GPU
  std::optional<ReferencePictures> references_;
  MatchConfig config_;  ///< of the matcher
  std::optional<Matcher> matcher_;
  std::vector<Match> found_;
  bool warned_[kWarnings] = {};
};

constexpr StatsField kStats[] = {{"matches", kMatches}};

constexpr float kLeastRatio = 0.01f, kMostDistance = 256;

#define FIELD(member) CUFACE_FIELD(Settings, member)

std::vector<Setting> match_settings() {
  return {
      text("reference", "Reference",
           "PNG files of the reference pictures, separated by commas. Always set it.",
           FIELD(reference), kReady),
      number("ratio", "Ratio",
             "Ratio test: the nearest descriptor matches if nearer than this times the second; 1 "
             "accepts any. Lower it for fewer false matches.",
             FIELD(match.ratio), kLeastRatio, 1),
      number("max-distance", "Most distance",
             "Largest distance between the descriptors of a match, ORB's in bits; 0 is any. Set it "
             "for fewer false matches.",
             FIELD(match.max_distance), 0, kMostDistance),
      boolean("cross-check", "Cross check",
              "Keeps a match only where both descriptors are nearest to each other. Set it for "
              "fewer false matches.",
              FIELD(match.cross_check)),
      boolean("sign-check", "Sign check",
              "Matches light blobs only with light ones, and dark with dark. Set it where light "
              "does not change; matching takes less time.",
              FIELD(match.sign_check)),
      number("early-out", "Early out",
             "Skips pairs whose middle cells have a dot product of at most this; 0 skips none. It "
             "does nothing with ORB's descriptors.",
             FIELD(match.early_out), 0, 1),
  };
}

}  // namespace

constexpr ElementInfo kFeatureMatch{
    .name = "cufeaturematch",
    .debug = &cuface_featurematch_debug,
    .type = "GstCufaceFeatureMatch",
    .title = "Keypoint matcher",
    .category = "Filter/Analyzer/Video",
    .description = "Matches the keypoints of reference pictures with those of each frame",
    .cuda_use = CudaUse::kComputes,
    .make = make_element<FeatureMatch>,
    .settings = match_settings,
    .stats = kStats,
};

}  // namespace cuface::gst
