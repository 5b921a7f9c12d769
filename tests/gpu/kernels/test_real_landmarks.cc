// Landmarks on CUDA of dlib's models, exact and compact, against Landmarker (landmarks.h) on
// natural pictures; and their times.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "kernels/landmarks/cuda/landmarker.h"
#include "kernels/landmarks/landmarks.h"
#include "models/models.h"
#include "tests/data.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/landmarks_inputs.h"
#include "tests/gpu/kernels/landmarks_pair.h"

namespace cuface {
namespace {

class RealForestCuda : public ForestPair,
                       public testing::WithParamInterface<std::tuple<int, Kind>> {};

TEST_P(RealForestCuda, NaturalPicturesAndTimes) {
  const auto [landmarks, kind] = GetParam();
  const std::string name = "shape_predictor_" + std::to_string(landmarks) + "_face_landmarks";
  ModelRef model;
  for (const char* suffix : {".cuface", ".dat"})
    if (auto loaded = load_forest(test::model_dir() + "/" + name + suffix); !model && loaded.ok())
      model = loaded.value();
  if (!model) GTEST_SKIP() << "no " << name << " in " << test::model_dir();
  ASSERT_EQ(model->landmarks, landmarks);
  model = of_kind(kind, model);
  const std::string what = "forest " + std::to_string(landmarks) + " points" +
                           (kind == Kind::kExact ? "" : " compact") + ", ";
  auto pictures = test::load_gray_pictures();
  if (pictures.empty()) GTEST_SKIP() << "no pictures: set CUFACE_GPU_DATA";
  if (test::under_tool()) pictures.resize(1);
  const BoxMap map = model->box_maps.empty() ? kMap : model->box_maps.front().second;
  const int iterations = test::under_tool("racecheck") ? 2 : 0;  // or it takes minutes
  const auto reference = make_reference(model, iterations);
  const auto ours = make_cuda(model, iterations);
  ASSERT_TRUE(ours);
  unsigned seed = 40;
  for (const test::GrayPicture& gray : pictures) {
    const PaddedPicture picture{gray.pixels, gray.width, gray.height, gray.width, 0};
    GuardedBytes luma(picture.bytes);
    for (const int faces : {1, 16, kMaxFaces}) {
      if (test::under_tool() && faces > 16) continue;
      const auto boxes = boxes_of_all_kinds(faces, gray.width, gray.height, ++seed);
      ASSERT_NO_FATAL_FAILURE(compare(*ours, *reference, *model, picture, boxes, map)) << gray.name;
      if (gray.name != "mosaic720" && gray.name != "pexels_00") continue;
      const auto good = test::usable_boxes(faces, gray.width, gray.height);
      GuardedBytes in(block_of(good, landmarks)), out(device_faces_bytes(landmarks), kCanary);
      test::report_time(
          what + std::to_string(faces) + " faces", gray.name, test::median_us(*stream_, [&] {
            EXPECT_TRUE(
                ours->enqueue(picture.at(luma.data()), faces_at(in), map, faces_at(out), *stream_)
                    .ok());
          }));
      std::vector<Box> mapped;
      for (const Box& box : good) mapped.push_back(map.apply(box));
      std::vector<Point> points(mapped.size() * static_cast<std::size_t>(landmarks));
      test::report_cpu_time(what + std::to_string(faces) + " faces", gray.name, [&] {
        EXPECT_TRUE(reference->enqueue(picture.at(picture.bytes.data()), mapped, points).ok());
      });
      if (faces != kMaxFaces) continue;
      Bytes four;
      for (int list = 0; list < 4; ++list) {
        const Bytes one = in.get();
        four.insert(four.end(), one.begin(), one.end());
      }
      GuardedBytes ins(four), outs(four.size(), kCanary);
      test::report_time(what + "256 faces in 4 lists", gray.name, test::median_us(*stream_, [&] {
                          EXPECT_TRUE(ours->enqueue(picture.at(luma.data()), faces_at(ins), map,
                                                    faces_at(outs), *stream_, nullptr, 4)
                                          .ok());
                        }));
    }
  }
  const auto count = static_cast<long>(pictures.size());
  test::compared("points", seen_.points, count * 60 * landmarks);
  test::compared("points over 5 px from the mean shape", seen_.far, count * 3 * landmarks);
}
INSTANTIATE_TEST_SUITE_P(Models, RealForestCuda,
                         testing::Combine(testing::Values(68, 5),
                                          testing::Values(Kind::kExact, Kind::kCompact)),
                         [](const auto& model) {
                           return "Points" + std::to_string(std::get<0>(model.param)) +
                                  name_of(std::get<1>(model.param));
                         });

// Without natural pictures or the model: the same shape, so that there are times all the same.
class RandomForestCuda : public ForestPair, public testing::WithParamInterface<Kind> {};

TEST_P(RandomForestCuda, Times) {
  const auto ours = make_cuda(of_kind(GetParam(), random_forest({68, 15, 500, 4, 500}, 50)));
  ASSERT_TRUE(ours);
  const PaddedPicture picture = noise(640, 360, 51);
  GuardedBytes luma(picture.bytes);
  for (const int faces : {0, 1, 16, kMaxFaces}) {
    if (test::under_tool() && faces > 1) continue;
    std::vector<Box> boxes;
    for (int i = 0; i < faces; ++i) boxes.push_back({5.0f * static_cast<float>(i), 100, 120, 120});
    GuardedBytes in(block_of(boxes, 68)), out(device_faces_bytes(68), kCanary);
    test::report_time(
        (GetParam() == Kind::kExact ? "forest random model, " : "forest random model compact, ") +
            std::to_string(faces) + " faces",
        "640x360", test::median_us(*stream_, [&] {
          EXPECT_TRUE(
              ours->enqueue(picture.at(luma.data()), faces_at(in), kMap, faces_at(out), *stream_)
                  .ok());
        }));
    const auto got = out.get();
    EXPECT_EQ(reinterpret_cast<const DeviceFaces*>(got.data())->count, faces);
  }
}
INSTANTIATE_TEST_SUITE_P(Leaves, RandomForestCuda, testing::Values(Kind::kExact, Kind::kCompact),
                         [](const auto& kind) { return name_of(kind.param); });

}  // namespace
}  // namespace cuface
