// Samples on CUDA against SampledLandmarker (landmark_samples.h) on the same bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/landmark_samples/landmark_samples.h"
#include "kernels/landmark_samples/landmark_samples_cuda.h"
#include "tests/data.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/landmarks_inputs.h"

namespace cuface {
namespace {

using cuda::DeviceFaces;
using cuda::kMaxFaces;
using test::Bytes;
using test::faces_at;
using test::GuardedBytes;
using test::ModelRef;
using test::PaddedPicture;

constexpr BoxMap kMap{0.95f, 0.01f, 0.025f};

struct Seen {
  long faces = 0, refused = 0, points = 0, averaged = 0, confidences = 0;
};

/// The same with a table, so that its points have confidences.
ModelRef with_confidence(const ModelRef& model) {
  auto changed = std::make_shared<ForestModel>(*model);
  changed->confidence = {-20, 24, {}};
  for (int i = 0; i < 24; ++i) changed->confidence.at[i] = 1 - static_cast<float>(i * i) / 600;
  return changed;
}

Bytes expected_block(SampledLandmarker& reference, const ForestModel& model,
                     ImageView<const std::uint8_t> luma, const Bytes& in, int samples, Bytes out,
                     Seen& seen) {
  const auto landmarks = static_cast<std::size_t>(model.landmarks);
  std::vector<Point> alone(landmarks);
  std::vector<float> confidences, of_face(landmarks);
  const bool confident = reference.has_confidences(samples);
  return test::expected_block(
      in, model.landmarks, std::move(out),
      [&](const Box& box, std::vector<Point>& points) {
        ++seen.faces;
        const bool usable = reference
                                .enqueue(luma, {&box, 1}, kMap, samples, points, {}, {},
                                         confident ? std::span(of_face) : std::span<float>{})
                                .ok();
        if (!usable) std::ranges::fill(of_face, 0.0f);
        confidences.insert(confidences.end(), of_face.begin(), of_face.end());
        if (!usable) {
          ++seen.refused;
          return false;
        }
        for (const float one : of_face) seen.confidences += confident && one > 0 && one < 1;
        EXPECT_TRUE(reference.enqueue(luma, {&box, 1}, kMap, 1, alone).ok());
        for (std::size_t i = 0; i < points.size(); ++i) {
          ++seen.points;
          seen.averaged += points[i] != alone[i];
        }
        return true;
      },
      confident ? &confidences : nullptr);
}

class SamplesCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    stream_.emplace();
  }
  std::optional<test::Stream> stream_;
  Seen seen_;
};

