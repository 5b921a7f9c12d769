// The whole chain on a clip of 160x120, decoded on the GPU or uploaded: the CPU chain's lines.
// Small enough to run under compute-sanitizer too, where the other tests of pipelines would take
// hours.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/gpu/gpu.h"
#include "tests/gpu/pipeline.h"
#include "tests/gpu/trace.h"

namespace cuface::test {
namespace {

constexpr char kClip[] = "pexels160.mp4";  // one face
const std::size_t kFrames = under_tool("racecheck") ? 4 : 24;
const char* const kIterations = under_tool("racecheck") ? " iterations=2" : "";

struct Settings {
  const char *name, *detect, *track, *landmark;
  bool conditional_nodes;  ///< or a driver that has none
};

class SmallChainCuda : public testing::TestWithParam<Settings> {
 protected:
  void SetUp() override {
    if (const auto missing = missing_for_pipelines(); !missing.empty()) GTEST_SKIP() << missing;
    if (!std::filesystem::exists(clip(kClip))) GTEST_SKIP() << "no clip " << kClip;
    if (GetParam().conditional_nodes && under_tool("racecheck", "synccheck"))
      GTEST_SKIP() << "kernels in conditional nodes: the tool is wrong (conditional_nodes.cu)";
    if (!GetParam().conditional_nodes && under_tool("memcheck"))
      GTEST_SKIP() << "the refused call would be reported";
    if (!GetParam().conditional_nodes) trace::refuse("cuGraphConditionalHandleCreate");
  }
  void TearDown() override { trace::refuse(""); }

  std::vector<std::string> play(const std::string& decoded, const std::string& backend) const {
    const Settings& s = GetParam();
    const std::string faces = folder_.file("faces.jsonl");
    Pipeline pipeline(decoded + " ! identity eos-after=" + std::to_string(kFrames + 1) +
                      " ! cufacedetect " + backend + s.detect + " ! culktrack " + s.track +
                      " ! cufacelandmark " + s.landmark + kIterations +
                      " ! cufaceoverlay ! cufacepublish location=" + faces +
                      " ! fakesink sync=false");
    const Ending ending = pipeline.play(500);
    EXPECT_TRUE(ending.eos) << ending.error;
    pipeline.set_state(GST_STATE_NULL);
    std::vector<std::string> lines = lines_of(faces);
    EXPECT_GE(lines.size(), kFrames);
    lines.resize(kFrames);  // what was on its way may follow
    return lines;
  }

 private:
  const TempFolder folder_;
  const TimeLimit limit_{580};
};

TEST_P(SmallChainCuda, GivesTheLinesOfTheCpu) {
  const auto expected = play(decoded_on_cpu(clip(kClip)), "backend=cpu ");
  ASSERT_EQ(faces_in(expected), static_cast<long>(kFrames));
  if (!under_tool("racecheck"))  // which does not come to an end where nvh264dec decodes
    expect_same_lines(expected, play(decoded_on_gpu(clip(kClip)), ""), "decoded on the GPU");
  expect_same_lines(expected, play(decoded_on_cpu(clip(kClip)), "backend=cuda "), "uploaded");
  EXPECT_EQ(trace::refused() > 0, !GetParam().conditional_nodes);
}

INSTANTIATE_TEST_SUITE_P(
    , SmallChainCuda,
    testing::Values(Settings{"Defaults", "", "", "", true},
                    Settings{"AllThereIs", "redetect-interval=3 roll=30 ", "",
                             "samples=3 smooth=0.5", true},
                    Settings{"Smart", "redetect-interval=20 search=smart ", "", "", true},
                    Settings{"EveryFrame", "redetect-interval=1 ", "", "", true},
                    Settings{"WithoutConditionalNodes", "redetect-interval=2 ", "", "", false}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace cuface::test
