// cufacedetect verify=true: a head that turns away from where a search sees it is kept.
#include <opencv2/imgcodecs.hpp>

#include "tests/gst/support.h"

namespace cuface::test {
namespace {

class VerifyElement : public testing::Test {
 protected:
  static constexpr int kTurns = 30, kHeld = 40;

  void SetUp() override {
    CUFACE_NEEDS_DATA();
    CUFACE_NEEDS_CASCADES();
    model = model_dir() + "/shape_predictor_68_face_landmarks.dat";
    if (!std::filesystem::exists(model)) GTEST_SKIP() << "no landmark model: models/fetch";
    cv::Mat photo = cv::imread(data_dir() + "/images/helen/" + kPhoto, cv::IMREAD_GRAYSCALE);
    ASSERT_FALSE(photo.empty());
    const double scale = 360.0 / std::max(photo.cols, photo.rows);
    cv::resize(photo, photo, {}, scale, scale, cv::INTER_AREA);
    info = video_info(GST_VIDEO_FORMAT_GRAY8, photo.cols, photo.rows);
    const cv::Point2f middle(static_cast<float>(photo.cols) / 2,
                             static_cast<float>(photo.rows) / 2);
    for (int i = 0; i < kTurns + kHeld; ++i) {
      cv::Mat frame;
      cv::warpAffine(photo, frame, cv::getRotationMatrix2D(middle, -1.5 * std::min(i, kTurns), 1),
                     photo.size(), cv::INTER_LINEAR, cv::BORDER_REPLICATE);
      film.push_back(frame);
    }
  }

  /// What each frame has, of the face that is found first.
  std::vector<std::string> run(const std::string& detect, const std::string& between = "") {
    return run_frames("cufacedetect cascade=" + cascade_path("frontalface_alt") + " " + detect +
                          " ! " + between + "culktrack ! cufacelandmark model=" + model,
                      info, film);
  }
  static int with_first(const std::vector<std::string>& frames) {
    return static_cast<int>(std::count_if(frames.begin(), frames.end(), [](const std::string& f) {
      return f.find("id 1 ") != std::string::npos;
    }));
  }

  static constexpr const char* kPhoto = "2971848745_1_0.jpg";
  std::string model;
  GstVideoInfo info;
  std::vector<cv::Mat> film;
};

TEST_F(VerifyElement, KeepsAHeadThatTurns) {
  const auto kept = run("verify=true"), lost = run("verify=false");
  EXPECT_EQ(with_first(kept), kTurns + kHeld);
  EXPECT_LT(with_first(lost), kTurns + kHeld - 10);
  EXPECT_EQ(run("verify=true"), kept) << "another run";
  EXPECT_EQ(run("verify=true spread=true").size(), kept.size());
  EXPECT_EQ(with_first(run("verify=true spread=true")), kTurns + kHeld);
}

// As a leaky queue sets it on most frames.
TEST_F(VerifyElement, DiscontDoesNotTurnItOff) {
  Harness harness("cufacedetect cascade=" + cascade_path("frontalface_alt") +
                  " ! culktrack ! cufacelandmark model=" + model);
  harness.set_caps(info);
  std::vector<std::string> kept;
  for (const cv::Mat& frame : film) {
    GstBuffer* buffer = make_frame(info, frame);
    GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
    kept.push_back(harness.pass_text(buffer));
  }
  EXPECT_EQ(with_first(kept), kTurns + kHeld);
}

// A detector in another thread does not know whom the tracker follows.
TEST_F(VerifyElement, NobodyBehindAQueue) {
  EXPECT_EQ(run("verify=true", "queue ! "), run("verify=false", "queue ! "));
}

}  // namespace
}  // namespace cuface::test
