// What search=motion saves of the detector's time in CUDA memory, on clips of the scenes by which
// it is measured on the CPU (docs/results/gate.md).
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/gpu/pipelines/chains.h"

namespace cuface::test {
namespace {

struct Sum {
  double ms = 0;
  std::uint64_t searches = 0, frames = 0;
};

class GateCuda : public ChainsCuda {
 protected:
  void SetUp() override {
    ChainsCuda::SetUp();
    if (IsSkipped()) return;
    const std::string folder = clip("gate");
    if (!std::filesystem::exists(folder))
      GTEST_SKIP() << "no clips " << folder << ": tests/gpu/tools/pack brings them (CUFACE_CLIPS)";
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      clips_.push_back(entry.path());
    ASSERT_GE(clips_.size(), 6u);
  }

  /// All clips with these settings. Who asks for a detector's time on each frame gets it measured.
  Sum play(const std::string& detect) const {
    Sum sum;
    for (const std::string& played : clips_) {
      Pipeline pipeline(decoded_on_gpu(played) + " ! cufacedetect name=detect " + detect +
                        " ! identity name=behind ! culktrack ! fakesink sync=false");
      pipeline.on_buffer("behind", "sink",
                         [&](GstBuffer*) { pipeline.stat("detect", "device-time-ns"); });
      const Ending ending = pipeline.play();
      EXPECT_TRUE(ending.eos) << ending.error;
      sum.ms += static_cast<double>(pipeline.stat("detect", "device-time-ns")) / 1e6;
      sum.searches += pipeline.stat("detect", "searches");
      sum.frames += pipeline.stat("detect", "frames");
    }
    EXPECT_EQ(sum.frames, 300 * clips_.size());
    return sum;
  }

  void compare(const std::string& engine, const std::string& detect) const {
    const Sum every = play(detect + " redetect-interval=1"),
              tenth = play(detect + " redetect-interval=10"),
              motion = play(detect + " search=motion");
    EXPECT_GE(every.searches,
              every.frames - clips_.size());  // a clip's last may not be counted yet
    EXPECT_GE(tenth.searches, tenth.frames / 11);
    EXPECT_GT(motion.ms, 0);
    const auto us = [](const Sum& sum) { return 1e3 * sum.ms / static_cast<double>(sum.frames); };
    const double of_every = 100 * (1 - us(motion) / us(every)),
                 of_tenth = 100 * (1 - us(motion) / us(tenth));
    std::printf(
        "{\"what\":\"search=motion, device time of a frame\",\"size\":\"480x272\","
        "\"engine\":\"%s\",\"clips\":%zu,\"us every frame\":%.1f,\"us every tenth\":%.1f,"
        "\"us motion\":%.1f,\"saved of every frame %%\":%.1f,\"saved of every tenth %%\":%.1f,"
        "\"searches every frame\":%lld,\"searches every tenth\":%lld,\"searches motion\":%lld}\n",
        engine.c_str(), clips_.size(), us(every), us(tenth), us(motion), of_every, of_tenth,
        static_cast<long long>(every.searches), static_cast<long long>(tenth.searches),
        static_cast<long long>(motion.searches));
    std::printf("goal of search=motion, %s: %.1f and %.1f %% saved, at least 90 and 60: %s\n",
                engine.c_str(), of_every, of_tenth,
                of_every >= 90 && of_tenth >= 60 ? "met" : "MISSED");
  }

  std::vector<std::string> clips_;
};

TEST_F(GateCuda, OfACascade) { compare("cascade", ""); }

TEST_F(GateCuda, OfANetwork) {
  CUFACE_NEEDS_NETWORK();
  compare("network", "model=" + network_file());
}

}  // namespace
}  // namespace cuface::test
