#include <gtest/gtest.h>

#include "models/box_map.h"
#include "tests/models/synthetic_forest.h"

namespace cuface {
namespace {

TEST(BoxMap, ScalesAboutTheCentreThenMovesByTheOriginalSide) {
  const BoxMap map{0.5f, 0.1f, 0.25f};
  EXPECT_EQ(map.apply({100, 200, 40, 80}), (Box{100 + 10 + 4, 200 + 20 + 20, 20, 40}));
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
  model.box_maps.clear();
  EXPECT_EQ(box_map_for(model, "haarcascade_frontalface_alt"), BoxMap{});
}

TEST(BoxMap, DlibsModelsComeWithOnePerFrontalCascade) {
  const auto model = test::synthetic_forest(5, 1, 1, 1, 2, 1);
  EXPECT_EQ(model->box_maps, dlib_box_maps());
  for (const char* cascade : {"haarcascade_frontalface_alt", "haarcascade_frontalface_alt2",
                              "haarcascade_frontalface_default"}) {
    const BoxMap map = box_map_for(*model, cascade);
    EXPECT_NE(map, BoxMap{}) << cascade;
    // A box too high or off by a fifth in size costs twice the error.
    EXPECT_NEAR(map.scale, 0.95f, 0.1f);
    EXPECT_GE(map.shift_y, 0);
    EXPECT_LE(map.shift_y, 0.08f);
  }
}

}  // namespace
}  // namespace cuface
