// An element that knows nothing of faces (tests/gst/mean), on frames in CUDA memory: the same bytes
// as on the CPU, and one luma with the face elements around it.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/gpu/pipelines/pipeline.h"
#include "tests/gst/mean/elements.h"
#include "tests/gst/mean/frame_maps.h"

namespace cuface::test {
namespace {

constexpr int kFrames = 60;

TEST(MeanCuda, SharesTheLumaAndGivesTheCpusBytes) {
  CUFACE_NEEDS_CHAINS();
  register_elements();
  Pipeline pipeline(decoded_on_gpu(clip(kPexels)) +
                    " ! identity eos-after=" + std::to_string(kFrames + 1) +
                    " ! cumean name=first ! cufacedetect ! culktrack ! cumean name=last"
                    " ! identity name=behind ! cudadownload ! cumean name=cpu backend=cpu"
                    " ! fakesink name=sink sync=false");
  std::atomic<int> before = 0, behind = 0, frames = 0;
  pipeline.on_buffer("behind", "sink", [&](GstBuffer*) { behind += frame_maps.exchange(0); });
  pipeline.on_buffer("first", "sink", [&](GstBuffer*) { before += frame_maps.exchange(0); });
  pipeline.on_buffer("sink", "sink", [&](GstBuffer* buffer) {
    const auto means = means_of(buffer);
    ASSERT_EQ(means.size(), 3u);
    EXPECT_EQ(means[0], means[2]) << "frame " << frames;
    EXPECT_EQ(means[1], means[2]) << "frame " << frames;
    EXPECT_GT(means[0].sum, 0);
    ++frames;
  });
  const Ending ending = pipeline.play(60);
  EXPECT_TRUE(ending.eos) << ending.error;
  EXPECT_GE(frames, kFrames);
  EXPECT_EQ(behind, frames) << "luma of the four elements on the GPU";
  EXPECT_GE(before, frames - 1) << "luma of the one on the CPU";
  std::printf("{\"what\":\"mean of the luma\",\"frames\":%d,\"luma made\":%d}\n", frames.load(),
              behind.load());
}

}  // namespace
}  // namespace cuface::test
