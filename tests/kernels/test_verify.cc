// Followed faces verified in patches: the places by brute force in doubles, the search against a
// search of the whole atlas, and natural faces that are turned further than a cascade sees.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "kernels/detect/search_angles.h"
#include "kernels/detect/verify.h"
#include "tests/kernels/detections.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/turned_picture.h"

namespace cuface {
namespace {

using test::view_of;

constexpr DetectConfig kVerify = {.min_size = 60, .verify = true};

Roll roll_by(double degrees) {
  const double angle = degrees * std::numbers::pi / 180;
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

Box box_of(const Rect& r) {
  return {static_cast<float>(r.x), static_cast<float>(r.y), static_cast<float>(r.w),
          static_cast<float>(r.h)};
}

SearchRegion band_at(int index) { return {index, 4}; }

TEST(Verify, PatchesLieWhereTheFaceDoes) {
  const int width = 300, height = 200;
  const cv::Mat picture = test::smooth_noise(width, height, 12, 1);
  const PatchShape shape = patch_shape(20, 24, {}, width, height);
  EXPECT_EQ(shape.face_width, 30);
  EXPECT_EQ(shape.face_height, 36);
  std::mt19937 random(2);
  std::uniform_real_distribution<float> unit(0, 1);
  long inside = 0, outside = 0;
  for (int round = 0; round < 60; ++round) {
    const float side = 20 + 120 * unit(random);
    const Followed face{{300 * unit(random) - side / 2, 200 * unit(random) - side / 2, side, side},
                        roll_by(360 * unit(random))};
    const Patch patch = patch_of(face, shape);
    const double scale = side / 30.0;
    for (int v = 0; v < shape.height; ++v)
      for (int u = 0; u < shape.width; ++u) {
        const double a = scale * (u + 0.5 - shape.width / 2.0);
        const double b = scale * (v + 0.5 - shape.height / 2.0);
        const double x = face.box.x + side / 2 - 0.5 + a * face.roll.cos - b * face.roll.sin;
        const double y = face.box.y + side / 2 - 0.5 + a * face.roll.sin + b * face.roll.cos;
        const int value = patch_sample(view_of(picture), shape, patch, u, v);
        if (x < -0.01 || y < -0.01 || x > width - 0.99 || y > height - 0.99) {
          ASSERT_EQ(value, kOutside);
          ++outside;
        } else if (x > 0.01 && y > 0.01 && x < width - 1.01 && y < height - 1.01) {
          const int left = static_cast<int>(x), top = static_cast<int>(y);
          const auto at = [&](int i, int j) { return picture.at<std::uint8_t>(top + j, left + i); };
          const double fx = x - left, fy = y - top;
          const double want = (at(0, 0) * (1 - fx) + at(1, 0) * fx) * (1 - fy) +
                              (at(0, 1) * (1 - fx) + at(1, 1) * fx) * fy;
          ASSERT_NEAR(value, want, 1.5) << x << " " << y;
          ++inside;
        }
      }
  }
  EXPECT_GT(inside, 100'000);
  EXPECT_GT(outside, 10'000);
}

TEST(Verify, FindsGoBackToThePicture) {
  const int width = 1920, height = 1080;
  const PatchShape shape = patch_shape(20, 20, {}, width, height);
  std::mt19937 random(3);
  std::uniform_real_distribution<float> unit(0, 1);
  int inside = 0, too_far = 0, out_of_picture = 0;
  for (int round = 0; round < 3000; ++round) {
    const float side = 20 + 900 * unit(random);
    const Followed face{
        {width * unit(random) - side / 2, height * unit(random) - side / 2, side, side},
        roll_by(360 * unit(random))};
    const Patch patch = patch_of(face, shape);
    const int index = static_cast<int>(random() % kMostVerified);
    const int find = 23 + static_cast<int>(random() % 17);
    const Rect in_patch{static_cast<int>(random() % 30), static_cast<int>(random() % 30), find,
                        find};
    Rect box = in_patch;
    box.x += index % kPatchColumns * shape.width;
    box.y += index / kPatchColumns * shape.height;
    ASSERT_EQ(patch_at(box, shape), index);
    const double dx = in_patch.x + find / 2.0 - shape.width / 2.0;
    const double dy = in_patch.y + find / 2.0 - shape.height / 2.0;
    const double scale = side / 30.0;
    const double x = face.box.x + side / 2 + scale * (dx * face.roll.cos - dy * face.roll.sin);
    const double y = face.box.y + side / 2 + scale * (dx * face.roll.sin + dy * face.roll.cos);
    const bool near = std::fabs(dx) <= 9 && std::fabs(dy) <= 9;  // 0.3 of 30
    const bool seen = x >= 0 && y >= 0 && x < width && y < height;
    if (near && (std::fabs(x) < 0.1 || std::fabs(y) < 0.1 || std::fabs(x - width) < 0.1 ||
                 std::fabs(y - height) < 0.1))
      continue;
    ASSERT_EQ(from_patch(shape, patch, index, width, height, box), near && seen);
    too_far += !near;
    out_of_picture += near && !seen;
    if (!near || !seen) continue;
    ASSERT_NEAR(box.w, find * scale, 0.51);
    EXPECT_EQ(box.w, box.h);
    ASSERT_NEAR(box.x + box.w / 2.0, x, 0.52);
    ASSERT_NEAR(box.y + box.h / 2.0, y, 0.52);
    ++inside;
  }
  EXPECT_GT(inside, 500);
  EXPECT_GT(too_far, 500);
  EXPECT_GT(out_of_picture, 20);
}

TEST(Verify, LandmarksTellTheTurn) {
  Face face;
  face.roll = roll_by(-10);
  std::vector<Point> points(68, {7, 7});
  for (int i = 0; i < 6; ++i) {
    points[static_cast<std::size_t>(36 + i)] = {10, 20};
    points[static_cast<std::size_t>(42 + i)] = {40, 50};
  }
  const Roll roll = followed_face(face, points.data(), known_scheme(68).eyes).roll;
  EXPECT_NEAR(roll.cos, roll_by(45).cos, 1e-6);
  EXPECT_NEAR(roll.sin, roll_by(45).sin, 1e-6);
  const Roll stretched = followed_face(face, points.data(), known_scheme(68).eyes, 2, 1).roll;
  EXPECT_NEAR(stretched.sin / stretched.cos, 0.5, 1e-6);
  face.box = {10, 20, 30, 40};
  EXPECT_EQ(followed_face(face, nullptr, Eyes{}, 2, 0.5f).box, (Box{20, 10, 60, 20}));
  const Point few[5] = {{40, 20}, {30, 20}, {10, 20}, {20, 20}, {25, 40}};
  EXPECT_EQ(followed_face(face, few, known_scheme(5).eyes).roll, Roll{});
  // No landmarks that are known, none at all, none of this face.
  EXPECT_EQ(followed_face(face, points.data(), known_scheme(67).eyes).roll, face.roll);
  EXPECT_EQ(followed_face(face, nullptr, Eyes{}).roll, face.roll);
  points[38].x = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(followed_face(face, points.data(), known_scheme(68).eyes).roll, face.roll);
  points.assign(68, {3, 3});
  EXPECT_EQ(followed_face(face, points.data(), known_scheme(68).eyes).roll, face.roll);
}

TEST(Verify, OnlyWhatASearchShouldHaveFound) {
  DetectConfig config;
  config.min_size = 40;
  config.max_size = 100;
  const PatchShape shape = patch_shape(20, 20, config, 400, 300);
  const auto can = [&](const Box& box, const SearchRegion& band = kWholePicture) {
    return can_verify({box, {}}, shape, band, 400, 300);
  };
  EXPECT_TRUE(can({100, 100, 50, 50}));
  EXPECT_TRUE(can({100, 100, 40, 40}) && can({100, 100, 100, 100}));
  EXPECT_FALSE(can({100, 100, 39, 39}) || can({100, 100, 101, 101}));
  EXPECT_TRUE(can({-25, -25, 50, 50}) && can({374, 274, 50, 50}));
  EXPECT_FALSE(can({-26, 100, 50, 50}) || can({375, 100, 50, 50}));
  EXPECT_FALSE(can({100, -26, 50, 50}) || can({100, 275, 50, 50}));
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(can({kNan, 100, 50, 50}) || can({100, 100, kNan, 50}));
  EXPECT_FALSE(can({100, 100, std::numeric_limits<float>::infinity(), 50}));
  EXPECT_TRUE(can({100, 20, 50, 50}, band_at(0)) && can({100, 230, 50, 50}, band_at(3)));
  EXPECT_FALSE(can({100, 20, 50, 50}, band_at(3)) || can({100, 230, 50, 50}, band_at(0)));
  const PatchShape smaller = patch_shape(20, 20, {.detect_scale = 3}, 400, 300);
  EXPECT_EQ(smaller.smallest, 60) << "a search of a third cannot find smaller ones";
}

class VerifySearch : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_CASCADES();
    model = test::cascade_of(test::cascade_path("frontalface_alt"));
    ASSERT_TRUE(model);
  }

  DetectResult search(const cv::Mat& picture, const DetectConfig& config,
                      std::vector<Followed> followed = {},
                      const SearchRegion& band = kWholePicture) {
    auto detector = Detector::create(Backend::kCpu, model, config, picture.cols, picture.rows);
    EXPECT_TRUE(detector.ok()) << detector.status().message();
    DetectResult result;
    for (int i = 0; i < 2; ++i)  // what an earlier search has left is of no account
      EXPECT_TRUE(detector.value()->enqueue(view_of(picture), result, band, followed).ok());
    return result;
  }

  std::shared_ptr<const CascadeModel> model;
};

/// Where the centre of a face of the picture is in the turned one.
Followed in_canvas(const Rect& face, const Turn& turn, double degrees) {
  const Roll back = roll_by(degrees);
  const double x = face.x + face.w / 2.0 - turn.width / 2.0;
  const double y = face.y + face.h / 2.0 - turn.height / 2.0;
  const double u = x * back.cos - y * back.sin + turn.canvas_width / 2.0;
  const double v = x * back.sin + y * back.cos + turn.canvas_height / 2.0;
  const auto side = static_cast<float>(face.w);
  return {{static_cast<float>(u) - side / 2, static_cast<float>(v) - side / 2, side, side}, back};
}

TEST_F(VerifySearch, KeepsPhotosFacesAtEveryTurn) {
  CUFACE_NEEDS_DATA();
  std::vector<cv::String> files;
  cv::glob(test::data_dir() + "/images/helen/*.jpg", files);
  ASSERT_GT(files.size(), 20u);
  std::mt19937 random(4);
  std::uniform_real_distribution<float> unit(-1, 1);
  int tried = 0, kept = 0, seen_anyway = 0, elsewhere = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    const cv::Mat picture = cv::imread(files[i], cv::IMREAD_GRAYSCALE);
    const DetectResult upright = search(picture, {.min_size = 60});
    if (upright.faces.size() != 1) continue;
    EXPECT_TRUE(upright.rolls.empty());
    for (const int degrees : {-80, -60, -30, 40}) {
      // turn_picture() turns back what is turned by so much.
      const Turn turn = make_turn(-degrees, picture.cols, picture.rows);
      const cv::Mat head = test::turned(picture, turn);
      seen_anyway += !search(head, {.min_size = 60}).faces.empty();
      Followed face = in_canvas(upright.faces[0].box, turn, degrees);
      // Followed to there not quite.
      face.box.x += 0.08f * face.box.w * unit(random);
      face.box.y += 0.08f * face.box.w * unit(random);
      face.roll = roll_by(degrees + 8 * unit(random));
      const DetectResult found = search(head, kVerify, {face});
      ++tried;
      if (found.faces.empty()) continue;
      ASSERT_EQ(found.rolls.size(), found.faces.size());
      const Rect& box = found.faces[0].box;
      if (intersection_over_union(box_of(box), face.box) < 0.5f) continue;
      ++kept;
      EXPECT_NEAR(box.w, face.box.w, face.box.w * 0.3) << files[i] << " at " << degrees;
      EXPECT_TRUE(found.rolls[0].sin == 0 || found.rolls[0] == face.roll);
      // Not where there is no head.
      face.box.x -= 0.9f * face.box.w;
      const DetectResult beside = search(head, kVerify, {face});
      for (const Detection& d : beside.faces)
        elsewhere += intersection_over_union(box_of(d.box), face.box) > 0.5f;
    }
  }
  EXPECT_GT(tried, 25);
  EXPECT_GE(kept, tried * 9 / 10);
  EXPECT_LT(seen_anyway, tried / 2);
  EXPECT_LE(elsewhere, 1);
}

TEST_F(VerifySearch, IsASearchOfTheAtlas) {
  DetectConfig config{.min_neighbors = 1, .verify = true};
  int faces = 0, many = 0;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const cv::Mat drawn = test::drawn_faces(400, 260, seed);
    const Turn turn = make_turn(seed % 2 ? 35 : -50, drawn.cols, drawn.rows);
    const cv::Mat picture = test::turned(drawn, turn);
    const DetectResult upright = search(picture, {.min_neighbors = 1});
    const PatchShape shape = patch_shape(20, 20, config, picture.cols, picture.rows);
    std::vector<Followed> followed;
    for (int round = 0; round < 9; ++round)
      for (const Detection& d : search(drawn, {.min_neighbors = 1}).faces)
        followed.push_back(in_canvas(d.box, turn, seed % 2 ? -35 + round : 50 - round));
    // The same by hand.
    cv::Mat atlas(shape.atlas_height(), shape.atlas_width(), CV_8U, cv::Scalar(kOutside));
    std::vector<Patch> patches;
    for (const Followed& f : followed) {
      const bool found =
          std::any_of(upright.faces.begin(), upright.faces.end(), [&](const Detection& d) {
            return intersection_over_union(box_of(d.box), f.box) >= verify::kSameFace;
          });
      if (found || !can_verify(f, shape, kWholePicture, picture.cols, picture.rows)) continue;
      if (patches.size() == kMostVerified) break;
      const int i = static_cast<int>(patches.size());
      patches.push_back(patch_of(f, shape));
      for (int v = 0; v < shape.height; ++v)
        for (int u = 0; u < shape.width; ++u)
          atlas.at<std::uint8_t>(i / kPatchColumns * shape.height + v,
                                 i % kPatchColumns * shape.width + u) =
              patch_sample(view_of(picture), shape, patches.back(), u, v);
    }
    many += patches.size() == kMostVerified;
    std::vector<Detection> expected = upright.faces;
    for (Detection d : search(atlas, patch_search(shape, config)).faces) {
      const auto i = static_cast<std::size_t>(patch_at(d.box, shape));
      if (i < patches.size() &&
          from_patch(shape, patches[i], static_cast<int>(i), picture.cols, picture.rows, d.box))
        expected.push_back(d);
    }
    const DetectResult result = search(picture, config, followed);
    ASSERT_EQ(result.rolls.size(), result.faces.size());
    // Every face is one of those, sorted, and none of them is left out but for a better one there.
    int last = std::numeric_limits<int>::max();
    for (std::size_t k = 0; k < result.faces.size(); ++k) {
      const Detection& d = result.faces[k];
      EXPECT_NE(std::find(expected.begin(), expected.end(), d), expected.end());
      EXPECT_LE(d.neighbors, last);
      last = d.neighbors;
      faces += result.rolls[k].sin != 0;
    }
    for (const Detection& e : expected)
      EXPECT_TRUE(std::any_of(result.faces.begin(), result.faces.end(), [&](const Detection& d) {
        return d.neighbors >= e.neighbors && (d == e || is_one_head(box_of(d.box), box_of(e.box)));
      }));
  }
  EXPECT_GT(faces, 10);
  EXPECT_GT(many, 0) << "more faces than patches";
}

TEST_F(VerifySearch, NothingToVerifyIsAPlainSearch) {
  const cv::Mat picture = test::drawn_faces(400, 260, 1);
  const DetectResult plain = search(picture, {});
  ASSERT_GT(plain.faces.size(), 1u);
  std::vector<Followed> followed;
  for (const Detection& d : plain.faces) followed.push_back({box_of(d.box), {}});
  const DetectResult none = search(picture, {.verify = true});
  EXPECT_EQ(none.faces, plain.faces);
  EXPECT_TRUE(none.rolls.empty());
  const DetectResult found = search(picture, {.verify = true}, followed);
  EXPECT_EQ(found.faces, plain.faces);
  EXPECT_EQ(found.rolls, std::vector<Roll>(plain.faces.size()));
  // Faces that are too many for max-faces: those with the most neighbours stay.
  const DetectResult one = search(picture, {.max_faces = 1, .verify = true}, followed);
  ASSERT_EQ(one.faces.size(), 1u);
  EXPECT_EQ(one.faces[0], plain.faces[0]);
}

TEST_F(VerifySearch, TinyPicturesAndBoxesAnywhere) {
  for (const auto& [width, height] : {std::pair{1, 1}, {5, 40}, {19, 19}, {64, 48}}) {
    const cv::Mat picture = test::noise(width, height, 1);
    const auto w = static_cast<float>(width), h = static_cast<float>(height);
    const DetectResult result = search(
        picture, {.verify = true},
        {{{0, 0, w, w}, {}}, {{w - 30, h - 30, 60, 60}, roll_by(20)}, {{-9, -9, 20, 20}, {}}});
    EXPECT_TRUE(result.faces.empty());
    EXPECT_FALSE(result.overflow);
  }
}

}  // namespace
}  // namespace cuface
