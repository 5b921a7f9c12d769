// Frames to draw on in device memory, and faces.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <string>

#include "kernels/overlay/overlay.h"
#include "tests/gpu/gpu.h"
#include "tests/kernels/overlay_frames.h"

namespace cuface::test {

/// A copy of a frame in device memory.
class DeviceFrame {
 public:
  explicit DeviceFrame(const OverlayFrame& frame) : view_(frame.view()) {
    for (int m = 0; m < 3; ++m)
      if (!frame.memory(m).empty())
        planes_[static_cast<std::size_t>(m)] = std::make_unique<GuardedBytes>(frame.memory(m));
    for (int i = 0; i < 3; ++i) {
      Component& c = view_.component[i];
      if (!c.data) continue;
      const int m = frame.memory_of(i);
      c.data = planes_[static_cast<std::size_t>(m)]->data() + (c.data - frame.memory(m).data());
    }
  }
  const FrameView& view() const { return view_; }
  void set(const OverlayFrame& frame) {
    for (int m = 0; m < 3; ++m)
      if (auto& plane = planes_[static_cast<std::size_t>(m)]) plane->set(frame.memory(m));
  }
  void expect_same(const OverlayFrame& frame, const std::string& what) const {
    for (int m = 0; m < 3; ++m) {
      if (const auto& plane = planes_[static_cast<std::size_t>(m)]) {
        EXPECT_EQ(plane->get(), frame.memory(m)) << what << ", plane " << m;
      }
    }
  }

 private:
  FrameView view_;
  std::array<std::unique_ptr<GuardedBytes>, 3> planes_;
};

/// Bytes of planes that differ.
inline long changed(const OverlayFrame& a, const OverlayFrame& b) {
  long n = 0;
  for (int m = 0; m < 3; ++m)
    for (std::size_t i = 0; i < a.memory(m).size(); ++i) n += a.memory(m)[i] != b.memory(m)[i];
  return n;
}

/// Texture without structure, so that every read of a wrong pixel shows.
inline int texture(int component, int x, int y) {
  const auto n =
      static_cast<unsigned>(component * 7919 + x * 104729 + y * 1299709) * 2654435761u >> 13;
  return static_cast<int>(n & 255);
}

/// `count` faces, half of them upon each other.
inline FaceList many_faces(int width, int height, int count, int points, std::mt19937& random) {
  std::uniform_real_distribution<float> place(-0.2f, 1.0f), size(0.02f, 0.5f);
  FaceList all;
  all.landmarks_per_face = points;
  for (int i = 0; i < count; ++i) {
    const float side = size(random) * static_cast<float>(i % 2 ? height : height / 4 + 1);
    FaceList one = some_faces(width, height, place(random) * static_cast<float>(width),
                              place(random) * static_cast<float>(height), side, points);
    one.faces[0].id = random() % 3 ? random() % 2000 : ~std::uint64_t{0} - random();
    one.faces[0].confidence = static_cast<float>(random() % 101) / 100.0f;
    all.faces.push_back(one.faces[0]);
    all.landmarks.insert(all.landmarks.end(), one.landmarks.begin(), one.landmarks.end());
  }
  return all;
}

}  // namespace cuface::test
