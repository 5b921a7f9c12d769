// Results as bytes: what goes in comes out, and bytes that lie give nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <typeinfo>

#include "gst/meta/wire.h"
#include "tests/gst/faces.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 640, kHeight = 360;
using Bytes = std::vector<std::uint8_t>;

FaceList some_faces(int count = 3, int landmarks = 5) {
  FaceList list = *make_faces(kWidth, kHeight, count, landmarks);
  list.detector = "yunet";
  for (Face& face : list.faces) face.roll = {0.6f, -0.8f};
  if (count == 0) return list;
  Face& last = list.faces.back();
  last.id = std::numeric_limits<std::uint64_t>::max();
  last.origin = Origin::kTracked;
  last.neighbors = -1;
  last.age = 12;
  last.has_keypoints = true;
  for (Point& p : last.keypoints) p = {-3.25f, 1e5f};
  return list;
}

/// Five points, of which the left eye begins with that one.
LandmarkSchemeRef scheme_of_eyes(std::int16_t left) {
  LandmarkScheme scheme = known_scheme(5);
  scheme.eyes.left = left;
  scheme.curves = 1;
  scheme.curve[0] = {1, 3, 1};
  return std::make_shared<const LandmarkScheme>(scheme);
}

MotionMap some_motion() {
  MotionMap motion;
  motion.width = kWidth;
  motion.height = kHeight;
  motion.compared = motion.in_event = true;
  motion.share = 0.25f;
  motion.columns = 3;
  motion.rows = 2;
  motion.moving_cells = 1;
  motion.cells = {{0, false}, {1, true}, {0.5f, false}, {0, false}, {0, false}, {0, false}};
  motion.regions = {{7, 1, {213, 0, 213, 180}}};
  return motion;
}

FrameFeatures some_features() {
  FrameFeatures features;
  features.width = kWidth;
  features.height = kHeight;
  features.config.orb = {.max_keypoints = 7, .score = KeypointScore::kFast, .upright = true};
  features.found.keypoints = {{3.5f, 4, 31, 12.5f, -0.25f, 0}, {600, 300, 37.2f, 360, 1e-7f, 7}};
  for (int i = 0; i < 2 * kBinaryBytes; ++i)
    features.found.descriptors.push_back(static_cast<std::uint8_t>(7 * i));
  features.found.signs = {-1, 1};
  return features;
}

FrameFeatures some_floats() {
  FrameFeatures features = some_features();
  features.config = {FeatureDetector::kHessian,
                     FeatureDescriptor::kSurf,
                     {},
                     {.max_keypoints = 9,
                      .threshold = 0.5f,
                      .octaves = 2,
                      .upright = true,
                      .descriptor_size = 36,
                      .sampling = SurfSampling::kIntegral,
                      .orientation = SurfOrientation::kSliding,
                      .window = SurfWindow::kOverlap,
                      .precision = SurfPrecision::k13}};
  features.found.descriptors.clear();
  for (int i = 0; i < 2 * 36; ++i) features.found.floats.push_back(static_cast<float>(i) * -0.01f);
  return features;
}

FrameMatches some_matches() {
  FrameMatches matches;
  matches.width = kWidth;
  matches.height = kHeight;
  matches.pictures = {{"a.png", 64, 48, 31}, {"", 1, 1, 0}};
  matches.matches = {{0, {3.5f, 4}, {60, 1.25f}, 17}, {1, {-0.5f, 359}, {0, 0}, 0}};
  return matches;
}

std::shared_ptr<Edges> some_edges(int width, int height) {
  auto edges = std::make_shared<Edges>(width, height);
  for (int y = 0; y < height; ++y)
    for (int i = 0; i < words_of(width); ++i)
      edges->bits.view().row(y)[i] =
          0x9e3779b97f4a7c15u * static_cast<unsigned>(y + 7 * i + 1) & bits_between(i, 0, width);
  return edges;
}

