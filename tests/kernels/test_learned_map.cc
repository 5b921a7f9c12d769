// Where a detector that nobody has calibrated puts its boxes: what is learned, and what of
// nonsense.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <opencv2/objdetect.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/landmark_samples/learned_map.h"
#include "models/box_map.h"
#include "models/models.h"
#include "tests/data.h"
#include "tests/models/landmark_rows.h"

namespace cuface {
namespace {

/// A head that samples agree on the better, the nearer the box is that they are looked for in.
struct Head {
  forest::HeadBox head{{300, 200, 100, 100}, {0.8f, 0.6f}};
  int looks = 0;

  Looker looker() {
    return
        [this](const Box& box, const BoxMap& map, Roll roll) -> Result<std::optional<FirstLook>> {
          ++looks;
          const Box at = map.apply(box, roll);
          if (!(at.w > 0) || !std::isfinite(at.x + at.w)) return std::optional<FirstLook>();
          const double away = std::abs(static_cast<double>(at.w) / 100 - 1);
          return std::optional(FirstLook{head, 0.001 + 0.002 * away});
        };
  }
};

Face found(const Box& box, std::uint64_t id = 0) {
  Face face;
  face.box = box;
  face.id = id;
  return face;
}

TEST(LearnedMap, LeadsFromTheBoxToTheHead) {
  Head head;
  LearnedMap map;
  EXPECT_EQ(map.map(), BoxMap{}) << "nothing is learned yet";
  const Face face = found({290, 230, 60, 80});
  ASSERT_TRUE(map.learn({&face, 1}, head.looker()).ok());
  EXPECT_EQ(head.looks, 6);
  EXPECT_TRUE(map.map().square);
  const Box there = map.map().apply(face.box, head.head.roll);
  EXPECT_NEAR(there.x + there.w / 2, 350, 1e-3);
  EXPECT_NEAR(there.y + there.h / 2, 250, 1e-3);
  EXPECT_NEAR(there.w, 100, 1e-3);
}

TEST(LearnedMap, IsTheMiddleOfTheFirstFaces) {
  Head head;
  LearnedMap map;
  // Sides of 80 px, and one in three that is wrong.
  for (std::size_t i = 0; i < kLearnedFaces; ++i) {
    EXPECT_FALSE(map.is_done()) << i;
    const Face face = found(i % 3 == 1 ? Box{320, 200, 60, 60} : Box{310, 210, 80, 80});
    ASSERT_TRUE(map.learn({&face, 1}, head.looker()).ok());
  }
  EXPECT_TRUE(map.is_done());
  EXPECT_FLOAT_EQ(map.map().scale, 1.25f);
  EXPECT_NEAR(map.map().shift_x, 0, 1e-6);
  const int looks = head.looks;
  const Face more = found({0, 0, 60, 60});
  ASSERT_TRUE(map.learn({&more, 1}, head.looker()).ok());
  EXPECT_EQ(head.looks, looks) << "nothing more is learned";
}

TEST(LearnedMap, KnownAndFollowedFacesTeachNothing) {
  Head head;
  LearnedMap map;
  const Box box{310, 210, 80, 80};
  Face face = found(box, 7);
  face.origin = Origin::kTracked;
  ASSERT_TRUE(map.learn({&face, 1}, head.looker()).ok());
  face.origin = Origin::kDetected;
  ASSERT_TRUE(map.learn({&face, 1}, head.looker()).ok());
  EXPECT_EQ(head.looks, 0) << "it was there before";
  const Face two[] = {found(box, 8), found(box, 9)};
  ASSERT_TRUE(map.learn(two, head.looker()).ok());
  EXPECT_EQ(head.looks, 12);
  for (int i = 3; i < kMostLessons; ++i) {
    EXPECT_FALSE(map.is_done()) << i;
    ASSERT_TRUE(map.learn(two, head.looker()).ok());
  }
  EXPECT_EQ(head.looks, 12);
  EXPECT_TRUE(map.is_done()) << "always the same faces";
}

TEST(LearnedMap, NonsenseTeachesNothingAndComesToAnEnd) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Head head;
  LearnedMap map;
  const std::vector<Face> many(10'000, found({nan, 0, 10, 10}));
  ASSERT_TRUE(map.learn(many, head.looker()).ok());
  EXPECT_EQ(map.map(), BoxMap{});
  EXPECT_TRUE(map.is_done());
  EXPECT_LE(head.looks, 6 * kMostLessons);
  // Boxes that are many times too small or large, or far from the head.
  for (const Box& box : {Box{330, 230, 40, 40}, Box{200, 100, 210, 210}, Box{235, 200, 95, 95}}) {
    LearnedMap other;
    const Face face = found(box);
    ASSERT_TRUE(other.learn({&face, 1}, head.looker()).ok());
    EXPECT_EQ(other.map(), BoxMap{}) << box.x;
  }
  // Samples that disagree.
  LearnedMap doubtful;
  const Face face = found({300, 200, 100, 100});
  const auto unsure = [&](const Box&, const BoxMap&, Roll) -> Result<std::optional<FirstLook>> {
    return std::optional(FirstLook{head.head, 1.01 * kMostDisagreement});
  };
  ASSERT_TRUE(doubtful.learn({&face, 1}, unsure).ok());
  EXPECT_EQ(doubtful.map(), BoxMap{});
  const auto failing = [&](const Box&, const BoxMap&, Roll) -> Result<std::optional<FirstLook>> {
    return Status(StatusCode::kCancelled, "stopped");
  };
  LearnedMap stopped;
  EXPECT_EQ(stopped.learn({&face, 1}, failing).code(), StatusCode::kCancelled);
}

/// A detector whose boxes are the true ones, scaled and moved by parts of the true side.
struct Detector {
  float scale, right, down;
  Box box_at(const Box& truth) const {
    const float side = truth.w * scale;
    return {truth.x + truth.w * (0.5f + right) - side / 2,
            truth.y + truth.h * (0.5f + down) - side / 2, side, side};
  }
};

/// The labelled faces of every other photograph: with the rest the constants of learned_map.h were
/// chosen. Of these, those that our detector finds.
class LearnedMapOfPeople : public testing::Test {
 protected:
  struct Person {
    test::LandmarkRow row;
    cv::Mat picture;
    Box truth, ours;
  };

