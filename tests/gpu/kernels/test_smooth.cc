// Smoothed landmarks on CUDA against the CPU's (smooth.h), face for face and frame for frame.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "kernels/landmark_filter/landmark_filter_cuda.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/landmarks_inputs.h"

namespace cuface {
namespace {

using cuda::DeviceFaces;
using test::Bytes;

TEST(SmoothCuda, HasTheBytesOfTheReference) {
  CUFACE_NEEDS_GPU();
  const test::Stream stream;
  std::mt19937 random(7);
  const auto uniform = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  long points = 0, smoothed = 0;
  for (const int landmarks : {1, 68, kMaxLandmarks}) {
    cuda::FilterMemory<SmoothState> memory;
    ASSERT_TRUE(memory.allocate().ok());
    test::Submitter submit;
    const auto state = std::make_unique<SmoothState>();
    const auto scratch = std::make_unique<forest::SmoothScratch>();
    test::GuardedBytes from(cuda::device_faces_bytes(landmarks), test::kCanary),
        to(from.size(), test::kCanary);
    for (int f = 0; f < 40; ++f) {
      std::vector<Box> boxes;
      std::vector<std::uint64_t> ids;
      for (std::uint64_t id = 0; id < 80 && boxes.size() < cuda::kMaxFaces; ++id) {
        if (f % 10 == 5 || random() % 10 > static_cast<unsigned>(f) / 4) continue;
        ids.push_back(id);
        boxes.push_back({0, 0, uniform(20, 200), 50});
      }
      Bytes bytes = test::block_of(boxes, landmarks);
      auto* faces = reinterpret_cast<DeviceFaces*>(bytes.data());
      faces->landmarks_per_face = landmarks;
      const int count = faces->count;
      for (int i = 0; i < count; ++i) faces->faces[i].id = ids[static_cast<std::size_t>(i)];
      for (int i = 0; i < count * landmarks; ++i)
        faces->landmarks()[i] = {uniform(0, 300), uniform(0, 200)};
      faces->has_confidences = f % 3 == 1;
      for (int i = 0; faces->has_confidences && i < count * landmarks; ++i)
        faces->confidences(count, landmarks)[i] = uniform(0, 1);
      from.set(bytes);
      to.set(Bytes(bytes.size(), test::kCanary));
      const double seconds = f % 3 ? 0.04 : 0.1;
      const float smooth = f % 2 ? 0.5f : 3;
      if (f == 20) {
        memory.forget();
        *state = {};
      }
      const Status submitted = submit(stream, [&](cuda::Launcher launch) {
        return cuda::smooth_landmarks(memory, reinterpret_cast<DeviceFaces*>(from.data()),
                                      reinterpret_cast<DeviceFaces*>(to.data()), seconds, smooth,
                                      launch);
      });
      ASSERT_TRUE(submitted.ok()) << submitted.message();
      const Bytes measured = bytes;
      forest::smooth_landmarks(SerialLanes{}, *state, faces->faces, faces->landmarks(), count,
                               landmarks, seconds, smooth, *scratch);
      ASSERT_TRUE(from.get() == measured) << "what is smoothed was written to";
      faces->followed_per_face = 0;
      ASSERT_TRUE(to.get() == bytes) << landmarks << " landmarks, frame " << f;
      points += count * landmarks;
      const auto* before = reinterpret_cast<const DeviceFaces*>(measured.data())->landmarks();
      for (int i = 0; i < count * landmarks; ++i) smoothed += faces->landmarks()[i] != before[i];
    }
    EXPECT_EQ(submit.built().graphs, 1);
  }
  test::compared("points", points, 100'000);
  test::compared("points that are not as measured", smoothed, 50'000);
}

TEST(SmoothCudaArguments, ThereHaveToBeFaces) {
  CUFACE_NEEDS_GPU();
  const test::Stream stream;
  cuda::FilterMemory<SmoothState> memory;
  ASSERT_TRUE(memory.allocate().ok());
  test::GuardedBytes block(cuda::device_faces_bytes(1), test::kCanary);
  auto* faces = reinterpret_cast<DeviceFaces*>(block.data());
  for (const auto& [from, to] :
       {std::pair<DeviceFaces*, DeviceFaces*>{nullptr, faces}, {faces, nullptr}, {faces, faces}})
    EXPECT_EQ(cuda::smooth_landmarks(memory, from, to, 0.04, 1, stream).code(),
              StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cuface
