#include "gst/meta/wire.h"

#include <cmath>
#include <string>
#include <type_traits>
#include <utility>

#include "gst/meta/archive.h"
#include "kernels/fast/fast.h"

namespace cuface::gst {
namespace {

using wire::Reader;
using wire::Writer;

// The layout, for both directions: A is a Writer of const values or a Reader.

template <typename A, typename... Values>
void values(A& a, Values&... all) {
  (a.value(all), ...);
}

template <typename A, typename Size>
void size(A& a, Size& width, Size& height) {
  values(a, width, height);
  a.check(width > 0 && height > 0 && std::cmp_less_equal(width, kMostWireSide) &&
          std::cmp_less_equal(height, kMostWireSide));
}

constexpr std::size_t kSizeBytes = 8;

template <typename A, typename B>
void box(A& a, B& b) {
  values(a, b.x, b.y, b.w, b.h);
  a.check(b.w >= 0 && b.h >= 0);
}

template <typename A, typename T>
void text(A& a, T& text) {
  std::vector<char> letters(text.begin(), text.end());
  a.resize(letters, 1);
  a.check(letters.size() <= 255);
  for (char& c : letters) a.value(c);
  if constexpr (!std::is_const_v<T>) text.assign(letters.begin(), letters.end());
}

template <typename A, typename F>
void face(A& a, F& f) {
  values(a, f.id, f.confidence, f.neighbors);
  a.check(f.confidence >= 0 && f.confidence <= 1 && f.neighbors >= -1);
  bool tracked = f.origin == Origin::kTracked;
  a.value(tracked);
  if constexpr (!std::is_const_v<F>) f.origin = tracked ? Origin::kTracked : Origin::kDetected;
  values(a, f.has_keypoints, f.age);
  a.check(f.age >= 0);
  box(a, f.box);
  values(a, f.roll.cos, f.roll.sin);
  a.check(std::abs(f.roll.cos * f.roll.cos + f.roll.sin * f.roll.sin - 1) < 1e-3f);
  if (!f.has_keypoints) return;
  for (auto& p : f.keypoints) values(a, p.x, p.y);
}

/// Points in 16 bits; what they say of each other, validate() knows.
template <typename A, typename S>
void scheme(A& a, S& s) {
  values(a, s.points, s.eyes.left, s.eyes.right, s.eyes.count, s.low.index);
  auto low = static_cast<std::int16_t>(s.low.kind);
  a.value(low);
  if constexpr (!std::is_const_v<S>) s.low.kind = static_cast<LowPoint::Kind>(low);
  values(a, s.mouth.first, s.mouth.count, s.jaw.first, s.jaw.count, s.size.left, s.size.right,
         s.size.below, s.curves);
  const int curves = s.curves;
  a.check(curves >= 0 && curves <= kMaxLandmarkCurves);
  for (int c = 0; c < kMaxLandmarkCurves && c < curves; ++c)
    values(a, s.curve[c].first, s.curve[c].last, s.curve[c].closed);
}

/// Those that are said, of faces with so many points.
template <typename A, typename L>
void said_scheme(A& a, L& list) {
  bool said = list.scheme != nullptr;
  a.value(said);
  if (!said) return;
  LandmarkScheme copy = list.scheme ? *list.scheme : LandmarkScheme();
  scheme(a, copy);
  if constexpr (!std::is_const_v<L>) {
    a.check(copy.points > 0 && validate(copy, copy.points).ok());
    list.scheme = std::make_shared<const LandmarkScheme>(copy);
  }
}

constexpr std::size_t kFaceBytes = 8 + 4 + 4 + 1 + 1 + 4 + 16 + 8, kPointBytes = 8;

template <typename A, typename L>
void transfer(A& a, L& list, const FaceList*) {
  size(a, list.width, list.height);
  a.value(list.searched);
  text(a, list.detector);
  a.resize(list.faces, kFaceBytes);
  a.check(list.faces.size() <= kMostWireFaces);
  for (auto& f : list.faces) face(a, f);
  a.value(list.landmarks_per_face);
  a.check(list.landmarks_per_face >= 0 &&
          std::cmp_less_equal(list.landmarks_per_face, kMostWireLandmarks));
  a.resize(list.landmarks, kPointBytes);
  a.check(list.landmarks.size() ==
          list.faces.size() * static_cast<std::size_t>(list.landmarks_per_face));
  for (auto& p : list.landmarks) values(a, p.x, p.y);
  a.resize(list.landmark_confidences, sizeof(float));
  a.check(list.landmark_confidences.empty() ||
          list.landmark_confidences.size() == list.landmarks.size());
  for (auto& confidence : list.landmark_confidences) {
    a.value(confidence);
    a.check(confidence >= 0 && confidence <= 1);
  }
  said_scheme(a, list);
}

constexpr std::size_t kCellBytes = 4 + 1, kRegionBytes = 8 + 4 + 16;

template <typename A, typename M>
void transfer(A& a, M& motion, const MotionMap*) {
  size(a, motion.width, motion.height);
  values(a, motion.compared, motion.global_change, motion.in_event, motion.share,
         motion.moving_cells, motion.columns, motion.rows);
  const auto is_share = [](float share) { return share >= 0 && share <= 1; };
  a.check(is_share(motion.share) && motion.moving_cells >= 0 && motion.columns >= 0 &&
          motion.rows >= 0);
  a.resize(motion.cells, kCellBytes);
  a.check(std::cmp_equal(motion.cells.size(),
                         std::int64_t{motion.columns} * std::int64_t{motion.rows}));
  for (auto& cell : motion.cells) {
    values(a, cell.share, cell.moves);
    a.check(is_share(cell.share));
  }
  a.resize(motion.regions, kRegionBytes);
  for (auto& region : motion.regions) {
    values(a, region.id, region.cells);
    a.check(region.cells >= 0);
    box(a, region.box);
  }
}

/// Of a keypoint with bytes, which are fewer than floats.
constexpr std::size_t kKeypointBytes = 6 * 4 + kBinaryBytes;

/// One of two values of an enumeration.
template <typename A, typename E>
void one_of(A& a, E& value, std::remove_const_t<E> first, std::remove_const_t<E> second) {
  bool is_second = value == second;
  a.value(is_second);
  if constexpr (!std::is_const_v<E>) value = is_second ? second : first;
}

/// One of an enumeration's values, from 0 to `last`.
template <typename A, typename E>
void up_to(A& a, E& value, std::remove_const_t<E> last) {
  auto number = static_cast<std::uint8_t>(value);
  a.value(number);
  a.check(number <= static_cast<std::uint8_t>(last));
  if constexpr (!std::is_const_v<E>) value = static_cast<E>(number);
}

template <typename A, typename C>
void config(A& a, C& c) {
  one_of(a, c.detector, FeatureDetector::kFast, FeatureDetector::kHessian);
  one_of(a, c.descriptor, FeatureDescriptor::kOrb, FeatureDescriptor::kSurf);
  auto& orb = c.orb;
  auto& surf = c.surf;
  const auto is_from = [](auto value, auto least, auto most) {
    return value >= least && value <= most;
  };
  values(a, orb.max_keypoints, orb.threshold, orb.levels, orb.scale_factor, orb.edge);
  one_of(a, orb.score, KeypointScore::kHarris, KeypointScore::kFast);
  a.value(orb.upright);
  a.check(is_from(orb.max_keypoints, 1, kMostKeypoints) &&
          is_from(orb.threshold, 0, kMostFastThreshold) && is_from(orb.levels, 1, kMostOrbLevels) &&
          is_from(orb.scale_factor, kLeastScale, kMostScale) &&
          is_from(orb.edge, kLeastEdge, kMostEdge));
  values(a, surf.max_keypoints, surf.threshold, surf.octaves, surf.layers, surf.upright,
         surf.descriptor_size);
  up_to(a, surf.sampling, SurfSampling::kMipmap);
  up_to(a, surf.orientation, SurfOrientation::kCentroid);
  up_to(a, surf.window, SurfWindow::kOverlap);
  up_to(a, surf.precision, SurfPrecision::k24);
  a.check(is_from(surf.max_keypoints, 1, kMostKeypoints) && surf.threshold >= 0 &&
          is_from(surf.octaves, 1, kMostSurfOctaves) && is_from(surf.layers, 1, kMostSurfLayers) &&
          (surf.descriptor_size == 64 || surf.descriptor_size == 36));
}

/// As many values as both sides know of.
template <typename A, typename V>
void fill(A& a, V& all, std::size_t count) {
  if constexpr (!std::is_const_v<V>) a.fill(all, count);
  for (auto& value : all) a.value(value);
}

template <typename A, typename F>
void transfer(A& a, F& features, const FrameFeatures*) {
  size(a, features.width, features.height);
  config(a, features.config);
  auto& keypoints = features.found.keypoints;
  a.resize(keypoints, kKeypointBytes);
  a.check(keypoints.size() <= kMostKeypoints);
  for (auto& k : keypoints) {
    values(a, k.x, k.y, k.size, k.angle, k.response, k.octave);
    a.check(k.size >= 0 && k.angle >= 0 && k.angle <= 360 && k.octave >= 0);
  }
  fill(a, features.found.signs, keypoints.size());
  for (auto& sign : features.found.signs) a.check(sign >= -1 && sign <= 1);
  if (features.config.descriptor == FeatureDescriptor::kOrb) {
    fill(a, features.found.descriptors, kBinaryBytes * keypoints.size());
    return;
  }
  fill(a, features.found.floats,
       static_cast<std::size_t>(features.config.surf.descriptor_size) * keypoints.size());
}

constexpr std::size_t kPictureBytes = 4 + 8 + 4, kMatchBytes = 4 + 16 + 4;

template <typename A, typename P>
void pictures(A& a, P& all) {
  a.resize(all, kPictureBytes);
  a.check(all.size() <= kMostWirePictures);
  for (auto& picture : all) {
    text(a, picture.name);
    size(a, picture.width, picture.height);
    a.value(picture.keypoints);
    a.check(picture.keypoints >= 0);
  }
}

template <typename A, typename M>
void transfer(A& a, M& matches, const FrameMatches*) {
  size(a, matches.width, matches.height);
  pictures(a, matches.pictures);
  a.resize(matches.matches, kMatchBytes);
  for (auto& match : matches.matches) {
    values(a, match.picture, match.at.x, match.at.y, match.in_picture.x, match.in_picture.y,
           match.distance);
    a.check(match.picture >= 0 && std::cmp_less(match.picture, matches.pictures.size()) &&
            match.distance >= 0);
  }
}

constexpr std::size_t kPlanarBytes = 4 + 8 + 1 + 4 + 4 * 8 + 9 * 8;

template <typename A, typename P>
void transfer(A& a, P& planar, const FramePlanar*) {
  size(a, planar.width, planar.height);
  pictures(a, planar.pictures);
  a.resize(planar.objects, kPlanarBytes);
  for (auto& object : planar.objects) {
    values(a, object.picture, object.id, object.found, object.inliers);
    a.check(object.picture >= 0 && std::cmp_less(object.picture, planar.pictures.size()) &&
            object.inliers >= 0);
    for (auto& corner : object.corners) values(a, corner.x, corner.y);
    for (auto& value : object.map.m) a.value(value);
  }
}

template <typename A, typename E>
void rows(A& a, E& edges) {
  const int words = words_of(edges.width());
  for (int y = 0; y < edges.height(); ++y) {
    auto* row = edges.bits.view().row(y);
    for (int i = 0; i < words; ++i) {
      a.value(row[i]);
      a.check((row[i] & ~bits_between(i, 0, edges.width())) == 0);
    }
  }
}

template <typename T>
std::shared_ptr<const T> read(std::span<const std::uint8_t> bytes) {
  Reader reader(bytes);
  auto result = std::make_shared<T>();
  transfer(reader, *result, static_cast<const T*>(nullptr));
  if (!reader.is_over()) return nullptr;
  return result;
}

/// They know their size from the start.
template <>
std::shared_ptr<const Edges> read<Edges>(std::span<const std::uint8_t> bytes) {
  Reader reader(bytes);
  int width = 0, height = 0;
  size(reader, width, height);
  if (!reader.is_fine()) return nullptr;  // nobody computes with a size that is none
  reader.check(bytes.size() == kSizeBytes + std::size_t{8} *
                                                static_cast<std::size_t>(words_of(width)) *
                                                static_cast<std::size_t>(height));
  if (!reader.is_fine()) return nullptr;
  auto edges = std::make_shared<Edges>(width, height);
  rows(reader, *edges);
  if (!reader.is_over()) return nullptr;
  return edges;
}

}  // namespace

std::vector<std::uint8_t> size_bytes(int width, int height) {
  Writer writer;
  size(writer, width, height);
  return std::move(writer.bytes);
}

std::pair<int, int> take_size(std::span<const std::uint8_t>& bytes) {
  Reader reader(bytes);
  int width = 0, height = 0;
  size(reader, width, height);
  if (!reader.is_fine()) return {0, 0};
  bytes = bytes.subspan(kSizeBytes);
  return {width, height};
}

template <typename T>
std::vector<std::uint8_t> to_bytes(const T& result) {
  Writer writer;
  if constexpr (std::is_same_v<T, Edges>) {
    const int width = result.width(), height = result.height();
    size(writer, width, height);
    rows(writer, result);
  } else {
    transfer(writer, result, static_cast<const T*>(nullptr));
  }
  return std::move(writer.bytes);
}

template <typename T>
std::shared_ptr<const T> from_bytes(std::span<const std::uint8_t> bytes) {
  return read<T>(bytes);
}

template std::vector<std::uint8_t> to_bytes(const FaceList&);
template std::vector<std::uint8_t> to_bytes(const MotionMap&);
template std::vector<std::uint8_t> to_bytes(const Edges&);
template std::vector<std::uint8_t> to_bytes(const FrameFeatures&);
template std::vector<std::uint8_t> to_bytes(const FrameMatches&);
template std::vector<std::uint8_t> to_bytes(const FramePlanar&);
template std::shared_ptr<const FaceList> from_bytes(std::span<const std::uint8_t>);
template std::shared_ptr<const MotionMap> from_bytes(std::span<const std::uint8_t>);
template std::shared_ptr<const Edges> from_bytes(std::span<const std::uint8_t>);
template std::shared_ptr<const FrameFeatures> from_bytes(std::span<const std::uint8_t>);
template std::shared_ptr<const FrameMatches> from_bytes(std::span<const std::uint8_t>);
template std::shared_ptr<const FramePlanar> from_bytes(std::span<const std::uint8_t>);

}  // namespace cuface::gst
