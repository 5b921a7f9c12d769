// Elements of the test's own program on frames that it makes: on the CPU, and on a GPU or the
// emulator.
#pragma once

#include <gst/cuda/gstcudamemory.h>
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string>

#include "tests/gpu/gpu.h"
#include "tests/gpu/pipelines/frames.h"
#include "tests/gpu/pipelines/pipeline.h"

namespace cuface::test {

/// Where the frames are: in the CPU's memory for the CPU, in it for the GPU, in the GPU's.
enum class Memory { kCpu, kSystem, kCuda };

struct Played {
  std::string elements;  ///< BACKEND stands for cpu or cuda
  GstVideoFormat format = GST_VIDEO_FORMAT_NV12;
  int width = 0, height = 0, frames = 0;
  /// Frame `number`, without its time; `context` is null but for the GPU's memory.
  std::function<GstBuffer*(int number, GstCudaContext* context)> make;
  std::function<void(GstBuffer*)> see;  ///< each frame behind the elements
  std::function<void(Pipeline&)> before = {}, after = {};
};

inline Ending play(const Played& played, Memory memory) {
  GstContext* shared = memory == Memory::kCuda ? make_cuda_context() : nullptr;
  GstCudaContext* context = shared ? cuda_context_of(shared) : nullptr;
  EXPECT_EQ(context != nullptr, memory == Memory::kCuda);
  std::string all = played.elements;
  for (std::size_t at = 0; (at = all.find("BACKEND", at)) != all.npos;)
    all.replace(at, 7, memory == Memory::kCpu ? "cpu" : "cuda");
  Ending ending;
  {
    Pipeline pipeline("appsrc name=src format=time caps=video/x-raw" +
                          std::string(context ? "(memory:CUDAMemory)" : "") +
                          ",format=" + gst_video_format_to_string(played.format) +
                          ",width=" + std::to_string(played.width) +
                          ",height=" + std::to_string(played.height) + ",framerate=25/1 ! " + all +
                          " ! fakesink name=sink sync=false",
                      shared);
    pipeline.on_buffer("sink", "sink", played.see);
    if (played.before) played.before(pipeline);
    pipeline.feed("src", [&, number = 0]() mutable -> GstBuffer* {
      if (number == played.frames) return nullptr;
      GstBuffer* buffer = played.make(number, context);
      GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(number++) * 40 * GST_MSECOND;
      return buffer;
    });
    ending = pipeline.play(300);
    EXPECT_TRUE(ending.eos) << ending.error;
    if (played.after) played.after(pipeline);
  }
  if (context) gst_object_unref(context);
  if (shared) gst_context_unref(shared);
  return ending;
}

/// Tests that play so.
class PlayedCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    GstElementFactory* source = gst_element_factory_find("appsrc");
    if (!source) GTEST_SKIP() << "no element appsrc";
    gst_object_unref(source);
    gst_cuda_memory_init_once();
  }
};

}  // namespace cuface::test
