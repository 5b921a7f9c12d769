// cufeatures on the GPU: the keypoints and descriptors that it has on the CPU, of frames in system
// and in CUDA memory.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gst/base/element.h"
#include "gst/edgedetect/element.h"
#include "gst/features/element.h"
#include "gst/meta/keypoints.h"
#include "kernels/surf/surf.h"
#include "tests/gpu/pipelines/played.h"
#include "tests/moving_faces.h"

namespace cuface::test {
namespace {

constexpr int kFrames = 5, kWidth = 190, kHeight = 120;

/// The elements of this program, under names that no plugin has.
void register_features() {
  static const bool once = [] {
    static gst::ElementInfo features = gst::kFeatureDetect, surf = gst::kSurf,
                            edges = gst::kEdgeDetect;
    register_as("testfeatures", "CufaceTestFeatures", features);
    if (has_surf()) register_as("testsurf", "CufaceTestSurf", surf);
    register_as("testedgesbefore", "CufaceTestEdgesBefore", edges);
    return true;
  }();
  (void)once;
}

/// Rectangles, others on each frame; on frame 3 there is nothing.
Grey picture_of(int number) {
  std::mt19937 random(static_cast<unsigned>(number));
  Grey out(kWidth, kHeight, 100);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int i = 0; i < 60 && number != 3; ++i) {
    const int left = below(kWidth), top = below(kHeight), w = 1 + below(20), h = 1 + below(20);
    const auto value = static_cast<std::uint8_t>(random());
    for (int y = top; y < std::min(top + h, kHeight); ++y)
      std::fill_n(&out.view().at(left, y), std::min(w, kWidth - left), value);
  }
  return out;
}

struct Seen {
  std::vector<FrameFeatures> frames;
  std::uint64_t counted = 0;
};

Seen play(const std::string& elements, GstVideoFormat format, Memory memory, int gap, int change) {
  Seen seen;
  const auto see = [&](GstBuffer* b) {
    const auto found = gst::find_result<FrameFeatures>(b, 0, 0).result.read();
    EXPECT_TRUE(found.ok()) << found.status().message();
    seen.frames.push_back(found.ok() && found.value() ? *found.value() : FrameFeatures());
    if (!found.ok() || !found.value()) return;
    EXPECT_EQ(found.value()->width, kWidth);
    EXPECT_EQ(found.value()->height, kHeight);
  };
  const auto make = [&](int number, GstCudaContext* context) {
    GstBuffer* buffer =
        make_buffer(format, picture_of(number), static_cast<unsigned>(number), context);
    if (number == gap) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_GAP);
    return buffer;
  };
  const auto before = [&](Pipeline& pipeline) {
    pipeline.on_buffer("f", "sink", [&, number = 0](GstBuffer*) mutable {
      if (number++ == change) pipeline.set("f", "max-keypoints", "15");
    });
  };
  const auto after = [&](Pipeline& pipeline) { seen.counted = pipeline.stat("f", "keypoints"); };
  play({elements, format, kWidth, kHeight, kFrames, make, see, before, after}, memory);
  return seen;
}

class FeaturesCuda : public PlayedCuda {
 protected:
  void SetUp() override {
    PlayedCuda::SetUp();
    if (!IsSkipped()) register_features();
  }
  void compare(const std::string& elements, GstVideoFormat format, int gap = -1, int change = -1) {
    SCOPED_TRACE(elements);
    const Seen cpu = play(elements, format, Memory::kCpu, gap, change);
    ASSERT_EQ(cpu.frames.size(), static_cast<std::size_t>(kFrames));
    for (const Memory memory : {Memory::kSystem, Memory::kCuda}) {
      SCOPED_TRACE(memory == Memory::kCuda ? "CUDA memory" : "system memory");
      const Seen gpu = play(elements, format, memory, gap, change);
      EXPECT_EQ(gpu.counted, cpu.counted);
      ASSERT_EQ(gpu.frames.size(), cpu.frames.size());
      for (std::size_t i = 0; i < cpu.frames.size(); ++i) {
        ASSERT_TRUE(gpu.frames[i].found.keypoints == cpu.frames[i].found.keypoints)
            << "frame " << i;
        ASSERT_TRUE(gpu.frames[i].found.descriptors == cpu.frames[i].found.descriptors)
            << "frame " << i;
        ASSERT_TRUE(gpu.frames[i].found.floats == cpu.frames[i].found.floats) << "frame " << i;
        ASSERT_TRUE(gpu.frames[i].found.signs == cpu.frames[i].found.signs) << "frame " << i;
        floats_ += static_cast<long>(cpu.frames[i].found.floats.size());
        EXPECT_TRUE(gpu.frames[i].config == cpu.frames[i].config);
        keypoints_ += static_cast<long>(cpu.frames[i].found.keypoints.size());
      }
    }
  }

  long keypoints_ = 0, floats_ = 0;
};

TEST_F(FeaturesCuda, Surf) {
  if (!has_surf()) GTEST_SKIP() << "this program was built without SURF";
  compare("testsurf name=f backend=BACKEND max-keypoints=60", GST_VIDEO_FORMAT_NV12, 2, 3);
  compare("testsurf name=f backend=BACKEND upright=true descriptor-size=36", GST_VIDEO_FORMAT_RGBA);
  compare("testsurf name=f backend=BACKEND sampling=integral octaves=2", GST_VIDEO_FORMAT_I420);
  compare("testsurf name=f backend=BACKEND sampling=mipmap max-keypoints=30",
          GST_VIDEO_FORMAT_NV12);
  compared("keypoints", keypoints_, 600);
  compared("floats", floats_, 36'000);
}

TEST_F(FeaturesCuda, CornersDescribedBySurf) {
  if (!has_surf()) GTEST_SKIP() << "this program was built without SURF";
  compare("testfeatures name=f backend=BACKEND descriptor=surf max-keypoints=50",
          GST_VIDEO_FORMAT_NV12);
  compared("keypoints", keypoints_, 150);
  compared("floats", floats_, 9'600);
}

TEST_F(FeaturesCuda, KeypointsAndDescriptors) {
  compare("testfeatures name=f backend=BACKEND max-keypoints=200", GST_VIDEO_FORMAT_NV12);
  compare("testfeatures name=f backend=BACKEND score=fast edge=22 levels=3 threshold=9",
          GST_VIDEO_FORMAT_RGBA);
  compare("testfeatures name=f backend=BACKEND upright=true scale-factor=1.5 max-keypoints=9",
          GST_VIDEO_FORMAT_I420);
  compared("keypoints", keypoints_, 600);
}

TEST_F(FeaturesCuda, GapsAndSettingsThatChange) {
  compare("testfeatures name=f backend=BACKEND max-keypoints=100", GST_VIDEO_FORMAT_NV12, 2, 4);
  compared("keypoints", keypoints_, 150);
}

// The luma of the picture that the edges have replaced.
TEST_F(FeaturesCuda, BehindAnElementThatDraws) {
  compare("testedgesbefore backend=BACKEND ! testfeatures name=f backend=BACKEND max-keypoints=90",
          GST_VIDEO_FORMAT_NV12);
  compared("keypoints", keypoints_, 150);
}

}  // namespace
}  // namespace cuface::test
