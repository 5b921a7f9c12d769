// Inertia of landmarks, and landmarks that pass a gap, on CUDA against the CPU's (inertia.h,
// gap.h).
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "kernels/common/lanes.h"
#include "kernels/landmark_filter/gap.h"
#include "kernels/landmark_filter/inertia.h"
#include "kernels/landmark_filter/landmark_filter_cuda.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/landmarks_inputs.h"

namespace cuface {
namespace {

using cuda::DeviceFaces;
using test::Bytes;
using test::faces_at;

DeviceFaces* faces_in(Bytes& bytes) { return reinterpret_cast<DeviceFaces*>(bytes.data()); }
TEST(InertiaCuda, HasTheBytesOfTheReference) {
  CUFACE_NEEDS_GPU();
  const test::Stream stream;
  std::mt19937 random(9);
  const auto uniform = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  long weighed = 0, jumps = 0, strangers = 0, known = 0;
  for (const int landmarks : {1, 5, 68, kMaxLandmarks}) {
    test::Submitter submit;
    cuda::FilterMemory<InertiaState> memory;
    ASSERT_TRUE(memory.allocate().ok());
    const auto state = std::make_unique<InertiaState>();
    const auto scratch = std::make_unique<forest::InertiaScratch>();
    test::GuardedBytes tracked(cuda::device_faces_bytes(landmarks), test::kCanary);
    test::GuardedBytes block(cuda::device_faces_bytes(landmarks), test::kCanary);
    for (int f = 0; f < 40; ++f) {
      std::vector<Box> boxes;
      for (int n = f == 5   ? 0
                   : f == 6 ? cuda::kMaxFaces
                            : static_cast<int>(random() % 9);
           n > 0; --n)
        boxes.push_back({0, 0, uniform(20, 200), 50});
      Bytes from = test::block_of(boxes, landmarks), bytes = from;
      DeviceFaces &carried = *faces_in(from), &faces = *faces_in(bytes);
      faces.landmarks_per_face = landmarks;
      faces.followed_per_face = 0;
      // Some frames have other points, or the landmarks of somebody else.
      const bool stranger = f % 8 == 7;
      carried.landmarks_per_face = stranger && f % 16 == 7 ? landmarks : 0;
      carried.followed_per_face = carried.landmarks_per_face ? 0
                                  : stranger                 ? landmarks - 1
                                                             : landmarks;
      for (int i = 0; i < faces.count; ++i) {
        // Ids that go on and others, some without any. Each frame's points lie near those before.
        faces.faces[i].id = static_cast<std::uint64_t>(
            i % 10 == 7 ? 0 : 1 + (i + static_cast<int>(random() % 8 == 0) * cuda::kMaxFaces));
        // Near, at the limit, far; or not carried.
        const float far = uniform(0, 0.2f) * boxes[static_cast<std::size_t>(i)].w;
        const bool none = random() % 6 == 0;
        for (int p = 0; p < landmarks; ++p) {
          const int k = i * landmarks + p;
          faces.landmarks()[k] = {uniform(-2, 2) + static_cast<float>(i),
                                  uniform(-2, 2) + static_cast<float>(p)};
          carried.landmarks()[k] = {faces.landmarks()[k].x + uniform(-far, far),
                                    faces.landmarks()[k].y + uniform(-far, far)};
          if (none) carried.landmarks()[k] = {kNan, kNan};
        }
      }
      tracked.set(from);
      block.set(bytes);
      const float inertia = uniform(0.1f, 0.9f);
      if (f % 16 == 11) {
        memory.forget();
        *state = {};
      }
      const Status submitted = submit(stream, [&](cuda::Launcher launch) {
        return cuda::add_inertia(memory, faces_at(tracked), faces_at(block), inertia, launch);
      });
      ASSERT_TRUE(submitted.ok()) << submitted.message();
      forest::add_inertia(SerialLanes{}, *state, faces.faces, faces.count, landmarks,
                          stranger ? nullptr : carried.landmarks(), faces.landmarks(), inertia,
                          *scratch);
      ASSERT_TRUE(block.get() == bytes) << landmarks << " landmarks, frame " << f;
      ASSERT_TRUE(tracked.get() == from) << "what the tracker says was written to";
      strangers += stranger;
      for (int i = 0; i < faces.count && !stranger; ++i) {
        jumps += scratch->jumped[i];
        weighed += scratch->jumped[i] ? 0 : landmarks;
        known += !scratch->jumped[i] && scratch->slots.slot[i] >= 0 && !scratch->slots.fresh[i];
      }
    }
    EXPECT_EQ(submit.built().graphs, 1);
  }
  test::compared("points that were weighed", weighed, 20'000);
  test::compared("faces known from the frame before that were weighed", known, 100);
  test::compared("faces that had jumped", jumps, 100);
  test::compared("frames with other points", strangers, 20);
}

// Frames without a picture: faces with and without ids, in another order, some of them new.
TEST(HoldCuda, HasTheBytesOfTheReference) {
  CUFACE_NEEDS_GPU();
  const test::Stream stream;
  std::mt19937 random(10);
  const auto uniform = [&] { return std::uniform_real_distribution<float>(0, 300)(random); };
  long held = 0, others = 0, confident = 0;
  for (const int landmarks : {1, 5, 68, kMaxLandmarks}) {
    test::GuardedBytes previous(cuda::device_faces_bytes(landmarks), test::kCanary);
    test::GuardedBytes block(cuda::device_faces_bytes(landmarks), test::kCanary);
    for (int f = 0; f < 20; ++f) {
      const auto list = [&](int shift) {
        const int n = f == 3 ? 0 : f == 4 ? cuda::kMaxFaces : static_cast<int>(random() % 9);
        Bytes bytes =
            test::block_of(std::vector<Box>(static_cast<std::size_t>(n), {0, 0, 9, 9}), landmarks);
        DeviceFaces& faces = *faces_in(bytes);
        faces.landmarks_per_face = landmarks;
        faces.followed_per_face = 0;
        for (int i = 0; i < n; ++i)
          faces.faces[i].id = static_cast<std::uint64_t>(i % 5 == 4 ? 0 : 1 + (i + shift) % n);
        for (int k = 0; k < n * landmarks; ++k) faces.landmarks()[k] = {uniform(), uniform()};
        faces.has_confidences = random() % 3 > 0;
        for (int k = 0; faces.has_confidences && k < n * landmarks; ++k)
          faces.confidences(n, landmarks)[k] = uniform() / 300;
        return bytes;
      };
      Bytes from = list(0), bytes = list(f % 4);
      DeviceFaces &before = *faces_in(from), &faces = *faces_in(bytes);
      const bool of_another_model = f % 7 == 6 && landmarks > 1;
      if (of_another_model) --before.landmarks_per_face;
      previous.set(from);
      block.set(bytes);
      const Status status = cuda::keep_landmarks(faces_at(previous), faces_at(block), stream);
      ASSERT_TRUE(status.ok()) << status.message();
      for (int i = 0; i < faces.count; ++i) {
        const int place = forest::place_of(faces.faces[i].id, before.faces, before.count);
        held += !of_another_model && place >= 0;
        others += of_another_model || place < 0;
      }
      if (!of_another_model) {
        forest::keep_landmarks(SerialLanes{}, before.faces, before.count, before.landmarks(),
                               faces.faces, faces.count, landmarks, faces.landmarks());
        if (before.has_confidences && faces.has_confidences)
          forest::keep_landmarks(SerialLanes{}, before.faces, before.count,
                                 std::as_const(before).confidences(before.count, landmarks),
                                 faces.faces, faces.count, landmarks,
                                 faces.confidences(faces.count, landmarks));
        else
          faces.has_confidences = 0;
        confident += faces.has_confidences;
      }
      ASSERT_TRUE(block.get() == bytes) << landmarks << " landmarks, frame " << f;
      ASSERT_TRUE(previous.get() == from) << "what was delivered before was written to";
    }
  }
  test::compared("faces whose landmarks are held", held, 100);
  test::compared("other faces", others, 50);
  test::compared("lists with confidences", confident, 20);
}

TEST(InertiaCudaArguments, ThereHaveToBeFaces) {
  CUFACE_NEEDS_GPU();
  const test::Stream stream;
  test::GuardedBytes block(cuda::device_faces_bytes(1), test::kCanary);
  cuda::FilterMemory<InertiaState> memory;
  ASSERT_TRUE(memory.allocate().ok());
  EXPECT_EQ(cuda::add_inertia(memory, nullptr, faces_at(block), 0.5f, stream).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(cuda::add_inertia(memory, faces_at(block), nullptr, 0.5f, stream).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(cuda::keep_landmarks(nullptr, faces_at(block), stream).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(cuda::keep_landmarks(faces_at(block), nullptr, stream).code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cuface
