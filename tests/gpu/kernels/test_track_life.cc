// cuda::Tracker against the CPU's: how tracks begin, end, come back and keep their ids, one by one
// and all at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/gpu/kernels/track_pair.h"

namespace cuface {
namespace {

using test::detections;
using test::Grey;
using test::MovingFaces;
using test::Pose;
using Pair = test::TrackPair;

class TrackLifeCuda : public test::TrackCudaTest {};

TEST_F(TrackLifeCuda, EveryWayToLoseAFace) {
  const MovingFaces world;
  MovingFaces elsewhere;
  elsewhere.seed = 50;
  const Pose pose{160, 120};
  const Grey start = world.render({pose});
  Grey covered = start;
  for (int y = 70; y < 170; ++y) {
    for (int x = 110; x < 210; ++x) covered.view().at(x, y) = 90;
  }
  const std::vector<Grey> endings = {Grey(world.width, world.height, 128),
                                     Grey(world.width, world.height, 0),
                                     elsewhere.render({pose}),
                                     world.render({}),
                                     covered,
                                     world.render({{160, 120, 1.3}}),
                                     world.render({{160, 120, 0.75}}),
                                     world.render({{160, 120, 1, 3.0}})};
  const FaceList found = detections({world.box_of(pose)}), nothing = detections({});
  for (const Grey& ending : endings) {
    Pair pair({}, world.width, world.height, seen_);
    for (int f = 0; f < 4; ++f) STEP(pair.step(*stream_, start, f % 2 ? nullptr : &found));
    for (int f = 0; f < 3; ++f) STEP(pair.step(*stream_, ending, f == 1 ? &nothing : nullptr));
    STEP(pair.step(*stream_, start, &found));  // with its id again
    STEP(pair.step(*stream_, start));
  }
  {  // Out of the picture.
    Pair pair({}, world.width, world.height, seen_);
    for (int f = 0; f < 40; ++f) {
      const Pose p{240 + 3.0 * f, 120};
      const FaceList first = detections({world.box_of(p)});
      STEP(pair.step(*stream_, world.render({p}), f == 0 ? &first : nullptr));
    }
  }
  {  // Not found any more, and held for a while before.
    for (int confirmations : {1, 4}) {
      Pair pair({}, world.width, world.height, seen_);
      for (int f = 0; f < confirmations; ++f) STEP(pair.step(*stream_, start, &found));
      for (int f = 0; f < 35; ++f) STEP(pair.step(*stream_, start, &nothing));
    }
  }
  const auto lost = [&](Loss reason) { return seen_.lost[static_cast<std::size_t>(reason)]; };
  test::compared("tracks lost by their points", lost(Loss::kPoints) + lost(Loss::kResidual), 3);
  test::compared("tracks lost by their scale", lost(Loss::kScale), 1);
  test::compared("tracks lost over the edge", lost(Loss::kFrame), 1);
  test::compared("tracks not found again", lost(Loss::kMissed), 2);
  test::compared("faces that came back", seen_.revived, 3);
  test::compared("searches wanted", seen_.wanted, 5);
}

TEST_F(TrackLifeCuda, NewIdsAfterAWhileAndAfterTheEnd) {
  const MovingFaces world;
  Pair pair({}, world.width, world.height, seen_);
  const Grey empty = world.render({});
  for (int round = 0; round < 8; ++round) {
    const Pose pose{round % 2 ? 80.0 : 240.0, 120};
    const FaceList found = detections({world.box_of(pose)});
    const Grey frame = world.render({pose});
    STEP(pair.step(*stream_, frame, &found));
    STEP(pair.step(*stream_, frame));
    if (round % 3 == 0) {
      pair.cpu->end_tracks();
      pair.gpu->end_tracks();
      STEP(pair.step(*stream_, frame));
    } else {
      for (int f = 0; f < 12; ++f) STEP(pair.step(*stream_, empty, nullptr, nullptr, 0.1 * round));
    }
  }
  test::compared("frames", seen_.frames, 60);
}

/// Both are within reach of the detection that brings one of them back.
TEST_F(TrackLifeCuda, TheNearestOfTwoLostFacesComesBack) {
  const MovingFaces world;
  const std::vector<Pose> poses = {{130, 100}, {155, 122}};
  const Grey start = world.render(poses), flat(world.width, world.height, 128);
  const FaceList both = detections({world.box_of(poses[0]), world.box_of(poses[1])});
  for (std::size_t back : {0u, 1u}) {
    Pair pair({}, world.width, world.height, seen_);
    STEP(pair.step(*stream_, start, &both));
    ASSERT_EQ(pair.expected.faces.faces.size(), 2u);
    const std::uint64_t id = pair.expected.faces.faces[back].id;
    STEP(pair.step(*stream_, flat));
    ASSERT_TRUE(pair.expected.faces.faces.empty());
    const FaceList one = detections({world.box_of({poses[back].x + 2, poses[back].y + 1})});
    STEP(pair.step(*stream_, start, &one));
    ASSERT_EQ(pair.expected.faces.faces.size(), 1u);
    EXPECT_EQ(pair.expected.faces.faces[0].id, id);
  }
  EXPECT_EQ(seen_.revived, 2);
}

/// Everything at once: many faces, detections that come, go, overlap and are broken, feedback for
/// some ids and for unknown ones, ends, new settings, gaps in time.
// Scenes of other faces in the same places and back, with searches on the frames of the cuts and on
// those behind them.
TEST_F(TrackLifeCuda, CutsToOtherFaces) {
  const MovingFaces world;
  int kept = 0;
  for (const float min_correlation : {0.5f, 0.9f, 0.0f}) {
    TrackConfig config;
    config.min_correlation = min_correlation;
    Pair pair(config, world.width, world.height, seen_);
    for (int f = 0; f < 96; ++f) {
      MovingFaces scene;
      scene.seed = f / 8 % 3 * 50;
      const std::vector<Pose> poses = {{100.0 + f % 5, 110, 1 + 0.004 * (f % 7)}, {240, 130, 0.7}};
      const FaceList found = detections({world.box_of(poses[0]), world.box_of(poses[1])});
      Grey frame = scene.render(poses);
      if (f % 24 == 20) {  // a flash
        for (auto& grey : frame.pixels) grey = static_cast<std::uint8_t>(grey / 8 + 220);
      }
      const bool searched = f % 4 == 0 || f % 24 == 9;
      const int cuts = seen_.cuts;
      STEP(pair.step(*stream_, frame, searched ? &found : nullptr));
      kept += min_correlation == 0.0f ? cuts < seen_.cuts : 0;
    }
  }
  test::compared("cuts to other faces", seen_.cuts, 6);
  test::compared("faces that came back", seen_.revived, 4);
  EXPECT_EQ(kept, 0) << "the rule is off";
}

TEST_F(TrackLifeCuda, AStorm) {
  std::mt19937 random(77);
  const auto chance = [&](int percent) { return static_cast<int>(random() % 100) < percent; };
  const auto uniform = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  constexpr int kWide = 400, kHigh = 300;
  for (int crowd : {1, 6, 64}) {
    TrackConfig config;
    if (crowd == 6) config.max_faces = 4;
    Pair pair(config, kWide, kHigh, seen_);
    const int frames = crowd < 64 ? 80 : test::under_tool() ? 8 : 50;
    std::vector<Box> boxes;
    for (int i = 0; i < crowd; ++i) {
      const float side = uniform(16, crowd == 64 ? 60 : 120);
      boxes.push_back({uniform(-10, kWide - side), uniform(-10, kHigh - side), side, side});
    }
    float x = 0, y = 0;
    FaceList fed;
    for (int f = 0; f < frames; ++f) {
      const float dx = uniform(-7, 7), dy = uniform(-4, 4);
      x += dx;
      y += dy;
      for (Box& b : boxes) b = {b.x + dx, b.y + dy, b.w, b.h};
      const Grey frame = chance(4) ? Grey(kWide, kHigh, 60)
                                   : test::textured(kWide, kHigh, chance(3) ? 9 : 1, x, y);
      std::vector<Box> some;
      for (const Box& b : boxes) {
        if (f == 0 || chance(75))
          some.push_back({b.x + uniform(-3, 3), b.y + uniform(-3, 3), b.w, b.h});
      }
      if (chance(20) && some.size() < 60) {
        some.push_back({test::kNan, 10, 50, 50});
        some.push_back({10, 10, 0, 50});
        some.push_back({1e9f, 10, 50, 50});
        if (some.size() > 4) some.push_back(some[0]);
      }
      some.resize(std::min<std::size_t>(some.size(), 64));
      FaceList found = detections(some);
      found.searched = !chance(10);
      for (Face& face : found.faces) {
        if (chance(60)) continue;
        chance(50) ? test::find_by_network(face, uniform(0.5f, 0.95f))
                   : test::find_by_cascade(face, 4);
      }
      if (chance(30)) {
        found.landmarks_per_face = chance(50) ? 68 : 5;
        for (const Box& b : some) {
          for (int i = 0; i < found.landmarks_per_face; ++i) {
            found.landmarks.push_back({b.x + uniform(0, 1) * b.w, b.y + uniform(0, 1) * b.h});
          }
        }
      }
      if (f == 40) {
        config.flow.window = 15;
        config.flow.levels = 5;
        config.min_overlap = 0.4f;
      } else if (f == 55) {
        config.flow.levels = 2;
        config.max_missed = 0;
      }
      if (f == 40 || f == 55) {
        ASSERT_TRUE(pair.cpu->configure(config).ok());
        ASSERT_TRUE(pair.gpu->configure(config).ok());
      }
      if (f == 30 && crowd != 1) {
        pair.cpu->end_tracks();
        pair.gpu->end_tracks();
      }
      if (f % 16 == 9) {
        STEP(pair.pass_gap(*stream_));
      }
      const bool with_feedback = chance(60);
      STEP(pair.step(*stream_, frame, f == 0 || chance(25) ? &found : nullptr,
                     with_feedback ? &fed : nullptr, chance(10) ? 0 : uniform(0.01f, 0.3f)));
      fed = pair.expected.faces;
      fed.landmarks.clear();
      fed.landmarks_per_face = 5;
      for (Face& face : fed.faces) {
        const Box& b = face.box;
        for (int i = 0; i < 5; ++i) {
          fed.landmarks.push_back({b.x + b.w * (0.2f + 0.15f * static_cast<float>(i)),
                                   b.y + b.h * (i % 2 ? 0.3f : 0.7f)});
        }
        if (chance(5)) fed.landmarks.back() = {test::kNan, 4};
        if (chance(5)) fed.landmarks.back().x += b.w;
        if (chance(5)) face.id += 1000;
      }
    }
  }
  EXPECT_EQ(seen_.most, 64u);
  test::compared("tracked faces", seen_.tracked, 500);
  test::compared("tracked faces with keypoints", seen_.keypoints, 100);
  test::compared("faces that moved over 5 px", seen_.moved_far, 100);
  test::compared("landmarks", seen_.landmarks, 1000);
  test::compared("landmarks carried", seen_.followed, 1000);
  test::compared("faces that came back", seen_.revived, 20);
  test::compared("searches wanted", seen_.wanted, 3);
  test::compared("frames with a face in doubt", seen_.tentative, 3);
  test::compared("bands asked for", seen_.bands, 3);
  test::compared("frames without a picture", seen_.held, 8);
  for (Loss reason : {Loss::kPoints, Loss::kShape, Loss::kMissed}) {
    test::compared("tracks lost for one reason", seen_.lost[static_cast<std::size_t>(reason)], 3);
  }
}

/// Finds of every weight, until their windows are enough: fewer, as many, more than are counted.
TEST_F(TrackLifeCuda, DoubtsEndWithEnoughWindows) {
  const MovingFaces world;
  const Pose pose{160, 120};
  const Grey frame = world.render({pose});
  const FaceList nothing = detections({});
  struct Case {
    float doubt_below, confidence;
    int searches;
  };
  const auto of = [](int windows) { return detection_confidence(windows); };
  const std::vector<Case> cases = {{0.85f, of(16), 2}, {0.85f, of(9), 2},
                                   {0.85f, of(8), 3},  {0.85f, of(5), 4},
                                   {0.85f, of(4), 5},  {0.85f, of(3), 6},
                                   {0.85f, 0, 6},      {0.85f, -1, 6},
                                   {0.85f, 0.849f, 1}, {0.85f, test::kNan, 6},
                                   {0.8f, of(6), 2},   {0.8f, of(4), 3},
                                   {0.8f, of(3), 4},   {0.8f, of(11), 2},
                                   {0.95f, of(17), 4}, {1, of(85), 3},
                                   {1, of(84), 4},     {1, 1, 1},
                                   {1, 2, 1},          {0.5f, of(3), 1},
                                   {0, of(3), 1}};
  int finds = 0, ended = 0;
  for (const Case& c : cases) {
    TrackConfig config;
    config.doubt_below = c.doubt_below;
    Pair pair(config, world.width, world.height, seen_);
    STEP(pair.step(*stream_, frame, &nothing));
    FaceList found = detections({world.box_of(pose)});
    found.faces[0].confidence = c.confidence;
    for (int search = 1;; ++search) {
      const bool last = search == c.searches;
      ++finds;
      STEP(pair.step(*stream_, frame, &found));
      ASSERT_EQ(pair.expected.faces.faces.size(), last ? 1u : 0u)
          << c.doubt_below << ", " << c.confidence << ", search " << search;
      ended += last && search > 1;
      if (last) break;
      // A search that finds nothing takes nothing away.
      STEP(pair.step(*stream_, frame, &nothing));
    }
  }
  {  // However often it was found, the second search in a row that does not ends it.
    Pair pair({}, world.width, world.height, seen_);
    STEP(pair.step(*stream_, frame, &nothing));
    FaceList found = detections({world.box_of(pose)});
    found.faces[0].confidence = of(4);
    for (int f = 0; f < 12; ++f) STEP(pair.step(*stream_, frame, f % 4 < 2 ? &found : &nothing));
    EXPECT_FALSE(pair.expected.search_wanted);
  }
  EXPECT_EQ(seen_.faces, static_cast<int>(cases.size())) << "no other face was delivered";
  test::compared("finds of faces in doubt", finds, 50);
  test::compared("doubts that ended", ended, 14);
}

TEST_F(TrackLifeCuda, SearchesOfBands) {
  const MovingFaces world;
  constexpr std::int32_t kBands = 4;
  TrackConfig config;
  config.hold_time = 0.2f;
  for (const bool all_seen : {false, true}) {
    if (all_seen && test::under_tool()) continue;
    Pair pair(config, world.width, world.height, seen_);
    for (int f = 0; f < 60; ++f) {
      const std::vector<Pose> poses = {
          {60 + 0.5 * f, 45, 0.8}, {200, 70 + 1.5 * f, 0.9}, {90, 185, 0.8}};
      const SearchRegion band = {f % kBands, kBands};
      std::vector<Box> found;
      for (std::size_t i = 0; i < poses.size(); ++i) {
        const Box box = world.box_of(poses[i]);
        const bool seen = f > 40 ? all_seen : i != 1 || f / kBands % 3 != 2;
        if (f == 0 || (seen && is_in(band, box, world.height, 0.1f))) found.push_back(box);
      }
      FaceList list = detections(found);
      if (f > 0) {
        list.searched = false;
        list.part = band;
      }
      STEP(pair.step(*stream_, world.render(poses), &list));
    }
  }
  test::compared("tracked faces", seen_.tracked, 200);
  test::compared("searches wanted", seen_.wanted, 2);
  test::compared("tracks missed", seen_.lost[static_cast<std::size_t>(Loss::kMissed)], 1);
}

// Searched is what the tracker asks for.
TEST_F(TrackLifeCuda, FacesInDoubtAreSearchedForInTurn) {
  const MovingFaces world;
  const std::vector<Pose> poses = {{80, 50, 0.8}, {230, 190, 0.8}};
  const Grey frame = world.render(poses);
  std::mt19937 random(5);
  int asked[2] = {}, missed = 0;
  Pair pair({}, world.width, world.height, seen_);
  for (int f = 0; f < 80; ++f) {
    const SearchRegion what = f == 0 || f % 20 == 1 ? kWholePicture : pair.expected.search_wanted;
    FaceList list = detections({});
    for (std::size_t i = 0; i < poses.size(); ++i) {
      const Box box = world.box_of(poses[i]);
      if (f == 0 || !what || (what.is_part() && !is_in(what, box, world.height, 0))) continue;
      asked[i] += what.is_part();
      const bool miss = what.is_part() && random() % 3 == 0;
      missed += miss;
      if (miss) continue;
      list.faces.push_back(detections({box}).faces[0]);
      list.faces.back().confidence = detection_confidence(3);
    }
    list.searched = what && !what.is_part();
    list.part = what.is_part() ? what : SearchRegion{};
    STEP(pair.step(*stream_, frame, what ? &list : nullptr));
    if (f % 20 == 15) {  // as new
      pair.cpu->end_tracks();
      pair.gpu->end_tracks();
      STEP(pair.step(*stream_, frame, nullptr));
      const FaceList nothing = detections({});
      STEP(pair.step(*stream_, frame, &nothing));
    }
  }
  test::compared("searches for the one", asked[0], 5);
  test::compared("searches for the other", asked[1], 5);
  test::compared("of them without a find", missed, 3);
  test::compared("bands asked for", seen_.bands, 10);
}

TEST_F(TrackLifeCuda, ConfigureWhileRunningKeepsTheTracks) {
  const MovingFaces world;
  Pair pair({}, world.width, world.height, seen_);
  TrackConfig config;
  int f = 0;
  for (const auto& [window, levels] :
       {std::pair{21, 3}, {15, 4}, {9, 10}, {31, 1}, {5, 6}, {63, 2}, {21, 3}}) {
    config.flow.window = window;
    config.flow.levels = levels;
    ASSERT_TRUE(pair.cpu->configure(config).ok());
    ASSERT_TRUE(pair.gpu->configure(config).ok());
    for (int i = 0; i < 3; ++i, ++f) {
      const Pose pose{160 + 1.5 * f, 120};
      const FaceList found = detections({world.box_of(pose)});
      // A track is there when the settings change.
      STEP(pair.step(*stream_, world.render({pose}), f == 0 || i == 2 ? &found : nullptr));
    }
  }
  config.flow.window = 4;
  EXPECT_FALSE(pair.gpu->configure(config).ok());
  STEP(pair.step(*stream_, world.render({{160 + 1.5 * f, 120}})));
  test::compared("tracked faces", seen_.tracked, 10);
}

}  // namespace
}  // namespace cuface
