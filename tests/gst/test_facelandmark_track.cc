// cufacelandmark on faces that are followed: smoothing, inertia, the second look, and what it posts
// to the tracker.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "gst/faces/feedback.h"
#include "tests/gst/landmark_element.h"

namespace cuface::test {
namespace {

// The landmarks of a frame after one in which the face lay elsewhere.
TEST_F(LandmarkElement, SmoothsAndTurnsFacesWithAnIdUntilTheStreamBreaks) {
  const auto landmarks_of_second = [&](const std::string& settings, bool flush, bool track = true) {
    Harness harness(detect + "redetect-interval=1 ! " + (track ? "culktrack ! " : "") + landmark +
                    "follow-roll=false " + settings);
    harness.set_caps(info);
    const cv::Mat first = squares(kWidth, kHeight, {{60, 60, 48, 48}});
    next_faces(harness, first);
    if (flush) {
      gst_harness_push_event(harness.get(), gst_event_new_flush_start());
      gst_harness_push_event(harness.get(), gst_event_new_flush_stop(TRUE));
      GstSegment segment;
      gst_segment_init(&segment, GST_FORMAT_TIME);
      gst_harness_push_event(harness.get(), gst_event_new_segment(&segment));
    }
    std::vector<Point> points =
        next_faces(harness, squares(kWidth, kHeight, {{64, 63, 48, 48}}))->landmarks;
    EXPECT_EQ(points.size(), std::size_t{kDrawnHeadPoints});
    return points;
  };
  const auto raw = landmarks_of_second("", false);
  EXPECT_NE(landmarks_of_second("smooth=0.5", false), raw);
  EXPECT_NE(landmarks_of_second("smooth=5", false), landmarks_of_second("smooth=0.5", false));
  EXPECT_EQ(landmarks_of_second("smooth=5", true), landmarks_of_second("", true));
  EXPECT_EQ(landmarks_of_second("smooth=5", false, false), landmarks_of_second("", false, false))
      << "without ids";
  EXPECT_NE(landmarks_of_second("follow-roll=true", false), raw);
  EXPECT_EQ(landmarks_of_second("follow-roll=true", true), landmarks_of_second("", true));
  EXPECT_EQ(landmarks_of_second("follow-roll=true", false, false),
            landmarks_of_second("", false, false));
}

// Who follows a face knows it after the first frame.
TEST_F(LandmarkElement, LooksTwiceAtFacesThatAreNotKnown) {
  const auto frames = [&](const std::string& settings, const std::string& track) {
    Harness harness(detect + "redetect-interval=1 ! " + track + landmark + settings);
    harness.set_caps(info);
    std::array<std::vector<Point>, 2> found;
    for (std::vector<Point>& points : found)
      points = next_faces(harness, squares(kWidth, kHeight, {{60, 60, 48, 48}}))->landmarks;
    return found;
  };
  const auto once = frames("", ""), twice = frames("refine=true", "");
  EXPECT_NE(twice[0], once[0]);
  EXPECT_EQ(twice[1], twice[0]);
  EXPECT_EQ(frames("refine=true follow-roll=false", ""), once);
  const std::string track = "culktrack ! ";
  const std::string anew = " inertia=0";
  EXPECT_EQ(frames("refine=true" + anew, track)[0], twice[0]);
  EXPECT_NE(frames("refine=true" + anew, track)[1], twice[1]);
}

// A square with a texture that can be followed moves by one pixel.
TEST_F(LandmarkElement, HasInertiaWhereTheTrackerCarriesItsLandmarks) {
  const cv::Mat still = textured_square();
  float width = 0;
  const auto landmarks_of_second = [&](const std::string& settings, const std::string& track,
                                       int moved) {
    Harness harness(detect + "redetect-interval=1 ! " + track + landmark +
                    "follow-roll=false iterations=1 " + settings);
    harness.set_caps(info);
    next_faces(harness, still);
    cv::Mat next;
    cv::warpAffine(still, next, cv::Matx23d(1, 0, moved, 0, 1, 0), still.size());
    const auto faces = next_faces(harness, next);
    std::vector<Point> points = faces->landmarks;
    width = faces->faces.at(0).box.w;
    EXPECT_EQ(points.size(), std::size_t{kDrawnHeadPoints});
    return points;
  };
  const std::string track = "culktrack ! ";
  const auto anew = landmarks_of_second("inertia=0", track, 1),
             half = landmarks_of_second("inertia=0.5", track, 1),
             most = landmarks_of_second("inertia=0.95", track, 1);
  const auto before = landmarks_of_second("inertia=0", track, 0);
  // A point that was carried by 1/80 of the box's width counts half.
  const double share = width / (width + 80.0);
  for (std::size_t i = 0; i < kDrawnHeadPoints; ++i) {
    const Point carried{before[i].x + 1, before[i].y};
    const auto between = [&](double inertia, float measured, float there) {
      return measured + inertia * share * (there - measured);
    };
    EXPECT_NEAR(most[i].x, between(0.95, anew[i].x, carried.x), 0.1) << i;
    EXPECT_NEAR(most[i].y, between(0.95, anew[i].y, carried.y), 0.1) << i;
    EXPECT_NEAR(half[i].x, between(0.5, anew[i].x, carried.x), 0.1) << i;
  }
  EXPECT_NE(half, anew);
  EXPECT_EQ(landmarks_of_second("inertia=0.95", "", 1), landmarks_of_second("inertia=0", "", 1))
      << "nobody carries them";
}

TEST_F(LandmarkElement, PostsItsResultForTheTracker) {
  Harness harness(detect + "! culktrack ! " + landmark);
  harness.set_caps(info);
  GstBuffer* out = harness.pass(make_frame(info, two));
  const auto feedback = gst::find_result<gst::FeedbackCell>(out, kWidth, kHeight).result;
  ASSERT_TRUE(feedback);
  const auto& results = gst::get_frame_record(out)->results;
  EXPECT_EQ(feedback.host()->take().value, results.back().result.value);
  EXPECT_EQ(
      std::count_if(results.begin(), results.end(),
                    [](const auto& r) { return r.kind == gst::ResultKind<FaceList>::type(); }),
      3)
      << "one result an element";
  gst_buffer_unref(out);
}

// What lags must not be carried on.
TEST_F(LandmarkElement, PostsLandmarksBeforeTheyAreSmoothed) {
  const auto second = [&](const std::string& settings) {
    Harness harness(detect + "redetect-interval=1 ! culktrack ! " + landmark +
                    "inertia=0 follow-roll=false " + settings);
    harness.set_caps(info);
    next_faces(harness, squares(kWidth, kHeight, {{60, 60, 48, 48}}));
    GstBuffer* out = harness.pass(make_frame(info, squares(kWidth, kHeight, {{64, 63, 48, 48}})));
    std::pair told{gst::find_result<FaceList>(out, kWidth, kHeight).result.host()->landmarks,
                   gst::find_result<gst::FeedbackCell>(out, kWidth, kHeight)
                       .result.host()
                       ->take()
                       .host()
                       ->landmarks};
    gst_buffer_unref(out);
    return told;
  };
  const auto [found, found_told] = second("");
  const auto [smooth, smooth_told] = second("smooth=2");
  EXPECT_EQ(found_told, found);
  EXPECT_EQ(smooth_told, found);
  EXPECT_NE(smooth, found);
}

// Its pixels are not the tracker's: a crop, which a second detector may have searched since.
TEST_F(LandmarkElement, PostsNothingToATrackerThatSeesAnotherPicture) {
  const std::string again = "cufacedetect min-size=60 cascade=" + cascade + " ! ";
  for (const std::string& between :
       {std::string("videocrop left=20 ! "), "videocrop left=20 ! " + again,
        "videoflip video-direction=horiz ! " + again}) {
    for (const bool only_tells : {false, true}) {
      Harness harness(detect + "! culktrack ! " + between + landmark);
      if (only_tells)
        gst_harness_add_propose_allocation_meta(harness.get(), GST_VIDEO_CROP_META_API_TYPE,
                                                nullptr);
      harness.set_caps(info);
      GstBuffer* out = harness.pass(make_frame(info, two));
      EXPECT_FALSE(gst::find_result<gst::FeedbackCell>(out, kWidth - 20, kHeight).result)
          << between;
      gst_buffer_unref(out);
    }
  }
}

}  // namespace
}  // namespace cuface::test
