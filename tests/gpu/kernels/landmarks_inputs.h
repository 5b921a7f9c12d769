// Inputs for tests of the landmarks without dlib or an image library: random models, pictures,
// boxes of all kinds, and blocks of faces as they lie in device memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/landmarks/landmarks.h"
#include "tests/gpu/gpu.h"

namespace cuface::test {

using ModelRef = std::shared_ptr<const ForestModel>;
using Bytes = std::vector<std::uint8_t>;

struct ForestShape {
  int landmarks, cascades, trees, depth, pool;
};

/// A random model that is like a real one as far as the arithmetic goes.
inline ModelRef random_forest(const ForestShape& s, unsigned seed) {
  struct Tables {
    std::vector<float> mean, deltas, leaves;
    std::vector<std::uint32_t> anchors;
    std::vector<ForestSplit> splits;
  };
  std::mt19937 random(seed);
  const auto uniform = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  const auto below = [&](int n) {
    return static_cast<std::uint32_t>(std::uniform_int_distribution<int>(0, n - 1)(random));
  };
  const auto tables = std::make_shared<Tables>();
  const auto fill = [&](std::vector<float>& to, int n, float low, float high) {
    to.resize(static_cast<std::size_t>(n));
    for (float& v : to) v = uniform(low, high);
  };
  const int trees = s.cascades * s.trees;
  fill(tables->mean, 2 * s.landmarks, 0, 1);
  fill(tables->deltas, 2 * s.cascades * s.pool, -0.3f, 0.3f);
  fill(tables->leaves, (trees << s.depth) * 2 * s.landmarks, -0.02f, 0.02f);
  for (int i = 0; i < s.cascades * s.pool; ++i) tables->anchors.push_back(below(s.landmarks));
  // Every second threshold is a whole number, as differences of pixels are.
  for (int i = 0; i < trees * ((1 << s.depth) - 1); ++i) {
    const float threshold = uniform(-30, 30);
    tables->splits.push_back(
        {below(s.pool), below(s.pool), i % 2 ? std::round(threshold) : threshold});
  }

  auto model = std::make_shared<ForestModel>();
  model->name = "random";
  model->landmarks = s.landmarks;
  model->stages = s.cascades;
  model->trees = s.trees;
  model->depth = s.depth;
  model->pool = s.pool;
  model->mean_shape = tables->mean;
  model->anchors = tables->anchors;
  model->deltas = tables->deltas;
  model->splits = tables->splits;
  model->leaves = tables->leaves;
  model->storage = tables;
  EXPECT_TRUE(validate(*model).ok()) << validate(*model).message();
  return model;
}

/// A picture in host memory in rows of any stride, beginning anywhere.
struct PaddedPicture {
  Bytes bytes;
  int width, height, stride, lead;