  void SetUp() override {
    CUFACE_NEEDS_DATA();
    const auto model = load_forest(test::model_dir() + "/shape_predictor_68_face_landmarks.dat");
    if (!model.ok()) GTEST_SKIP() << model.status().message();
    auto made = SampledLandmarker::create(Backend::kCpu, model.value());
    ASSERT_TRUE(made.ok());
    landmarker_ = std::move(made.value());
    ours_ = box_map_for(*model.value(), "haarcascade_frontalface_alt");
    static const std::vector<Person> found = find_people(*model.value());
    people_ = found;
  }

  static std::vector<Person> find_people(const ForestModel& model) {
    std::vector<Person> people;
    cv::CascadeClassifier cascade(test::cascade_path("frontalface_alt"));
    std::set<std::string> photographs;
    for (const test::LandmarkRow& row : test::landmark_rows())
      if (row.human) photographs.insert(photograph(row));
    for (const test::LandmarkRow& row : test::landmark_rows()) {
      if (!row.human) continue;
      if (std::distance(photographs.begin(), photographs.find(photograph(row))) % 2 == 0) continue;
      Person person{row, row.picture(), box_from_landmarks(model, row.truth), {}};
      std::vector<cv::Rect> hits;
      cascade.detectMultiScale(person.picture, hits, 1.1, 3, 0, cv::Size(80, 80));
      float most = 0.4f;
      for (const cv::Rect2f hit : hits) {
        const Box box{hit.x, hit.y, hit.width, hit.height};
        const float overlap = intersection_over_union(box, person.truth);
        if (overlap < most) continue;
        most = overlap;
        person.ours = box;
      }
      if (person.ours.w > 0) people.push_back(std::move(person));
    }
    return people;
  }

