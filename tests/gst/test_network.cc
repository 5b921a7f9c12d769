// cufacedetect with a network in place of a cascade. The network has random weights: what it finds
// means nothing, and is held against the stages called by hand.
#include <opencv2/core.hpp>

#include "gst/facedetect/detectprops.h"
#include "kernels/colour/colour.h"
#include "kernels/network/faces.h"
#include "models/network_file.h"
#include "tests/gst/support.h"
#include "tests/kernels/networks.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 200, kHeight = 120;

class NetworkElement : public testing::Test {
 protected:
  std::string write_model() const {
    const std::string path = folder.path() + "/random.cuface";
    const Status status = write_network_file(*network, {"random", "", ""}, path);
    EXPECT_TRUE(status.ok()) << status.message();
    return path;
  }
  /// The faces of the stages by hand.
  std::vector<Face> expected(const cv::Mat& bgr, int input_size, float score,
                             const FaceLimits& limits,
                             NetworkPrecision precision = NetworkPrecision::kFloat) const {
    auto scaler = BgrScaler::create(bgr.cols, bgr.rows, input_size);
    const auto [w, h] = scaler.value().size();
    Image<Bgr> picture(w, h);
    FrameView view;
    view.width = bgr.cols;
    view.height = bgr.rows;
    view.rgb = view.full_range = true;
    for (int c = 0; c < 3; ++c) {
      view.component[c].data = bgr.data + 2 - c;
      view.component[c].stride = static_cast<std::ptrdiff_t>(bgr.step);
      view.component[c].pixel_stride = 3;
    }
    EXPECT_TRUE(scaler.value().run(view, ColorMatrix::kBt601, picture.view()).ok());
    const NetworkConfig config{
        .score_threshold = score, .max_faces = kMaxNetworkCandidates, .precision = precision};
    auto made = FaceNetwork::create(Backend::kCpu, network, config, w, h);
    std::vector<NetworkFace> found;
    EXPECT_TRUE(made.value()->enqueue(std::as_const(picture).view(), found).ok());
    return faces_from_network(found, w, h, limits, bgr.cols, bgr.rows).faces;
  }
  static cv::Mat noise(int seed, int width = kWidth, int height = kHeight) {
    cv::Mat picture(height, width, CV_8UC3);
    cv::RNG random(static_cast<std::uint64_t>(seed));
    random.fill(picture, cv::RNG::UNIFORM, 0, 256);
    return picture;
  }
  static GstBuffer* frame_of(const cv::Mat& bgr) {
    const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_BGR, bgr.cols, bgr.rows);
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, info.size, nullptr);
    GstMapInfo map;
    EXPECT_TRUE(gst_buffer_map(buffer, &map, GST_MAP_WRITE));
    for (int y = 0; y < bgr.rows; ++y)
      std::memcpy(map.data + y * info.stride[0], bgr.ptr(y),
                  static_cast<std::size_t>(3 * bgr.cols));
    gst_buffer_unmap(buffer, &map);
    return buffer;
  }

  TempFolder folder;
  std::shared_ptr<const NetworkModel> network = random_yunet(11, 4);
  std::string model = write_model();
  std::string detect = "cufacedetect name=d score-threshold=0.4 model=" + model;
  GstVideoInfo info = video_info(GST_VIDEO_FORMAT_BGR, kWidth, kHeight);
};

TEST_F(NetworkElement, FindsWhatTheStagesFind) {
  const struct {
    const char* set;
    int input_size;
    FaceLimits limits;
    NetworkPrecision precision = NetworkPrecision::kFloat;
  } cases[] = {{"", 640, {}},
               {" precision=int16", 640, {}, NetworkPrecision::kInt16},
               {" input-size=100", 100, {}},
               {" input-size=0 max-faces=3", 0, {.max_faces = 3}},
               {" min-size=12 max-size=40", 640, {.min_size = 12, .max_size = 40}}};
  std::size_t compared = 0;
  for (const auto& c : cases) {
    Harness harness(detect + c.set);
    harness.set_caps(info);
    for (int i = 0; i < 3; ++i) {
      const cv::Mat picture = noise(i);
      GstBuffer* out = harness.pass(frame_of(picture));
      const FacesRead read = read_faces(out, kWidth, kHeight);
      ASSERT_NE(read.faces, nullptr) << c.set;
      EXPECT_TRUE(read.faces->searched);
      EXPECT_EQ(read.faces->detector, "yunet");
      const std::vector<Face> faces = expected(picture, c.input_size, 0.4f, c.limits, c.precision);
      ASSERT_EQ(read.faces->faces.size(), faces.size()) << c.set;
      for (std::size_t f = 0; f < faces.size(); ++f) {
        const Face& face = read.faces->faces[f];
        EXPECT_EQ(face.box, faces[f].box);
        EXPECT_EQ(face.confidence, faces[f].confidence);
        EXPECT_EQ(face.roll, faces[f].roll);
        EXPECT_EQ(face.neighbors, -1);
        ++compared;
      }
      gst_buffer_unref(out);
    }
  }
  EXPECT_GT(compared, 20u);
}