bool equal(const Face& a, const Face& b) {
  for (int i = 0; i < kFaceKeypoints; ++i)
    if (!(a.keypoints[i] == b.keypoints[i])) return false;
  return a.id == b.id && a.confidence == b.confidence && a.neighbors == b.neighbors &&
         a.origin == b.origin && a.has_keypoints == b.has_keypoints && a.age == b.age &&
         a.box == b.box && a.roll == b.roll;
}

TEST(Wire, FacesComeOutAsTheyWentIn) {
  for (const int count : {0, 1, 3, 64})
    for (const int landmarks : {0, 5, 68}) {
      FaceList in = some_faces(count, landmarks);
      if (landmarks == 5) in.scheme = scheme_of_eyes(2);
      for (std::size_t i = 0; landmarks == 68 && i < in.landmarks.size(); ++i)
        in.landmark_confidences.push_back(static_cast<float>(i % 101) / 100);
      const auto out = gst::from_bytes<FaceList>(gst::to_bytes(in));
      ASSERT_NE(out, nullptr) << count << " faces, " << landmarks << " landmarks";
      EXPECT_EQ(out->width, in.width);
      EXPECT_EQ(out->height, in.height);
      EXPECT_EQ(out->searched, in.searched);
      EXPECT_EQ(out->detector, in.detector);
      EXPECT_EQ(out->landmarks_per_face, landmarks);
      EXPECT_EQ(out->landmarks, in.landmarks);
      EXPECT_EQ(out->landmark_confidences, in.landmark_confidences);
      ASSERT_EQ(out->scheme != nullptr, in.scheme != nullptr);
      if (in.scheme) {
        EXPECT_EQ(out->scheme->eyes.left, 2);
        EXPECT_EQ(out->scheme->curve[0].last, 3);
      }
      EXPECT_EQ(gst::to_bytes(*out), gst::to_bytes(in));
      ASSERT_EQ(out->faces.size(), in.faces.size());
      for (std::size_t i = 0; i < in.faces.size(); ++i)
        EXPECT_TRUE(equal(out->faces[i], in.faces[i])) << i;
    }
}

TEST(Wire, MotionAndEdgesComeOutAsTheyWentIn) {
  const MotionMap in = some_motion();
  const auto motion = gst::from_bytes<MotionMap>(gst::to_bytes(in));
  ASSERT_NE(motion, nullptr);
  EXPECT_EQ(gst::to_bytes(*motion), gst::to_bytes(in));
  EXPECT_EQ(motion->cells[1].moves, true);
  EXPECT_EQ(motion->regions[0].box, in.regions[0].box);
  EXPECT_EQ(motion->regions[0].id, 7u);
  for (const int width : {1, 63, 64, 65, 640}) {
    const auto edges = some_edges(width, 3);
    const auto out = gst::from_bytes<Edges>(gst::to_bytes(*edges));
    ASSERT_NE(out, nullptr) << width;
    EXPECT_EQ(out->width(), width);
    EXPECT_EQ(gst::to_bytes(*out), gst::to_bytes(*edges)) << width;
    EXPECT_EQ(bit_at(out->bits.view(), width - 1, 2), bit_at(edges->bits.view(), width - 1, 2));
  }
}

TEST(Wire, FeaturesComeOutAsTheyWentIn) {
  for (const FrameFeatures& in : {some_features(), some_floats()}) {
    const auto out = gst::from_bytes<FrameFeatures>(gst::to_bytes(in));
    ASSERT_NE(out, nullptr);
    EXPECT_EQ(out->width, kWidth);
    EXPECT_EQ(out->height, kHeight);
    EXPECT_EQ(out->config, in.config);
    EXPECT_EQ(out->found.keypoints, in.found.keypoints);
    EXPECT_EQ(out->found.descriptors, in.found.descriptors);
    EXPECT_EQ(out->found.floats, in.found.floats);
    EXPECT_EQ(out->found.signs, in.found.signs);
  }
  ASSERT_NE(gst::from_bytes<FrameFeatures>(gst::to_bytes(FrameFeatures{1, 1, {}})), nullptr);
}

