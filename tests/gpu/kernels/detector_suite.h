// What every detector of keypoints is put to: it finds in CUDA what its reference does.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/common/cuda/scratch.h"
#include "kernels/keypoints/keypoints.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/guarded_detector.h"
#include "tests/moving_faces.h"

namespace cuface::test {

/// A detector of keypoints with its list.
template <typename Detector>
class GuardedKeypointDetector : public GuardedDetector<Detector> {
 public:
  void set(const Grey& picture) {
    this->picture_->set(picture.view());
    out_->set(std::vector<std::uint8_t>(out_->size(), kCanary));
  }

 protected:
  /// `list_bytes(detector)` is the size of the largest list.
  template <typename ListBytes>
  void hold(Result<Detector> made, const cuda::ScratchLayout& layout, int width, int height,
            int lead, int padding, ListBytes list_bytes) {
    if (GuardedDetector<Detector>::hold(std::move(made), layout, width, height, lead, padding))
      out_.emplace(list_bytes(*this->detector_), kCanary);
  }
  /// The list; looks at the guards of all memory.
  std::vector<std::uint8_t> list_read() {
    this->scratch_->get();
    return out_->get();
  }
  static void expect_nothing_behind(const std::vector<std::uint8_t>& list, std::size_t used) {
    EXPECT_TRUE(std::all_of(list.begin() + static_cast<std::ptrdiff_t>(used), list.end(),
                            [](auto b) { return b == kCanary; }))
        << "wrote behind the last keypoint";
  }

  std::optional<GuardedBytes> out_;
};

/// Device is made of a configuration, a size, a lead and a padding; set(), enqueue() and found()
/// are those of a detector. What is found is what compare_found() says.
template <typename Device, typename Config, typename Features>
class DetectorSuite : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    stream_.emplace();
  }
  virtual void compare_found(const Features& got, const Grey& picture, const Config& config) = 0;

  void compare(const Grey& picture, const Config& config, int lead = 0, int padding = 0) {
    Device device(config, picture.width, picture.height, lead, padding);
    if (HasFailure()) return;
    device.set(picture);
    const Status enqueued = device.enqueue(*stream_);
    ASSERT_TRUE(enqueued.ok()) << enqueued.message();
    compare_found(device.found(), picture, config);
  }
  /// Counts a picture and its keypoints.
  void expect_same_keypoints(const std::vector<Keypoint>& got,
                             const std::vector<Keypoint>& expected, const std::string& name) {
    ASSERT_EQ(got.size(), expected.size()) << name;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Keypoint &a = got[i], &b = expected[i];
      ASSERT_EQ(std::memcmp(&a, &b, sizeof a), 0)
          << name << ": keypoint " << i << " at " << a.x << "," << a.y << " of octave " << a.octave
          << ", size " << a.size << ", angle " << a.angle << ", response " << a.response << ", not "
          << b.x << "," << b.y << " of octave " << b.octave << ", size " << b.size << ", angle "
          << b.angle << ", response " << b.response;
    }
    ++pictures_;
    keypoints_ += static_cast<long>(expected.size());
  }
  /// Of sides from `least` on, by less than `widths` and `heights` more; draw() as below.
  template <typename Draw, typename RandomConfig>
  void compare_settings(int pictures, int least, unsigned widths, unsigned heights, Draw draw,
                        RandomConfig random_config) {
    std::mt19937 random(1);
    for (int i = 0; i < cases(pictures); ++i) {
      const int width = least + static_cast<int>(random() % widths),
                height = least + static_cast<int>(random() % heights);
      // Of few values: many responses alike.
      const Grey picture = draw(width, height, random, i % 3 ? 200 : 2);
      compare(picture, random_config(random), static_cast<int>(random() % 4),
              static_cast<int>(random() % 9));
      if (HasFatalFailure()) return;
    }
    compared("pictures", pictures_, pictures);
  }
  template <typename RandomConfig>
  void compare_natural_pictures(RandomConfig random_config) {
    const auto pictures = load_gray_pictures();
    if (pictures.empty()) GTEST_SKIP() << "no natural pictures: set CUFACE_GPU_DATA";
    std::mt19937 random(3);
    for (const auto& p : pictures) {
      Grey grey(p.width, p.height);
      grey.pixels = p.pixels;
      compare(grey, {});
      compare(grey, random_config(random), 1, 3);
      if (HasFatalFailure()) return;
    }
    compared("pictures", pictures_, 2 * static_cast<long>(pictures.size()));
  }
  /// draw() is for a size, a source of random numbers and a number of values.
  template <typename Draw>
  void compare_one_graph(int width, int height, Draw draw) {
    Device device({}, width, height);
    Submitter submit;
    std::mt19937 random(4);
    for (int round = 0; round < (under_tool() ? 3 : 9); ++round) {
      const Grey picture =
          round % 3 == 2 ? Grey(width, height, 90) : draw(width, height, random, 50 + 20 * round);
      device.set(picture);
      const Status submitted =
          submit(*stream_, [&](cuda::Launcher launch) { return device.enqueue(launch); });
      ASSERT_TRUE(submitted.ok()) << submitted.message();
      compare_found(device.found(), picture, {});
      if (HasFatalFailure()) return;
    }
    EXPECT_EQ(submit.built().graphs, 1);
    compared("pictures", pictures_, 9);
  }

  std::optional<Stream> stream_;
  long pictures_ = 0, keypoints_ = 0;
};

}  // namespace cuface::test
