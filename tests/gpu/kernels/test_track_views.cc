// revive=features of cuda::Tracker against the CPU's: the same faces get the same ids back.
#include <gtest/gtest.h>

#include <vector>

#include "tests/gpu/kernels/track_pair.h"

namespace cuface {
namespace {

using test::detections;
using test::Grey;
using test::MovingFaces;
using test::Pose;
using Pair = test::TrackPair;

class TrackViewsCuda : public test::TrackCudaTest {};

TEST_F(TrackViewsCuda, FacesComeBackElsewhere) {
  const MovingFaces world;
  TrackConfig config;
  config.revive = Revive::kFeatures;
  config.revive_time = 15;
  Pair pair(config, world.width, world.height, seen_);
  const Grey empty = world.render({});
  const FaceList nothing = detections({});
  const auto lit = [](Grey frame, int eighths) {
    for (auto& grey : frame.pixels) grey = static_cast<std::uint8_t>(grey * eighths / 8);
    return frame;
  };
  std::set<std::uint64_t> ids;
  for (int round = 0; round < 3; ++round) {
    // Two people who change their places and sizes; in the last round others.
    MovingFaces shown = world;
    if (round == 2) shown.seed = 7;
    const double x = round % 2 ? 230 : 90, scale = 0.85 + 0.1 * round;
    const std::vector<Pose> poses = {{x, 120, scale}, {320 - x, 110, 1.6 - scale}};
    const FaceList found = detections({shown.box_of(poses[0]), shown.box_of(poses[1])});
    for (int f = 0; f < 2; ++f)
      STEP(pair.step(*stream_, lit(shown.render(poses), 8 - round), f > 0 ? nullptr : &found,
                     nullptr, 0.4));
    for (const Face& face : pair.expected.faces.faces) ids.insert(face.id);
    STEP(pair.step(*stream_, empty, &nothing, nullptr, 0.5));
  }
  EXPECT_EQ(ids.size(), 4u) << "the first two, and the others";
  test::compared("faces that came back", seen_.revived, 2);
}

TEST_F(TrackViewsCuda, TwoThatAreAlikeAreInDoubt) {
  const MovingFaces world;
  TrackConfig config;
  config.revive = Revive::kFeatures;
  Pair pair(config, world.width, world.height, seen_);
  Grey twins = world.render({{70, 120}});
  for (int y = 80; y < 160; ++y)
    for (int x = 30; x < 110; ++x) twins.view().at(x + 160, y) = twins.view().at(x, y);
  const FaceList both = detections({world.box_of({70, 120}), world.box_of({230, 120})});
  const FaceList one = detections({world.box_of({70, 120})}), nothing = detections({});
  STEP(pair.step(*stream_, twins, &both));
  STEP(pair.step(*stream_, world.render({}), &nothing));
  STEP(pair.step(*stream_, world.render({{70, 120}}), &one));
  ASSERT_EQ(pair.expected.faces.faces.size(), 1u);
  EXPECT_EQ(pair.expected.faces.faces[0].id, 3u);
}

}  // namespace
}  // namespace cuface
