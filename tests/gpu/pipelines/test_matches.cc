// cufeaturematch on the GPU: the matches that it has on the CPU, of frames in system and in CUDA
// memory, and of keypoints that lie elsewhere.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gst/base/element.h"
#include "gst/featurematch/element.h"
#include "gst/features/element.h"
#include "gst/meta/matches.h"
#include "kernels/surf/surf.h"
#include "models/png_picture.h"
#include "tests/gpu/pipelines/played.h"
#include "tests/moving_faces.h"

namespace cuface::test {
namespace {

constexpr int kFrames = 6, kWidth = 190, kHeight = 120;

/// The elements of this program, under names that no plugin has.
void register_elements() {
  static const bool once = [] {
    static gst::ElementInfo features = gst::kFeatureDetect, surf = gst::kSurf,
                            matches = gst::kFeatureMatch;
    register_as("testkeypoints", "CufaceTestKeypoints", features);
    if (has_surf()) register_as("testsurfkeypoints", "CufaceTestSurfKeypoints", surf);
    register_as("testmatches", "CufaceTestMatches", matches);
    return true;
  }();
  (void)once;
}

/// Rectangles that move by two pixels a frame; on frame 3 there is nothing.
Grey picture_of(int number) {
  std::mt19937 random(7);
  Grey out(kWidth, kHeight, 100);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int i = 0; i < 90 && number != 3; ++i) {
    const int left = below(kWidth) + 2 * number, top = below(kHeight), w = 1 + below(20),
              h = 1 + below(20);
    const auto value = static_cast<std::uint8_t>(random());
    for (int y = top; y < std::min(top + h, kHeight) && left < kWidth; ++y)
      std::fill_n(&out.view().at(left, y), std::min(w, kWidth - left), value);
  }
  return out;
}

struct Seen {
  std::vector<FrameMatches> frames;
  std::uint64_t counted = 0;
  int on_gpu = 0;  ///< frames whose matches were there
};

/// What an element is told while frame `frame`, from 1, is at the element m.
struct Change {
  int frame = 0;
  const char* element = nullptr;
  const char* property = nullptr;
  std::string value = {};
};

Seen play(const std::string& elements, Memory memory, const Change& change) {
  Seen seen;
  const auto see = [&](GstBuffer* b) {
    const auto result = gst::find_result<FrameMatches>(b, 0, 0).result;
    seen.on_gpu += result.pending != nullptr;
    const auto found = result.read();
    EXPECT_TRUE(found.ok()) << found.status().message();
    seen.frames.push_back(found.ok() && found.value() ? *found.value() : FrameMatches());
  };
  const auto make = [&](int number, GstCudaContext* context) {
    return make_buffer(GST_VIDEO_FORMAT_NV12, picture_of(number), static_cast<unsigned>(number),
                       context);
  };
  const auto before = [&](Pipeline& pipeline) {
    if (!change.element) return;
    pipeline.on_buffer("m", "sink", [&, number = 0](GstBuffer*) mutable {
      if (++number == change.frame) pipeline.set(change.element, change.property, change.value);
    });
  };
  const auto after = [&](Pipeline& pipeline) { seen.counted = pipeline.stat("m", "matches"); };
  play({elements, GST_VIDEO_FORMAT_NV12, kWidth, kHeight, kFrames, make, see, before, after},
       memory);
  return seen;
}

class MatchesCuda : public PlayedCuda {
 protected:
  void SetUp() override {
    PlayedCuda::SetUp();
    if (IsSkipped()) return;
    register_elements();
    const Grey whole = picture_of(0), empty(80, 70, 100);
    Grey part(120, 90);
    for (int y = 0; y < 90; ++y)
      std::copy_n(&whole.view().at(30, y + 10), 120, &part.view().at(0, y));
    const Status saved = save_png_grey(part.view(), folder_.file("part.png"));
    if (saved.code() == StatusCode::kUnsupported) GTEST_SKIP() << saved.message();
    ASSERT_TRUE(saved.ok()) << saved.message();
    ASSERT_TRUE(save_png_grey(empty.view(), folder_.file("empty.png")).ok());
    ASSERT_TRUE(save_png_grey(whole.view(), folder_.file("whole.png")).ok());
  }
  /// The elements' text, with three pictures to look for, of which one has no keypoints.
  std::string text(const std::string& keypoints, const std::string& matches,
                   const std::string& detector = "testkeypoints") const {
    return detector + " name=k " + keypoints +
           " ! testmatches name=m reference=" + folder_.file("part.png") + "," +
           folder_.file("empty.png") + "," + folder_.file("whole.png") + " " + matches;
  }

