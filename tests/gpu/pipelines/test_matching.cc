// Keypoints and their matches behind the decoder: the CPU's lines, and nothing is copied but what
// is read.
#include <gst/gst.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/gpu/pipelines/steady.h"

namespace cuface::test {
namespace {

class MatchingCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_CHAINS();
    GstElementFactory* encoder = gst_element_factory_find("pngenc");
    if (!encoder) GTEST_SKIP() << "no element pngenc";
    gst_object_unref(encoder);
    Pipeline pipeline(decoded_on_cpu(clip(kPexels)) + " ! videoconvert ! pngenc snapshot=true ! " +
                      "filesink location=" + reference_);
    const Ending ending = pipeline.play();
    ASSERT_TRUE(ending.eos) << ending.error;
  }

  static constexpr const char* kOrb = "cufeatures";
  static constexpr const char* kSurf = "cusurf";
  static bool has_cusurf() {
    GstElementFactory* factory = gst_element_factory_find(kSurf);
    if (factory) gst_object_unref(factory);
    return factory;
  }

  std::string chain(const std::string& detector, const std::string& end) const {
    return " ! " + detector +
           " name=features max-keypoints=500 ! cufeaturematch name=match reference=" + reference_ +
           " ! " + end;
  }
  std::vector<std::string> lines(const std::string& detector, const std::string& decoded) const {
    const std::string file = folder_.file("lines");
    Pipeline pipeline(decoded +
                      chain(detector, "cufacepublish location=" + file + " ! fakesink sync=false"));
    const Ending ending = pipeline.play();
    EXPECT_TRUE(ending.eos) << ending.error;
    EXPECT_GE(pipeline.stat("match", "matches"), 10'000u);
    pipeline.set_state(GST_STATE_NULL);
    return lines_of(file);
  }

  void compare_lines(const std::string& detector) {
    const auto on_cpu = lines(detector, decoded_on_cpu(clip(kPexels))),
               on_gpu = lines(detector, decoded_on_gpu(clip(kPexels)));
    ASSERT_GE(on_cpu.size(), 400u);
    expect_same_lines(on_cpu, on_gpu, "keypoints and matches");
    std::printf("compared: %zu lines of keypoints and matches\n", on_gpu.size());
  }
  void expect_no_copies(const std::string& detector);

  const TempFolder folder_;
  const std::string reference_ = folder_.file("first.png");

 private:
  const TimeLimit limit_{90};
};

TEST_F(MatchingCuda, TheLinesOfTheCpu) { compare_lines(kOrb); }

TEST_F(MatchingCuda, TheLinesOfTheCpuOfSurf) {
  if (!has_cusurf()) GTEST_SKIP() << "this plugin was built without SURF";
  compare_lines(kSurf);
}

/// From a warm-up on the elements submit a graph each, and copy, wait for and allocate nothing.
void MatchingCuda::expect_no_copies(const std::string& detector) {
  std::size_t frames = 0;
  std::vector<trace::Call> calls;
  Pipeline pipeline(decoded_on_gpu(clip(kPexels)) + chain(detector, "fakesink sync=false"));
  pipeline.on_buffer("features", "sink", [&](GstBuffer*) {
    ++frames;
    if (frames == kWarmUp + kFrames + 1) calls = trace::stop();
    usleep(kPaceUs);
    if (frames == kWarmUp + 1) trace::start();
  });
  const Ending ending = pipeline.play();
  EXPECT_TRUE(ending.eos) << ending.error;
  ASSERT_GT(frames, std::size_t{kWarmUp + kFrames});
  EXPECT_GE(pipeline.stat("match", "matches"), 10'000u);
  long submissions = 0, others = 0;
  for (const trace::Call& call : calls) {
    if (call.caller != trace::Caller::kElements) continue;
    if (trace::is_submission(call.kind)) ++submissions;
    const bool is_other = call.kind == trace::Kind::kCopy || call.kind == trace::Kind::kWait ||
                          call.kind == trace::Kind::kAllocate || call.kind == trace::Kind::kFree;
    others += is_other;
    EXPECT_FALSE(is_other && others < 5) << call.name << ", " << call.bytes << " bytes";
  }
  EXPECT_EQ(others, 0);
  EXPECT_EQ(submissions, 2 * kFrames);
}

TEST_F(MatchingCuda, NothingIsCopied) { expect_no_copies(kOrb); }

TEST_F(MatchingCuda, NothingIsCopiedOfSurf) {
  if (!has_cusurf()) GTEST_SKIP() << "this plugin was built without SURF";
  expect_no_copies(kSurf);
}

}  // namespace
}  // namespace cuface::test
