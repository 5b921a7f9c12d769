// cufaceoverlay draw=image on the GPU: the bytes that the CPU draws, of frames in CUDA memory.
// Without a decoder: frames and faces are made here.
#include <gst/cuda/gstcudamemory.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "gst/base/element.h"
#include "gst/faces/elements.h"
#include "gst/meta/gstcufacemeta.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/pipelines/frames.h"
#include "tests/gpu/pipelines/pipeline.h"
#include "tests/gpu/pipelines/small_picture.h"

namespace cuface::test {
namespace {

constexpr int kFrames = 6, kWidth = 170, kHeight = 98;

/// The element of this program, under a name that no plugin has.
void register_element() {
  static const bool once = [] {
    static gst::ElementInfo overlay = gst::kFaceOverlay;
    overlay.name = "testoverlay";
    overlay.type = "CufaceTestOverlay";
    return gst_element_register(nullptr, overlay.name, GST_RANK_NONE, gst::element_type(overlay));
  }();
  (void)once;
}

class ImageCuda : public testing::TestWithParam<GstVideoFormat> {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    if (!exists("appsrc")) GTEST_SKIP() << "no element appsrc";
    gst_cuda_memory_init_once();
    register_element();
    picture_ = folder_.file("picture.png");
    write_small_picture(picture_);
  }
  static bool exists(const char* element) {
    GstElementFactory* factory = gst_element_factory_find(element);
    if (factory) gst_object_unref(factory);
    return factory != nullptr;
  }

  /// Noise with faces that move and overlap; none on the first frame.
  static GstBuffer* frame(const GstVideoInfo& info, int number, GstCudaContext* context) {
    std::vector<std::uint8_t> bytes(GST_VIDEO_INFO_SIZE(&info));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::uint8_t>(
          static_cast<unsigned>(i + 7 * static_cast<std::size_t>(number)) * 2654435761u >> 24);
    GstBuffer* buffer = make_buffer(info, bytes, context);
    GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(number) * 40 * GST_MSECOND;
    for (int i = 0; i < number; ++i) {
      const auto at = static_cast<float>(i), top = 0.08f * static_cast<float>(number);
      EXPECT_TRUE(gst_cuface_buffer_add_face(buffer, kWidth, kHeight, 0.1f * at, top,
                                             0.15f * (at + 1), 0.2f * (at + 1), 0.9f));
    }
    return buffer;
  }

  std::vector<std::vector<std::uint8_t>> play(const std::string& draw, bool on_cuda) const {
    GstContext* shared = on_cuda ? make_cuda_context() : nullptr;
    GstCudaContext* context = shared ? cuda_context_of(shared) : nullptr;
    GstVideoInfo info;
    gst_video_info_set_format(&info, GetParam(), kWidth, kHeight);
    std::vector<std::vector<std::uint8_t>> seen;
    {
      Pipeline pipeline("appsrc name=src format=time caps=video/x-raw" +
                            std::string(on_cuda ? "(memory:CUDAMemory)" : "") +
                            ",format=" + gst_video_format_to_string(GetParam()) + ",width=" +
                            std::to_string(kWidth) + ",height=" + std::to_string(kHeight) +
                            ",framerate=25/1 ! testoverlay image=" + picture_ + " draw=" + draw +
                            " ! fakesink name=sink sync=false",
                        shared);
      pipeline.on_buffer("sink", "sink",
                         [&](GstBuffer* buffer) { seen.push_back(samples_of(info, buffer)); });
      int number = 0;
      pipeline.feed("src", [&]() -> GstBuffer* {
        return number == kFrames ? nullptr : frame(info, number++, context);
      });
      const Ending ending = pipeline.play(60);
      EXPECT_TRUE(ending.eos) << ending.error;
    }
    if (context) gst_object_unref(context);
    if (shared) gst_context_unref(shared);
    return seen;
  }

  const TempFolder folder_;
  std::string picture_;
};

TEST_P(ImageCuda, IsWhatTheCpuDraws) {
  long bytes = 0;
  for (const char* draw : {"image", "image+pixelate+box", "image image-eye-distance=0.9"}) {
    const auto plain = play("none", false), cpu = play(draw, false), gpu = play(draw, true);
    ASSERT_EQ(cpu.size(), std::size_t{kFrames}) << draw;
    ASSERT_EQ(gpu.size(), cpu.size()) << draw;
    for (std::size_t i = 0; i < cpu.size(); ++i) {
      ASSERT_TRUE(gpu[i] == cpu[i]) << draw << ", frame " << i;
      for (std::size_t k = 0; k < cpu[i].size(); ++k) bytes += cpu[i][k] != plain[i][k];
    }
  }
  EXPECT_GE(bytes, 10'000);
}

INSTANTIATE_TEST_SUITE_P(, ImageCuda,
                         testing::Values(GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_I420,
                                         GST_VIDEO_FORMAT_RGBA, GST_VIDEO_FORMAT_P010_10LE),
                         [](const auto& info) {
                           return std::string(gst_video_format_to_string(info.param));
                         });

}  // namespace
}  // namespace cuface::test
