// cufacelandmark: the landmarks are the forest's in the mapped box, whatever the order of elements.
#include <dlib/image_processing.h>

#include <algorithm>
#include <cmath>
#include <opencv2/imgcodecs.hpp>

#include "gst/faces/feedback.h"
#include "kernels/landmarks/landmarks.h"
#include "kernels/shape/search.h"
#include "models/box_map.h"
#include "models/forest_file.h"
#include "models/models.h"
#include "models/shape_file.h"
#include "tests/drawn_heads.h"
#include "tests/gst/support.h"
#include "tests/kernels/shape_models.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 320, kHeight = 200;

class LandmarkElement : public testing::Test {
 protected:
  TempFolder folder;
  std::string cascade = folder.write("square.xml", square_cascade_xml());
  std::string model = drawn_heads_model();
  std::string detect = "cufacedetect name=d min-size=60 cascade=" + cascade + " ";
  std::string landmark = "cufacelandmark name=l samples=1 refine=false model=" + model + " ";
  GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  cv::Mat two = squares(kWidth, kHeight, {{40, 40, 48, 48}, {200, 70, 60, 60}});

  FacesRead faces_after(const std::string& pipeline, const cv::Mat& picture) {
    Harness harness(pipeline);
    GstVideoInfo format = video_info(GST_VIDEO_FORMAT_GRAY8, picture.cols, picture.rows);
    harness.set_caps(format);
    GstBuffer* out = harness.pass(make_frame(format, picture));
    FacesRead read = read_faces(out, picture.cols, picture.rows);
    gst_buffer_unref(out);
    return read;
  }
};

/// How many points of faces with whole pixels as boxes are not dlib's.
struct DlibsPoints {
  int equal = 0, different = 0;
  dlib::shape_predictor predictor;

  DlibsPoints() { dlib::deserialize(drawn_heads_model()) >> predictor; }

  void compare(const FaceList& faces, const cv::Mat& grey) {
    dlib::array2d<unsigned char> picture(grey.rows, grey.cols);
    for (int y = 0; y < grey.rows; ++y)
      for (int x = 0; x < grey.cols; ++x) picture[y][x] = grey.at<uchar>(y, x);
    for (std::size_t f = 0; f < faces.faces.size(); ++f) {
      const Box& box = faces.faces[f].box;
      ASSERT_EQ(box, (Box{std::round(box.x), std::round(box.y), std::round(box.w), box.w}));
      const auto x = static_cast<long>(box.x), y = static_cast<long>(box.y);
      const auto side = static_cast<long>(box.w);
      const auto shape = predictor(picture, dlib::rectangle(x, y, x + side - 1, y + side - 1));
      for (unsigned j = 0; j < kDrawnHeadPoints; ++j) {
        const Point p = faces.landmarks_of(f)[j];
        const bool same = std::lround(std::floor(p.x + 0.5f)) == shape.part(j).x() &&
                          std::lround(std::floor(p.y + 0.5f)) == shape.part(j).y();
        ++(same ? equal : different);
      }
    }
  }
};

// Every face is found on every frame, so that its box has whole pixels, and has an id and a past.
TEST_F(LandmarkElement, EqualsDlibWithTheFourSettingsAndOnlyThen) {
  const std::vector<std::string> needed = {"samples=1 ", "inertia=0 ", "refine=false ",
                                           "follow-roll=false "};
  for (std::size_t without = 0; without <= needed.size(); ++without) {
    std::string settings = "box-map=none ";
    for (std::size_t i = 0; i < needed.size(); ++i) settings += i == without ? "" : needed[i];
    // Refining needs follow-roll.
    if (without == 2) settings.erase(settings.find("follow-roll=false"), 17);
    Harness harness(detect + "redetect-interval=1 ! culktrack max-shape-change=0 ! " +
                    "cufacelandmark model=" + model + " " + settings);
    harness.set_caps(info);
    DlibsPoints points;
    for (int frame = 0; frame < 6; ++frame) {
      const cv::Mat picture =
          squares(kWidth, kHeight, {{40 + 2 * frame, 40, 48, 48}, {200, 70 - frame, 60, 60}});
      GstBuffer* out = harness.pass(make_frame(info, picture));
      points.compare(*read_faces(out, kWidth, kHeight).faces, picture);
      gst_buffer_unref(out);
    }
    EXPECT_EQ(points.equal + points.different, 6 * 2 * kDrawnHeadPoints) << settings;
    if (without == needed.size())
      EXPECT_EQ(points.different, 0) << settings;
    else
      EXPECT_GT(points.different, 0) << settings << "without " << needed[without];
  }
}

