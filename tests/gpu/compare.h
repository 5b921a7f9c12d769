// Comparing device results with those of the reference, bit for bit; a NaN equals any NaN (which
// of them an operation makes differs between processors, and no decision looks at it).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/faces/faces.h"
#include "kernels/faces/faces_cuda.h"
#include "tests/gpu/gpu.h"
#include "tests/moving_faces.h"

namespace cuface::test {

inline bool same_bits(float a, float b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}
inline bool same_bits(Point a, Point b) { return same_bits(a.x, b.x) && same_bits(a.y, b.y); }
inline bool same_bits(Roll a, Roll b) { return same_bits(a.cos, b.cos) && same_bits(a.sin, b.sin); }
inline bool same_bits(const Box& a, const Box& b) {
  return same_bits(a.x, b.x) && same_bits(a.y, b.y) && same_bits(a.w, b.w) && same_bits(a.h, b.h);
}

/// A picture in guarded device memory that starts `lead` bytes off and has rows `padding` apart.
class DevicePicture {
 public:
  DevicePicture(int width, int height, int lead = 0, int padding = 0)
      : width_(width),
        height_(height),
        lead_(lead),
        stride_(width + padding),
        bytes_(static_cast<std::size_t>(lead + stride_ * height), 0x5A) {}

  void set(ImageView<const std::uint8_t> picture) {
    std::vector<std::uint8_t> all(bytes_.size(), 0x5A);
    for (int y = 0; y < height_; ++y) {
      std::memcpy(all.data() + lead_ + y * stride_, picture.row(y),
                  static_cast<std::size_t>(width_));
    }
    bytes_.set(all);
  }
  ImageView<const std::uint8_t> view() { return {bytes_.data() + lead_, width_, height_, stride_}; }

 private:
  int width_, height_, lead_, stride_;
  GuardedBytes bytes_;
};

/// The rows of a picture in device memory, without gaps.
inline std::vector<std::uint8_t> download(ImageView<const std::uint8_t> picture) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(picture.width) *
                                static_cast<std::size_t>(picture.height));
  const auto width = static_cast<std::size_t>(picture.width);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << cudaGetErrorString(cudaGetLastError());
  EXPECT_EQ(cudaMemcpy2D(out.data(), width, picture.data, static_cast<std::size_t>(picture.stride),
                         width, static_cast<std::size_t>(picture.height), cudaMemcpyDeviceToHost),
            cudaSuccess);
  return out;
}

