#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/box_map.h"
#include "tests/models/synthetic_forest.h"

namespace cuface {
namespace {

TEST(BoxMap, ScalesAboutTheCentreThenMovesByTheOriginalSide) {
  const BoxMap map{0.5f, 0.1f, 0.25f};
  EXPECT_EQ(map.apply({100, 200, 40, 80}), (Box{100 + 10 + 4, 200 + 20 + 20, 20, 40}));
  const BoxMap square{0.5f, 0.1f, 0.25f, true};
  EXPECT_EQ(square.apply({100, 200, 40, 80}), (Box{100 + 8, 200 + 20 + 20, 40, 40}));
  EXPECT_EQ(square.apply({100, 200, 80, 80}), (Box{100 + 20 + 8, 200 + 20 + 20, 40, 40}));
  EXPECT_EQ(BoxMap{}.apply({1.5f, -2, 30, 31}), (Box{1.5f, -2, 30, 31}));
}

TEST(BoxMap, BelongsToTheModel) {
  ForestModel model;
  const BoxMap alt{0.9f, 0, 0.1f}, other{0.8f, 0, 0};
  model.box_maps = {{"haarcascade_frontalface_alt", alt}, {"other", other}};
  EXPECT_EQ(box_map_for(model, "other"), other);
  EXPECT_EQ(box_map_for(model, "haarcascade_frontalface_alt"), alt);
  EXPECT_EQ(box_map_for(model, "a custom cascade"), alt);
  EXPECT_EQ(box_map_for(model, ""), BoxMap{}) << "boxes that need no map";
  EXPECT_EQ(box_map_for(model, "yunet"), alt) << "calibrated by somebody else";
  model.box_maps = {dlib_box_maps().front()};
  EXPECT_EQ(box_map_for(model, "yunet"), dlib_box_maps().back().second) << "an older file";
  EXPECT_EQ(box_map_for(model, "a custom cascade"), dlib_box_maps().front().second);
  model.box_maps.clear();
  EXPECT_EQ(box_map_for(model, "haarcascade_frontalface_alt"), BoxMap{});
}

TEST(BoxMap, DlibsModelsComeWithTheCalibratedOnes) {
  const auto model = test::synthetic_forest(5, 1, 1, 1, 2, 1);
  const char* root = std::getenv("CUFACE_SOURCE_ROOT");
  if (!root) GTEST_SKIP() << "CUFACE_SOURCE_ROOT is not set (meson test does)";
  std::ifstream file(std::string(root) + "/docs/results/box-map.json");
  const nlohmann::json result = nlohmann::json::parse(file, nullptr, false);
  ASSERT_TRUE(result.is_object());
  std::vector<std::pair<std::string, BoxMap>> calibrated;
  for (const auto& [name, detector] : result["detectors"].items()) {
    const nlohmann::json& map = detector["map"];
    calibrated.emplace_back(name, BoxMap{map["scale"].get<float>(), map["shift_x"].get<float>(),
                                         map["shift_y"].get<float>(), map["square"].get<bool>()});
    EXPECT_LT(detector["mapped"]["nme_percent"].get<double>(),
              detector["raw"]["nme_percent"].get<double>());
  }
  const auto unseen = [&](const char* detector) {
    return result["detectors"][detector]["unseen_of_faces_that_the_first_finds"]["nme_percent"]
        .get<double>();
  };
  EXPECT_LE(unseen("yunet"), unseen("haarcascade_frontalface_alt"));
  EXPECT_LE(result["detectors"]["yunet"]["missed"].get<int>(), 1);
  EXPECT_EQ(calibrated.size(), 4u);
  EXPECT_EQ(dlib_box_maps(), calibrated);
  EXPECT_EQ(model->box_maps, calibrated);
}

}  // namespace
}  // namespace cuface
