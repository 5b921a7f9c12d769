// A search at several angles: against OpenCV's search of each turned picture, joined by brute
// force; and that turned faces are found at all.
#include <gtest/gtest.h>

#include <random>

#include "kernels/common/lanes.h"
#include "kernels/detect/search_angles.h"
#include "kernels/group/box_rules.h"
#include "kernels/turn/turn.h"
#include "tests/kernels/detections.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/turned_picture.h"

namespace cuface {
namespace {

using test::view_of;

struct Found {
  Detection face;
  int angle;
  friend bool operator==(const Found&, const Found&) = default;
};

Box as_box(const Rect& r) {
  return {static_cast<float>(r.x), static_cast<float>(r.y), static_cast<float>(r.w),
          static_cast<float>(r.h)};
}

bool contains(const Rect& r, double x, double y) {
  return x > r.x && x < r.x + r.w && y > r.y && y < r.y + r.h;
}

/// The rule said otherwise: all in one list, sorted, then each against those kept.
std::vector<Found> joined(const std::vector<std::vector<Detection>>& lists, std::size_t most) {
  std::vector<Found> all, kept;
  for (std::size_t a = 0; a < lists.size(); ++a)
    for (const Detection& d : lists[a]) all.push_back({d, static_cast<int>(a)});
  std::stable_sort(all.begin(), all.end(), [](const Found& a, const Found& b) {
    return a.face.neighbors > b.face.neighbors;
  });
  for (const Found& f : all) {
    const Rect& r = f.face.box;
    const bool same = std::any_of(kept.begin(), kept.end(), [&](const Found& k) {
      const Rect& o = k.face.box;
      return k.angle != f.angle && (contains(o, r.x + r.w / 2.0, r.y + r.h / 2.0) ||
                                    contains(r, o.x + o.w / 2.0, o.y + o.h / 2.0));
    });
    if (!same && kept.size() < most) kept.push_back(f);
  }
  return kept;
}

struct Lists {
  const std::vector<std::vector<Detection>>& lists;
  std::vector<Found> kept;

  const Detection& at(int a, int i) const {
    return lists[static_cast<std::size_t>(a)][static_cast<std::size_t>(i)];
  }
  int count(int a) const { return static_cast<int>(lists[static_cast<std::size_t>(a)].size()); }
  int neighbors(int a, int i) const { return at(a, i).neighbors; }
  Box box(int a, int i) const { return as_box(at(a, i).box); }
  int kept_angle(int k) const { return kept[static_cast<std::size_t>(k)].angle; }
  Box kept_box(int k) const { return as_box(kept[static_cast<std::size_t>(k)].face.box); }
  void keep(int, int a, int i) { kept.push_back({at(a, i), a}); }
};

TEST(Turns, AnglesAreEvenlySpacedAndNearEnough) {
  EXPECT_EQ(search_angles(0), std::vector<double>{0});
  EXPECT_EQ(search_angles(20), (std::vector<double>{0, 20, -20}));
  EXPECT_EQ(search_angles(45), (std::vector<double>{0, 22.5, -22.5, 45, -45}));
  for (int roll = 1; roll <= kMaxRoll; ++roll) {
    const std::vector<double> angles = search_angles(roll);
    ASSERT_LE(angles.size(), static_cast<std::size_t>(kMaxAngles));
    EXPECT_EQ(angles.back(), -roll);
    for (std::size_t i = 1; i < angles.size(); i += 2) {
      EXPECT_EQ(angles[i + 1], -angles[i]);
      EXPECT_LE(angles[i] - (i > 1 ? angles[i - 2] : 0), kTurnStep);
    }
  }
}

TEST(Turns, JoinKeepsTheBestOfEachHead) {
  std::mt19937 random(5);
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  int kept = 0, dropped = 0, cut = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::vector<Detection>> lists(static_cast<std::size_t>(1 + below(kMaxAngles)));
    for (auto& list : lists) {
      for (int i = below(round % 10 == 0 ? 100 : 6); i > 0; --i) {
        const int side = 20 + below(60);
        list.push_back({{below(400) - 20, below(300) - 20, side, side}, 1 + below(8)});
      }
      std::sort(list.begin(), list.end(), comes_before);
    }
    const int most = round % 3 == 0 ? 1 + below(8) : 1000;
    Lists ours{lists, {}};
    JoinScratch scratch;
    const int count =
        join_angles(SerialLanes{}, ours, static_cast<int>(lists.size()), most, scratch);
    const auto expected = joined(lists, static_cast<std::size_t>(most));
    ASSERT_EQ(ours.kept, expected);
    ASSERT_EQ(count, static_cast<int>(expected.size()));
    std::size_t all = 0;
    for (const auto& list : lists) all += list.size();
    kept += count;
    (count == most ? cut : dropped) += static_cast<int>(all) - count;
  }
  EXPECT_GT(kept, 3000);
  EXPECT_GT(dropped, 1000);
  EXPECT_GT(cut, 500);
}

class TurnedSearch : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_CASCADES();
    path = test::cascade_path("frontalface_alt");
    model = test::cascade_of(path);
    ASSERT_TRUE(model);
  }

  DetectResult search(const cv::Mat& picture, const DetectConfig& config) {
    auto detector = Detector::create(Backend::kCpu, model, config, picture.cols, picture.rows);
    EXPECT_TRUE(detector.ok()) << detector.status().message();
    DetectResult result;
    for (int i = 0; i < 2; ++i)  // what an earlier search has left is of no account
      EXPECT_TRUE(detector.value()->enqueue(view_of(picture), result).ok());
    return result;
  }

  static cv::Mat turned(const cv::Mat& picture, double degrees) {
    return test::turned(picture, make_turn(degrees, picture.cols, picture.rows));
  }

  std::string path;
  std::shared_ptr<const CascadeModel> model;
};

