// Landmarks of little confidence, of cuda::Tracker and of the CPU's, bit for bit.
#include <gtest/gtest.h>

#include <vector>

#include "tests/gpu/kernels/track_pair.h"

namespace cuface {
namespace {

using test::detections;
using test::MovingFaces;
using test::Pose;
using Pair = test::TrackPair;

class TrackWeakCuda : public test::TrackCudaTest {
 protected:
  /// `n` landmarks of the first face, of which some are on the other one and weak.
  static void add_landmarks(FaceList& list, const MovingFaces& world, const Pose& own,
                            const Pose& other, int n, float confidence) {
    list.landmarks_per_face = n;
    list.landmarks.clear();
    list.landmark_confidences.clear();
    for (std::size_t face = 0; face < list.faces.size(); ++face)
      for (int i = 0; i < n; ++i) {
        const bool weak = i % 5 > 1;
        list.landmarks.push_back(world.point_of(weak ? other : own, -0.3 + 0.6 * (i % 4) / 3,
                                                -0.3 + 0.6 * (i / 4 % 4) / 3));
        list.landmark_confidences.push_back(weak ? 0.3f : confidence);
      }
    if (n > 3) list.landmark_confidences[3] = test::kNan;
  }
};

TEST_F(TrackWeakCuda, AreLeftOutAndAskForASearch) {
  const MovingFaces world;
  for (const bool fed_back : {true, false})
    for (const float least : {0.5f, 0.0f, 1.0f}) {
      TrackConfig config;
      config.min_confidence = least;
      config.max_shape_change = 0;
      Pair pair(config, world.width, world.height, seen_);
      FaceList fed;
      for (int f = 0; f < 16; ++f) {
        const Pose own{90 + 1.5 * f, 120}, other{230, 80 + 1.5 * f};
        FaceList found = detections({world.box_of(own)});
        // From frame 6 on none is sure.
        const float confidence = f < 6 ? 0.9f : 0.4f;
        if (!fed_back) add_landmarks(found, world, own, other, 15, confidence);
        const bool searched = f == 0 || (!fed_back && f == 8);
        STEP(pair.step(*stream_, world.render({own, other}), searched ? &found : nullptr,
                       fed_back && f > 0 ? &fed : nullptr));
        fed = pair.expected.faces;
        if (!fed.faces.empty()) add_landmarks(fed, world, own, other, 15, confidence);
      }
    }
  test::compared("tracked faces", seen_.tracked, 60);
  test::compared("bands that were asked for", seen_.bands, 1);
}

}  // namespace
}  // namespace cuface
