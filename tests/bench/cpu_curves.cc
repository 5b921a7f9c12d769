// Time of a stage against the size of its work, ours and the peer's in turn, one thread each: the
// sizes that the published tables have are among them.
//
//   CUFACE_DATA=... build/tests/bench/cpu_curves [docs/results/cpu-curves.json]
#include <opencv2/imgproc.hpp>
#include <opencv2/objdetect.hpp>
#include <opencv2/video/tracking.hpp>
#include <random>

#include "kernels/detect/detect.h"
#include "kernels/flow/flow.h"
#include "kernels/integral/integral.h"
#include "kernels/landmarks/landmarks.h"
#include "kernels/luma/luma.h"
#include "models/forest_file.h"
#include "models/models.h"
#include "tests/bench/dlib_native.h"
#include "tests/bench/naturals.h"
#include "tests/bench/ratio.h"
#include "tests/kernels/pictures.h"
#include "tests/models/landmark_rows.h"
#include "tests/rectangles.h"

namespace {

using namespace cuface;
using Json = nlohmann::ordered_json;
using Run = std::function<void()>;

constexpr int kMostPasses = 15;
constexpr double kBudget = 0.3e6;  ///< microseconds for a point of a curve, where passes can be few

double timed(const Run& run) {
  const double begin = bench::thread_us();
  run();
  return bench::thread_us() - begin;
}

/// Medians of up to 15 passes; work that takes longer than the budget is done once. No peer: null.
Json measure(double x, const Run& ours, const Run& peer) {
  std::vector<double> a{timed(ours)}, b{peer ? timed(peer) : 0};
  const int passes = std::clamp(static_cast<int>(kBudget / (a[0] + b[0])), 0, kMostPasses);
  if (passes > 0) a.clear(), b.clear();  // those were to warm up
  for (int i = 0; i < passes; ++i) {
    a.push_back(timed(ours));
    b.push_back(peer ? timed(peer) : 0);
  }
  const auto rounded = [](double v) { return std::round(v * 100) / 100; };
  Json point = {{"x", x}, {"ours_us", rounded(bench::median(a))}};
  if (peer) point["peer_us"] = rounded(bench::median(b));
  std::printf("%12.0f %12.1f %12.1f us\n", x, bench::median(a), bench::median(b));
  std::fflush(stdout);
  return point;
}

/// Creates a stage or ends.
template <typename T>
T made(Result<T> result) {
  if (result.ok()) return std::move(result.value());
  std::fprintf(stderr, "cpu_curves: %s\n", result.status().message().c_str());
  std::exit(1);
}

struct Curves {
  Json list = Json::array();

  /// `point(x)` measures one.
  void add(const char* name, const char* axis, const char* peer, const std::vector<double>& xs,
           const std::function<Json(double)>& point) {
    std::printf("%s\n", name);
    Json points = Json::array();
    for (double x : xs) points.push_back(point(x));
    list.push_back({{"name", name}, {"x", axis}, {"peer", peer}, {"points", points}});
  }
};

cv::Mat scaled(const cv::Mat& picture, cv::Size size) {
  cv::Mat out;
  cv::resize(picture, out, size, 0, 0,
             size.area() < static_cast<int>(picture.total()) ? cv::INTER_AREA : cv::INTER_CUBIC);
  return out;
}

Json detect_point(const cv::Mat& picture, double x, const std::string& cascade,
                  const DetectConfig& config, bool beside_opencv) {
  auto detector = made(
      Detector::create(Backend::kCpu, bench::cascade(cascade), config, picture.cols, picture.rows));
  cv::CascadeClassifier classifier(test::cascade_path(cascade));
  DetectResult result;
  std::vector<cv::Rect> rects;
  const Run peer = [&] {
    classifier.detectMultiScale(picture, rects, config.scale_factor, config.min_neighbors, 0,
                                {config.min_size, config.min_size});
  };
  return measure(
      x, [&] { (void)detector->enqueue(test::view_of(picture), result); },
      beside_opencv ? peer : Run());
}

void add_sizes(Curves& curves, const cv::Mat& mosaic) {
  // VGA to 4K, the square pictures of S1.E5, and about the largest of S3.E6.
  const std::vector<cv::Size> sizes = {{100, 100},   {640, 480},   {1000, 1000},
                                       {1280, 720},  {1472, 1000}, {1920, 1080},
                                       {3840, 2160}, {4096, 2160}, {4000, 4000}};
  std::map<double, cv::Mat> pictures;
  for (const cv::Size& s : sizes) pictures[s.area()] = scaled(mosaic, s);
  std::vector<double> areas;
  for (const auto& [area, picture] : pictures) areas.push_back(area);

  curves.add("detect", "pixels of the picture", "cv::CascadeClassifier", areas, [&](double x) {
    DetectConfig config;
    config.min_neighbors = 5;
    config.min_size = 30;
    return detect_point(pictures[x], x, "frontalface_default", config, true);
  });
  curves.add("integral", "pixels of the picture", "cv::integral", areas, [&](double x) {
    const cv::Mat& p = pictures[x];
    Image<std::uint32_t> sum(p.cols + 1, p.rows + 1), squared(p.cols + 1, p.rows + 1);
    cv::Mat cv_sum, cv_squared;
    return measure(
        x, [&] { integral_squared(test::view_of(p), sum.view(), squared.view()); },
        [&] { cv::integral(p, cv_sum, cv_squared, CV_32S, CV_32S); });
  });
  curves.add("grey", "pixels of the picture", "cv::cvtColor, RGB", areas, [&](double x) {
    cv::Mat rgb, grey;
    cv::cvtColor(pictures[x], rgb, cv::COLOR_GRAY2RGB);
    FrameView frame{rgb.cols, rgb.rows, true, true, {}};
    for (int c = 0; c < 3; ++c)
      frame.component[c] = {rgb.data + c, static_cast<std::ptrdiff_t>(rgb.step), 3};
    Image<std::uint8_t> out(rgb.cols, rgb.rows);
    return measure(
        x, [&] { luma(frame, out.view()); }, [&] { cv::cvtColor(rgb, grey, cv::COLOR_RGB2GRAY); });
  });
}

/// S0.E6: a portrait of 720x1280 searched at fractions of its size.
void add_fractions(Curves& curves, const cv::Mat& mosaic) {
  const cv::Mat face = scaled(mosaic, {720, 1280});
  for (int step : {1, 2}) {
    curves.add(step == 1 ? "detect, step 1" : "detect, step 2", "the picture is divided by", "",
               {1, 2, 4, 8}, [&](double x) {
                 DetectConfig config;
                 config.scale_factor = 1.2;
                 config.min_size = 24 * static_cast<int>(x);
                 config.step = step;
                 config.detect_scale = static_cast<int>(x);
                 return detect_point(face, x, "frontalface_alt", config, false);
               });
  }
}

/// Two consecutive frames: new pyramids and the flow of some points.
class FlowPair {
 public:
  FlowPair(const cv::Mat& a, const cv::Mat& b) : frames_{a, b} {}