/// Smaller than the network's strides, and as long as frames may be.
TEST_F(NetworkElement, FramesOfAnySizeAreSearched) {
  const struct {
    int width, height, input_size;
  } cases[] = {{1, 1, 640},   {3, 2, 0},       {31, 31, 640},   {5, 200, 0},
               {16384, 9, 0}, {16384, 9, 640}, {9, 16384, 640}, {300, 200, 1}};
  std::size_t compared = 0;
  for (const auto& c : cases) {
    SCOPED_TRACE(std::to_string(c.width) + "x" + std::to_string(c.height));
    Harness harness(detect + " input-size=" + std::to_string(c.input_size));
    g_object_set(harness.element("d"), "score-threshold", 0.0, nullptr);
    harness.set_caps(video_info(GST_VIDEO_FORMAT_BGR, c.width, c.height));
    const cv::Mat picture = noise(c.width, c.width, c.height);
    GstBuffer* out = harness.pass(frame_of(picture));
    const FacesRead read = read_faces(out, c.width, c.height);
    ASSERT_NE(read.faces, nullptr);
    EXPECT_TRUE(read.faces->searched);
    const std::vector<Face> faces = expected(picture, c.input_size, 0, {});
    ASSERT_EQ(read.faces->faces.size(), faces.size());
    for (std::size_t f = 0; f < faces.size(); ++f) {
      EXPECT_EQ(read.faces->faces[f].box, faces[f].box);
      ++compared;
    }
    gst_buffer_unref(out);
  }
  EXPECT_GT(compared, 10u);
}

TEST_F(NetworkElement, AFrameTooLargeForItsOwnSizeIsRefused) {
  network = random_yunet(11);
  model = write_model();
  const std::string source =
      "videotestsrc num-buffers=1 ! video/x-raw,format=GRAY8,width=16384,height=1200 ! ";
  const BusReport report = run_pipeline(source + detect + " input-size=0 ! fakesink");
  const Status plan = plan_network(*network, 16384, 1200).status();
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(report.error.find(plan.message()), std::string::npos) << report.error;
  EXPECT_EQ(run_pipeline(source + detect + " ! fakesink").error, "");
}

TEST_F(NetworkElement, AFaceInEveryCellIsAsManyAsMayBe) {
  network = sure_of_all(*network);
  model = write_model();
  for (const int most : {3, 5000}) {
    Harness harness(detect + " nms-threshold=1 max-faces=" + std::to_string(most));
    harness.set_caps(info);
    const cv::Mat picture = noise(5);
    GstBuffer* out = harness.pass(frame_of(picture));
    const FacesRead read = read_faces(out, kWidth, kHeight);
    ASSERT_NE(read.faces, nullptr);
    const std::vector<Face>& faces = read.faces->faces;
    // 224x128 in cells of 8, 16 and 32 pixels.
    EXPECT_LE(faces.size(), std::min<std::size_t>(static_cast<std::size_t>(most), 588));
    EXPECT_GT(faces.size(), most == 3 ? 2u : 200u);
    for (const Face& face : faces) EXPECT_EQ(face.confidence, 1);
    gst_buffer_unref(out);
  }
}

TEST_F(NetworkElement, SearchesWhenACascadeWould) {
  Harness harness(detect + " redetect-interval=3 search=smart");
  harness.set_caps(info);
  std::string searched;
  for (int i = 0; i < 7; ++i) {
    GstBuffer* out = harness.pass(frame_of(noise(i)));
    searched += was_searched(out) ? 'x' : '.';
    gst_buffer_unref(out);
  }
  EXPECT_EQ(searched, "x..x..x");
  EXPECT_EQ(harness.stat("d", "searches"), 3u);
}