  /// Faces of one photograph have a name's first number in common.
  static std::string photograph(const test::LandmarkRow& row) {
    const std::string name = row.path.substr(row.path.rfind('/') + 1);
    return row.set == "helen" ? name.substr(0, name.find('_')) : name;
  }

  double error_of(const Person& person, const Box& box, const BoxMap& map) {
    constexpr int kSamples = 4;
    constexpr std::uint8_t kYes = 1;
    std::vector<Point> points(68);
    EXPECT_TRUE(landmarker_
                    ->enqueue(test::view(person.picture), {&box, 1}, map, kSamples, points,
                              std::vector<Roll>(1), {&kYes, 1})
                    .ok());
    return test::nme_percent(points, person.row.truth);
  }

  /// One face after the other, as a stream's new faces.
  double error_of(const Detector& detector, LearnedMap& map) {
    double sum = 0;
    for (const Person& person : people_) {
      const Face face = found(detector.box_at(person.truth));
      const auto look = [&](const Box& box, const BoxMap& from, Roll roll) {
        return landmarker_->look(test::view(person.picture), box, from, roll);
      };
      EXPECT_TRUE(map.learn({&face, 1}, look).ok());
      sum += error_of(person, face.box, map.map());
    }
    return sum / static_cast<double>(people_.size());
  }

  std::unique_ptr<SampledLandmarker> landmarker_;
  BoxMap ours_;
  std::vector<Person> people_;
};

// The goal: with true boxes scaled by 0.7 to 1.4 and moved by 15 % the error is at most 5 % above
// that with our own boxes.
TEST_F(LearnedMapOfPeople, AnyDetectorsBoxesServeAsOurs) {
  ASSERT_GE(people_.size(), 60u);
  constexpr std::size_t kSome = 20;
  double ours = 0, as_they_come = 0;
  for (std::size_t i = 0; i < people_.size(); ++i) {
    const Person& person = people_[i];
    ours += error_of(person, person.ours, ours_) / static_cast<double>(people_.size());
    const Detector off{0.7f, 0.15f, 0};
    if (i < kSome) as_they_come += error_of(person, off.box_at(person.truth), {}) / kSome;
  }
  double worst = 0;
  for (const float scale : {0.7f, 1.4f}) {
    for (const auto& [right, down] :
         {std::pair{0.15f, 0.0f}, {-0.15f, 0}, {0, 0.15f}, {0, -0.15f}}) {
      LearnedMap map;
      const double error = error_of({scale, right, down}, map);
      const BoxMap& got = map.map();
      std::printf("x %.2f, right %.2f, down %.2f: error %.3f %%; map %.3f %.3f %.3f\n",
                  static_cast<double>(scale), static_cast<double>(right), static_cast<double>(down),
                  error, static_cast<double>(got.scale), static_cast<double>(got.shift_x),
                  static_cast<double>(got.shift_y));
      worst = std::max(worst, error);
      EXPECT_NEAR(got.scale * scale, 1, 0.05);
    }
  }
  std::printf("%zu faces: ours %.3f %%, the worst %.3f %%, x 0.7 as they come %.3f %%\n",
              people_.size(), ours, worst, as_they_come);
  EXPECT_LE(worst, 1.05 * ours);
  EXPECT_GT(as_they_come, 1.05 * ours) << "then there is nothing to learn";
}

TEST_F(LearnedMapOfPeople, TwoRunsAreEqual) {
  people_.resize(std::min<std::size_t>(people_.size(), kLearnedFaces));
  const Detector detector{0.8f, 0.1f, -0.1f};
  LearnedMap first, second;
  EXPECT_EQ(error_of(detector, first), error_of(detector, second));
  EXPECT_EQ(first.map(), second.map());
}

}  // namespace
}  // namespace cuface