FramePlanar some_planar() {
  FramePlanar planar;
  planar.width = kWidth;
  planar.height = kHeight;
  planar.pictures = {{"a.png", 64, 48, 31}, {"card", 1, 1, 0}};
  PlanarObject object{1, 7, true, 12, {{-3, 4}, {60, 1.25f}, {61, 50}, {2, 49}}, {}};
  object.map.m[0] = 1.0 / 3;
  object.map.m[7] = -1e-4;
  planar.objects = {object};
  return planar;
}

TEST(Wire, FlatObjectsComeOutAsTheyWentIn) {
  const FramePlanar in = some_planar();
  const auto out = gst::from_bytes<FramePlanar>(gst::to_bytes(in));
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(out->width, kWidth);
  EXPECT_EQ(out->height, kHeight);
  EXPECT_EQ(out->pictures, in.pictures);
  ASSERT_EQ(out->objects.size(), 1u);
  EXPECT_EQ(out->objects[0].picture, 1);
  EXPECT_EQ(out->objects[0].id, 7u);
  EXPECT_TRUE(out->objects[0].found);
  EXPECT_EQ(out->objects[0].inliers, 12);
  for (int k = 0; k < 4; ++k) EXPECT_EQ(out->objects[0].corners[k], in.objects[0].corners[k]);
  for (int k = 0; k < 9; ++k) EXPECT_EQ(out->objects[0].map.m[k], in.objects[0].map.m[k]);
  for (const int picture : {-1, 2}) {
    FramePlanar lie = in;
    lie.objects[0].picture = picture;
    EXPECT_EQ(gst::from_bytes<FramePlanar>(gst::to_bytes(lie)), nullptr) << picture;
  }
}

TEST(Wire, MatchesComeOutAsTheyWentIn) {
  const FrameMatches in = some_matches();
  const auto out = gst::from_bytes<FrameMatches>(gst::to_bytes(in));
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(out->width, kWidth);
  EXPECT_EQ(out->height, kHeight);
  EXPECT_EQ(out->pictures, in.pictures);
  ASSERT_EQ(out->matches.size(), 2u);
  EXPECT_EQ(out->matches[1].picture, 1);
  EXPECT_EQ(out->matches[0].at, in.matches[0].at);
  EXPECT_EQ(out->matches[0].in_picture, in.matches[0].in_picture);
  EXPECT_EQ(out->matches[0].distance, 17);
  for (const int picture : {-1, 2}) {
    FrameMatches lie = in;
    lie.matches[0].picture = picture;
    EXPECT_EQ(gst::from_bytes<FrameMatches>(gst::to_bytes(lie)), nullptr) << picture;
  }
  FrameFeatures features = some_features();
  features.config.orb.levels = 0;
  EXPECT_EQ(gst::from_bytes<FrameFeatures>(gst::to_bytes(features)), nullptr);
  FrameFeatures floats = some_floats();
  floats.config.surf.octaves = 0;
  EXPECT_EQ(gst::from_bytes<FrameFeatures>(gst::to_bytes(floats)), nullptr);
  floats = some_floats();
  floats.config.surf.window = static_cast<SurfWindow>(2);
  EXPECT_EQ(gst::from_bytes<FrameFeatures>(gst::to_bytes(floats)), nullptr);
  floats = some_floats();
  floats.found.signs[1] = 2;
  EXPECT_EQ(gst::from_bytes<FrameFeatures>(gst::to_bytes(floats)), nullptr);
}

/// What is taken is written again as the same bytes: nothing is mended on the way in.
template <typename T>
int taken(const Bytes& bytes) {
  const auto value = gst::from_bytes<T>(bytes);
  if (!value) return 0;
  EXPECT_EQ(gst::to_bytes(*value), bytes);
  return 1;
}

