#include "gst/references/references.h"

#include <sstream>
#include <utility>

#include "kernels/common/try.h"
#include "models/grey_pixels.h"

namespace cuface::gst {
namespace {

constexpr std::size_t kMostNameBytes = 255;

Status bad_reference(StatusCode code, const std::string& what) {
  return {code, "reference: " + what +
                    ". Set reference to PNG files, with commas between them; gst-launch-1.0 "
                    "filesrc location=IN ! decodebin ! videoconvert ! pngenc ! filesink "
                    "location=OUT.png makes one of another picture"};
}

/// The end of a long name tells the file; never half a letter of UTF-8.
std::string short_name(const std::string& name) {
  if (name.size() <= kMostNameBytes) return name;
  std::size_t from = name.size() - kMostNameBytes;
  while (from < name.size() && (static_cast<unsigned char>(name[from]) & 0xc0) == 0x80) ++from;
  return name.substr(from);
}

}  // namespace

Result<ReferencePictures> ReferencePictures::load(const std::string& list) {
  ReferencePictures references;
  std::istringstream paths(list);
  for (std::string entry; std::getline(paths, entry, ',');) {
    if (entry.empty()) continue;
    // A path may have an equals sign of its own behind a slash.
    const std::size_t equals = entry.find('=');
    const bool is_named = equals != std::string::npos && entry.find('/') > equals;
    const std::string path = is_named ? entry.substr(equals + 1) : entry;
    const std::string name = is_named ? entry.substr(0, equals) : entry;
    if (references.pictures_.size() == kMostReferences)
      return bad_reference(StatusCode::kInvalidArgument,
                           "more than " + std::to_string(kMostReferences) + " files");
    auto grey = load_png_luma(path);
    if (!grey.ok()) return bad_reference(grey.status().code(), grey.status().message());
    // Too large for a detector: told now, not with the first frame.
    const Status fits =
        OrbDetector::create({.max_keypoints = 1}, grey.value().width(), grey.value().height())
            .status();
    if (!fits.ok()) return bad_reference(fits.code(), path + ": " + fits.message());
    references.pictures_.push_back({name, std::move(grey.value()), {}});
  }
  if (references.pictures_.empty())
    return bad_reference(StatusCode::kInvalidArgument, "there is no picture");
  return references;
}

Result<bool> ReferencePictures::describe(const FeatureConfig& config, KeypointFinder find,
                                         const StopFlag* stop) {
  if (described_ == config) return false;
  described_.reset();
  names_.clear();
  for (Picture& picture : pictures_) {
    const int width = picture.grey.width(), height = picture.grey.height();
    CUFACE_TRY(find(config, std::as_const(picture.grey).view(), picture.found, stop));
    names_.push_back({short_name(picture.name), width, height,
                      static_cast<std::int32_t>(picture.found.keypoints.size())});
  }
  described_ = config;
  ++descriptions_;
  return true;
}

Status describe_and_tell(ReferencePictures& references, const FeatureConfig& config,
                         KeypointFinder find, const StopFlag* stop, GstElement* element,
                         GstDebugCategory* category, const char* follows, SourceLine where) {
  CUFACE_TAKE(is_new, references.describe(config, find, stop));
  if (!is_new) return {};
  for (const MatchedPicture& picture : references.names()) {
    GST_CAT_INFO_OBJECT(category, element, "%s: %d keypoints", picture.name.c_str(),
                        picture.keypoints);
    if (picture.keypoints > 0) continue;
    post_warning(element, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
                 "reference: " + picture.name + " has no keypoints, " + follows, where);
  }
  return {};
}

}  // namespace cuface::gst
