#include "models/train/face_set.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "kernels/detect/detect.h"
#include "models/models.h"
#include "models/train/each_picture.h"
#include "models/train/picture.h"
#include "models/xxh64.h"

namespace cuface::train {
namespace {

constexpr std::size_t kMostNotes = 10;
/// A detector's box belongs to a face whose own box it overlaps by so much of both.
constexpr float kLeastOverlap = 0.25f;

Status invalid(std::string why) { return {StatusCode::kInvalidArgument, std::move(why)}; }

/// Which point a part is.
class PartNames {
 public:
  static Result<PartNames> of(const std::vector<LabelledPicture>& labels, int points,
                              const std::string& path) {
    std::set<std::string> names;
    bool numbered = true;
    int most = -1;
    PartNames out;
    for (const LabelledPicture& picture : labels) {
      for (const LabelledObject& object : picture.objects) {
        for (const LabelledPart& part : object.parts) {
          const int n = number(part.name);
          numbered &= n >= 0;
          most = std::max(most, n);
          names.insert(part.name);
          if (names.size() > kMostParts)
            return invalid(object.where + ": more names of points than " +
                           std::to_string(kMostParts));
          if (points > 0 && n >= points) {
            return invalid(object.where + ": point " + part.name + ", but there are " +
                           std::to_string(points) +
                           " points, counted from 0; correct the line, or give --points");
          }
        }
      }
    }
    out.numbered_ = numbered;
    out.names_.assign(names.begin(), names.end());
    out.count_ = numbered ? most + 1 : static_cast<int>(names.size());
    if (out.count_ == 0)
      return invalid(path + ": no face in it has points; landmarks are learnt from points");
    if (points > 0 && !numbered && out.count_ != points) {
      return invalid(path + ": its points have " + std::to_string(out.count_) +
                     " names, but --points is " + std::to_string(points));
    }
    if (points > 0) out.count_ = points;
    if (out.count_ > kMaxLandmarks) {
      return invalid(path + ": " + std::to_string(out.count_) + " points; a model has at most " +
                     std::to_string(kMaxLandmarks));
    }
    return out;
  }

  int count() const { return count_; }
  std::size_t index(const std::string& name) const {
    if (numbered_) return static_cast<std::size_t>(number(name));
    return static_cast<std::size_t>(std::lower_bound(names_.begin(), names_.end(), name) -
                                    names_.begin());
  }
  std::string name(std::size_t i) const { return numbered_ ? std::to_string(i) : names_[i]; }

 private:
  static int number(const std::string& name) {
    int n = -1;
    const auto end = name.data() + name.size();
    const auto result = std::from_chars(name.data(), end, n);
    return result.ec == std::errc() && result.ptr == end && n >= 0 && n < 1000000 ? n : -1;
  }

  bool numbered_ = false;
  int count_ = 0;
  std::vector<std::string> names_;
};

struct Face {
  Box box;
  std::vector<Point> points;
  std::vector<std::uint8_t> present;
  std::uint8_t weight = 1;
  std::string where;
};

/// What one picture gives.
struct OfPicture {
  Status status;  ///< why there is nothing, or an end to all
  GreyPicture picture;
  std::vector<Face> faces;
  std::vector<Status> bad;
  std::size_t unseen = 0;  ///< faces that the detector has not found
};

class FaceLoader {
 public:
  FaceLoader(const FaceOptions& options, const PartNames& names,
             std::shared_ptr<const CascadeModel> detector)
      : options_(options), names_(names), detector_(std::move(detector)) {}

  OfPicture load(const LabelledPicture& labels) const {
    OfPicture out;
    if (labels.objects.empty()) return out;
    out.status =
        take(load_listed(labels.path, labels.objects[0].where, options_.skip_bad), out.picture);
    if (!out.status.ok()) return out;
    for (const LabelledObject& object : labels.objects) {
      Face face;
      const Status status = make_face(object, out.picture.grey, labels.path, face);
      status.ok() ? out.faces.push_back(std::move(face)) : out.bad.push_back(status);
    }
    if (detector_) out.status = take_found_boxes(out);
    return out;
  }

