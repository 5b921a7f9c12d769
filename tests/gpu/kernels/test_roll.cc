// The rolls of faces on CUDA against the CPU's (roll.h), and the landmarks found with them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "kernels/common/lanes.h"
#include "kernels/landmark_samples/landmark_samples.h"
#include "kernels/landmark_samples/landmark_samples_cuda.h"
#include "kernels/landmarks/cuda/roll.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/landmarks_inputs.h"

namespace cuface {
namespace {

using cuda::DeviceFaces;
using test::Bytes;

constexpr BoxMap kMap{0.95f, 0.01f, 0.025f};
constexpr int kWidth = 160, kHeight = 120;

DeviceFaces* faces_in(Bytes& bytes) { return reinterpret_cast<DeviceFaces*>(bytes.data()); }

/// Faces that come, go and change places, with usable boxes.
Bytes random_block(std::mt19937& random, int frame, int landmarks) {
  const auto uniform = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  std::vector<Box> boxes;
  std::vector<std::uint64_t> ids;
  for (std::uint64_t id = 0; id < 80 && boxes.size() < cuda::kMaxFaces; ++id) {
    if (frame % 10 == 5 || random() % 10 > static_cast<unsigned>(frame) / 2) continue;
    ids.push_back(id);
    const float side = uniform(20, 100);
    boxes.push_back({uniform(-10, kWidth - side), uniform(-10, kHeight - side), side, side});
  }
  Bytes bytes = test::block_of(boxes, landmarks);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    faces_in(bytes)->faces[i].id = ids[i];
    faces_in(bytes)->faces[i].origin = random() % 4 ? Origin::kTracked : Origin::kDetected;
    if (random() % 3) continue;
    const float angle = uniform(-1.5f, 1.5f);  // the detector saw it turned
    faces_in(bytes)->faces[i].roll = {std::cos(angle), std::sin(angle)};
  }
  return bytes;
}

/// The mean shape, turned anyhow in every face, with noise.
void set_landmarks(std::mt19937& random, std::span<const Point> mean, DeviceFaces& faces) {
  const auto uniform = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  faces.landmarks_per_face = static_cast<std::int32_t>(mean.size());
  for (int f = 0; f < faces.count; ++f) {
    const float angle = uniform(-3, 3), size = uniform(20, 90), x = uniform(0, 90);
    for (std::size_t i = 0; i < mean.size(); ++i)
      faces.landmarks_of(f)[i] = {
          size * (std::cos(angle) * mean[i].x - std::sin(angle) * mean[i].y) + x + uniform(-1, 1),
          size * (std::sin(angle) * mean[i].x + std::cos(angle) * mean[i].y) + uniform(-1, 1)};
  }
}

/// Samples, and whether faces that are not known are looked at twice.
class RollCuda : public testing::TestWithParam<std::tuple<int, bool>> {};
INSTANTIATE_TEST_SUITE_P(Samples, RollCuda,
                         testing::Combine(testing::Values(1, 3), testing::Bool()));

TEST_P(RollCuda, HasTheBytesOfTheReferenceFrameAfterFrame) {
  CUFACE_NEEDS_GPU();
  const auto [samples, refine] = GetParam();
  const test::Stream stream;
  std::mt19937 random(7);
  const auto model = test::random_forest({68, 4, 60, 4, 100}, 31);
  std::vector<Point> mean(68);
  std::memcpy(static_cast<void*>(mean.data()), model->mean_shape.data(),
              mean.size() * sizeof(Point));
  const auto forest = cuda::DeviceForest::create(*model);
  ASSERT_TRUE(forest.ok()) << forest.status().message();
  auto memory = cuda::RollMemory::create(forest.value());
  auto ours = cuda::SampledLandmarker::create(forest.value(), 0, samples, refine);
  auto reference = SampledLandmarker::create(Backend::kCpu, model);
  ASSERT_TRUE(memory.ok() && ours.ok() && reference.ok());
  const test::PaddedPicture picture = test::noise(kWidth, kHeight, 6, 5, 3);
  test::GuardedBytes luma(picture.bytes);
  test::GuardedBytes in(cuda::device_faces_bytes(68), test::kCanary), out(in.size(), test::kCanary);
  test::Submitter submit;
  RollState state;
  long points = 0, turned = 0, rolls = 0, looked_twice = 0;
  const int frames = test::under_tool() ? 6 : 30;
  for (int frame = 0; frame < frames; ++frame) {
    if (frame == 20) {
      memory.value()->forget();
      state.count = 0;
    }
    Bytes block = random_block(random, frame, 68);
    in.set(block);
    Status status = submit(stream, [&](cuda::Launcher launch) {
      return ours.value()->enqueue(
          picture.at(luma.data()), reinterpret_cast<const DeviceFaces*>(in.data()), kMap,
          reinterpret_cast<DeviceFaces*>(out.data()), launch, memory.value()->known());
    });
    ASSERT_TRUE(status.ok()) << status.message();
    Bytes got = out.get();
    DeviceFaces& faces = *faces_in(got);
    ASSERT_EQ(faces.count, faces_in(block)->count);
    for (int f = 0; f < faces.count; ++f) {
      const Face& face = faces_in(block)->faces[f];
      const Roll roll = forest::recall_roll(state, face);
      std::vector<Point> want(68), upright(68);
      const std::uint8_t again = refine && !forest::is_known(state, face);
      const auto enqueue = [&, s = samples](std::vector<Point>& to, Roll r, std::uint8_t twice) {
        return reference.value()->enqueue(picture.at(picture.bytes.data()), {&face.box, 1}, kMap, s,
                                          to, {&r, 1}, {&twice, 1});
      };
      ASSERT_TRUE(enqueue(want, roll, again).ok() && enqueue(upright, {}, 0).ok());
      looked_twice += again;
      const std::vector<Point> found(faces.landmarks_of(f), faces.landmarks_of(f) + 68);
      ASSERT_EQ(found, want) << "frame " << frame << ", face " << f;
      points += 68;
      turned += want != upright;
    }
    set_landmarks(random, mean, faces);
    out.set(got);
    status = submit(stream, [&](cuda::Launcher launch) {
      return memory.value()->remember(reinterpret_cast<const DeviceFaces*>(out.data()), launch);
    });
    ASSERT_TRUE(status.ok()) << status.message();
    forest::remember_rolls(SerialLanes{}, state, faces.faces, faces.landmarks(), faces.count, mean);
    RollState known;
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(&known, memory.value()->known(), sizeof known, cudaMemcpyDeviceToHost),
              cudaSuccess);
    ASSERT_EQ(known.count, state.count);
    for (int i = 0; i < state.count; ++i, ++rolls) {
      ASSERT_EQ(known.id[i], state.id[i]);
      ASSERT_EQ(known.roll[i], state.roll[i]) << "frame " << frame << ", face " << i;
    }
  }
  test::compared("points", points, test::under_tool() ? 2'000 : 30'000);
  test::compared("faces that were turned", turned, test::under_tool() ? 10 : 200);
  if (refine)
    test::compared("faces that were looked at twice", looked_twice, test::under_tool() ? 10 : 100);
  test::compared("rolls", rolls, test::under_tool() ? 30 : 500);
}

TEST(RollCudaArguments, ThereHaveToBeFacesAndAModel) {
  CUFACE_NEEDS_GPU();
  const test::Stream stream;
  EXPECT_EQ(cuda::RollMemory::create(nullptr).status().code(), StatusCode::kInvalidArgument);
  const auto forest = cuda::DeviceForest::create(*test::random_forest({5, 1, 2, 2, 9}, 3));
  ASSERT_TRUE(forest.ok());
  auto memory = cuda::RollMemory::create(forest.value());
  ASSERT_TRUE(memory.ok());
  const auto known = [&] {
    RollState state;
    EXPECT_EQ(cudaMemcpy(&state, memory.value()->known(), sizeof state, cudaMemcpyDeviceToHost),
              cudaSuccess);
    return state.count;
  };
  EXPECT_EQ(known(), 0) << "nothing is known before the first frame";
  EXPECT_EQ(memory.value()->remember(nullptr, stream).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(known(), 0);
}

}  // namespace
}  // namespace cuface
