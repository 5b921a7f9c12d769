// cufeatures on the GPU: the keypoints and descriptors that it has on the CPU, of frames in system
// and in CUDA memory.
#include <gst/cuda/gstcudamemory.h>
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
#include "tests/gpu/gpu.h"
#include "tests/gpu/pipelines/frames.h"
#include "tests/gpu/pipelines/pipeline.h"
#include "tests/moving_faces.h"

namespace cuface::test {
namespace {

constexpr int kFrames = 5, kWidth = 190, kHeight = 120;

/// The elements of this program, under names that no plugin has.
void register_features() {
  static const bool once = [] {
    static gst::ElementInfo features = gst::kFeatureDetect, edges = gst::kEdgeDetect;
    register_as("testfeatures", "CufaceTestFeatures", features);
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

struct Played {
  std::vector<FrameFeatures> frames;
  std::uint64_t counted = 0;
};

enum class Memory { kCpu, kSystem, kCuda };

Played play(const std::string& elements, GstVideoFormat format, Memory memory, int gap,
            int change) {
  GstContext* shared = memory == Memory::kCuda ? make_cuda_context() : nullptr;
  GstCudaContext* context = shared ? cuda_context_of(shared) : nullptr;
  EXPECT_EQ(context != nullptr, memory == Memory::kCuda);
  Played seen;
  {
    std::string all = elements;
    const std::string backend = memory == Memory::kCpu ? "cpu" : "cuda";
    for (std::size_t at = 0; (at = all.find("BACKEND", at)) != all.npos;)
      all.replace(at, 7, backend);
    Pipeline pipeline("appsrc name=src format=time caps=video/x-raw" +
                          std::string(context ? "(memory:CUDAMemory)" : "") + ",format=" +
                          gst_video_format_to_string(format) + ",width=" + std::to_string(kWidth) +
                          ",height=" + std::to_string(kHeight) + ",framerate=25/1 ! " + all +
                          " ! fakesink name=sink sync=false",
                      shared);
    pipeline.on_buffer("sink", "sink", [&](GstBuffer* b) {
      const auto found = gst::find_result<FrameFeatures>(b, 0, 0).result.read();
      EXPECT_TRUE(found.ok()) << found.status().message();
      seen.frames.push_back(found.ok() && found.value() ? *found.value() : FrameFeatures());
      if (!found.ok() || !found.value()) return;
      EXPECT_EQ(found.value()->width, kWidth);
      EXPECT_EQ(found.value()->height, kHeight);
    });
    int number = 0, before = 0;
    pipeline.on_buffer("f", "sink", [&](GstBuffer*) {
      if (before++ == change) pipeline.set("f", "max-keypoints", "15");
    });
    pipeline.feed("src", [&]() -> GstBuffer* {
      if (number == kFrames) return nullptr;
      GstBuffer* buffer =
          make_buffer(format, picture_of(number), static_cast<unsigned>(number), context);
      GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(number) * 40 * GST_MSECOND;
      if (number++ == gap) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_GAP);
      return buffer;
    });
    const Ending ending = pipeline.play(300);
    EXPECT_TRUE(ending.eos) << ending.error;
    seen.counted = pipeline.stat("f", "keypoints");
  }
  if (context) gst_object_unref(context);
  if (shared) gst_context_unref(shared);
  return seen;
}

class FeaturesCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    GstElementFactory* source = gst_element_factory_find("appsrc");
    if (!source) GTEST_SKIP() << "no element appsrc";
    gst_object_unref(source);
    gst_cuda_memory_init_once();
    register_features();
  }
  void compare(const std::string& elements, GstVideoFormat format, int gap = -1, int change = -1) {
    SCOPED_TRACE(elements);
    const Played cpu = play(elements, format, Memory::kCpu, gap, change);
    ASSERT_EQ(cpu.frames.size(), static_cast<std::size_t>(kFrames));
    for (const Memory memory : {Memory::kSystem, Memory::kCuda}) {
      SCOPED_TRACE(memory == Memory::kCuda ? "CUDA memory" : "system memory");
      const Played gpu = play(elements, format, memory, gap, change);
      EXPECT_EQ(gpu.counted, cpu.counted);
      ASSERT_EQ(gpu.frames.size(), cpu.frames.size());
      for (std::size_t i = 0; i < cpu.frames.size(); ++i) {
        ASSERT_TRUE(gpu.frames[i].found.keypoints == cpu.frames[i].found.keypoints)
            << "frame " << i;
        ASSERT_TRUE(gpu.frames[i].found.descriptors == cpu.frames[i].found.descriptors)
            << "frame " << i;
        EXPECT_TRUE(gpu.frames[i].config == cpu.frames[i].config);
        keypoints_ += static_cast<long>(cpu.frames[i].found.keypoints.size());
      }
    }
  }

  long keypoints_ = 0;
};

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