TEST_F(SamplesCuda, HaveTheBytesOfTheReference) {
  const PaddedPicture picture = test::noise(160, 120, 6, 5, 3);
  const int many = test::under_tool() ? 9 : kMaxFaces;
  const std::vector<int> tried =
      test::under_tool() ? std::vector{1, 3, 8} : std::vector{1, 2, 3, 8, kMaxSamples};
  unsigned seed = 30;
  for (const test::ForestShape& shape :
       {test::ForestShape{68, 4, 60, 4, 100}, test::ForestShape{5, 3, 9, 2, 20},
        test::ForestShape{256, 2, 20, 3, 60}}) {
    ModelRef model = test::random_forest(shape, ++seed);
    if (shape.landmarks != 5) model = with_confidence(model);
    auto reference = SampledLandmarker::create(Backend::kCpu, model);
    ASSERT_TRUE(reference.ok()) << reference.status().message();
    auto forest = cuda::DeviceForest::create(*model);
    ASSERT_TRUE(forest.ok()) << forest.status().message();
    for (const int samples : tried) {
      auto ours = cuda::SampledLandmarker::create(forest.value(), 0, samples);
      ASSERT_TRUE(ours.ok()) << ours.status().message();
      // 8 samples of 8 faces fill a list, 9 faces begin another; fewer again leave one behind.
      for (const int faces : {0, 1, 8, 9, many, 2}) {
        const bool in_place = faces == 9;
        const Bytes in =
            test::block_of(test::boxes_of_all_kinds(faces, 160, 120, ++seed), model->landmarks);
        const Bytes before = in_place ? in : Bytes(in.size(), test::kCanary);
        GuardedBytes luma(picture.bytes), from(in), to(before);
        GuardedBytes& out = in_place ? from : to;
        const Status status = ours.value()->enqueue(picture.at(luma.data()), faces_at(from), kMap,
                                                    faces_at(out), *stream_);
        ASSERT_TRUE(status.ok()) << status.message();
        const Bytes got = out.get();
        const Bytes want =
            expected_block(*reference.value(), *model, picture.at(picture.bytes.data()), in,
                           samples, before, seen_);
        ASSERT_TRUE(got == want) << faces << " faces, " << samples << " samples, first at byte "
                                 << std::mismatch(got.begin(), got.end(), want.begin()).first -
                                        got.begin();
        ASSERT_EQ(from.get(), in_place ? got : in) << "the faces were written to";
      }
    }
  }
  EXPECT_EQ(seen_.faces, 3 * static_cast<long>(tried.size()) * (1 + 8 + 9 + many + 2));
  test::compared("unusable boxes", seen_.refused, test::under_tool() ? 50 : 100);
  test::compared("points", seen_.points, 10'000);
  test::compared("points that are not those of the box alone", seen_.averaged, 5'000);
  test::compared("confidences between 0 and 1", seen_.confidences, 5'000);
}

// Boxes of all kinds; test_roll_cuda.cc has faces that are known.
TEST_F(SamplesCuda, LookTwiceAtFacesThatAreNotKnown) {
  const PaddedPicture picture = test::noise(160, 120, 6, 5, 3);
  const ModelRef model = with_confidence(test::random_forest({68, 4, 60, 4, 100}, 41));
  auto reference = SampledLandmarker::create(Backend::kCpu, model);
  auto forest = cuda::DeviceForest::create(*model);
  ASSERT_TRUE(reference.ok() && forest.ok());
  GuardedBytes luma(picture.bytes), nobody(Bytes(sizeof(RollState), 0));
  const std::uint8_t twice = 1;
  long moved = 0;
  for (const int samples : {1, 4}) {
    auto ours = cuda::SampledLandmarker::create(forest.value(), 0, samples, true);
    ASSERT_TRUE(ours.ok()) << ours.status().message();
    for (const int faces : {0, 1, test::under_tool() ? 9 : kMaxFaces, 2}) {
      Bytes block = test::block_of(test::boxes_of_all_kinds(faces, 160, 120, 7), 68);
      for (int i = 0; i < faces; ++i) {
        Face& face = reinterpret_cast<DeviceFaces*>(block.data())->faces[i];
        face.origin = Origin::kDetected;
        face.roll = {};
      }
      const Bytes before(block.size(), test::kCanary);
      GuardedBytes in(block), out(before);
      const auto enqueue = [&](const RollState* rolls) {
        return ours.value()->enqueue(picture.at(luma.data()), faces_at(in), kMap, faces_at(out),
                                     *stream_, rolls);
      };
      EXPECT_EQ(enqueue(nullptr).code(), StatusCode::kInvalidArgument) << "nobody knows a face";
      ASSERT_TRUE(enqueue(reinterpret_cast<const RollState*>(nobody.data())).ok());
      std::vector<Point> once(68);
      std::vector<float> confidences, of_face(68);
      const bool confident = samples > 1;
      const Bytes want = test::expected_block(
          block, 68, before,
          [&](const Box& box, std::vector<Point>& points) {
            const auto view = picture.at(picture.bytes.data());
            const bool usable =
                reference.value()->enqueue(view, {&box, 1}, kMap, samples, once).ok() &&
                reference.value()
                    ->enqueue(view, {&box, 1}, kMap, samples, points, {}, {&twice, 1},
                              confident ? std::span(of_face) : std::span<float>{})
                    .ok();
            if (!usable) std::ranges::fill(of_face, 0.0f);
            confidences.insert(confidences.end(), of_face.begin(), of_face.end());
            moved += usable && points != once;
            return usable;
          },
          confident ? &confidences : nullptr);
      ASSERT_TRUE(out.get() == want) << faces << " faces, " << samples << " samples";
    }
  }
  test::compared("faces that are elsewhere at a second look", moved, test::under_tool() ? 8 : 50);
}

TEST_F(SamplesCuda, OneGraphOverDifferentCounts) {
  const ModelRef model = test::random_forest({68, 4, 60, 4, 100}, 12);
  auto reference = SampledLandmarker::create(Backend::kCpu, model);
  auto forest = cuda::DeviceForest::create(*model);
  ASSERT_TRUE(reference.ok() && forest.ok());
  auto ours = cuda::SampledLandmarker::create(forest.value(), 0, 8);
  ASSERT_TRUE(ours.ok()) << ours.status().message();
  const PaddedPicture picture = test::noise(190, 143, 20);
  GuardedBytes luma(picture.bytes);
  test::Submitter submit;
  for (const int faces : {0, 30, 1, test::under_tool() ? 9 : kMaxFaces, 0, 9}) {
    const Bytes block = test::block_of(test::boxes_of_all_kinds(faces, 190, 143, 5), 68);
    GuardedBytes in(block), out(Bytes(block.size(), test::kCanary));
    const Status submitted = submit(*stream_, [&](cuda::Launcher launch) {
      return ours.value()->enqueue(picture.at(luma.data()), faces_at(in), kMap, faces_at(out),
                                   launch);
    });
    ASSERT_TRUE(submitted.ok()) << submitted.message();
    ASSERT_TRUE(out.get() == expected_block(*reference.value(), *model,
                                            picture.at(picture.bytes.data()), block, 8,
                                            Bytes(block.size(), test::kCanary), seen_))
        << faces << " faces";
  }
  EXPECT_EQ(submit.built().graphs, 1);
  test::compared("points", seen_.points, 1000);
}

TEST_F(SamplesCuda, Times) {
  auto forest = cuda::DeviceForest::create(*test::random_forest({68, 15, 500, 4, 500}, 50));
  ASSERT_TRUE(forest.ok()) << forest.status().message();
  const PaddedPicture picture = test::noise(640, 360, 51);
  GuardedBytes luma(picture.bytes);
  for (const int samples : {1, 4, 8, kMaxSamples}) {
    auto ours = cuda::SampledLandmarker::create(forest.value(), 0, samples);
    ASSERT_TRUE(ours.ok()) << ours.status().message();
    for (const int faces : {1, 16}) {
      if (test::under_tool() && samples * faces > 1) continue;
      std::vector<Box> boxes;
      for (int i = 0; i < faces; ++i)
        boxes.push_back({5.0f * static_cast<float>(i), 100, 120, 120});
      const Bytes block = test::block_of(boxes, 68);
      GuardedBytes in(block), out(Bytes(block.size(), test::kCanary));
      const auto enqueue = [&](cuda::Launcher launch) {
        return ours.value()->enqueue(picture.at(luma.data()), faces_at(in), kMap, faces_at(out),
                                     launch);
      };
      const std::string what = "forest random model, " + std::to_string(samples) + " samples of " +
                               std::to_string(faces) + " faces";
      test::report_time(what, "640x360",
                        test::median_us(*stream_, [&] { EXPECT_TRUE(enqueue(*stream_).ok()); }));
      cuda::LaunchList list;
      EXPECT_TRUE(enqueue(cuda::Launcher(list)).ok());
      test::report_time(what + " graph", "640x360", test::median_us(*stream_, list));
    }
  }
}

// What `refine` costs a face that is known, and one that is new.
TEST_F(SamplesCuda, TimesOfASecondLook) {
  auto forest = cuda::DeviceForest::create(*test::random_forest({68, 15, 500, 4, 500}, 50));
  ASSERT_TRUE(forest.ok()) << forest.status().message();
  const PaddedPicture picture = test::noise(640, 360, 51);
  GuardedBytes luma(picture.bytes);
  for (const int faces : {1, 16}) {
    if (test::under_tool() && faces > 1) continue;
    std::vector<Box> boxes;
    for (int i = 0; i < faces; ++i) boxes.push_back({5.0f * static_cast<float>(i), 100, 120, 120});
    Bytes block = test::block_of(boxes, 68);
    RollState state;
    state.count = faces;
    for (int i = 0; i < faces; ++i)
      state.id[i] = reinterpret_cast<DeviceFaces*>(block.data())->faces[i].id =
          static_cast<std::uint64_t>(i) + 1;
    for (const char* what : {"one look at", "refine, known", "refine, new"}) {
      const bool refine = what[0] == 'r';
      if (what == std::string("refine, new")) state.count = 0;
      Bytes bytes(sizeof(RollState));
      std::memcpy(bytes.data(), &state, sizeof(RollState));
      GuardedBytes in(block), out(Bytes(block.size(), test::kCanary)), rolls(bytes);
      auto ours = cuda::SampledLandmarker::create(forest.value(), 0, 4, refine);
      ASSERT_TRUE(ours.ok()) << ours.status().message();
      test::Submitter submit;
      const auto frame = [&] {
        return submit(*stream_, [&](cuda::Launcher launch) {
          return ours.value()->enqueue(picture.at(luma.data()), faces_at(in), kMap, faces_at(out),
                                       launch, reinterpret_cast<const RollState*>(rolls.data()));
        });
      };
      test::report_time("forest random model as a graph, 4 samples, " + std::string(what) + " " +
                            std::to_string(faces) + " faces",
                        "640x360", test::median_us(*stream_, [&] { EXPECT_TRUE(frame().ok()); }));
    }
  }
}

TEST(SamplesCudaArguments, AreCheckedBeforeAnyGpuIsNeeded) {
  for (const int samples : {0, kMaxSamples + 1})
    EXPECT_EQ(cuda::SampledLandmarker::create(nullptr, 0, samples).status().code(),
              StatusCode::kInvalidArgument);
  EXPECT_EQ(cuda::SampledLandmarker::create(nullptr, 0, 8).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cuface
