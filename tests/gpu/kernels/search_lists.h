// Lists of faces made from a seed, in host and device memory, for the schedule of searches and what
// counts their faces.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "kernels/detect/cuda/schedule.h"
#include "tests/gpu/gpu.h"

namespace cuface::test {

/// Faces in host memory as the device holds them.
struct HostFaces {
  static constexpr int kLandmarks = 5;  ///< of a face at most

  std::vector<std::uint8_t> bytes =
      std::vector<std::uint8_t>(cuda::device_faces_bytes(kLandmarks), kCanary);
  cuda::DeviceFaces* operator->() { return reinterpret_cast<cuda::DeviceFaces*>(bytes.data()); }
};

class SearchCuda : public testing::Test {
 protected:
  static constexpr int kLandmarks = HostFaces::kLandmarks;
  const int frames_ = cases(2400);

  void SetUp() override {
    CUFACE_NEEDS_GPU();
    for (auto* memory : {&before_, &found_, &out_, &asker_})
      memory->emplace(cuda::device_faces_bytes(kLandmarks), kCanary);
    state_memory_.emplace(sizeof(cuda::SearchState), kCanary);
    moved_.emplace(sizeof(cuda::Activity::State), kCanary);
    state_ = reinterpret_cast<cuda::SearchState*>(state_memory_->data());
  }
  static cuda::DeviceFaces* faces(std::optional<GuardedBytes>& memory) {
    return reinterpret_cast<cuda::DeviceFaces*>(memory->data());
  }
  static void put(std::optional<GuardedBytes>& to, const HostFaces& from) { to->set(from.bytes); }
  static HostFaces get(const std::optional<GuardedBytes>& from) { return {from->get()}; }
  HostFaces random_faces(int count, int landmarks) {
    HostFaces made;
    made->count = count;
    made->landmarks_per_face = landmarks;
    made->searched = chance(2);
    made->lost = 3;
    made->search_wanted = kWholePicture;
    made->has_confidences = landmarks > 0 && chance(2);
    for (int k = 0; made->has_confidences && k < count * landmarks; ++k)
      made->confidences(count, landmarks)[k] = static_cast<float>(below(100)) / 100;
    made->part = {};
    if (chance(3)) made->part = {below(4), 4};
    for (int i = 0; i < count; ++i) {
      // On a coarse grid, so that many overlap and some are equal.
      const auto side = static_cast<float>(20 + 10 * below(4));
      made->faces[i] =
          Face{static_cast<std::uint64_t>(below(100)),
               static_cast<float>(below(8)) / 8,
               below(30),
               Origin::kDetected,
               false,
               below(3),
               {static_cast<float>(10 * below(30)), static_cast<float>(10 * below(20)), side, side},
               {static_cast<float>(below(2)), static_cast<float>(below(2))},
               {}};
    }
    for (int i = 0; i < count * landmarks; ++i)
      made->landmarks()[i] = {static_cast<float>(below(640)), static_cast<float>(below(480))};
    return made;
  }
  static std::vector<std::uint8_t> bytes_of(const cuda::Activity::State& moved) {
    std::vector<std::uint8_t> bytes(sizeof moved);
    std::memcpy(bytes.data(), &moved, sizeof moved);
    return bytes;
  }
  const cuda::Activity::State* moved_state() {
    return reinterpret_cast<const cuda::Activity::State*>(moved_->data());
  }
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int n) { return below(n) == 0; }

  std::mt19937 random_{1};
  std::optional<GuardedBytes> before_, found_, out_, asker_, state_memory_, moved_;
  cuda::SearchState* state_ = nullptr;
};

}  // namespace cuface::test