 private:
  Status make_face(const LabelledObject& object, const Image<std::uint8_t>& grey,
                   const std::string& path, Face& face) const {
    const auto bad = [&](const std::string& what) {
      return Status(StatusCode::kCorrupt,
                    object.where + ": " + what + "; correct it, or leave it out with --bad skip");
    };
    const auto count = static_cast<std::size_t>(names_.count());
    face.where = object.where;
    face.points.resize(count);
    face.present.resize(count);
    for (const LabelledPart& part : object.parts) {
      const std::size_t i = names_.index(part.name);
      if (face.present[i]) return bad("point " + part.name + " twice");
      face.points[i] = part.at;
      face.present[i] = 1;
    }
    if (object.parts.empty()) return bad("a face without points");
    if (!object.boxed && !detector_ && count != 68) {
      return invalid(object.where +
                     ": it has no box. Give boxes in the labels, or those of a detector with "
                     "--boxes; from points alone they are known for 68 of them only");
    }
    if (!object.boxed && object.parts.size() == count && count == 68) {
      face.box = box_of_landmarks(face.points);
    } else if (!object.boxed && !detector_) {
      return bad("a face with neither a box nor all points");
    } else {
      face.box = object.box;
    }
    const Box& box = face.box;
    if (!(box.w > 1 && box.h > 1)) return bad("its box is no larger than a pixel");
    const Box picture{0, 0, static_cast<float>(grey.width()), static_cast<float>(grey.height())};
    if (!(intersection_area(box, picture) > 0)) {
      return bad("its box lies outside of the picture " + path + " of " +
                 std::to_string(grey.width()) + "x" + std::to_string(grey.height()));
    }
    for (const LabelledPart& part : object.parts) {
      const float x = (part.at.x - box.x) / (box.w - 1), y = (part.at.y - box.y) / (box.h - 1);
      if (!(std::fabs(x) <= kFarthestPoint && std::fabs(y) <= kFarthestPoint))
        return bad("point " + part.name + " is far away from its box");
    }
    const auto weight = options_.weights.find(object.group);
    if (weight != options_.weights.end()) face.weight = static_cast<std::uint8_t>(weight->second);
    return {};
  }

  /// Of each face the box that overlaps its own most; faces that have none go.
  Status take_found_boxes(OfPicture& of) const {
    const ImageView<const std::uint8_t> view = of.picture.grey.view();
    CUFACE_TAKE(detector, Detector::create(Backend::kCpu, detector_, {}, view.width, view.height));
    DetectResult found;
    CUFACE_TRY(detector->enqueue(view, found));
    std::erase_if(of.faces, [&](Face& face) {
      float best = kLeastOverlap;
      Box box;
      for (const Detection& d : found.faces) {
        const Box candidate{static_cast<float>(d.box.x), static_cast<float>(d.box.y),
                            static_cast<float>(d.box.w), static_cast<float>(d.box.h)};
        const float overlap = intersection_over_union(candidate, face.box);
        if (overlap > best) best = overlap, box = candidate;
      }
      if (box.w > 0) face.box = box;
      of.unseen += box.w <= 0;
      return box.w <= 0;
    });
    return {};
  }

  const FaceOptions& options_;
  const PartNames& names_;
  const std::shared_ptr<const CascadeModel> detector_;
};

/// Puts faces behind each other.
class Gathering {
 public:
  Gathering(const FaceOptions& options, FaceSet& out) : options_(options), out_(out) {}

  Status add(OfPicture&& of) {
    if (!of.status.ok()) return refuse(of.status);
    for (const Status& bad : of.bad) CUFACE_TRY(refuse(bad));
    unseen_ += of.unseen;
    if (of.faces.empty()) return {};
    turned_ += of.picture.turned;
    const auto picture = static_cast<std::uint32_t>(out_.pictures.size());
    out_.hashes.push_back(hash_of(of.picture.grey.view()));
    out_.pictures.push_back(std::move(of.picture.grey));
    for (Face& face : of.faces) {
      out_.picture_of.push_back(picture);
      out_.boxes.push_back(face.box);
      out_.points.insert(out_.points.end(), face.points.begin(), face.points.end());
      out_.present.insert(out_.present.end(), face.present.begin(), face.present.end());
      out_.weights.push_back(face.weight);
      out_.where.push_back(std::move(face.where));
    }
    return {};
  }
  void finish() {
    const auto note = [&](std::size_t count, const char* text) {
      if (count > 0) out_.notes.push_back(std::to_string(count) + text);
    };
    note(left_out_ > kMostNotes ? left_out_ - kMostNotes : 0, " more were left out");
    note(unseen_, " faces were not found by the detector and are left out");
    note(turned_, " pictures have an EXIF tag that asks for a rotation; it is ignored");
  }