// A face would ask for searches once it is lost. What is large waits for three frames, all else for
// fifteen, and all of the picture behind another of that for eight.
TEST_F(NetworkElement, SearchesTheWholeFrameWhereSomethingHasMoved) {
  constexpr int kWide = 320, kHigh = 192;
  Harness harness(detect + " search=motion score-threshold=1 ! culktrack");
  harness.set_caps(video_info(GST_VIDEO_FORMAT_BGR, kWide, kHigh));
  const cv::Mat still = noise(1, kWide, kHigh);
  std::vector<int> searched;
  for (int i = 0; i < 110; ++i) {
    cv::Mat picture = still.clone();
    const cv::Scalar grey = cv::Scalar::all(20 + i * 37 % 200);
    if (i >= 14 && i < 20) picture(cv::Rect(100, 40, 20, 20)) = cv::Scalar::all(250);
    if (i >= 30 && i < 44) picture(cv::Rect(100, 40, 70, 100)) = grey;
    if (i >= 60 && i < 82) picture = grey;
    GstBuffer* out = harness.pass(frame_of(picture));
    if (was_searched(out)) searched.push_back(i);
    gst_buffer_unref(out);
  }
  EXPECT_EQ(searched, (std::vector<int>{0, 15, 30, 33, 36, 39, 42, 45, 60, 63, 71, 79, 87}));
  EXPECT_EQ(harness.stat("d", "searches"), searched.size());
}

TEST_F(NetworkElement, SettingsChangeWhilePlaying) {
  Harness harness(detect);
  harness.set_caps(info);
  const auto faces = [&] {
    GstBuffer* out = harness.pass(frame_of(noise(1)));
    const int count = face_count(out);
    gst_buffer_unref(out);
    return count;
  };
  const int before = faces();
  EXPECT_GT(before, 1);
  g_object_set(harness.element("d"), "score-threshold", 1.0, nullptr);
  EXPECT_EQ(faces(), 0);
  g_object_set(harness.element("d"), "score-threshold", 0.4, "max-faces", 1, nullptr);
  EXPECT_EQ(faces(), 1);
}

TEST_F(NetworkElement, WhatMeansNothingToItIsOneWarning) {
  const std::string source = "videotestsrc num-buffers=4 ! video/x-raw,width=64,height=64 ! ";
  BusReport report =
      run_pipeline(source + detect +
                   " scale-factor=1.2 min-neighbors=5 grouping=overlap scale-mode=window step=1 "
                   "detect-scale=2 roll=20 spread=true ! fakesink");
  EXPECT_EQ(report.error, "");
  ASSERT_EQ(report.warnings.size(), 1u);
  for (const char* word : {"scale-factor", "min-neighbors", "grouping", "scale-mode", "step",
                           "detect-scale", "roll", "spread"})
    EXPECT_NE(report.warnings[0].find(word), std::string::npos) << report.warnings[0];
  EXPECT_EQ(report.warnings[0].find("verify"), std::string::npos);
  report = run_pipeline(source + detect + " ! fakesink");
  EXPECT_TRUE(report.warnings.empty()) << report.warnings[0];
}

/// An element meets this error on a GPU only (tests/gpu/pipelines/test_limits.cc).
TEST(NetworkPrecision, OnCudaIsFloatOrAnErrorThatNamesTheWayOut) {
  for (const auto precision : {NetworkPrecision::kFloat, NetworkPrecision::kInt16})
    EXPECT_TRUE(gst::check_precision(precision, Backend::kCpu).ok());
  EXPECT_TRUE(gst::check_precision(NetworkPrecision::kFloat, Backend::kCuda).ok());
  const Status refused = gst::check_precision(NetworkPrecision::kInt16, Backend::kCuda);
  EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
  for (const char* said : {"precision=int16", "precision=float", "backend=cpu"})
    EXPECT_NE(refused.message().find(said), std::string::npos) << refused.message();
}

TEST_F(NetworkElement, ErrorsNameTheFileAndTheWayOut) {
  const std::string source = "videotestsrc num-buffers=4 ! video/x-raw,width=64,height=64 ! ";
  const auto error = [&](const std::string& element) {
    return run_pipeline(source + element + " ! fakesink").error;
  };
  const std::string cascade = folder.write("square.xml", square_cascade_xml());
  std::string text = error(detect + " cascade=" + cascade);
  EXPECT_NE(text.find("both set"), std::string::npos) << text;
  text = error("cufacedetect model=" + cascade);
  EXPECT_NE(text.find(cascade), std::string::npos) << text;
  const std::string missing = folder.path() + "/missing.cuface";
  text = error("cufacedetect model=" + missing);
  EXPECT_NE(text.find(missing), std::string::npos) << text;
  const std::string onnx = folder.write("face.onnx", std::string("\x08\x07\x12\x07pytorch", 11));
  text = error("cufacedetect model=" + onnx);
  EXPECT_NE(text.find("cuface-model convert"), std::string::npos) << text;
  text = error("cufacedetect cascade=" + model);
  EXPECT_NE(text.find(model), std::string::npos) << text;
}

}  // namespace
}  // namespace cuface::test
