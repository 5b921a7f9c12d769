// Many chains in one process, published to files of a folder, and how long they take.
#pragma once

#include <gst/gst.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/gpu/pipelines/pipeline.h"

namespace cuface::test {

inline constexpr int kPexelsFrames = 472;
inline constexpr std::size_t kBenchFrames = 1000;

class ChainsCuda : public testing::Test {
 protected:
  /// A test that takes longer ends the process.
  explicit ChainsCuda(int seconds = 240) : limit_(seconds) {}
  void SetUp() override { CUFACE_NEEDS_CHAINS(); }

  std::string faces_file(int chain) const { return folder_.file(std::to_string(chain) + ".jsonl"); }
  /// One chain's text; names are left to GStreamer, there may be many in a pipeline.
  std::string chain(int number, const std::string& decoded, const std::string& detect = "",
                    const std::string& track = "") const {
    return decoded + " ! cufacedetect " + detect + " ! culktrack " + track +
           " ! cufacelandmark ! cufacepublish location=" + faces_file(number) +
           " ! fakesink sync=false ";
  }
  std::vector<std::string> lines_of_one_alone(const std::string& decoded) const {
    Pipeline pipeline(chain(0, decoded));
    EXPECT_TRUE(pipeline.play().eos);
    pipeline.set_state(GST_STATE_NULL);
    return lines_of(faces_file(0));
  }

  const TempFolder folder_;

 private:
  const TimeLimit limit_;
};

/// From the first frame's arrival to the last chain's end.
inline double seconds_to_play(Pipeline& pipeline) {
  pipeline.set_state(GST_STATE_PAUSED);
  EXPECT_TRUE(pipeline.reached());
  const auto begin = std::chrono::steady_clock::now();
  const Ending ending = pipeline.play(90);
  EXPECT_TRUE(ending.eos) << ending.error;
  return seconds_since(begin);
}

/// The same; all chains in one pipeline and so in one CUDA context.
inline double seconds_to_play(const std::string& description) {
  Pipeline pipeline(description);
  return seconds_to_play(pipeline);
}

inline std::string decoding_only(const std::string& decoded, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += decoded + " ! fakesink sync=false ";
  return all;
}

/// As it is timed, with us and without: a queue of 4 behind the decoder.
inline std::string beside_the_decoder(const std::string& name) {
  return decoded_on_gpu(bench_clip(name)) + " ! queue max-size-buffers=4";
}

}  // namespace cuface::test