  Json point(double x, int points, const FlowConfig& config) const {
    const cv::Mat &a = frames_[0], &b = frames_[1];
    GaussianPyramid prev(a.cols, a.rows, config.levels, config.window);
    GaussianPyramid next(a.cols, a.rows, config.levels, config.window);
    FlowScratch scratch(config);
    std::vector<Point> from, to;
    std::vector<cv::Point2f> cv_from, cv_to;
    std::mt19937 random(1);
    std::uniform_real_distribution<float> across(20, static_cast<float>(a.cols - 20)),
        down(20, static_cast<float>(a.rows - 20));
    for (int i = 0; i < points; ++i) {
      from.push_back({across(random), down(random)});
      cv_from.emplace_back(from.back().x, from.back().y);
    }
    to = from;
    std::vector<std::uint8_t> status(from.size());
    std::vector<float> error;
    std::vector<cv::Mat> cv_prev, cv_next;
    const cv::Size window(config.window, config.window);
    const cv::TermCriteria until(cv::TermCriteria::COUNT | cv::TermCriteria::EPS,
                                 config.max_iterations, static_cast<double>(config.epsilon));
    const auto build = [&](GaussianPyramid& pyramid, const cv::Mat& frame) {
      pyramid.refer(test::view_of(frame));
    };
    build(prev, a);
    cv::buildOpticalFlowPyramid(a, cv_prev, window, config.levels - 1);
    return measure(
        x,
        [&] {
          build(next, b);
          flow(prev, next, from, to, status, config, scratch);
        },
        [&] {
          cv::buildOpticalFlowPyramid(b, cv_next, window, config.levels - 1);
          cv::calcOpticalFlowPyrLK(cv_prev, cv_next, cv_from, cv_to, status, error, window,
                                   config.levels - 1, until);
        });
  }