TEST_F(TurnedSearch, IsOpenCvsSearchOfEachTurnedPicture) {
  cv::CascadeClassifier classifier(path);
  ASSERT_FALSE(classifier.empty());
  int faces = 0, at_an_angle = 0;
  for (const double degrees : {0.0, 15.0, -28.0, 40.0}) {
    const cv::Mat picture = turned(test::drawn_faces(400, 260, 1), degrees);
    for (const int roll : {20, 45, 90}) {
      DetectConfig config;
      config.roll = roll;
      config.min_neighbors = roll == 20 ? 1 : 3;
      config.min_size = 24;
      config.max_faces = roll == 90 ? 3 : 64;
      std::vector<std::vector<Detection>> lists;
      std::vector<Turn> turns;
      for (const double angle : search_angles(roll)) {
        turns.push_back(make_turn(angle, picture.cols, picture.rows));
        std::vector<cv::Rect> boxes;
        std::vector<int> neighbors;
        const int least = lists.empty() ? config.min_neighbors : 2 * config.min_neighbors;
        classifier.detectMultiScale(turned(picture, angle), boxes, neighbors, 1.1, least, 0,
                                    {24, 24});
        auto& list = lists.emplace_back();
        for (std::size_t i = 0; i < boxes.size(); ++i)
          list.push_back({{boxes[i].x, boxes[i].y, boxes[i].width, boxes[i].height}, neighbors[i]});
        std::sort(list.begin(), list.end(), comes_before);
        if (angle != 0)
          std::erase_if(list,
                        [&](Detection& d) { return !turning::to_picture(turns.back(), d.box); });
      }
      const auto expected = joined(lists, static_cast<std::size_t>(config.max_faces));
      const DetectResult result = search(picture, config);
      ASSERT_EQ(result.faces.size(), expected.size()) << degrees << " " << roll;
      ASSERT_EQ(result.rolls.size(), expected.size());
      EXPECT_FALSE(result.overflow);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(result.faces[i], expected[i].face) << degrees << " " << roll << " " << i;
        EXPECT_EQ(result.rolls[i], turns[static_cast<std::size_t>(expected[i].angle)].roll());
        ++faces;
        at_an_angle += expected[i].angle > 0;
      }
    }
  }
  EXPECT_GT(faces, 20);
  EXPECT_GT(at_an_angle, 10);
}

