// GAP buffers: what their pixels show is not to be looked at, so the faces wait.
#include "tests/gst/faces.h"
#include "tests/gst/parts.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 320, kHeight = 200;
constexpr int kFrames = 24;

bool is_gap(int frame) { return frame % 6 == 2 || frame % 6 == 3; }

/// Without the ages, and what else tells a detected face from a tracked one.
std::string without_ages(std::string text) {
  for (std::size_t at; (at = text.find(" age ")) != std::string::npos;)
    text.erase(at, text.find(" neighbors", at) - at);
  return text;
}

class Gaps : public testing::Test {
 protected:
  Parts parts;
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);

  static cv::Mat picture(int frame) {
    return squares(kWidth, kHeight, {{60 + 2 * frame, 70, 48, 48}, {220, 40 + frame, 40, 40}});
  }
  /// Frames with their faces. Gaps are black, or not there at all.
  std::vector<std::string> texts(const std::string& landmark, bool with_gaps) {
    // The first frame alone is searched.
    Harness harness(parts.detect + " redetect-interval=100 ! " + parts.track + " ! " +
                    parts.landmark + " " + landmark);
    harness.set_caps(info);
    std::vector<std::string> all;
    for (int f = 0; f < kFrames; ++f) {
      all.emplace_back();
      if (is_gap(f) && !with_gaps) continue;
      GstBuffer* buffer =
          grey_frame(is_gap(f) ? cv::Mat(kHeight, kWidth, CV_8U, cv::Scalar(0)) : picture(f));
      if (is_gap(f)) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_GAP);
      harness.push_at(buffer, static_cast<GstClockTime>(f) * 40 * GST_MSECOND);
      GstBuffer* out = harness.pull();
      EXPECT_EQ(GST_BUFFER_FLAG_IS_SET(out, GST_BUFFER_FLAG_GAP), is_gap(f));
      all.back() = faces_text(out);
      gst_buffer_unref(out);
    }
    EXPECT_EQ(harness.stat("t", "lost-tracks"), 0u) << landmark;
    EXPECT_EQ(harness.stat("d", "searches"), 1u) << landmark;
    return all;
  }
};

TEST_F(Gaps, FacesAndLandmarksWaitWhereTheyAre) {
  const auto with = texts("", true);
  int held = 0;
  for (int f = 1; f < kFrames; ++f) {
    if (!is_gap(f)) continue;
    EXPECT_EQ(without_ages(with[static_cast<std::size_t>(f)]),
              without_ages(with[static_cast<std::size_t>(f - 1)]));
    EXPECT_NE(with[static_cast<std::size_t>(f)].find(" age " + std::to_string(f) + " "),
              std::string::npos)
        << with[static_cast<std::size_t>(f)];
    ++held;
  }
  EXPECT_EQ(held, 8);
}

// What a gap shows changes nothing of what comes after it: roll, inertia, smoothing and all.
TEST_F(Gaps, TheFramesBehindThemAreAsWithoutThem) {
  for (const char* landmark : {"", "smooth=0.5", "inertia=0", "samples=1 refine=false"}) {
    const auto with = texts(landmark, true), without = texts(landmark, false);
    int compared = 0;
    for (std::size_t f = 0; f < with.size(); ++f) {
      if (is_gap(static_cast<int>(f))) continue;
      EXPECT_EQ(without_ages(with[f]), without_ages(without[f])) << landmark << " frame " << f;
      compared += with[f].find(" id 2 ") != std::string::npos;
    }
    EXPECT_EQ(compared, kFrames - 8);
  }
}

// A face that came after the last picture has no landmarks to keep.
TEST_F(Gaps, AFaceWithoutAPastGetsItsLandmarksFromThePixels) {
  const auto landmarks_of = [&](bool gap) {
    Harness harness(parts.landmark);
    harness.set_caps(info);
    GstBuffer* buffer = with_faces(grey_frame(picture(0)), make_faces(kWidth, kHeight, 1, 0));
    if (gap) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_GAP);
    return harness.pass_text(buffer);
  };
  EXPECT_EQ(landmarks_of(true), landmarks_of(false));
  EXPECT_NE(landmarks_of(true).find(")"), std::string::npos) << "there are landmarks";
}

}  // namespace
}  // namespace cuface::test
