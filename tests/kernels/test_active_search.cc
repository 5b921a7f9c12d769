// Searches by a map of active parts against their definition, and a detector's.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "kernels/detect/boxes.h"
#include "kernels/detect/searcher.h"
#include "tests/fewer.h"
#include "tests/kernels/brute_cascade.h"
#include "tests/kernels/detections.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

std::vector<Rect> sorted(std::vector<Rect> list) {
  const auto values = [](const Rect& r) { return std::tuple(r.w, r.h, r.y, r.x); };
  std::sort(list.begin(), list.end(),
            [&](const Rect& a, const Rect& b) { return values(a) < values(b); });
  return list;
}

ActivityMap random_map(std::mt19937& random, int kind) {
  ActivityMap map;
  for (auto& size : map.cells)
    for (std::uint64_t& row : size) {
      const auto word = [&] { return std::uint64_t{random()} << 32 | random(); };
      row = kind == 0   ? ~std::uint64_t{0}
            : kind == 1 ? word()
            : kind == 2 ? word() & word() & word()
                        : (random() % 3 ? 0 : word() | word());
    }
  return map;
}

class ActiveSearch : public test::EveryVersion {};
CUFACE_EVERY_VERSION(ActiveSearch);

TEST_P(ActiveSearch, OfAllCellsIsTheWholeSearch) {
  CUFACE_NEEDS_CASCADES();
  const auto model = test::cascade_of(test::cascade_path("frontalface_alt"));
  std::mt19937 random(1);
  const ActivityMap all = random_map(random, 0);
  std::size_t windows = 0;
  for (const auto& [width, height] : {std::pair(640, 481), {203, 97}, {21, 20}})
    for (const int threads : {1, 3}) {
      SearchPlan plan;
      plan.width = width;
      plan.height = height;
      plan.threads = threads;
      const cv::Mat picture = test::drawn_faces(width, height, 3);
      const auto searcher = make_searcher(ScaleMode::kPyramid, *model, plan);
      std::vector<Rect> whole, active;
      ASSERT_TRUE(searcher->search(test::view_of(picture), kWholePicture, nullptr, whole));
      ASSERT_TRUE(searcher->search(test::view_of(picture), kActiveParts, &all, active));
      ASSERT_EQ(active, whole);
      windows += whole.size();
    }
  EXPECT_GT(windows, 50u);
}

// The definition: a window whose middle lies in a cell that is off neither passes nor fails.
TEST_P(ActiveSearch, EqualsTheDefinition) {
  CUFACE_NEEDS_CASCADES();
  const auto model = test::cascade_of(test::cascade_path("frontalface_alt"));
  std::mt19937 random(2);
  std::size_t windows = 0, left_out = 0;
  for (const auto& [width, height] : {std::pair(330, 240), {230, 157}}) {
    const cv::Mat picture = test::drawn_faces(width, height, 9);
    SearchPlan plan;
    plan.width = width;
    plan.height = height;
    plan.scale_factor = 1.2;
    const CellGrid grid = cell_grid(width, height);
    const auto searcher = make_searcher(ScaleMode::kPyramid, *model, plan);
    const std::vector<Level> levels = plan_levels(*model, plan);
    std::vector<test::BruteCascade> brute;
    for (const Level& l : levels) {
      cv::Mat scaled;
      cv::resize(picture, scaled, {l.width, l.height}, 0, 0, cv::INTER_LINEAR_EXACT);
      brute.emplace_back(*model, scaled);
    }
    for (int round = 0; round < test::fewer(6); ++round) {
      const ActivityMap map = random_map(random, 1 + round % 3);
      std::vector<Rect> expected, found;
      for (std::size_t i = 0; i < levels.size(); ++i) {
        const Level& l = levels[i];
        const Rect box = window_box(0, 0, model->window_width, model->window_height, l.scale);
        const auto active = [&](int x, int y) {
          const int column = (x + model->window_width / 2) * grid.columns / l.width;
          const int row = (y + model->window_height / 2) * grid.rows / l.height;
          const bool on = map.cells[size_class_of(box.w)][row] >> column & 1;
          left_out += !on;
          return on;
        };
        for (const RawWindow& w :
             brute[i].search(l.grid.columns, l.grid.rows, l.grid.step, 0, active))
          expected.push_back(
              window_box(w.x, w.y, model->window_width, model->window_height, l.scale));
      }
      ASSERT_TRUE(searcher->search(test::view_of(picture), kActiveParts, &map, found));
      ASSERT_EQ(sorted(found), sorted(expected)) << round;
      windows += found.size();
    }
  }
  EXPECT_GT(windows, test::fewer(60u));
  EXPECT_GT(left_out, test::fewer(10000u));
}