TEST_F(TurnedSearch, FindsAPhotosFaceAtEveryAngle) {
  CUFACE_NEEDS_DATA();
  std::vector<cv::String> files;
  cv::glob(test::data_dir() + "/images/helen/*.jpg", files);
  ASSERT_GT(files.size(), 20u);
  int tried = 0, upright_only = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    const cv::Mat picture = cv::imread(files[i], cv::IMREAD_GRAYSCALE);
    DetectConfig config;
    config.min_size = 60;
    const DetectResult upright = search(picture, config);
    if (upright.faces.size() != 1) continue;
    EXPECT_TRUE(upright.rolls.empty());
    const Rect& face = upright.faces[0].box;
    for (const int degrees : {-60, -45, 30, 60}) {
      // turn_picture() turns back what is turned by so much.
      const cv::Mat head = turned(picture, -degrees);
      upright_only += !search(head, config).faces.empty();
      config.roll = 60;
      const DetectResult found = search(head, config);
      config.roll = 0;
      ++tried;
      ASSERT_GE(found.faces.size(), 1u) << files[i] << " at " << degrees;
      const Rect& box = found.faces[0].box;
      EXPECT_NEAR(box.w, face.w, face.w * 0.25) << files[i] << " at " << degrees;
      const double angle = std::atan2(found.rolls[0].sin, found.rolls[0].cos) * 180 / CV_PI;
      EXPECT_NEAR(angle, degrees, 25) << files[i];
    }
  }
  EXPECT_GT(tried, 20);
  EXPECT_LT(upright_only, tried / 4);
}

TEST_F(TurnedSearch, TooManyWindowsAtOneAngleAreNoneAtAll) {
  // Every window passes that is not flat.
  CascadeModel everything = *model;
  everything.stages.resize(1);
  everything.stages[0].threshold = -1e6f;
  everything.trees.resize(static_cast<std::size_t>(everything.stages[0].tree_count));
  const HaarTree& tree = everything.trees.back();
  everything.nodes.resize(static_cast<std::size_t>(tree.first_node + tree.node_count));
  everything.leaves.resize(static_cast<std::size_t>(tree.first_leaf + tree.leaf_count));
  model = std::make_shared<const CascadeModel>(std::move(everything));
  DetectConfig config;
  config.min_neighbors = 0;
  int angle_only = 0;
  for (int side = 160; side <= 260; side += 20) {
    const cv::Mat picture = test::noise(side, side, 3);
    config.roll = 0;
    const bool upright = search(picture, config).overflow;
    config.roll = 45;
    const DetectResult turned = search(picture, config);
    EXPECT_GE(turned.overflow, upright) << side;
    EXPECT_EQ(turned.faces.empty(), turned.overflow) << side;
    EXPECT_EQ(turned.rolls.size(), turned.faces.size());
    angle_only += turned.overflow && !upright;
  }
  EXPECT_GT(angle_only, 0);
}

TEST_F(TurnedSearch, ValuesOutOfRangeAreRefused) {
  for (const int roll : {-1, 91}) {
    DetectConfig config;
    config.roll = roll;
    const auto detector = Detector::create(Backend::kCpu, model, config, 64, 64);
    EXPECT_EQ(detector.status().code(), StatusCode::kInvalidArgument);
  }
  DetectConfig config;
  config.min_size = 4000;
  config.roll = 45;
  const auto detector = Detector::create(Backend::kCpu, model, config, 16384, 16384);
  EXPECT_EQ(detector.status().code(), StatusCode::kUnsupported) << "the canvas is too large";
}

TEST_F(TurnedSearch, PicturesWithoutWindowsGiveNothing) {
  DetectConfig config;
  config.roll = 90;
  for (const auto& [width, height] : {std::pair{1, 1}, {5, 40}, {19, 19}}) {
    const DetectResult result = search(test::noise(width, height, 1), config);
    EXPECT_TRUE(result.faces.empty());
    EXPECT_FALSE(result.overflow);
  }
}

}  // namespace
}  // namespace cuface
