// Vector code of the forest against the plain reference: every float, bit for bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>

#include "models/forest_file.h"
#include "models/models.h"
#include "tests/data.h"
#include "tests/fewer.h"
#include "tests/kernels/forests.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/versions.h"
#include "tests/models/landmark_rows.h"
#include "tests/models/synthetic_forest.h"

namespace cuface {
namespace {

using test::ForestCopy;
using test::ForestSize;
using test::kHumanRows;
using test::landmarker_of;
using test::noise_picture;
using test::Turn;

/// Bits, but for what a NaN carries.
bool same_bits(std::span<const Point> a, std::span<const Point> b) {
  const auto same = [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) ||
           (std::isnan(x) && std::isnan(y));
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](Point p, Point q) { return same(p.x, q.x) && same(p.y, q.y); });
}

class ForestVersions : public test::EveryVersion {
 protected:
  /// Faces whose points are not those of the plain reference; all boxes in one call.
  static std::size_t differences(Landmarker& landmarker, const cv::Mat& picture,
                                 std::span<const Box> boxes, int landmarks) {
    const auto points = boxes.size() * static_cast<std::size_t>(landmarks);
    std::vector<Point> ours(points), plain(points);
    EXPECT_TRUE(landmarker.enqueue(test::view(picture), boxes, ours).ok());
    EXPECT_TRUE(simd::force("scalar").ok());
    EXPECT_TRUE(landmarker.enqueue(test::view(picture), boxes, plain).ok());
    EXPECT_TRUE(simd::force(GetParam()).ok());
    std::size_t count = 0;
    for (std::size_t i = 0; i < points; i += static_cast<std::size_t>(landmarks)) {
      const auto face = [&](const std::vector<Point>& all) {
        return std::span(all).subspan(i, static_cast<std::size_t>(landmarks));
      };
      count += !same_bits(face(ours), face(plain));
    }
    return count;
  }

  static std::vector<Box> random_boxes(const cv::Mat& picture, int count, unsigned seed) {
    std::mt19937 random(seed);
    const auto uniform = [&](float low, float high) {
      return std::uniform_real_distribution<float>(low, high)(random);
    };
    std::vector<Box> boxes;
    for (int i = 0; i < count; ++i) {
      const auto w = static_cast<float>(picture.cols), h = static_cast<float>(picture.rows);
      boxes.push_back({uniform(-w, w), uniform(-h, h), uniform(0.5f, 2 * w), uniform(0.5f, 2 * h)});
    }
    return boxes;
  }
};
CUFACE_EVERY_VERSION(ForestVersions);

TEST_P(ForestVersions, SyntheticModelsOnRandomAndExtremePictures) {
  // Trees, pools and leaves that fill no whole vector; depths and pools beyond those of vector
  // code.
  const ForestSize shapes[] = {{68, 3, 50, 4, 60}, {5, 3, 9, 2, 20},  {1, 2, 3, 1, 4},
                               {97, 2, 33, 5, 33}, {194, 1, 8, 3, 1}, {6, 2, 16, 4, 2048},
                               {6, 2, 5, 4, 2049}, {7, 2, 17, 6, 30}, {68, 2, 130, 4, 512},
                               {9, 2, 70, 5, 513}, {3, 2, 65, 1, 300}};
  const std::vector<cv::Mat> pictures = {
      noise_picture(160, 120, 3), test::noise(33, 17, 1), test::noise(1, 1, 2),
      cv::Mat(40, 50, CV_8UC1, cv::Scalar(255)), test::noise(900, 3, 5)(cv::Rect(7, 1, 800, 2))};
  std::size_t faces = 0;
  for (const ForestSize& s : shapes) {
    const auto model =
        test::synthetic_forest(s.landmarks, s.cascades, s.trees, s.depth, s.pool, 41);
    const auto landmarker = landmarker_of(model);
    const auto compact = landmarker_of(compact_forest(*model));
    for (const cv::Mat& picture : pictures) {
      for (const int count : {1, 7, 8, 21}) {
        const auto boxes = random_boxes(picture, count, static_cast<unsigned>(count));
        EXPECT_EQ(differences(*landmarker, picture, boxes, s.landmarks), 0u)
            << s.landmarks << " landmarks, picture " << picture.cols << "x" << picture.rows;
        EXPECT_EQ(differences(*compact, picture, boxes, s.landmarks), 0u)
            << s.landmarks << " landmarks, picture " << picture.cols << "x" << picture.rows;
        faces += boxes.size();
      }
    }
    const float big = std::numeric_limits<float>::max();
    const std::vector<Box> huge = {{0, 0, big, big}, {-big, big, 10, 10}, {3e9f, -3e9f, 5e9f, 1}};
    EXPECT_EQ(differences(*landmarker, pictures[0], huge, s.landmarks), 0u);
  }
  EXPECT_EQ(faces, std::size(shapes) * 5 * 37);
}

