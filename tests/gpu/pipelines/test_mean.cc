// Elements that know nothing of faces (tests/gst/mean), on frames in CUDA memory: the same bytes as
// on the CPU, and one luma and one flow pyramid with the face elements around them.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "kernels/flow/flow.h"
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

// The pyramid that culktrack and two other elements read is built once: by the first all of it, and
// behind culktrack alone what that follows by.
TEST(OctavesCuda, SharesThePyramidAndGivesTheCpusBytes) {
  CUFACE_NEEDS_CHAINS();
  register_elements();
  for (const bool first : {true, false}) {
    const std::string before = first ? "cuoctaves ! " : "";
    Pipeline pipeline(decoded_on_gpu(clip(kPexels)) +
                      " ! identity eos-after=" + std::to_string(kFrames + 1) + " ! " + before +
                      "cufacedetect ! culktrack ! culktrack ! cuoctaves ! cudadownload"
                      " ! cuoctaves backend=cpu ! fakesink name=sink sync=false");
    int frames = 0;
    pipeline.on_buffer("sink", "sink", [&](GstBuffer* buffer) {
      auto octaves = results_of<Octaves>(buffer);
      ASSERT_EQ(octaves.size(), first ? 3u : 2u);
      std::vector<int> made;
      for (Octaves& each : octaves) made.push_back(std::exchange(each.made, 0));
      const int levels = octaves.back().levels;
      EXPECT_GT(levels, FlowConfig{}.levels);
      EXPECT_EQ(made, first ? (std::vector{0, levels, 0}) : (std::vector{FlowConfig{}.levels, 0}));
      for (const Octaves& each : octaves) EXPECT_EQ(each, octaves.back()) << "frame " << frames;
      EXPECT_GT(octaves[0].sum[0], 0u);
      ++frames;
    });
    const Ending ending = pipeline.play(60);
    EXPECT_TRUE(ending.eos) << ending.error;
    EXPECT_GE(frames, kFrames);
    std::printf("{\"what\":\"flow pyramids shared\",\"frames\":%d}\n", frames);
  }
}

}  // namespace
}  // namespace cuface::test
