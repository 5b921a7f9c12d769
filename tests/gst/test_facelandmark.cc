// cufacelandmark: the landmarks are the forest's in the mapped box, whatever the order of elements.
#include <algorithm>
#include <cmath>
#include <opencv2/imgcodecs.hpp>
#include <optional>
#include <set>

#include "kernels/eyes/eyes.h"
#include "kernels/landmarks/landmarks.h"
#include "kernels/shape/search.h"
#include "models/box_map.h"
#include "models/forest_file.h"
#include "models/models.h"
#include "models/shape_file.h"
#include "tests/gst/landmark_element.h"
#include "tests/kernels/shape_models.h"
#include "tests/models/dlib_forest.h"

namespace cuface::test {
namespace {

/// How many points of faces with whole pixels as boxes are not dlib's.
struct DlibsPoints {
  int equal = 0, different = 0;
  dlib::shape_predictor predictor;

  DlibsPoints() { dlib::deserialize(drawn_heads_model()) >> predictor; }

  void compare(const FaceList& faces, const cv::Mat& grey) {
    const auto picture = to_dlib(grey);
    for (std::size_t f = 0; f < faces.faces.size(); ++f) {
      const Box& box = faces.faces[f].box;
      ASSERT_EQ(box, (Box{std::round(box.x), std::round(box.y), std::round(box.w), box.w}));
      const auto shape = predictor(picture, to_dlib(box));
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
      points.compare(*next_faces(harness, picture), picture);
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
  const auto shapes = with_confidences(*random_shape_model(3));
  const std::string path = folder.path() + "/shape.cuface";
  ASSERT_TRUE(write_shape_file(*shapes, {}, path).ok());
  const std::string element = detect + "! culktrack ! cufacelandmark samples=3 model=" + path;
  const FacesRead read = faces_after(element, two);
  ASSERT_EQ(read.faces->faces.size(), 2u);
  ASSERT_EQ(read.faces->landmarks_per_face, 8);
  std::vector<Box> boxes;
  for (const Face& face : read.faces->faces) boxes.push_back(face.box);
  std::vector<Point> expected(boxes.size() * 8);
  std::vector<float> confidences(expected.size());
  auto searcher = ShapeSearcher::create(Backend::kCpu, shapes);
  ASSERT_TRUE(searcher.ok());
  ASSERT_TRUE(searcher.value()
                  ->enqueue({two.data, two.cols, two.rows, static_cast<std::ptrdiff_t>(two.step)},
                            boxes, expected, {}, confidences)
                  .ok());
  EXPECT_EQ(read.faces->landmarks, expected);
  EXPECT_EQ(read.faces->landmark_confidences, confidences);
  for (const char* threads : {" threads=1", " threads=4"})
    EXPECT_EQ(faces_after(element + threads, two).faces->landmarks, expected) << threads;
  EXPECT_GT(std::set(confidences.begin(), confidences.end()).size(), 4u);
}

TEST_F(LandmarkElement, ThreadsOfPatchesFindTheSameLandmarks) {
  const auto patches = random_patches(3, 8, 2);
  const std::string path = folder.path() + "/patches.cuface";
  ASSERT_TRUE(write_shape_file(*patches, {}, path).ok());
  const auto landmarks = [&](const std::string& threads) {
    return faces_after(detect + "! culktrack ! cufacelandmark model=" + path + threads, two)
        .faces->landmarks;
  };
  const std::vector<Point> alone = landmarks(" threads=1");
  EXPECT_EQ(alone.size(), 16u);
  EXPECT_EQ(landmarks(" threads=4"), alone);
  EXPECT_EQ(landmarks(""), alone);
}

TEST_F(LandmarkElement, ShapeModelsStartAtTheEyesOrWhereTheTrackerIs) {
  const std::string path = folder.path() + "/shape.cuface";
  ASSERT_TRUE(write_shape_file(*random_shape_model_with_eyes(3), {}, path).ok());
  const cv::Mat still = textured_square();
  const auto second = [&](const std::string& start) {
    Harness harness(detect + "redetect-interval=1 ! culktrack ! cufacelandmark inertia=0 model=" +
                    path + " start=" + start);
    harness.set_caps(info);
    next_faces(harness, still);
    const auto faces = next_faces(harness, still);
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

/// Where models are looked for first.
class ModelPath {
 public:
  explicit ModelPath(const std::string& folder) {
    if (const char* before = g_getenv(kName)) kept_ = before;
    g_setenv(kName, folder.c_str(), TRUE);
  }
  ~ModelPath() { kept_ ? (void)g_setenv(kName, kept_->c_str(), TRUE) : g_unsetenv(kName); }
  ModelPath(const ModelPath&) = delete;
  ModelPath& operator=(const ModelPath&) = delete;

 private:
  static constexpr const char* kName = "CUFACE_MODEL_PATH";
  std::optional<std::string> kept_;
};

/// Of a face whose eyes are squares, by a cascade of squares in the place of Debian's.
TEST_F(LandmarkElement, StartsAtTheEyesThatTheCascadeFinds) {
  const auto shapes = random_shape_model_with_eyes(3);
  const std::string path = folder.path() + "/shape.cuface";
  ASSERT_TRUE(write_shape_file(*shapes, {}, path).ok());
  const ModelPath first(folder.path());
  const auto eyes = load_cascade(folder.write("haarcascade_eye.xml", square_cascade_xml()));
  ASSERT_TRUE(eyes.ok());
  const cv::Mat picture = squares(kWidth, kHeight, {{110, 60, 20, 20}, {190, 70, 20, 20}});
  const auto found = [&](const std::string& start) {
    Harness harness("cufacelandmark model=" + path + " start=" + start);
    harness.set_caps(info);
    GstBuffer* buffer = make_frame(info, picture);
    gst_buffer_add_video_region_of_interest_meta(buffer, "face", 80, 20, 160, 160);
    GstBuffer* out = harness.pass(buffer);
    const std::vector<Point> landmarks = read_faces(out, kWidth, kHeight).faces->landmarks;
    gst_buffer_unref(out);
    return landmarks;
  };
  const std::vector<Box> boxes = {{80, 20, 160, 160}};
  const ImageView<const std::uint8_t> luma{picture.data, kWidth, kHeight,
                                           static_cast<std::ptrdiff_t>(picture.step)};
  const StopFlag stop;
  auto start = EyeStart::create(eyes.value(), *shapes, stop);
  auto searcher = ShapeSearcher::create(Backend::kCpu, shapes);
  ASSERT_TRUE(start.ok() && searcher.ok());
  std::vector<Point> starts(8), expected(8);
  const auto has_eyes = start.value()->find(luma, boxes[0], starts);
  ASSERT_TRUE(has_eyes.ok() && has_eyes.value());
  ASSERT_TRUE(searcher.value()->enqueue(luma, boxes, expected, starts).ok());
  EXPECT_EQ(found("eyes"), expected);
  EXPECT_NE(found("box"), expected);
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
  const ModelPath first(folder.path());
  const std::string text = error("start=eyes");
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

}  // namespace
}  // namespace cuface::test