 private:
  cv::Mat frames_[2];
};

void add_flow(Curves& curves, const std::vector<cv::Mat>& clip) {
  constexpr const char* kPeer = "cv::buildOpticalFlowPyramid and calcOpticalFlowPyrLK";
  const auto pair = [&](cv::Size size) {
    return FlowPair(scaled(clip[0], size), scaled(clip[1], size));
  };
  const std::map<double, cv::Size> sizes = {{640 * 480, {640, 480}},
                                            {1280 * 720, {1280, 720}},
                                            {1920 * 1080, {1920, 1080}},
                                            {3840 * 2160, {3840, 2160}}};
  std::vector<double> areas;
  for (const auto& [area, size] : sizes) areas.push_back(area);
  curves.add("flow, 68 points", "pixels of the picture", kPeer, areas,
             [&](double x) { return pair(sizes.at(x)).point(x, 68, FlowConfig{}); });
  const FlowPair hd = pair({1280, 720});
  curves.add("flow, 720p", "points", kPeer, {68, 100, 250, 500, 1000, 2500, 5000},
             [&](double x) { return hd.point(x, static_cast<int>(x), FlowConfig{}); });
  curves.add("flow, 720p, 1,000 points, levels", "levels", kPeer, {1, 2, 3, 4}, [&](double x) {
    FlowConfig config;
    config.levels = static_cast<int>(x);
    return hd.point(x, 1000, config);
  });
  curves.add("flow, 720p, 1,000 points, window", "side of the window", kPeer, {9, 15, 21, 31},
             [&](double x) {
               FlowConfig config;
               config.window = static_cast<int>(x);
               return hd.point(x, 1000, config);
             });
}

/// A new face in each call, as everywhere: the same one would find its leaves in the cache.
void add_forest(Curves& curves) {
  const std::string path = test::model_dir() + "/shape_predictor_68_face_landmarks.";
  const auto model = made(load_forest(path + "cuface"));
  bench::DlibNative dlib(path + "dat");
  std::vector<cv::Mat> pictures;
  std::vector<Box> boxes;
  for (const test::LandmarkRow& row : test::landmark_rows()) {
    if (!row.human) continue;
    pictures.push_back(row.picture());
    const cv::Mat& p = pictures.back();
    dlib.add(p.data, p.cols, p.rows, static_cast<std::ptrdiff_t>(p.step));
    const Box b = box_from_landmarks(*model, row.truth);
    boxes.push_back({std::round(b.x), std::round(b.y), std::round(b.w), std::round(b.h)});
  }
  volatile long sum = 0;
  std::vector<Point> points(static_cast<std::size_t>(model->landmarks));
  std::size_t ours_next = 0, peer_next = 0;
  const auto ours = [&](Landmarker& landmarker, int faces) {
    return [&, faces] {
      for (int i = 0; i < faces; ++i) {
        const std::size_t f = ours_next++ % boxes.size();
        const std::span<const Box> one(&boxes[f], 1);
        (void)landmarker.enqueue(test::view_of(pictures[f]), one, points);
      }
    };
  };
  const auto all = made(Landmarker::create(Backend::kCpu, model));
  curves.add("landmarks", "faces", "dlib, -O3 -march=native", {1, 2, 4, 8, 16, 32, 64},
             [&](double x) {
               return measure(x, ours(*all, static_cast<int>(x)), [&, x] {
                 for (int i = 0; i < static_cast<int>(x); ++i) {
                   const std::size_t f = peer_next++ % boxes.size();
                   const Box& b = boxes[f];
                   sum = sum + dlib.run(f, b.x, b.y, b.w, b.h);
                 }
               });
             });
  curves.add("landmarks, 1 face", "cascades of trees", "", {3, 6, 9, 12, 15}, [&](double x) {
    const auto some = made(Landmarker::create(Backend::kCpu, model, static_cast<int>(x)));
    return measure(x, ours(*some, 1), {});
  });
}

void add_group(Curves& curves) {
  constexpr int kMinNeighbors = 3;
  for (const char* which : test::kRectangleCases) {
    for (const Grouping rule : {Grouping::kOpenCv, Grouping::kOverlap}) {
      const bool beside = rule == Grouping::kOpenCv;
      const std::string name = std::string(beside ? "group, " : "group by overlap, ") + which;
      curves.add(name.c_str(), "rectangles", beside ? "cv::groupRectangles" : "",
                 {100, 300, 1000, 1500, 2500, 4000}, [&](double x) {
                   const std::vector<Rect> windows = test::rectangles(which, static_cast<int>(x));
                   std::vector<cv::Rect> input, faces;
                   for (const Rect& r : windows) input.emplace_back(r.x, r.y, r.w, r.h);
                   GroupScratch scratch;
                   std::vector<Detection> found;
                   const Run peer = [&] {
                     faces = input;
                     cv::groupRectangles(faces, kMinNeighbors, 0.2);
                   };
                   return measure(
                       x, [&] { group(windows, rule, kMinNeighbors, scratch, found); },
                       beside ? peer : Run());
                 });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  cv::setNumThreads(1);
  const cv::Mat mosaic = bench::mosaic(1080);
  const std::vector<cv::Mat> clip =
      test::read_clip(test::data_dir() + "/videos/WolfgangLanger_Pexels.mp4", 640, 360, 2);
  if (mosaic.empty() || clip.size() != 2) {
    std::fprintf(stderr, "cpu_curves: no test data: set CUFACE_DATA\n");
    return 1;
  }
  Curves curves;
  add_sizes(curves, mosaic);
  add_fractions(curves, mosaic);
  add_flow(curves, clip);
  add_forest(curves);
  add_group(curves);
  const Json report = {
      {"what", "microseconds of processor time of one thread; medians, long work measured once"},
      {"processor", bench::processor()},
      {"instruction_set", simd::chosen()},
      {"curves", curves.list}};
  return bench::write_json(report, argc, argv);
}
