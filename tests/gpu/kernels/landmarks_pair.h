// Landmarks on CUDA beside those of Landmarker (landmarks.h): what tests of random and of real
// models share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/landmarks/cuda/landmarker.h"
#include "kernels/landmarks/landmarks.h"
#include "kernels/landmarks/regression.h"
#include "models/forest_file.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/landmarks_inputs.h"

namespace cuface {
namespace {

using cuda::device_faces_bytes;
using cuda::DeviceFaces;
using cuda::kMaxFaces;
using test::block_of;
using test::boxes_of_all_kinds;
using test::Bytes;
using test::faces_at;
using test::ForestShape;
using test::GuardedBytes;
using test::kCanary;
using test::make_picture;
using test::ModelRef;
using test::noise;
using test::PaddedPicture;
using test::random_forest;

constexpr BoxMap kMap{0.95f, 0.01f, 0.025f};

/// What was compared, so that a comparison of nothing fails.
struct Seen {
  long blocks = 0, faces = 0, refused = 0, points = 0, far = 0;
};

inline Bytes expected_block(cuface::Landmarker& reference, const ForestModel& model,
                            ImageView<const std::uint8_t> luma, const Bytes& in, const BoxMap& map,
                            Bytes out, Seen& seen) {
  ++seen.blocks;
  return test::expected_block(
      in, model.landmarks, std::move(out), [&](const Box& face, std::vector<Point>& points) {
        const Box box = map.apply(face);
        const forest::PixelReader start(luma, box);
        ++seen.faces;
        if (!reference.enqueue(luma, {&box, 1}, points).ok()) {
          ++seen.refused;
          return false;
        }
        for (std::size_t i = 0; i < points.size(); ++i) {
          const Point mean =
              start.to_picture({model.mean_shape[2 * i], model.mean_shape[2 * i + 1]});
          ++seen.points;
          seen.far += std::hypot(points[i].x - mean.x, points[i].y - mean.y) > 5;
        }
        return true;
      });
}

inline std::unique_ptr<cuface::Landmarker> make_reference(const ModelRef& model,
                                                          int iterations = 0) {
  auto made = cuface::Landmarker::create(Backend::kCpu, model, iterations);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made.value());
}

inline std::unique_ptr<cuda::Landmarker> make_cuda(const ModelRef& model, int iterations = 0) {
  auto made = cuda::Landmarker::create(model, iterations);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? std::move(made.value()) : nullptr;
}

/// Where two blocks differ first, as landmarks.
inline std::string first_difference(const Bytes& got, const Bytes& want, int landmarks) {
  const auto at = static_cast<std::size_t>(
      std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin());
  if (at < sizeof(DeviceFaces)) return "byte " + std::to_string(at) + " of the header or faces";
  const std::size_t point = (at - sizeof(DeviceFaces)) / sizeof(Point);
  const auto per_face = static_cast<std::size_t>(landmarks);
  return "face " + std::to_string(point / per_face) + " landmark " +
         std::to_string(point % per_face);
}

/// What a model's leaves are.
enum class Kind { kExact, kCompact };

inline std::string name_of(Kind kind) { return kind == Kind::kExact ? "Exact" : "Compact"; }

inline ModelRef of_kind(Kind kind, ModelRef exact) {
  return kind == Kind::kExact ? exact : compact_forest(*exact);
}

class ForestPair : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    stream_.emplace();
  }

  /// One call on `picture`, in one block or two, compared byte for byte.
  void compare(cuda::Landmarker& ours, cuface::Landmarker& reference, const ForestModel& model,
               const PaddedPicture& picture, const std::vector<Box>& boxes, const BoxMap& map,
               bool in_place = false) {
    const Bytes in = block_of(boxes, model.landmarks);
    const Bytes before = in_place ? in : Bytes(in.size(), kCanary);
    GuardedBytes luma(picture.bytes), from(in), to(before);
    GuardedBytes& out = in_place ? from : to;
    const Status status =
        ours.enqueue(picture.at(luma.data()), faces_at(from), map, faces_at(out), *stream_);
    ASSERT_TRUE(status.ok()) << status.message();
    const Bytes got = out.get();
    const Bytes want =
        expected_block(reference, model, picture.at(picture.bytes.data()), in, map, before, seen_);
    ASSERT_TRUE(got == want) << boxes.size() << " faces, " << model.landmarks
                             << " landmarks: " << first_difference(got, want, model.landmarks);
    ASSERT_EQ(luma.get(), picture.bytes) << "the picture was written to";
    ASSERT_EQ(from.get(), in_place ? got : in) << "the faces were written to";
  }

  std::optional<test::Stream> stream_;
  Seen seen_;
};

}  // namespace
}  // namespace cuface