TEST_F(LandmarkElement, MapsTheBoxOfTheCascade) {
  CUFACE_NEEDS_DATA();
  const std::string path = model_dir() + "/shape_predictor_68_face_landmarks.dat";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  const auto loaded = load_forest(path);
  ASSERT_TRUE(loaded.ok());
  const cv::Mat picture =
      cv::imread(data_dir() + "/images/scenes/multi_face.jpg", cv::IMREAD_GRAYSCALE);
  ASSERT_FALSE(picture.empty());
  std::size_t compared = 0;
  for (const char* name : {"haarcascade_frontalface_default", "haarcascade_frontalface_alt2"}) {
    const std::string xml = std::string(kCascadeDir) + "/" + name + ".xml";
    const auto read =
        faces_after("cufacedetect cascade=" + xml +
                        " ! culktrack ! cufacelandmark samples=1 refine=false model=" + path,
                    picture);
    ASSERT_EQ(read.faces->landmarks_per_face, 68);
    EXPECT_EQ(read.faces->detector, name);
    std::vector<Box> boxes;
    for (const Face& face : read.faces->faces)
      boxes.push_back(box_map_for(*loaded.value(), name).apply(face.box));
    std::vector<Point> expected(boxes.size() * 68);
    auto landmarker = Landmarker::create(Backend::kCpu, loaded.value());
    ASSERT_TRUE(landmarker.ok());
    ASSERT_TRUE(landmarker.value()
                    ->enqueue({picture.data, picture.cols, picture.rows,
                               static_cast<std::ptrdiff_t>(picture.step)},
                              boxes, expected)
                    .ok());
    EXPECT_EQ(read.faces->landmarks, expected);
    compared += boxes.size();
  }
  EXPECT_GE(compared, 8u);
}

TEST_F(LandmarkElement, WorksInBothOrdersAndOnForeignRegions) {
  Harness harness(detect + "redetect-interval=5 ! " + landmark + "! culktrack");
  harness.set_caps(info);
  for (int i = 0; i < 8; ++i) {
    const cv::Mat frame = squares(kWidth, kHeight, {{60 + 2 * i, 60, 48, 48}});
    GstBuffer* out = harness.pass(make_frame(info, frame));
    GstCufaceFaces* faces = faces_of(out);
    EXPECT_EQ(gst_cuface_faces_get_count(faces), 1u) << i;
    EXPECT_EQ(gst_cuface_faces_get_n_landmarks(faces), std::size_t{kDrawnHeadPoints}) << i;
    gst_cuface_faces_unref(faces);
    gst_buffer_unref(out);
  }

  Harness foreign(landmark + "box-map=auto");
  foreign.set_caps(info);
  GstBuffer* buffer = make_frame(info, two);
  gst_buffer_add_video_region_of_interest_meta(buffer, "face", 40, 40, 48, 48);
  gst_buffer_add_video_region_of_interest_meta(buffer, "face", 40, 40, 0, 0);
  GstBuffer* out = foreign.pass(buffer);
  const auto read = read_faces(out, kWidth, kHeight);
  ASSERT_EQ(read.faces->faces.size(), 1u);
  auto landmarker = Landmarker::create(Backend::kCpu, load_forest(model).value());
  std::vector<Point> expected(kDrawnHeadPoints);
  ASSERT_TRUE(landmarker.value()
                  ->enqueue({two.data, kWidth, kHeight, static_cast<std::ptrdiff_t>(two.step)},
                            std::vector<Box>{{40, 40, 48, 48}}, expected)
                  .ok());
  EXPECT_EQ(read.faces->landmarks, expected) << "a foreign box is taken as it is";
  gst_buffer_unref(out);
}

TEST_F(LandmarkElement, TheModelFileDecidesTheEngine) {
  const auto shapes = random_shape_model(3);
  const std::string path = folder.path() + "/shape.cuface";
  ASSERT_TRUE(write_shape_file(*shapes, {}, path).ok());
  const FacesRead read =
      faces_after(detect + "! culktrack ! cufacelandmark samples=3 model=" + path, two);
  ASSERT_EQ(read.faces->faces.size(), 2u);
  ASSERT_EQ(read.faces->landmarks_per_face, 8);
  std::vector<Box> boxes;
  for (const Face& face : read.faces->faces) boxes.push_back(face.box);
  std::vector<Point> expected(boxes.size() * 8);
  auto searcher = ShapeSearcher::create(Backend::kCpu, shapes);
  ASSERT_TRUE(searcher.ok());
  ASSERT_TRUE(searcher.value()
                  ->enqueue({two.data, two.cols, two.rows, static_cast<std::ptrdiff_t>(two.step)},
                            boxes, expected)
                  .ok());
  EXPECT_EQ(read.faces->landmarks, expected);
}