TEST_P(ForestVersions, ExtremeThresholdsAndLeaves) {
  const auto model = test::synthetic_forest(68, 3, 40, 4, 50, 43);
  const cv::Mat picture = test::noise(120, 100, 4);
  const auto boxes = random_boxes(picture, 40, 9);
  const float big = std::numeric_limits<float>::max();
  const float thresholds[] = {0,   -0.0f, 1e-30f,  -1e-30f, 1,    -1,  254.5f, 255,
                              256, -255,  -255.5f, -256,    -257, big, -big};
  for (const float bias : {0.0f, 1.0f}) {  // all trees with the same thresholds, and mixed
    ForestCopy changed(*model);
    for (std::size_t i = 0; i < changed.nodes.size(); ++i) {
      changed.nodes[i].threshold =
          bias > 0 ? std::floor(changed.nodes[i].threshold) : thresholds[i % std::size(thresholds)];
    }
    EXPECT_EQ(
        differences(*landmarker_of(std::make_shared<ForestCopy>(changed)), picture, boxes, 68), 0u);
  }
  // Eight times the largest integers a compact model may have.
  ForestCopy flat(*model);
  std::fill(flat.values.begin(), flat.values.end(), 0.01f);
  const auto largest = compact_forest(flat);
  EXPECT_EQ(largest->compact_leaves.front(), kCompactLimit);
  EXPECT_EQ(differences(*landmarker_of(largest), picture, boxes, 68), 0u);
  // Shapes that run away until they are infinite and NaN.
  ForestCopy wild(*model);
  for (std::size_t i = 0; i < wild.values.size(); i += 7) wild.values[i] = i % 2 ? big : -big;
  ASSERT_TRUE(validate(wild).ok());
  EXPECT_EQ(differences(*landmarker_of(std::make_shared<ForestCopy>(wild)), picture, boxes, 68),
            0u);
}

TEST_P(ForestVersions, RealFacesAndBoxesAroundThem) {
  CUFACE_NEEDS_DATA();
  const std::string path = test::model_dir() + "/shape_predictor_68_face_landmarks.dat";
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "no " << path << ": run models/fetch --models";
  const auto model = load_forest(path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto landmarker = landmarker_of(model.value()),
             compact = landmarker_of(compact_forest(*model.value()));
  std::size_t rows = 0, faces = 0;
  Turn turn;
  for (const test::LandmarkRow& row : test::landmark_rows()) {
    if (!row.human || ++rows % 5 != 0 || !turn()) continue;
    const Box box = box_from_landmarks(*model.value(), row.truth);
    std::vector<Box> boxes;
    for (const float shift : {0.0f, 0.04f, -0.09f, 0.33f, -1.0f}) {
      boxes.push_back(
          {box.x + shift * box.w, box.y - shift * box.h, box.w * (1 + shift / 2), box.h});
    }
    boxes.erase(boxes.begin() + static_cast<long>(faces % 5));  // fewer than go together
    boxes.insert(boxes.end(), 6, box);                          // and more
    EXPECT_EQ(differences(*landmarker, row.picture(), boxes, 68), 0u) << row.path;
    EXPECT_EQ(differences(*compact, row.picture(), boxes, 68), 0u) << row.path;
    faces += boxes.size();
  }
  EXPECT_EQ(faces, Turn::of(kHumanRows / 5) * 10);
}

}  // namespace
}  // namespace cuface