  ImageView<const std::uint8_t> at(const std::uint8_t* base) const {
    return {base + lead, width, height, stride};
  }
};

template <typename PixelOf>
PaddedPicture make_picture(int width, int height, PixelOf pixel_of, int padding = 0, int lead = 0) {
  const int stride = width + padding;
  PaddedPicture p{Bytes(static_cast<std::size_t>(lead + stride * height), 77), width, height,
                  stride, lead};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      p.bytes[static_cast<std::size_t>(lead + y * stride + x)] =
          static_cast<std::uint8_t>(pixel_of(x, y));
  return p;
}

inline PaddedPicture noise(int width, int height, unsigned seed, int padding = 0, int lead = 0) {
  std::mt19937 random(seed);
  // Waves with noise on them: splits go both ways, and not by the noise alone.
  return make_picture(
      width, height,
      [&](int x, int y) {
        return (x * x / 97 + y * (y + x) / 61) % 200 + static_cast<int>(random() % 56);
      },
      padding, lead);
}

inline std::vector<Box> bad_boxes() {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  return {{nan, 0, 9, 9}, {0, nan, 9, 9},       {0, 0, nan, 9},
          {0, 0, 9, nan}, {0, -infinity, 9, 9}, {0, 0, infinity, 9},
          {0, 0, 9, 0},   {0, 0, -3, 9},        {nan, nan, nan, nan}};
}

/// Inside, over the edges, far away, tiny, flat, huge; some of them unusable.
inline std::vector<Box> boxes_of_all_kinds(int count, int width, int height, unsigned seed) {
  const float w = static_cast<float>(width), h = static_cast<float>(height);
  const float big = std::numeric_limits<float>::max();
  std::vector<Box> special{{w * 0.25f, h * 0.25f, w * 0.5f, h * 0.5f},
                           {-w * 0.3f, -h * 0.2f, w, h},
                           {w * 0.7f, h * 0.6f, w * 0.6f, h * 0.7f},
                           {10 * w, -10 * h, 50, 50},
                           {w / 2, h / 2, 1, 1},
                           {w / 2, h / 2, 0.25f, 0.5f},
                           {0, h / 2, w, 3},
                           {-100 * w, -100 * h, 200 * w, 200 * h},
                           {0, 0, big, big},
                           {-big, big, 10, 10},
                           {3e9f, -3e9f, 5e9f, 1}};
  const std::vector<Box> bad = bad_boxes();
  special.insert(special.end(), bad.begin(), bad.end());
  std::mt19937 random(seed);
  const auto uniform = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  std::vector<Box> boxes;
  for (int i = 0; i < count; ++i) {
    if (i % 3 == 2) {
      boxes.push_back(
          special[static_cast<std::size_t>(i / 3 + static_cast<int>(seed)) % special.size()]);
    } else {
      const float side = uniform(0.1f, 0.9f) * std::min(w, h);
      boxes.push_back({uniform(-0.1f * w, w - side), uniform(-0.1f * h, h - side), side,
                       side * uniform(0.8f, 1.2f)});
    }
  }
  return boxes;
}

/// Boxes of faces inside the picture or at its edges, for times.
inline std::vector<Box> usable_boxes(int count, int width, int height) {
  std::vector<Box> good;
  for (unsigned more = 0; good.size() < static_cast<std::size_t>(count); ++more)
    for (const Box& box : boxes_of_all_kinds(2, width, height, 1000 + more))
      if (good.size() < static_cast<std::size_t>(count)) good.push_back(box);
  return good;
}

/// The block of faces that lies in `memory`.
inline cuda::DeviceFaces* faces_at(GuardedBytes& memory) {
  return reinterpret_cast<cuda::DeviceFaces*>(memory.data());
}

/// A block of faces as it lies in memory, with every field of the header set and canaries where
/// nothing is said.
inline Bytes block_of(const std::vector<Box>& boxes, int landmarks) {
  Bytes bytes(cuda::device_faces_bytes(landmarks), kCanary);
  auto* faces = reinterpret_cast<cuda::DeviceFaces*>(bytes.data());
  faces->count = static_cast<std::int32_t>(boxes.size());
  faces->landmarks_per_face = 3;
  faces->searched = 1;
  faces->overflow = 0;
  faces->lost = 5;
  faces->search_wanted = {3, 5, 0};
  faces->followed_per_face = 2;
  faces->has_confidences = 0;
  faces->frame = 0x123456789abcdef0u;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    faces->faces[i].id = 1000 + i;
    faces->faces[i].confidence = 0.5f;
    faces->faces[i].has_keypoints = i % 2 == 1;
    faces->faces[i].age = static_cast<int>(i);
    faces->faces[i].box = boxes[i];
  }
  return bytes;
}

/// The bytes a block must have behind enqueue() from `in` to `out`: those `out` had, but for what
/// is said to be written. points_of(box, points) says whether the reference gives the box
/// landmarks; `confidences` are those of all faces, in order, or empty where it has none.
template <typename PointsOf>
Bytes expected_block(const Bytes& in, int landmarks, Bytes out, const PointsOf& points_of,
                     const std::vector<float>* confidences = nullptr) {
  const auto* from = reinterpret_cast<const cuda::DeviceFaces*>(in.data());
  auto* to = reinterpret_cast<cuda::DeviceFaces*>(out.data());
  const auto count = static_cast<std::size_t>(from->count);
  std::copy_n(in.begin(), offsetof(cuda::DeviceFaces, faces) + count * sizeof(Face), out.begin());
  to->landmarks_per_face = landmarks;
  to->followed_per_face = 0;
  std::vector<Point> points(static_cast<std::size_t>(landmarks));
  for (std::size_t f = 0; f < count; ++f) {
    if (!points_of(from->faces[f].box, points))
      std::fill(points.begin(), points.end(), Point{0, 0});
    std::memcpy(reinterpret_cast<std::uint8_t*>(to->landmarks_of(static_cast<int>(f))),
                points.data(), points.size() * sizeof(Point));
  }
  to->has_confidences = confidences != nullptr;
  if (confidences)
    std::memcpy(reinterpret_cast<std::uint8_t*>(to->confidences(to->count, landmarks)),
                confidences->data(), confidences->size() * sizeof(float));
  return out;
}

}  // namespace cuface::test