TEST_F(LandmarkElement, ShapeModelsStartAtTheEyesOrWhereTheTrackerIs) {
  const std::string path = folder.path() + "/shape.cuface";
  ASSERT_TRUE(write_shape_file(*random_shape_model_with_eyes(3), {}, path).ok());
  cv::Mat still = squares(kWidth, kHeight, {{60, 60, 48, 48}}), texture(still.size(), CV_8UC1);
  cv::RNG(1).fill(texture, cv::RNG::UNIFORM, 0, 160);
  cv::GaussianBlur(texture, texture, {}, 2);
  cv::addWeighted(still, 0.7, texture, 0.7, 0, still);
  const auto second = [&](const std::string& start) {
    Harness harness(detect + "redetect-interval=1 ! culktrack ! cufacelandmark inertia=0 model=" +
                    path + " start=" + start);
    harness.set_caps(info);
    gst_buffer_unref(harness.pass(make_frame(info, still)));
    GstBuffer* out = harness.pass(make_frame(info, still));
    const auto faces = read_faces(out, kWidth, kHeight).faces;
    gst_buffer_unref(out);
    EXPECT_EQ(faces->faces.size(), 1u);
    EXPECT_TRUE(faces->landmark_confidences.empty()) << "they are not calibrated";
    return faces->landmarks;
  };
  const auto box = second("box");
  EXPECT_EQ(box.size(), 8u);
  EXPECT_NE(second("tracker"), box) << "it goes on from the frame before";
  if (find_eye_cascade().ok()) {
    EXPECT_EQ(second("eyes"), box) << "a square has no eyes";
  }
}

TEST_F(LandmarkElement, StartAtEyesNamesWhatIsMissing) {
  const std::string path = folder.path() + "/shape.cuface";
  ASSERT_TRUE(write_shape_file(*random_shape_model(3), {}, path).ok());
  const auto error = [&](const std::string& settings) {
    const BusReport report =
        run_pipeline("videotestsrc num-buffers=1 ! cufacelandmark model=" + path + " " + settings +
                     " ! fakesink");
    return report.error + report.debug;
  };
  EXPECT_NE(error("start=eyes").find("start=box"), std::string::npos) << "no scheme";
  // Where the cascade is looked for first lies one that is none.
  const std::string own = folder.write("haarcascade_eye.xml", "no cascade");
  const char* before = g_getenv("CUFACE_MODEL_PATH");
  const std::string kept = before ? before : "";
  g_setenv("CUFACE_MODEL_PATH", folder.path().c_str(), TRUE);
  const std::string text = error("start=eyes");
  before ? (void)g_setenv("CUFACE_MODEL_PATH", kept.c_str(), TRUE)
         : g_unsetenv("CUFACE_MODEL_PATH");
  for (const std::string& word : {own, std::string("start=eyes"), std::string("start=box")})
    EXPECT_NE(text.find(word), std::string::npos) << word << " in " << text;
}

TEST_F(LandmarkElement, TellsTheSchemeAndTheConfidences) {
  auto forest = std::make_shared<ForestModel>(*load_forest(model).value());
  forest->scheme = known_scheme(5);
  forest->scheme.points = kDrawnHeadPoints;
  forest->scheme.eyes = {3, 1, 2};
  forest->confidence = {-30, 30, {}};
  for (int i = 0; i < 30; ++i) forest->confidence.at[i] = 1 - static_cast<float>(i) / 32;
  const std::string path = folder.path() + "/own.cuface";
  ASSERT_TRUE(write_forest_file(*forest, {}, path).ok());
  for (const char* track : {"", "culktrack ! "}) {
    const auto read = faces_after(
        detect + "! " + track + "cufacelandmark samples=4 smooth=0.5 model=" + path, two);
    ASSERT_EQ(read.faces->faces.size(), 2u);
    ASSERT_TRUE(read.faces->scheme);
    EXPECT_EQ(read.faces->scheme->eyes.left, 3);
    ASSERT_EQ(read.faces->landmark_confidences.size(), 2u * kDrawnHeadPoints);
    const auto [least, most] = std::ranges::minmax(read.faces->landmark_confidences);
    EXPECT_GT(least, 0);
    EXPECT_LT(most, 1);
    EXPECT_LT(least, most);
  }
  const auto one = faces_after(detect + "! cufacelandmark samples=1 model=" + path, two);
  EXPECT_TRUE(one.faces->landmark_confidences.empty()) << "one sample has no spread";
  // On a gap a known face keeps them with its landmarks.
  Harness harness(detect + "redetect-interval=1 ! culktrack ! cufacelandmark model=" + path);
  harness.set_caps(info);
  std::vector<float> before;
  for (int frame = 0; frame < 4; ++frame) {
    GstBuffer* in = make_frame(info, two);
    if (frame == 3) GST_BUFFER_FLAG_SET(in, GST_BUFFER_FLAG_GAP);
    GstBuffer* out = harness.pass(in);
    const auto faces = read_faces(out, kWidth, kHeight).faces;
    gst_buffer_unref(out);
    ASSERT_EQ(faces->landmark_confidences.size(), 2u * kDrawnHeadPoints) << frame;
    if (frame == 3) {
      EXPECT_EQ(faces->landmark_confidences, before);
    }
    before = faces->landmark_confidences;
  }
}