 private:
  Status refuse(const Status& status) {
    if (!options_.skip_bad || status.code() == StatusCode::kInvalidArgument) return status;
    if (++left_out_ <= kMostNotes) out_.notes.push_back("left out: " + status.message());
    return {};
  }

  const FaceOptions& options_;
  FaceSet& out_;
  std::size_t unseen_ = 0, turned_ = 0, left_out_ = 0;
};

Status check_all_present(const FaceSet& set, const PartNames& names, const std::string& path) {
  const auto landmarks = static_cast<std::size_t>(set.landmarks);
  std::string missing;
  for (std::size_t i = 0; i < landmarks; ++i) {
    bool there = false;
    for (std::size_t face = 0; face < set.boxes.size() && !there; ++face)
      there = set.present[face * landmarks + i] != 0;
    if (!there && missing.size() < 60) missing += (missing.empty() ? "" : ", ") + names.name(i);
  }
  if (missing.empty()) return {};
  return invalid(path + ": no face has point " + missing +
                 "; label it, or number the points from 0 without gaps");
}

Status check_groups(const std::vector<LabelledPicture>& labels, const FaceOptions& options,
                    const std::string& path) {
  for (const auto& [group, weight] : options.weights) {
    if (weight < 1 || weight > 255) return invalid("the weight of " + group + " must be 1 to 255");
    bool found = false;
    for (const LabelledPicture& picture : labels)
      for (const LabelledObject& object : picture.objects) found |= object.group == group;
    if (!found)
      return invalid(path + ": no face is of the group \"" + shortened(group) +
                     "\" that --weights names");
  }
  return {};
}

}  // namespace

LabelledFaces FaceSet::faces() {
  // Who has asked before may still use the views.
  for (std::size_t i = views_.size(); i < pictures.size(); ++i)
    views_.push_back(pictures[i].view());
  return {landmarks, views_, picture_of, boxes, points, present, weights};
}

std::uint64_t FaceSet::hash() const {
  Xxh64 hash;
  const auto add = [&](const auto& values) {
    const auto bytes = std::as_bytes(std::span(values));
    hash.add({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  };
  add(hashes);
  add(picture_of);
  add(boxes);
  add(points);
  add(present);
  add(weights);
  return hash.value();
}

Box box_of_landmarks(std::span<const Point> landmarks) {
  Point low = landmarks[0], high = low;
  for (const Point& p : landmarks) {
    low = {std::min(low.x, p.x), std::min(low.y, p.y)};
    high = {std::max(high.x, p.x), std::max(high.y, p.y)};
  }
  // dlib's mean face of its public model: 0.94 wide, 0.91 high in its box, its chin 0.07 below it.
  const float side = (high.x - low.x + high.y - low.y) / 1.85f;
  return {(low.x + high.x - side) / 2, high.y - 1.07f * side, side, side};
}

Result<FaceSet> load_faces(const std::string& path, const FaceOptions& options,
                           const StopFlag* stop) {
  return guarded(path, [&]() -> Result<FaceSet> {
    CUFACE_TAKE(labels, read_labels(path));
    if (labels[0].whole) {
      return invalid(path +
                     ": a folder without .pts files tells nothing about points; give a list of "
                     "labels, or put the points beside the pictures");
    }
    CUFACE_TAKE(names, PartNames::of(labels, options.points, path));
    CUFACE_TRY(check_groups(labels, options, path));
    std::vector<int> table;
    if (options.mirror) CUFACE_TRY(take(mirror_table(options.mirror_table, names.count()), table));
    std::shared_ptr<const CascadeModel> detector;
    if (!options.detector.empty() && options.detector != kPipelineBoxes)
      CUFACE_TRY(take(load_cascade(options.detector), detector));
    FaceSet set;
    set.landmarks = names.count();
    Gathering gathering(options, set);
    const FaceLoader loader(options, names, detector);
    CUFACE_TRY(each_picture(
        labels, path, options.threads, stop,
        [&](const LabelledPicture& picture) { return loader.load(picture); },
        [&](OfPicture picture) { return gathering.add(std::move(picture)); }));
    gathering.finish();
    if (set.boxes.empty()) return Status(StatusCode::kCorrupt, path + ": no face is left");
    CUFACE_TRY(check_all_present(set, names, path));
    if (options.mirror) add_mirrored(table, set);
    return set;
  });
}

}  // namespace cuface::train
