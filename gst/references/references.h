// The pictures that frames are compared with, and their keypoints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gst/base/errors.h"
#include "gst/meta/matches.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/features/features.h"
#include "kernels/keypoints/keypoints.h"

namespace cuface::gst {

/// As many may be in one property.
inline constexpr std::size_t kMostReferences = 1024;

/// find_keypoints(), which finds them as in frames, or find_in_reference().
using KeypointFinder = Status (*)(const FeatureConfig&, ImageView<const std::uint8_t>, Features&,
                                  const StopFlag*);

/// Used by one thread at a time.
class ReferencePictures {
 public:
  struct Picture {
    std::string name;
    Image<std::uint8_t> grey;
    Features found;
  };

  /// The pictures of a list of PNG files with commas in between, each FILE or NAME=FILE; a file
  /// without a name has itself as one. An error where there is none. Errors name the property and
  /// say what helps.
  static Result<ReferencePictures> load(const std::string& list);

  /// Finds the keypoints of all pictures with these settings, unless that has been done. `find` is
  /// the same in all calls. True where it had to be. kCancelled, and nothing is known, once `stop`
  /// is raised.
  Result<bool> describe(const FeatureConfig& config, KeypointFinder find, const StopFlag* stop);

  const std::vector<Picture>& pictures() const { return pictures_; }
  /// For a result: what the pictures are. After describe().
  const std::vector<MatchedPicture>& names() const { return names_; }
  /// How often describe() has found keypoints.
  int descriptions() const { return descriptions_; }

 private:
  std::vector<Picture> pictures_;
  std::vector<MatchedPicture> names_;
  std::optional<FeatureConfig> described_;
  int descriptions_ = 0;
};

/// Calls describe(). Where it finds keypoints, logs how many each picture has, and warns of each
/// that has none, with what follows from that.
Status describe_and_tell(ReferencePictures& references, const FeatureConfig& config,
                         KeypointFinder find, const StopFlag* stop, GstElement* element,
                         GstDebugCategory* category, const char* follows,
                         SourceLine where = SourceLine::here());

}  // namespace cuface::gst
