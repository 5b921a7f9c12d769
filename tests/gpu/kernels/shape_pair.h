// The search by a shape model on CUDA beside that of the CPU: what its tests share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/shape/cuda/searcher.h"
#include "kernels/shape/search.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/landmarks_inputs.h"
#include "tests/kernels/shape_models.h"

namespace cuface::test {

using ShapeRef = std::shared_ptr<const ShapeModel>;

/// A frame's picture and boxes.
struct ShapeInput {
  PaddedPicture picture;
  std::vector<Box> boxes;
  std::vector<Point> followed = {};  ///< as many points of each face as the model has, or none

  Bytes block(int points) const {
    Bytes bytes = block_of(boxes, points);
    if (followed.empty()) return bytes;
    auto* const faces = reinterpret_cast<cuda::DeviceFaces*>(bytes.data());
    faces->landmarks_per_face = 0;
    faces->followed_per_face = points;
    std::memcpy(static_cast<void*>(faces->landmarks()), followed.data(),
                followed.size() * sizeof(Point));
    return bytes;
  }
};

/// Patches of the size and number that a trained model of 68 points has, of random numbers and with
/// fewer rows; rows become smaller, so that the first ones decide less than all. For times without
/// a file.
inline ShapeRef random_masm(unsigned seed, int points = 68, int levels = 4,
                            const PatchRule& patch = {13, 2, 1, PatchRule::kMagnitude, true, 10}) {
  auto tables = std::make_shared<ShapeTables>();
  auto model = std::make_shared<ShapeModel>();
  random_shape(*model, *tables, seed, points, levels);
  model->constraint = ShapeConstraint::kIterated;
  model->pyramid = ShapePyramid::kGaussian;
  model->iterations = 4;
  model->rest = 0.5;
  model->refits = 0;
  model->modes = std::min(20, points);
  model->first_rule_level = kMaxShapeLevels;
  model->missing_within = 0;
  model->size = 100;
  model->size_below = std::max(2, points / 2);
  model->start_scale = 0.004;
  model->patch = patch;
  tables->rules.clear();
  tables->moves.clear();
  tables->refit_limits.clear();
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto modes = static_cast<std::size_t>(model->modes);
  tables->eigenvalues.assign(modes, 10);
  tables->eigenvectors.clear();
  for (int i = 0; i < 2 * points * model->modes; ++i)
    tables->eigenvectors.push_back(uniform(random) / std::sqrt(2.0 * points));
  tables->numbers.clear();
  for (ShapeProfile& p : tables->profiles) {
    p = {ProfileKind::kPatch, static_cast<std::uint32_t>(tables->numbers.size())};
    const int size = patch.size(), rows = 96 * size / 169;
    tables->numbers.insert(tables->numbers.end(), {1.0 * rows, 0});
    for (std::size_t k = 2; k < PatchModel::numbers(patch, rows); ++k)
      tables->numbers.push_back(uniform(random));
  }
  tables->show(*model);
  model->storage = tables;
  return model;
}

class ShapePair : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    stream_.emplace();
  }

  static std::unique_ptr<cuda::ShapeSearcher> make_cuda(const ShapeModel& model,
                                                        int faces = cuda::kMaxFaces,
                                                        bool follows = false) {
    auto device = cuda::DeviceShape::create(model);
    EXPECT_TRUE(device.ok()) << device.status().message();
    if (!device.ok()) return nullptr;
    auto made = cuda::ShapeSearcher::create(device.value(), faces, follows);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? std::move(made.value()) : nullptr;
  }

  /// One call for all frames, compared byte for byte: lists, and what points cost. `room`: faces
  /// that the searcher was made for.
  void compare(const ShapeRef& model, cuda::ShapeSearcher& ours,
               const std::vector<ShapeInput>& inputs, bool in_place = false,
               std::size_t room = cuda::kMaxFaces, Submitter* submitter = nullptr) {
    std::vector<std::unique_ptr<GuardedBytes>> memory;
    const auto keep = [&](const Bytes& bytes) -> GuardedBytes& {
      return *memory.emplace_back(std::make_unique<GuardedBytes>(bytes));
    };
    std::vector<cuda::ShapeFrame> frames;
    std::vector<GuardedBytes*> outs;
    std::vector<Bytes> expected;
    std::vector<double> costs;
    std::size_t faces = 0;
    for (const ShapeInput& input : inputs) {
      const Bytes in = input.block(model->points);
      const Bytes before = in_place ? in : Bytes(in.size(), kCanary);
      GuardedBytes &luma = keep(input.picture.bytes), &from = keep(in);
      GuardedBytes& out = in_place ? from : keep(before);
      frames.push_back({input.picture.at(luma.data()), faces_at(from), faces_at(out)});
      outs.push_back(&out);
      std::vector<float> confidences;
      std::size_t face = 0;
      Bytes wanted = expected_block(
          in, model->points, before, [&](const Box& box, std::vector<Point>& points) {
            return find(*model, input, face++, box, points, costs, confidences, faces++ < room);
          });
      if (model->confidence.is_known()) {
        auto* const list = reinterpret_cast<cuda::DeviceFaces*>(wanted.data());
        list->has_confidences = 1;
        std::memcpy(list->confidences(list->count, model->points), confidences.data(),
                    confidences.size() * sizeof(float));
        confidences_ += static_cast<long>(confidences.size());
      }
      expected.push_back(std::move(wanted));
    }
    const auto enqueue = [&](cuda::Launcher launch) { return ours.enqueue(frames, launch); };
    const Status status = submitter ? (*submitter)(*stream_, enqueue) : enqueue(*stream_);
    ASSERT_TRUE(status.ok()) << status.message();
    for (std::size_t i = 0; i < outs.size(); ++i) {
      const Bytes got = outs[i]->get();
      ASSERT_TRUE(got == expected[i])
          << "list " << i << ": " << difference(got, expected[i], model->points);
    }
    std::vector<double> got(costs.size());
    ASSERT_EQ(
        cudaMemcpy(got.data(), ours.costs(), got.size() * sizeof(double), cudaMemcpyDeviceToHost),
        cudaSuccess);
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(std::memcmp(&got[i], &costs[i], sizeof(double)), 0)
          << "face " << i / static_cast<std::size_t>(model->points) << " landmark "
          << i % static_cast<std::size_t>(model->points) << " costs " << got[i] << ", not "
          << costs[i];
    ++calls_;
  }

  std::optional<Stream> stream_;
  long calls_ = 0, faces_ = 0, refused_ = 0, points_ = 0, moved_ = 0, refitted_ = 0,
       confidences_ = 0, followed_ = 0;

 private:
  /// As the CPU's searcher, with what it says of the points.
  bool find(const ShapeModel& model, const ShapeInput& input, std::size_t face, const Box& box,
            std::vector<Point>& points, std::vector<double>& costs, std::vector<float>& confidences,
            bool has_room) {
    const std::size_t count = points.size();
    std::vector<double> told(count, kDearest);
    std::vector<float> sure(count, 0.0f);
    const auto add = [&] {
      if (has_room) costs.insert(costs.end(), told.begin(), told.end());
      confidences.insert(confidences.end(), sure.begin(), sure.end());
    };
    if (!shape::is_usable(box)) {
      add();
      return false;
    }
    const ImageView<const std::uint8_t> luma = input.picture.at(input.picture.bytes.data());
    const Rect window = shape::window_of(model.window, box, luma.width, luma.height);
    std::span<const Point> start(input.followed);
    if (!start.empty()) start = start.subspan(face * count, count);
    std::vector<ShapePoint> found(count);
    shape::start_shape(model, box, found);
    if (!start.empty() && std::all_of(start.begin(), start.end(), shape::is_near)) {
      for (std::size_t i = 0; i < count; ++i) found[i] = {start[i].x, start[i].y};
      ++followed_;
    }
    for (ShapePoint& p : found) p = {p.x - window.x, p.y - window.y};
    const std::vector<ShapePoint> before = found;
    shape::FaceSearch search(model, ShapeArithmetic::kFloat);
    const bool is_searched =
        has_room && window.w > 0 && window.h > 0 &&
        search.run({luma.row(window.y) + window.x, window.w, window.h, luma.stride}, found).ok();
    for (std::size_t i = 0; i < count; ++i) {
      points[i] = {static_cast<float>(found[i].x + window.x),
                   static_cast<float>(found[i].y + window.y)};
      if (!is_searched) continue;
      told[i] = search.matches()[i].cost;
      ++points_;
      moved_ += std::hypot(found[i].x - before[i].x, found[i].y - before[i].y) > 1;
    }
    if (is_searched && model.confidence.is_known()) {
      // The whole of the CPU's searcher, which nobody has taken apart.
      auto searcher = cuface::ShapeSearcher::create(
          Backend::kCpu, std::shared_ptr<const ShapeModel>(std::shared_ptr<void>(), &model));
      std::vector<Point> again(count);
      EXPECT_TRUE(searcher.ok() &&
                  searcher.value()->enqueue(luma, {&box, 1}, again, start, sure).ok());
      EXPECT_EQ(again, points);
    }
    add();
    ++faces_;
    refused_ += !is_searched;
    if (is_searched) refitted_ += search.refitted();
    return true;
  }

  static std::string difference(const Bytes& got, const Bytes& want, int landmarks) {
    const auto at = static_cast<std::size_t>(
        std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin());
    if (at < sizeof(cuda::DeviceFaces))
      return "byte " + std::to_string(at) + " of the header or faces";
    const std::size_t point = (at - sizeof(cuda::DeviceFaces)) / sizeof(Point);
    const auto per_face = static_cast<std::size_t>(landmarks);
    const auto* a = reinterpret_cast<const cuda::DeviceFaces*>(got.data());
    const auto* b = reinterpret_cast<const cuda::DeviceFaces*>(want.data());
    const Point p = a->landmarks()[point], q = b->landmarks()[point];
    return "face " + std::to_string(point / per_face) + " landmark " +
           std::to_string(point % per_face) + " at " + std::to_string(p.x) + "," +
           std::to_string(p.y) + ", not " + std::to_string(q.x) + "," + std::to_string(q.y);
  }
};

}  // namespace cuface::test