template <typename T>
void expect_careful(const Bytes& good) {
  EXPECT_EQ(taken<T>(good), 1);
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_EQ(taken<T>(Bytes(good.begin(), good.begin() + static_cast<long>(length))), 0) << length;
  Bytes longer = good;
  longer.push_back(0);
  EXPECT_EQ(taken<T>(longer), 0);
  int refused = 0;
  for (std::size_t i = 0; i < good.size(); ++i)
    for (const int flip : {0x01, 0x80, 0xff}) {
      Bytes bad = good;
      bad[i] ^= static_cast<std::uint8_t>(flip);
      refused += 1 - taken<T>(bad);
    }
  EXPECT_GE(refused, 20) << "of " << 3 * good.size();
}

TEST(Wire, BytesThatLieGiveNothing) {
  expect_careful<FaceList>(gst::to_bytes(some_faces()));
  expect_careful<MotionMap>(gst::to_bytes(some_motion()));
  expect_careful<Edges>(gst::to_bytes(*some_edges(70, 4)));
  expect_careful<FrameFeatures>(gst::to_bytes(some_features()));
  expect_careful<FrameFeatures>(gst::to_bytes(some_floats()));
  expect_careful<FrameMatches>(gst::to_bytes(some_matches()));
  expect_careful<FramePlanar>(gst::to_bytes(some_planar()));
}

TEST(Wire, ValuesOutOfTheirRangeAreRefused) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<std::pair<const char*, void (*)(FaceList&)>> lies = {
      {"width", [](FaceList& l) { l.width = 0; }},
      {"height", [](FaceList& l) { l.height = 40'000; }},
      {"few confidences", [](FaceList& l) { l.landmark_confidences = {0.5f}; }},
      {"confidence of a point", [](FaceList& l) { l.landmark_confidences.assign(15, 1.5f); }},
      {"scheme", [](FaceList& l) { l.scheme = scheme_of_eyes(4); }},
      {"scheme of none", [](FaceList& l) { l.scheme = std::make_shared<LandmarkScheme>(); }},
      {"confidence", [](FaceList& l) { l.faces[0].confidence = 1.5f; }},
      {"neighbors", [](FaceList& l) { l.faces[0].neighbors = -2; }},
      {"age", [](FaceList& l) { l.faces[0].age = -1; }},
      {"box", [](FaceList& l) { l.faces[1].box.w = -1; }},
      {"roll",
       [](FaceList& l) {
         l.faces[1].roll = {0, 0};
       }},
      {"landmarks", [](FaceList& l) { l.landmarks_per_face = 4; }},
      {"points", [](FaceList& l) { l.landmarks.pop_back(); }},
      {"name", [](FaceList& l) { l.detector.assign(256, 'x'); }},
      {"faces", [](FaceList& l) { l = some_faces(gst::kMostWireFaces + 1, 0); }},
  };
  for (const auto& [what, lie] : lies) {
    FaceList list = some_faces();
    lie(list);
    EXPECT_EQ(gst::from_bytes<FaceList>(gst::to_bytes(list)), nullptr) << what;
  }
  for (const float bad : {nan, inf, -inf}) {
    FaceList box = some_faces(), point = some_faces(), keypoint = some_faces();
    box.faces[0].box.x = bad;
    point.landmarks[3].y = bad;
    keypoint.faces[2].keypoints[4].x = bad;
    for (const FaceList* list : {&box, &point, &keypoint})
      EXPECT_EQ(gst::from_bytes<FaceList>(gst::to_bytes(*list)), nullptr) << bad;
    MotionMap motion = some_motion();
    motion.share = bad;
    EXPECT_EQ(gst::from_bytes<MotionMap>(gst::to_bytes(motion)), nullptr);
  }
  // Finite, but no longer so where it is scaled to another picture.
  FramePlanar corner = some_planar(), map = some_planar();
  corner.objects[0].corners[2].x = -3e38f;
  map.objects[0].map.m[4] = 1e305;
  for (const FramePlanar* planar : {&corner, &map})
    EXPECT_EQ(gst::from_bytes<FramePlanar>(gst::to_bytes(*planar)), nullptr);
  MotionMap motion = some_motion();
  motion.columns = 1 << 30;
  motion.rows = 1 << 30;
  EXPECT_EQ(gst::from_bytes<MotionMap>(gst::to_bytes(motion)), nullptr);
}

TEST(Wire, ALengthThatIsNotThereAllocatesNothing) {
  Bytes bytes = gst::to_bytes(some_faces(0, 0));
  // The number of faces is the last but two: behind it stand the landmarks of a face and of all.
  std::memset(bytes.data() + bytes.size() - 12, 0xff, 4);
  EXPECT_EQ(gst::from_bytes<FaceList>(bytes), nullptr);
}

#if GST_CHECK_VERSION(1, 24, 0)

/// As unixfdsink and unixfdsrc do it.
GstBuffer* sent(GstBuffer* buffer) {
  GByteArray* data = g_byte_array_new();
  std::vector<std::pair<guint, guint>> parts;
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta(buffer, &state)) {
    const guint from = data->len;
    if (gst_meta_serialize_simple(meta, data)) parts.emplace_back(from, data->len);
  }
  GstBuffer* other = gst_buffer_new_allocate(nullptr, gst_buffer_get_size(buffer), nullptr);
  for (const auto& [from, to] : parts) {
    guint32 used = 0;
    gst_meta_deserialize(other, data->data + from, to - from, &used);
  }
  g_byte_array_unref(data);
  return other;
}

