// Landmarks of little confidence are left out of a face's motion.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/track/track.h"
#include "tests/kernels/track_world.h"

namespace cuface {
namespace {

/// Four landmarks on the face, which are sure, and six on another that moves elsewhere.
FaceList landmarks_on_two(const FaceList& faces, const Pose& own, const Pose& other) {
  FaceList fed = faces;
  fed.landmarks_per_face = 10;
  fed.landmarks.clear();
  for (int i = 0; i < 10; ++i) {
    const Pose& pose = i < 4 ? own : other;
    fed.landmarks.push_back({static_cast<float>(pose.x + (i % 2 ? 17 : -17)),
                             static_cast<float>(pose.y + 12 * (i / 2 % 3) - 13)});
    fed.landmark_confidences.push_back(i < 4 ? 0.9f : 0.2f);
  }
  return fed;
}

TEST(TrackWeak, SayNothingOfTheMotion) {
  const World world;
  for (const float least : {0.5f, 0.0f}) {
    TrackConfig config;
    config.min_confidence = least;
    config.max_shape_change = 0;
    Session session(config);
    FaceList fed;
    float worst = 0;
    for (int f = 0; f < 20; ++f) {
      const Pose pose{100 + 2.0 * f, 120}, other{230, 70 + 2.0 * f};
      const FaceList found = detections({box_of(pose)});
      const FaceList& list =
          session
              .step(world.render({pose, other}), f == 0 ? &found : nullptr, f == 0 ? nullptr : &fed)
              .faces;
      ASSERT_EQ(list.faces.size(), 1u) << f;
      worst = std::max(worst, box_error(list.faces[0].box, box_of(pose)));
      fed = landmarks_on_two(list, pose, other);
    }
    if (least > 0)
      EXPECT_LT(worst, 1.0f);
    else
      EXPECT_GT(worst, 10.0f) << "most of its landmarks are another face's";
  }
}

// Once: while they stay weak another search would find the same box.
TEST(TrackWeak, AFaceThatComesToHaveOthersNoMoreAsksForASearch) {
  const World world;
  TrackConfig config;
  config.min_confidence = 0.5f;
  for (const bool by_search : {false, true}) {
    Session session(config);
    FaceList fed;
    int asked = 0, asked_at = -1;
    for (int f = 0; f < 20; ++f) {
      const Pose pose{100 + 1.0 * f, 120};
      const FaceList found = detections({box_of(pose)});
      const TrackOutput& out =
          session.step(world.render({pose}), f == 0 ? &found : nullptr, f == 0 ? nullptr : &fed);
      ASSERT_EQ(out.faces.faces.size(), 1u) << f;
      EXPECT_LT(box_error(out.faces.faces[0].box, box_of(pose)), 1.0f) << "weak ones are followed";
      if (out.search_wanted) {
        ++asked;
        asked_at = f;
        EXPECT_TRUE(is_in(out.search_wanted, box_of(pose), kHeight, 0));
      }
      fed = landmarks_on_two(out.faces, pose, pose);
      if (by_search || f > 5) std::fill_n(fed.landmark_confidences.begin(), 4, 0.1f);
    }
    EXPECT_EQ(asked, by_search ? 0 : 1)
        << "a search has just been where it was weak from the start";
    EXPECT_EQ(asked_at, by_search ? -1 : 7);
  }
}

}  // namespace
}  // namespace cuface