TEST_F(LandmarkElement, SourcesOfAModelNameTheCommand) {
  const std::string tar = folder.write("stasm.tar", "no archive");
  const BusReport report =
      run_pipeline("videotestsrc num-buffers=1 ! cufacelandmark model=" + tar + " ! fakesink");
  const std::string text = report.error + report.debug;
  EXPECT_NE(text.find("cuface-model convert"), std::string::npos) << text;
}

TEST_F(LandmarkElement, FramesWithoutFacesGetAnEmptyResult) {
  const auto read = faces_after(detect + "! " + landmark, dark_ground(kWidth, kHeight));
  ASSERT_EQ(read.positions, gst::Positions::kKnown);
  EXPECT_TRUE(read.faces->faces.empty());
  EXPECT_TRUE(read.faces->landmarks.empty());
  const auto alone = faces_after(landmark, two);
  EXPECT_TRUE(alone.faces->faces.empty());
}

TEST_F(LandmarkElement, IterationsStopTheForestEarlier) {
  const auto all = faces_after(detect + "! " + landmark, two);
  const auto four = faces_after(detect + "! " + landmark + "iterations=4", two);
  const auto one = faces_after(detect + "! " + landmark + "iterations=1", two);
  EXPECT_EQ(all.faces->landmarks, four.faces->landmarks);
  EXPECT_NE(all.faces->landmarks, one.faces->landmarks);
}

// The landmarks of a frame after one in which the face lay elsewhere.
TEST_F(LandmarkElement, SmoothsAndTurnsFacesWithAnIdUntilTheStreamBreaks) {
  const auto landmarks_of_second = [&](const std::string& settings, bool flush, bool track = true) {
    Harness harness(detect + "redetect-interval=1 ! " + (track ? "culktrack ! " : "") + landmark +
                    "follow-roll=false " + settings);
    harness.set_caps(info);
    const cv::Mat first = squares(kWidth, kHeight, {{60, 60, 48, 48}});
    gst_buffer_unref(harness.pass(make_frame(info, first)));
    if (flush) {
      gst_harness_push_event(harness.get(), gst_event_new_flush_start());
      gst_harness_push_event(harness.get(), gst_event_new_flush_stop(TRUE));
      GstSegment segment;
      gst_segment_init(&segment, GST_FORMAT_TIME);
      gst_harness_push_event(harness.get(), gst_event_new_segment(&segment));
    }
    GstBuffer* out = harness.pass(make_frame(info, squares(kWidth, kHeight, {{64, 63, 48, 48}})));
    std::vector<Point> points = read_faces(out, kWidth, kHeight).faces->landmarks;
    gst_buffer_unref(out);
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
    for (std::vector<Point>& points : found) {
      GstBuffer* out = harness.pass(make_frame(info, squares(kWidth, kHeight, {{60, 60, 48, 48}})));
      points = read_faces(out, kWidth, kHeight).faces->landmarks;
      gst_buffer_unref(out);
    }
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
  cv::Mat still = squares(kWidth, kHeight, {{60, 60, 48, 48}}), texture(still.size(), CV_8UC1);
  cv::RNG(1).fill(texture, cv::RNG::UNIFORM, 0, 160);
  cv::GaussianBlur(texture, texture, {}, 2);
  cv::addWeighted(still, 0.7, texture, 0.7, 0, still);
  float width = 0;
  const auto landmarks_of_second = [&](const std::string& settings, const std::string& track,
                                       int moved) {
    Harness harness(detect + "redetect-interval=1 ! " + track + landmark +
                    "follow-roll=false iterations=1 " + settings);
    harness.set_caps(info);
    gst_buffer_unref(harness.pass(make_frame(info, still)));
    cv::Mat next;
    cv::warpAffine(still, next, cv::Matx23d(1, 0, moved, 0, 1, 0), still.size());
    GstBuffer* out = harness.pass(make_frame(info, next));
    const auto faces = read_faces(out, kWidth, kHeight).faces;
    std::vector<Point> points = faces->landmarks;
    width = faces->faces.at(0).box.w;
    gst_buffer_unref(out);
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
    gst_buffer_unref(harness.pass(make_frame(info, squares(kWidth, kHeight, {{60, 60, 48, 48}}))));
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