/// `values` as bytes, for GuardedBytes.
template <typename T>
std::vector<std::uint8_t> bytes_of(const std::vector<T>& values) {
  std::vector<std::uint8_t> out(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}
template <typename T>
std::vector<T> values_of(const std::vector<std::uint8_t>& bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

/// A picture that times are stated of, and what a camera that moves a little sees next.
struct TimedPicture {
  std::string name;
  Grey now, next;
};

/// The natural ones, or made-up ones of the same sizes where there are none.
inline std::vector<TimedPicture> timed_pictures() {
  std::vector<TimedPicture> out;
  for (const GrayPicture& p : load_gray_pictures()) {
    if (!is_timed(p)) continue;
    Grey now(p.width, p.height), next = now;
    now.pixels = p.pixels;
    for (int y = 0; y < p.height; ++y) {
      for (int x = 0; x < p.width; ++x) {
        next.view().at(x, y) =
            p.view().at(std::min(x + 2, p.width - 1), std::min(y + 1, p.height - 1));
      }
    }
    out.push_back({p.name, now, next});
  }
  if (!out.empty()) return out;
  std::vector<std::pair<int, int>> sizes = {{640, 360}, {1280, 720}, {1920, 1080}};
  if (under_tool()) sizes = {{160, 120}};
  for (const auto& [w, h] : sizes) {
    out.push_back({"waves " + std::to_string(w) + "x" + std::to_string(h), textured(w, h, 1),
                   textured(w, h, 1, 2.3, 1.1)});
  }
  return out;
}

/// A list as DeviceFaces with room for `capacity` landmarks a face; unused parts are canaries.
/// Faces beyond kMaxFaces are left out.
inline std::vector<std::uint8_t> pack_faces(const FaceList& list, int capacity) {
  std::vector<std::uint8_t> bytes(cuda::device_faces_bytes(capacity), kCanary);
  auto* out = reinterpret_cast<cuda::DeviceFaces*>(bytes.data());
  out->count = static_cast<int>(std::min<std::size_t>(list.faces.size(), cuda::kMaxFaces));
  out->landmarks_per_face = list.landmarks_per_face;
  out->followed_per_face = list.followed_per_face;
  out->searched = list.searched;
  out->part = list.part;
  out->overflow = 0;
  for (int i = 0; i < out->count; ++i) out->faces[i] = list.faces[static_cast<std::size_t>(i)];
  const auto& points = list.landmarks_per_face > 0 ? list.landmarks : list.followed;
  for (int i = 0; i < out->count * points_per_face(list); ++i) {
    out->landmarks()[i] = points[static_cast<std::size_t>(i)];
  }
  out->has_confidences = !list.landmark_confidences.empty();
  for (int i = 0; out->has_confidences && i < out->count * list.landmarks_per_face; ++i)
    out->confidences(out->count, list.landmarks_per_face)[i] =
        list.landmark_confidences[static_cast<std::size_t>(i)];
  return bytes;
}

/// Does device memory of pack_faces()'s layout hold this list, and canaries where there is none?
inline ::testing::AssertionResult holds_faces(const std::vector<std::uint8_t>& bytes,
                                              const FaceList& list) {
  const auto* got = reinterpret_cast<const cuda::DeviceFaces*>(bytes.data());
  const auto fail = [](const std::string& what, auto device, auto host) {
    return ::testing::AssertionFailure() << what << ": device " << device << ", host " << host;
  };
  const auto count = static_cast<std::int32_t>(list.faces.size());
  if (got->count != count) return fail("count", got->count, count);
  if (got->landmarks_per_face != list.landmarks_per_face) {
    return fail("landmarks_per_face", got->landmarks_per_face, list.landmarks_per_face);
  }
  if (got->followed_per_face != list.followed_per_face) {
    return fail("followed_per_face", got->followed_per_face, list.followed_per_face);
  }
  if (got->has_confidences != (list.landmark_confidences.empty() ? 0 : 1))
    return fail("has_confidences", got->has_confidences, list.landmark_confidences.size());
  if (got->searched != (list.searched ? 1 : 0)) {
    return fail("searched", got->searched, list.searched);
  }
  for (int i = 0; i < count; ++i) {
    const Face &a = got->faces[i], &b = list.faces[static_cast<std::size_t>(i)];
    const std::string face = "face " + std::to_string(i) + " ";
    if (a.id != b.id) return fail(face + "id", a.id, b.id);
    if (!same_bits(a.confidence, b.confidence)) {
      return fail(face + "confidence", a.confidence, b.confidence);
    }
    if (a.neighbors != b.neighbors) return fail(face + "neighbors", a.neighbors, b.neighbors);
    if (a.origin != b.origin) {
      return fail(face + "origin", static_cast<int>(a.origin), static_cast<int>(b.origin));
    }
    if (a.age != b.age) return fail(face + "age", a.age, b.age);
    if (!same_bits(a.box, b.box)) return fail(face + "box x", a.box.x, b.box.x);
    if (!same_bits(a.roll, b.roll)) return fail(face + "roll", a.roll.sin, b.roll.sin);
    if (a.has_keypoints != b.has_keypoints)
      return fail(face + "has keypoints", a.has_keypoints, b.has_keypoints);
    for (int k = 0; k < kFaceKeypoints; ++k)
      if (!same_bits(a.keypoints[k], b.keypoints[k]))
        return fail(face + "keypoint " + std::to_string(k), a.keypoints[k].x, b.keypoints[k].x);
  }
  const int landmarks = count * points_per_face(list);
  const auto& points = list.landmarks_per_face > 0 ? list.landmarks : list.followed;
  for (int i = 0; i < landmarks; ++i) {
    const Point a = got->landmarks()[i], b = points[static_cast<std::size_t>(i)];
    if (std::isnan(a.x) && std::isnan(a.y) && std::isnan(b.x) && std::isnan(b.y)) continue;
    if (!same_bits(a, b)) return fail("landmark " + std::to_string(i) + " x", a.x, b.x);
  }
  const auto untouched = [](const void* first, const void* last) {
    const auto* p = static_cast<const std::uint8_t*>(first);
    const auto* end = static_cast<const std::uint8_t*>(last);
    return std::all_of(p, end, [](std::uint8_t b) { return b == kCanary; });
  };
  if (!untouched(got->faces + count, got->faces + cuda::kMaxFaces) ||
      !untouched(got->landmarks() + landmarks, bytes.data() + bytes.size())) {
    return ::testing::AssertionFailure() << "wrote behind the last face";
  }
  return ::testing::AssertionSuccess();
}

}  // namespace cuface::test
