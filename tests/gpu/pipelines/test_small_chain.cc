// The whole chain on a clip of 160x120, decoded on the GPU or uploaded: the CPU chain's lines.
// Small enough to run under compute-sanitizer too, where the other tests of pipelines would take
// hours.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/gpu/gpu.h"
#include "tests/gpu/pipelines/pipeline.h"
#include "tests/gpu/pipelines/trace.h"

namespace cuface::test {
namespace {

constexpr char kClip[] = "pexels160.mp4";  // one face
const char* const kIterations = under_tool("racecheck") ? " iterations=2" : "";

enum class ConditionalNodes {
  kUsed,
  kNotAsked,  ///< a search is due on every frame (docs/design/chain.md, On the GPU)
  kRefused,   ///< by the driver
};

struct Settings {
  const char *name, *detect, *landmark;
  ConditionalNodes nodes;
  std::size_t under_racecheck = 4;  ///< frames there; else 24
};

class SmallChainCuda : public testing::TestWithParam<Settings> {
 protected:
  void SetUp() override {
    if (const auto missing = missing_for_pipelines(); !missing.empty()) GTEST_SKIP() << missing;
    if (!std::filesystem::exists(clip(kClip))) GTEST_SKIP() << "no clip " << kClip;
    if (GetParam().nodes == ConditionalNodes::kUsed && under_tool("racecheck", "synccheck"))
      GTEST_SKIP() << "kernels in conditional nodes: the tool is wrong (conditional_nodes.cu)";
    if (!refuses()) return;
    if (under_tool("memcheck")) GTEST_SKIP() << "the refused call would be reported";
    trace::refuse(kMakeNode);
  }
  void TearDown() override { trace::refuse(""); }

  static constexpr char kMakeNode[] = "cuGraphConditionalHandleCreate";
  static bool refuses() { return GetParam().nodes == ConditionalNodes::kRefused; }

  /// With the path of the network where one is asked for.
  static std::string detect_of(const Settings& s) {
    constexpr std::string_view kNetwork = "NETWORK";
    std::string text = s.detect;
    if (const auto at = text.find(kNetwork); at != std::string::npos)
      text.replace(at, kNetwork.size(), network_file());
    return text;
  }

  std::vector<std::string> play(const std::string& decoded, const std::string& backend) const {
    const Settings& s = GetParam();
    const std::string faces = folder_.file("faces.jsonl");
    Pipeline pipeline(
        decoded + " ! identity eos-after=" + std::to_string(frames_ + 1) + " ! cufacedetect " +
        backend + detect_of(s) + " ! culktrack ! cufacelandmark " + s.landmark + kIterations +
        " ! cufaceoverlay ! cufacepublish location=" + faces + " ! fakesink sync=false");
    const Ending ending = pipeline.play(500);
    EXPECT_TRUE(ending.eos) << ending.error;
    pipeline.set_state(GST_STATE_NULL);
    std::vector<std::string> lines = lines_of(faces);
    EXPECT_GE(lines.size(), frames_);
    lines.resize(frames_);  // what was on its way may follow
    return lines;
  }

  const std::size_t frames_ = under_tool("racecheck") ? GetParam().under_racecheck : 24;

 private:
  const TempFolder folder_;
  const TimeLimit limit_{580};
};

TEST_P(SmallChainCuda, GivesTheLinesOfTheCpu) {
  const auto expected = play(decoded_on_cpu(clip(kClip)), "backend=cpu ");
  ASSERT_EQ(faces_in(expected), static_cast<long>(frames_));
  const bool network =
      std::string_view(GetParam().detect).find("NETWORK") != std::string_view::npos;
  ASSERT_EQ(keypoints_in(expected), network ? faces_in(expected) : 0);
  trace::start();
  if (!under_tool("racecheck"))  // which does not come to an end where nvh264dec decodes
    expect_same_lines(expected, play(decoded_on_gpu(clip(kClip)), ""), "decoded on the GPU");
  expect_same_lines(expected, play(decoded_on_cpu(clip(kClip)), "backend=cuda "), "uploaded");
  const auto calls = trace::stop();
  const bool made = std::any_of(calls.begin(), calls.end(), [](const trace::Call& call) {
    return std::string_view(call.name) == kMakeNode;
  });
  EXPECT_EQ(made, GetParam().nodes == ConditionalNodes::kUsed);
  EXPECT_EQ(trace::refused() > 0, refuses());
}

// "search=smart" searches active parts of frame 10 first.
INSTANTIATE_TEST_SUITE_P(
    , SmallChainCuda,
    testing::Values(
        Settings{"Defaults", "", "", ConditionalNodes::kUsed},
        Settings{"AllThereIs", "redetect-interval=3 roll=30 ", "samples=3 smooth=0.5",
                 ConditionalNodes::kUsed},
        Settings{"Smart", "redetect-interval=20 search=smart ", "", ConditionalNodes::kUsed},
        Settings{"Motion", "search=motion ", "", ConditionalNodes::kUsed},
        Settings{"EveryFrame", "redetect-interval=1 ", "refine=false", ConditionalNodes::kNotAsked},
        Settings{"Network", "model=NETWORK redetect-interval=3 ", "", ConditionalNodes::kUsed},
        Settings{"NetworkMotion", "model=NETWORK search=motion ", "", ConditionalNodes::kUsed},
        Settings{"NetworkOnEveryFrame", "model=NETWORK redetect-interval=1 input-size=0 ", "",
                 ConditionalNodes::kNotAsked},
        Settings{"WithoutConditionalNodes", "redetect-interval=2 ", "", ConditionalNodes::kRefused},
        Settings{"AllWithoutConditionalNodes", "redetect-interval=3 roll=30 ",
                 "samples=3 smooth=0.5", ConditionalNodes::kRefused, 3},
        Settings{"SmartWithoutConditionalNodes", "redetect-interval=20 search=smart ", "",
                 ConditionalNodes::kRefused, 12},
        Settings{"MotionWithoutConditionalNodes", "search=motion ", "", ConditionalNodes::kRefused,
                 12}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace cuface::test
