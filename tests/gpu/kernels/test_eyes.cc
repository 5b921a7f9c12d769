// cuda::EyeStart against the CPU's, bit for bit: where a shape model's search starts.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <optional>

#include "kernels/eyes/eyes.h"
#include "kernels/eyes/eyes_cuda.h"
#include "models/models.h"
#include "tests/data.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/landmarks_inputs.h"
#include "tests/gpu/kernels/random_cascade.h"
#include "tests/kernels/shape_models.h"

namespace cuface {
namespace {

using cuda::kMaxFaces;
using test::boxes_of_all_kinds;
using test::GuardedBytes;
using test::PaddedPicture;

using CascadeRef = std::shared_ptr<const CascadeModel>;

class EyesCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    stream_.emplace();
    model_ = *test::random_shape_model_with_eyes(3);
  }

  void make(const CascadeRef& cascade) {
    auto cpu = EyeStart::create(cascade, model_, never_);
    auto gpu = cuda::EyeStart::create(cascade, model_, never_);
    ASSERT_TRUE(cpu.ok() && gpu.ok()) << gpu.status().message();
    cpu_ = std::move(cpu.value());
    gpu_ = std::move(gpu.value());
  }

  /// The starts of all boxes; by a graph, or without.
  void compare(const PaddedPicture& picture, const std::vector<Box>& boxes,
               test::Submitter* submitter = nullptr) {
    GuardedBytes luma(picture.bytes), faces(test::block_of(boxes, 0));
    const auto enqueue = [&](cuda::Launcher launch) {
      return gpu_->enqueue(picture.at(luma.data()), test::faces_at(faces), launch);
    };
    ASSERT_TRUE((submitter ? (*submitter)(*stream_, enqueue) : enqueue(*stream_)).ok());
    ASSERT_EQ(cudaStreamSynchronize(*stream_), cudaSuccess);
    const auto points = static_cast<std::size_t>(model_.points);
    std::vector<Point> got(boxes.size() * points);
    ASSERT_EQ(cudaMemcpy(static_cast<void*>(got.data()), gpu_->starts(), got.size() * sizeof(Point),
                         cudaMemcpyDefault),
              cudaSuccess);
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      std::vector<Point> expected(points, Point{kNone, kNone});
      const auto found = cpu_->find(picture.at(picture.bytes.data()), boxes[i], expected);
      ASSERT_TRUE(found.ok()) << found.status().message();
      found_ += found.value();
      ++faces_;
      const Point* const ours = got.data() + i * points;
      if (!found.value()) {
        ASSERT_FALSE(ours->x == ours->x) << "box " << i;
        continue;
      }
      ASSERT_EQ(
          std::memcmp(static_cast<const void*>(ours), expected.data(), points * sizeof(Point)), 0)
          << "box " << i << ": " << ours->x << " for " << expected[0].x;
    }
  }

  const StopFlag never_;
  ShapeModel model_;
  std::optional<test::Stream> stream_;
  std::unique_ptr<EyeStart> cpu_;
  std::unique_ptr<cuda::EyeStart> gpu_;
  int faces_ = 0, found_ = 0;
};

TEST_F(EyesCuda, RandomCascadesAndBoxesOfAllKinds) {
  test::Submitter submitter;
  for (unsigned seed = 0; seed < 6; ++seed) {
    ASSERT_NO_FATAL_FAILURE(make(std::make_shared<const CascadeModel>(
        test::random_cascade(seed, 20, 20, 2 + static_cast<int>(seed), seed % 2 == 1))));
    const auto picture = test::noise(300, 200, seed);
    for (const int faces : {0, 1, 7, kMaxFaces}) {
      const auto boxes = boxes_of_all_kinds(faces, 300, 200, seed + 40);
      ASSERT_NO_FATAL_FAILURE(compare(picture, boxes));
      ASSERT_NO_FATAL_FAILURE(compare(picture, boxes, seed == 0 ? &submitter : nullptr));
    }
  }
  test::compared("starts", faces_, 800);
  test::compared("starts at eyes", found_, 8);
}

TEST_F(EyesCuda, EyesOfPicturesAndTimes) {
  const auto path = find_eye_cascade();
  const std::string file = path.ok() ? path.value() : test::kCascadeDir + "/haarcascade_eye.xml";
  const auto cascade = load_cascade(file);
  if (!cascade.ok()) GTEST_SKIP() << cascade.status().message();
  const auto pictures = test::load_gray_pictures();
  if (pictures.empty()) GTEST_SKIP() << "no pictures: set CUFACE_GPU_DATA";
  ASSERT_NO_FATAL_FAILURE(make(cascade.value()));
  unsigned seed = 1;
  for (const test::GrayPicture& gray : pictures) {
    const PaddedPicture picture{gray.pixels, gray.width, gray.height, gray.width, 0};
    const auto boxes = boxes_of_all_kinds(kMaxFaces, gray.width, gray.height, ++seed);
    ASSERT_NO_FATAL_FAILURE(compare(picture, boxes)) << gray.name;
    if (gray.name != "mosaic720") continue;
    GuardedBytes luma(picture.bytes);
    for (const int count : {0, 1, 16, kMaxFaces}) {
      GuardedBytes faces(test::block_of(test::usable_boxes(count, gray.width, gray.height), 0));
      test::Submitter submit;
      const auto run = [&] {
        EXPECT_TRUE(submit(*stream_, [&](cuda::Launcher launch) {
                      return gpu_->enqueue(picture.at(luma.data()), test::faces_at(faces), launch);
                    }).ok());
      };
      run();
      test::report_time("eyes, " + std::to_string(count) + " faces", gray.name,
                        test::median_us(*stream_, run));
    }
  }
  test::compared("starts", faces_, 64);
}

}  // namespace
}  // namespace cuface