TEST(ActiveParts, AreThoseOfADetectorThatIsToldSo) {
  CUFACE_NEEDS_CASCADES();
  DetectConfig config;
  const cv::Mat picture = test::drawn_faces(640, 360, 2);
  const auto make = [&] {
    auto made =
        Detector::create(Backend::kCpu, test::cascade_of(test::cascade_path("frontalface_alt")),
                         config, picture.cols, picture.rows);
    EXPECT_TRUE(made.ok());
    return std::move(made.value());
  };
  DetectResult whole, active;
  const auto without = make();
  EXPECT_EQ(without->enqueue(test::view_of(picture), active, kActiveParts).code(),
            StatusCode::kInvalidArgument);
  config.active_parts = true;
  const auto detector = make();
  // The first picture is new everywhere.
  ASSERT_TRUE(detector->enqueue(test::view_of(picture), active, kActiveParts).ok());
  ASSERT_TRUE(without->enqueue(test::view_of(picture), whole).ok());
  EXPECT_EQ(active.faces, whole.faces);
  ASSERT_GE(whole.faces.size(), 2u);
  ASSERT_TRUE(detector->enqueue(test::view_of(picture), active, kActiveParts).ok());
  const Rect one = whole.faces[0].box;
  const auto has = [&](const Rect& box) {
    return std::any_of(active.faces.begin(), active.faces.end(), [&](const Detection& d) {
      return std::abs(d.box.x - box.x) <= box.w / 10 && std::abs(d.box.y - box.y) <= box.w / 10 &&
             std::abs(d.box.w - box.w) <= box.w / 10;
    });
  };
  EXPECT_FALSE(has(one)) << "nothing has changed there";
  const Followed followed{as_box(one), {}};
  ASSERT_TRUE(detector->enqueue(test::view_of(picture), active, kActiveParts, {&followed, 1}).ok());
  EXPECT_TRUE(has(one));
}

// The detector as it is and as it verifies: else it would verify the face that is followed.
TEST(ChangedParts, AreNotSearchedWhereNothingHasChanged) {
  CUFACE_NEEDS_CASCADES();
  for (const bool verify : {false, true}) {
    cv::Mat picture = test::drawn_faces(640, 360, 2);
    const DetectConfig config{.verify = verify, .active_parts = true};
    const auto made =
        Detector::create(Backend::kCpu, test::cascade_of(test::cascade_path("frontalface_alt")),
                         config, picture.cols, picture.rows);
    ASSERT_TRUE(made.ok());
    DetectResult whole, changed;
    ASSERT_TRUE(made.value()->enqueue(test::view_of(picture), whole).ok());
    ASSERT_GE(whole.faces.size(), 2u);
    EXPECT_EQ(whole.changed_cells, 0);
    const Followed followed{as_box(whole.faces[0].box), {}};
    const auto look = [&] {
      EXPECT_TRUE(made.value()
                      ->enqueue(test::view_of(picture), changed, kChangedParts, {&followed, 1})
                      .ok());
      EXPECT_EQ(changed.cells, 20 * 11);
      return is_unchanged(changed, kChangedParts);
    };
    EXPECT_TRUE(look());
    EXPECT_TRUE(changed.faces.empty());
    picture(cv::Rect(600, 330, 20, 20)) += cv::Scalar(60);
    EXPECT_FALSE(look());
    EXPECT_GT(changed.changed_cells, 0);
    EXPECT_LT(changed.changed_cells, 6);
    EXPECT_GE(changed.faces.size(), 1u) << "where the face is followed";
    EXPECT_TRUE(look()) << "it has been searched as it is";
    picture(cv::Rect(600, 330, 20, 20)) -= cv::Scalar(60);
    ASSERT_TRUE(
        made.value()->enqueue(test::view_of(picture), changed, kNewParts, {&followed, 1}).ok());
    EXPECT_GT(changed.changed_cells, 0);
    EXPECT_TRUE(changed.faces.empty()) << "whoever is followed is not looked for";
  }
}

}  // namespace
}  // namespace cuface
