// Landmarks on CUDA against Landmarker (landmarks.h) on the same bytes: models of many shapes, good
// and bad boxes, 0 to 64 faces. The real models: test_real_landmarks_cuda.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kernels/landmarks/cuda/landmarker.h"
#include "kernels/landmarks/landmarks.h"
#include "kernels/landmarks/regression.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/landmarks_inputs.h"
#include "tests/gpu/kernels/landmarks_pair.h"

namespace cuface {
namespace {

class ForestCuda : public ForestPair, public testing::WithParamInterface<Kind> {
 protected:
  static ModelRef forest_of(const ForestShape& shape, unsigned seed) {
    return of_kind(GetParam(), random_forest(shape, seed));
  }
};

TEST_P(ForestCuda, ModelsPicturesAndBoxesOfAllKindsHaveTheBytesOfTheReference) {
  const std::vector<PaddedPicture> pictures{noise(160, 120, 1), noise(257, 131, 2, 13, 7),
                                            make_picture(
                                                31, 40, [](int, int) { return 0; }, 1),
                                            make_picture(33, 17, [](int, int) { return 255; }),
                                            make_picture(
                                                1, 1, [](int, int) { return 200; }, 0, 3)};
  unsigned seed = 0;
  const int many = test::under_tool() ? 9 : kMaxFaces;
  const std::size_t tried = test::under_tool() ? 1 : pictures.size();  // for each model
  std::size_t turn = 0;
  // More and fewer trees than threads and than a chunk holds; leaves of 8 and of 16 bytes'
  // alignment; deep trees; the smallest and the largest leaf; a landmark alone, which has no
  // similarity; blocks without a tree or a coordinate.
  for (const ForestShape& shape :
       {ForestShape{68, test::under_tool() ? 2 : 15, 500, 4, 500}, ForestShape{5, 3, 9, 2, 20},
        ForestShape{1, 2, 7, 1, 3}, ForestShape{2, 1, 1, 1, 1}, ForestShape{33, 4, 600, 2, 1100},
        ForestShape{256, 2, 40, 6, 700}, ForestShape{255, 2, 13, 3, 512},
        ForestShape{3, 2, 20, 12, 60}, ForestShape{1, 1, 1600, 1, 513},
        ForestShape{68, 2, 45, 5, 511}, ForestShape{68, 2, 44, 5, 513},
        ForestShape{68, 2, 67, 3, 64}}) {
    const ModelRef model = forest_of(shape, ++seed);
    const auto reference = make_reference(model);
    const auto ours = make_cuda(model);
    ASSERT_TRUE(ours);
    for (std::size_t i = 0; i < tried; ++i) {
      const PaddedPicture& picture = pictures[turn++ % pictures.size()];
      for (const int faces : {0, 1, 5, many}) {
        const auto boxes = boxes_of_all_kinds(faces, picture.width, picture.height, ++seed);
        BoxMap map = faces % 2 ? BoxMap{} : kMap;
        map.square = faces == many;
        ASSERT_NO_FATAL_FAILURE(
            compare(*ours, *reference, *model, picture, boxes, map, faces == 5));
      }
    }
  }
  const long calls = 12 * static_cast<long>(tried);
  EXPECT_EQ(seen_.blocks, calls * 4);
  EXPECT_EQ(seen_.faces, calls * (1 + 5 + many));
  test::compared("unusable boxes", seen_.refused, 400);
  test::compared("points", seen_.points, 200'000);
  test::compared("points over 5 px from the mean shape", seen_.far, 50'000);
}

TEST_P(ForestCuda, FewerIterationsAndOneForestForMany) {
  const ModelRef model = forest_of({68, 5, 120, 4, 200}, 3);
  const PaddedPicture picture = noise(200, 150, 4, 6);
  const auto boxes = boxes_of_all_kinds(20, 200, 150, 5);
  auto forest = cuda::DeviceForest::create(*model);
  ASSERT_TRUE(forest.ok()) << forest.status().message();
  for (const int iterations : {0, 1, 3, 5, 6, 1000}) {
    const auto ours = cuda::Landmarker::create(forest.value(), iterations);
    ASSERT_TRUE(ours.ok()) << ours.status().message();
    EXPECT_EQ(ours.value()->landmarks(), 68);
    ASSERT_NO_FATAL_FAILURE(
        compare(*ours.value(), *make_reference(model, iterations), *model, picture, boxes, kMap));
  }
  EXPECT_EQ(cuda::Landmarker::create(forest.value(), -1).status().code(),
            StatusCode::kInvalidArgument);
  test::compared("points over 5 px from the mean shape", seen_.far, 1000);
}

TEST_P(ForestCuda, SeveralListsInOneCall) {
  const ModelRef model = forest_of({33, 3, 50, 4, 100}, 4);
  const auto reference = make_reference(model);
  const auto ours = make_cuda(model);
  ASSERT_TRUE(ours);
  const PaddedPicture picture = noise(160, 120, 5);
  const std::size_t bytes = device_faces_bytes(33);
  std::vector<Bytes> lists;
  Bytes all;
  for (const int faces : {kMaxFaces, 7, 0, 12}) {
    lists.push_back(
        block_of(boxes_of_all_kinds(faces, 160, 120, static_cast<unsigned>(faces)), 33));
    all.insert(all.end(), lists.back().begin(), lists.back().end());
  }
  GuardedBytes luma(picture.bytes), in(all), out(all.size(), kCanary);
  const Status status = ours->enqueue(picture.at(luma.data()), faces_at(in), kMap, faces_at(out),
                                      *stream_, nullptr, static_cast<int>(lists.size()));
  ASSERT_TRUE(status.ok()) << status.message();
  const Bytes got = out.get();
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const Bytes want = expected_block(*reference, *model, picture.at(picture.bytes.data()),
                                      lists[i], kMap, Bytes(bytes, kCanary), seen_);
    const auto begin = got.begin() + static_cast<std::ptrdiff_t>(i * bytes);
    EXPECT_TRUE(std::equal(want.begin(), want.end(), begin)) << "list " << i;
  }
  test::compared("points", seen_.points, 1000);
}

TEST_P(ForestCuda, SplitsGoBothWaysAndEveryLeafIsReached) {
  // Of the first cascade, where the shape is the mean: what the comparisons above walked through.
  const ModelRef model = forest_of({68, 1, 300, 3, 200}, 8);
  const PaddedPicture picture = noise(160, 120, 9);
  std::vector<long> reached(static_cast<std::size_t>(model->leaves_per_tree()));
  const auto boxes = boxes_of_all_kinds(kMaxFaces, 160, 120, 10);
  for (const Box& box : boxes) {
    if (!forest::is_usable(box)) continue;
    const forest::PixelReader pixels(picture.at(picture.bytes.data()), box);
    std::vector<float> pool;
    for (std::size_t i = 0; i < static_cast<std::size_t>(model->pool); ++i) {
      const std::size_t anchor = model->anchors[i];
      pool.push_back(pixels.at(forest::ScaledRotation{}.place(
          {model->mean_shape[2 * anchor], model->mean_shape[2 * anchor + 1]},
          {model->deltas[2 * i], model->deltas[2 * i + 1]})));
    }
    for (int t = 0; t < model->trees; ++t)
      ++reached[forest::walk_tree(model->splits.data() + t * model->splits_per_tree(), model->depth,
                                  pool.data())];
  }
  // Each leaf has a way of its own to the left and to the right.
  test::compared("visits of the rarest leaf", *std::min_element(reached.begin(), reached.end()),
                 500);
  ASSERT_NO_FATAL_FAILURE(
      compare(*make_cuda(model), *make_reference(model), *model, picture, boxes, BoxMap{}));
}

TEST_P(ForestCuda, OneGraphOverDifferentPicturesCountsAndAddresses) {
  const ModelRef model = forest_of({68, 4, 200, 4, 300}, 12);
  const auto reference = make_reference(model);
  const auto ours = make_cuda(model);
  ASSERT_TRUE(ours);
  PaddedPicture picture = noise(190, 143, 20, 5, 1);
  std::vector<GuardedBytes> lumas, ins, outs;
  for (int i = 0; i < 3; ++i) {
    lumas.emplace_back(picture.bytes);
    ins.emplace_back(device_faces_bytes(68), kCanary);
    outs.emplace_back(device_faces_bytes(68), kCanary);
  }
  test::Submitter submit;
  Bytes last;
  unsigned round = 0;
  // Old content stays in `out` between the rounds: only what a round writes may change.
  std::vector<Bytes> before_all(3, Bytes(device_faces_bytes(68), kCanary));
  for (const int faces : {0, 30, 30, 0, kMaxFaces, 1, 0}) {
    picture = noise(190, 143, 20 + round / 3, 5, 1);
    GuardedBytes &luma = lumas[round % 3], &in = ins[round * 2 % 3], &out = outs[round / 3];
    Bytes& before = before_all[round / 3];
    const Bytes block =
        block_of(boxes_of_all_kinds(faces, 190, 143, static_cast<unsigned>(faces)), 68);
    luma.set(picture.bytes);
    in.set(block);
    const Status submitted = submit(*stream_, [&](cuda::Launcher launch) {
      return ours->enqueue(picture.at(luma.data()), faces_at(in), kMap, faces_at(out), launch);
    });
    ASSERT_TRUE(submitted.ok()) << submitted.message();
    const Bytes got = out.get();
    const Bytes want = expected_block(*reference, *model, picture.at(picture.bytes.data()), block,
                                      kMap, before, seen_);
    ASSERT_TRUE(got == want) << "round " << round << ": " << first_difference(got, want, 68);
    EXPECT_EQ(got == last, round == 2);  // the same once more gives the same
    last = before = got;
    ++round;
  }
  EXPECT_EQ(submit.built().graphs, 1);
  test::compared("points over 5 px from the mean shape", seen_.far, 1000);
}

TEST_P(ForestCuda, AModelTooLargeForSharedMemoryIsRefused) {
  const auto made = cuda::Landmarker::create(forest_of({5, 1, 3, 1, kMaxForestPool}, 1));
  EXPECT_EQ(made.status().code(), StatusCode::kUnsupported) << made.status().message();
}

TEST(ForestCudaArguments, AreCheckedBeforeAnyGpuIsNeeded) {
  const ModelRef model = random_forest({5, 2, 3, 2, 4}, 1);
  EXPECT_EQ(cuda::Landmarker::create(ModelRef()).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(cuda::Landmarker::create(std::shared_ptr<const cuda::DeviceForest>()).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(cuda::Landmarker::create(model, -1).status().code(), StatusCode::kInvalidArgument);
}

TEST_P(ForestCuda, NullPointersAndEmptyPicturesAreRefused) {
  const auto ours = make_cuda(forest_of({5, 2, 3, 2, 4}, 1));
  ASSERT_TRUE(ours);
  GuardedBytes memory(device_faces_bytes(5), 0);
  const auto code = [&](ImageView<const std::uint8_t> luma, DeviceFaces* in, DeviceFaces* out,
                        int lists = 1) {
    return ours->enqueue(luma, in, BoxMap{}, out, *stream_, nullptr, lists).code();
  };
  DeviceFaces* const faces = faces_at(memory);
  const std::uint8_t* pixels = memory.data();
  EXPECT_EQ(code({nullptr, 4, 4, 4}, faces, faces), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({pixels, 0, 4, 4}, faces, faces), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({pixels, 4, 0, 4}, faces, faces), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({pixels, 4, 4, 4}, nullptr, faces), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({pixels, 4, 4, 4}, faces, nullptr), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({pixels, 4, 4, 4}, faces, faces, 0), StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Leaves, ForestCuda, testing::Values(Kind::kExact, Kind::kCompact),
                         [](const auto& kind) { return name_of(kind.param); });

}  // namespace
}  // namespace cuface