TEST(Wire, MetasTravel) {
  gst_cuface_register_metas();
  GstBuffer* buffer = plain_frame("GRAY8", kWidth, kHeight);
  append_faces(buffer, std::make_shared<const FaceList>(some_faces()));
  gst::append_result<MotionMap>(buffer, std::make_shared<const MotionMap>(some_motion()));
  const auto edges = some_edges(320, 180);
  gst::append_result<Edges>(buffer, gst::FrameResult<Edges>(edges, kWidth, kHeight));
  gst::append_result<FrameFeatures>(buffer, std::make_shared<const FrameFeatures>(some_floats()));
  gst::append_result<FrameMatches>(buffer, std::make_shared<const FrameMatches>(some_matches()));
  gst::append_result<FramePlanar>(buffer, std::make_shared<const FramePlanar>(some_planar()));
  GstBuffer* other = sent(buffer);
  const FacesRead faces = read_faces(other, kWidth, kHeight);
  EXPECT_EQ(faces.positions, gst::Positions::kKnown);
  ASSERT_NE(faces.faces, nullptr);
  EXPECT_EQ(gst::to_bytes(*faces.faces), gst::to_bytes(some_faces()));
  const auto expect_there = [&](const auto& in) {
    using Kind = std::remove_cvref_t<decltype(in)>;
    const auto out = gst::find_result<Kind>(other, kWidth, kHeight).result.read();
    ASSERT_TRUE(out.ok() && out.value()) << typeid(Kind).name();
    EXPECT_EQ(gst::to_bytes(*out.value()), gst::to_bytes(in)) << typeid(Kind).name();
  };
  expect_there(some_motion());
  expect_there(some_floats());
  expect_there(some_matches());
  expect_there(some_planar());
  GstCufaceEdges* read = gst_cuface_edge_meta_get_edges(gst_cuface_buffer_get_edge_meta(other));
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(gst_cuface_edges_get_width(read), 320u);
  gst_cuface_edges_unref(read);
  EXPECT_EQ(read_faces(other, kWidth / 2, kHeight).positions, gst::Positions::kUnknown)
      << "places of another picture";
  gst_buffer_unref(other);

  GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(buffer);
  crop->width = crop->height = 100;
  other = sent(buffer);
  EXPECT_EQ(gst_cuface_buffer_get_face_meta(other), nullptr) << "a crop rectangle does not travel";
  gst_buffer_unref(other);
  gst_buffer_unref(buffer);
}

#endif

}  // namespace
}  // namespace cuface::test