  void compare(const std::string& elements, const Change& change = {}) {
    SCOPED_TRACE(elements);
    const Seen cpu = play(elements, Memory::kCpu, change);
    ASSERT_EQ(cpu.frames.size(), std::size_t{kFrames});
    for (const Memory memory : {Memory::kSystem, Memory::kCuda}) {
      SCOPED_TRACE(memory == Memory::kCuda ? "CUDA memory" : "system memory");
      const Seen gpu = play(elements, memory, change);
      EXPECT_EQ(gpu.counted, cpu.counted);
      EXPECT_EQ(gpu.on_gpu, kFrames);
      ASSERT_EQ(gpu.frames.size(), cpu.frames.size());
      for (std::size_t i = 0; i < cpu.frames.size(); ++i)
        ASSERT_NO_FATAL_FAILURE(expect_same(cpu.frames[i], gpu.frames[i])) << "frame " << i;
    }
  }
  void expect_same(const FrameMatches& a, const FrameMatches& b) {
    EXPECT_EQ(a.width, kWidth);
    EXPECT_EQ(b.width, kWidth);
    EXPECT_EQ(b.height, kHeight);
    ASSERT_EQ(a.pictures.size(), 3u);
    ASSERT_TRUE(a.pictures == b.pictures);
    ASSERT_EQ(a.matches.size(), b.matches.size());
    for (std::size_t i = 0; i < a.matches.size(); ++i) {
      const PictureMatch &x = a.matches[i], &y = b.matches[i];
      ASSERT_TRUE(x.picture == y.picture && x.at.x == y.at.x && x.at.y == y.at.y &&
                  x.in_picture.x == y.in_picture.x && x.in_picture.y == y.in_picture.y &&
                  x.distance == y.distance)
          << "match " << i;
      ++matches_;
    }
  }

  const TempFolder folder_;
  long matches_ = 0;
};

TEST_F(MatchesCuda, EachPicturesMatches) {
  compare(text("backend=BACKEND max-keypoints=150", "backend=BACKEND"));
  compare(text("backend=BACKEND max-keypoints=60", "backend=BACKEND cross-check=true ratio=1"));
  compare(text("backend=BACKEND max-keypoints=80", "backend=BACKEND sign-check=true"));
  compared("matches", matches_, 500);
}

TEST_F(MatchesCuda, MatchesOfSurf) {
  if (!has_surf()) GTEST_SKIP() << "this program was built without SURF";
  const auto surf = [this](const std::string& keypoints, const std::string& matches) {
    return text("backend=BACKEND " + keypoints, "backend=BACKEND " + matches, "testsurfkeypoints");
  };
  compare(surf("max-keypoints=60 sampling=integral", "sign-check=true"));
  compare(surf("descriptor-size=36 max-keypoints=50", "early-out=0.1 cross-check=true"));
  compare(surf("max-keypoints=40 sampling=integral", ""), {3, "k", "descriptor-size", "36"});
  compared("matches", matches_, 300);
}

/// What the elements are told while they play: other checks, and other keypoints of the pictures.
TEST_F(MatchesCuda, SettingsThatChange) {
  compare(text("backend=BACKEND max-keypoints=80", "backend=BACKEND"),
          {2, "m", "max-distance", "12"});
  compare(text("backend=BACKEND max-keypoints=80", "backend=BACKEND"), {2, "k", "threshold", "60"});
  compared("matches", matches_, 200);
}

/// Keypoints of the CPU, before an element that is told to work on a GPU.
TEST_F(MatchesCuda, KeypointsElsewhere) {
  const std::string elements = text("backend=cpu max-keypoints=80", "backend=BACKEND");
  const Seen cpu = play(elements, Memory::kCpu, {}), gpu = play(elements, Memory::kSystem, {});
  ASSERT_EQ(gpu.frames.size(), cpu.frames.size());
  for (std::size_t i = 0; i < cpu.frames.size(); ++i)
    ASSERT_NO_FATAL_FAILURE(expect_same(cpu.frames[i], gpu.frames[i])) << "frame " << i;
  EXPECT_EQ(gpu.counted, cpu.counted);
  EXPECT_EQ(gpu.on_gpu, 0);
  compared("matches", matches_, 100);
}

}  // namespace
}  // namespace cuface::test
