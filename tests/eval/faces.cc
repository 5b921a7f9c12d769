// The experiments of faces [S0.01 - S0.37], of edges [S1.13] and of another system's search
// [S3.18]: stages against the size of their work, ours and the peer's in turn, one thread each.
// tests/eval/run runs it.
#include <map>
#include <numeric>
#include <opencv2/video/tracking.hpp>
#include <random>

#include "kernels/flow/flow.h"
#include "kernels/group/group.h"
#include "kernels/integral/integral.h"
#include "kernels/landmarks/landmarks.h"
#include "models/forest_file.h"
#include "models/models.h"
#include "tests/bench/dlib_native.h"
#include "tests/eval/search.h"
#include "tests/models/landmark_rows.h"
#include "tests/rectangles.h"

namespace cuface::eval {
namespace {

constexpr const char* kPixels = "pixels of the picture";

/// Pictures by their area.
std::map<double, cv::Size> by_area(const std::vector<cv::Size>& sizes) {
  std::map<double, cv::Size> out;
  for (const cv::Size& size : sizes) out[size.area()] = size;
  return out;
}

std::vector<double> areas(const std::map<double, cv::Size>& sizes) {
  std::vector<double> out;
  for (const auto& [area, size] : sizes) out.push_back(area);
  return out;
}

/// S0.E1 and E2. Our stages sum and compact in passing: here it is the standard library that does.
void add_sums(Program& program) {
  const std::vector<double> counts = {250'000, 500'000, 1'000'000, 2'500'000, 5'000'000, 1e7};
  const auto values_of = [](double count) {
    std::mt19937 random(17);
    std::vector<float> out(static_cast<std::size_t>(count));
    for (float& v : out) v = static_cast<float>(random() % 4) - 1;
    return out;
  };
  volatile float sink = 0;
  program.add("S0.E1", "reduction", "floats", "cv::sum", counts, [&](double x) {
    const std::vector<float> values = values_of(x);
    return program.measure(
        x, [&] { sink = std::accumulate(values.begin(), values.end(), 0.0f); },
        [&] { sink = static_cast<float>(cv::sum(values)[0]); });
  });
  program.add("S0.E2", "compaction", "floats", "", counts, [&](double x) {
    const std::vector<float> values = values_of(x);
    std::vector<float> kept(values.size());
    return program.measure(x,
                           [&] {
                             const auto end =
                                 std::copy_if(values.begin(), values.end(), kept.begin(),
                                              [](float v) { return v > 0; });
                             sink = static_cast<float>(end - kept.begin());
                           },
                           {});
  });
}

/// S0.E3: both integrals; and the grey that comes before.
void add_integrals(Program& program, const cv::Mat& mosaic) {
  const auto sizes = by_area({{640, 480}, {1280, 720}, {1920, 1080}, {3840, 2160}, {4096, 2160}});
  program.add("S0.E3", "integral", kPixels, "cv::integral, with squares", areas(sizes),
              [&](double x) {
                const cv::Mat p = scaled(mosaic, sizes.at(x));
                Image<std::uint32_t> sum(p.cols + 1, p.rows + 1), squared(p.cols + 1, p.rows + 1);
                cv::Mat cv_sum, cv_squared;
                return program.measure(
                    x, [&] { integral_squared(test::view_of(p), sum.view(), squared.view()); },
                    [&] { cv::integral(p, cv_sum, cv_squared, CV_32S, CV_32S); });
              });
  program.add("S0.E3", "grey", kPixels, kGreyPeer, areas(sizes),
              [&](double x) { return grey_point(program, x, scaled(mosaic, sizes.at(x))); });
}

/// S0.E4 and E5. Ours makes no lists of neighbours: the published rule is the whole grouping.
void add_groups(Program& program) {
  constexpr int kMinNeighbors = 3;
  const auto point = [&](const char* which, Grouping rule, double x) {
    const std::vector<Rect> windows = test::rectangles(which, static_cast<int>(x));
    std::vector<cv::Rect> input, faces;
    for (const Rect& r : windows) input.emplace_back(r.x, r.y, r.w, r.h);
    GroupScratch scratch;
    std::vector<Detection> found;
    const Run peer = [&] {
      faces = input;
      cv::groupRectangles(faces, kMinNeighbors, 0.2);
    };
    return program.measure(
        x, [&] { group(windows, rule, kMinNeighbors, scratch, found); },
        rule == Grouping::kOpenCv ? peer : Run());
  };
  for (const char* which : test::kRectangleCases) {
    const std::string name = std::string("group by overlap, ") + which;
    const auto overlap = [&, which](double x) { return point(which, Grouping::kOverlap, x); };
    program.add("S0.E4", name, "rectangles", "", {100, 300, 1000, 2500, 3500}, overlap);
    program.add("S0.E5", name, "rectangles", "", {100, 300, 1000, 1024}, overlap);
    program.add("S0.E5", std::string("group, ") + which, "rectangles", "cv::groupRectangles",
                {100, 300, 1000, 1024},
                [&, which](double x) { return point(which, Grouping::kOpenCv, x); });
  }
}

/// S0.E6: a portrait of 720x1280 searched at fractions of its size: with twelve faces, with one and
/// with none; in scaled pictures, and by scaled windows as published.
void add_fractions(Program& program, const cv::Mat& mosaic, const cv::Mat& one,
                   const cv::Mat& none) {
  const std::pair<const char*, const cv::Mat*> all[] = {
      {"", &mosaic}, {", one face", &one}, {", no face", &none}};
  const std::pair<ScaleMode, const char*> modes[] = {{ScaleMode::kPyramid, "detect"},
                                                     {ScaleMode::kWindow, "scaled windows"}};
  for (const auto& mode : modes)
    for (const auto& [which, picture] : all) {
      if (picture->empty()) continue;
      const cv::Mat portrait = scaled(*picture, {720, 1280});
      for (int step : {1, 2}) {
        program.add("S0.E6", mode.second + (which + (", step " + std::to_string(step))),
                    "the picture is divided by", "", {1, 2, 4, 8}, [&](double x) {
                      DetectConfig config;
                      config.scale_mode = mode.first;
                      config.scale_factor = 1.2;
                      config.min_size = 24 * static_cast<int>(x);
                      config.step = step;
                      config.detect_scale = static_cast<int>(x);
                      return search_point(program, x, portrait, "frontalface_alt", config, false);
                    });
      }
    }
}

/// Searches of whole pictures: S1.E5, and the sizes of S3.E6.
void add_searches(Program& program, const cv::Mat& mosaic) {
  DetectConfig config;
  config.min_neighbors = 5;
  config.min_size = 30;
  const auto add = [&](const char* experiment, const std::map<double, cv::Size>& sizes) {
    program.add(experiment, "detect", kPixels, "cv::CascadeClassifier", areas(sizes),
                [&](double x) {
                  return search_point(program, x, scaled(mosaic, sizes.at(x)),
                                      "frontalface_default", config, true);
                });
  };
  add("S1.E5",
      by_area({{100, 100}, {500, 500}, {1000, 1000}, {2000, 2000}, {3000, 3000}, {4000, 4000}}));
  add("S3.E6",
      by_area({{640, 480}, {1280, 720}, {1000, 1000}, {1472, 1000}, {1920, 1080}, {3840, 2160}}));
}

/// S0.E7: a new face in each call, as everywhere: the same one would find its leaves in the cache.
/// S0.E11: the errors of ours in the boxes that belong to the labels.
void add_landmarks(Program& program) {
  if (!program.wants("S0.E7") && !program.wants("S0.E11")) return;
  const std::string path = test::model_dir() + "/shape_predictor_68_face_landmarks.";
  const auto model = made(load_forest(path + "cuface"));
  bench::DlibNative dlib(path + "dat");
  std::vector<cv::Mat> pictures;
  std::vector<Box> boxes;
  const auto all = made(Landmarker::create(Backend::kCpu, model));
  std::vector<Point> points(static_cast<std::size_t>(model->landmarks));
  Json errors = Json::array();
  for (const test::LandmarkRow& row : test::landmark_rows()) {
    if (!row.human) continue;
    pictures.push_back(row.picture());
    const cv::Mat& p = pictures.back();
    dlib.add(p.data, p.cols, p.rows, static_cast<std::ptrdiff_t>(p.step));
    const Box b = box_from_landmarks(*model, row.truth);
    boxes.push_back({std::round(b.x), std::round(b.y), std::round(b.w), std::round(b.h)});
    if (!program.wants("S0.E11")) continue;
    (void)all->enqueue(test::view_of(p), std::span<const Box>(&boxes.back(), 1), points);
    errors.push_back(std::round(1e4 * test::nme_percent(points, row.truth)) / 1e4);
  }
  if (program.wants("S0.E11")) program.note("errors_in_true_boxes", errors);
  volatile long sum = 0;
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
  program.add(
      "S0.E7", "landmarks, 1 face", "cascades of trees", "", {3, 6, 9, 12, 15}, [&](double x) {
        const auto some = made(Landmarker::create(Backend::kCpu, model, static_cast<int>(x)));
        return program.measure(x, ours(*some, 1), {});
      });
  program.add("S0.E7", "landmarks", "faces", "dlib, -O3 -march=native", {1, 2, 4, 8, 16, 32, 64},
              [&](double x) {
                return program.measure(x, ours(*all, static_cast<int>(x)), [&, x] {
                  for (int i = 0; i < static_cast<int>(x); ++i) {
                    const std::size_t f = peer_next++ % boxes.size();
                    const Box& b = boxes[f];
                    sum = sum + dlib.run(f, b.x, b.y, b.w, b.h);
                  }
                });
              });
}

/// Two pictures: new pyramids and the flow of points between them, ours and OpenCV's.
class FlowPair {
 public:
  FlowPair(const cv::Mat& a, const cv::Mat& b, const FlowConfig& config)
      : frames_{a, b},
        config_(config),
        prev_(a.cols, a.rows, config.levels, config.window),
        next_(a.cols, a.rows, config.levels, config.window),
        scratch_(config) {
    prev_.refer(test::view_of(frames_[0]));
    cv::buildOpticalFlowPyramid(frames_[0], cv_prev_, window(), config.levels - 1);
  }

  void follow(const std::vector<cv::Point2f>& points) {
    cv_from_ = points;
    from_.clear();
    for (const cv::Point2f& p : points) from_.push_back({p.x, p.y});
    to = from_;
    status.assign(from_.size(), 0);
  }
  void ours() {
    next_.refer(test::view_of(frames_[1]));
    flow(prev_, next_, from_, to, status, config_, scratch_);
  }
  void opencv() {
    const cv::TermCriteria until(cv::TermCriteria::COUNT | cv::TermCriteria::EPS,
                                 config_.max_iterations, static_cast<double>(config_.epsilon));
    cv::buildOpticalFlowPyramid(frames_[1], cv_next_, window(), config_.levels - 1);
    cv::calcOpticalFlowPyrLK(cv_prev_, cv_next_, cv_from_, cv_to, cv_status, error_, window(),
                             config_.levels - 1, until);
  }

  std::vector<Point> to;
  std::vector<cv::Point2f> cv_to;
  std::vector<std::uint8_t> status, cv_status;

 private:
  cv::Size window() const { return {config_.window, config_.window}; }

  cv::Mat frames_[2];
  FlowConfig config_;
  GaussianPyramid prev_, next_;
  FlowScratch scratch_;
  std::vector<Point> from_;
  std::vector<cv::Point2f> cv_from_;
  std::vector<float> error_;
  std::vector<cv::Mat> cv_prev_, cv_next_;
};

/// S0.E8: points, levels, windows and iterations.
void add_flow(Program& program, const std::vector<cv::Mat>& clip) {
  constexpr const char* kPeer = "cv::buildOpticalFlowPyramid and calcOpticalFlowPyrLK";
  const auto point = [&](double x, cv::Size size, int count, const FlowConfig& config) {
    FlowPair pair(scaled(clip[0], size), scaled(clip[1], size), config);
    std::mt19937 random(Program::kSeed);
    std::uniform_real_distribution<float> across(20, static_cast<float>(size.width - 20)),
        down(20, static_cast<float>(size.height - 20));
    std::vector<cv::Point2f> points;
    for (int i = 0; i < count; ++i) points.emplace_back(across(random), down(random));
    pair.follow(points);
    return program.measure(
        x, [&] { pair.ours(); }, [&] { pair.opencv(); });
  };
  const cv::Size hd(1280, 720);
  program.add("S0.E8", "flow, 720p", "points", kPeer, {68, 100, 250, 500, 1000, 2500, 5000},
              [&](double x) { return point(x, hd, static_cast<int>(x), {}); });
  const auto by = [&](const std::string& name, const std::string& axis,
                      const std::vector<double>& xs, int FlowConfig::*field) {
    program.add("S0.E8", "flow, 720p, 1,000 points, " + name, axis, kPeer, xs,
                [&, field](double x) {
                  FlowConfig config;
                  config.*field = static_cast<int>(x);
                  return point(x, hd, 1000, config);
                });
  };
  by("levels", "levels", {1, 2, 3, 4}, &FlowConfig::levels);
  by("window", "side of the window", {9, 15, 21, 31}, &FlowConfig::window);
  by("iterations", "iterations, at most", {5, 10, 20, 30}, &FlowConfig::max_iterations);
  const auto sizes = by_area({{640, 480}, {1280, 720}, {1920, 1080}, {3840, 2160}});
  program.add("S0.E8", "flow, 68 points", kPixels, kPeer, areas(sizes),
              [&](double x) { return point(x, sizes.at(x), 68, {}); });
}

/// What S0.E8 leaves open: the error of more levels. A picture moves by whole pixels, so that the
/// truth is exact and no pixel changes its value.
void add_flow_errors(Program& program, const cv::Mat& frame) {
  if (!program.wants("S0.E8")) return;
  constexpr int kMargin = 64;
  const cv::Mat picture = scaled(frame, {1280 + 2 * kMargin, 720 + 2 * kMargin});
  const cv::Rect middle(kMargin, kMargin, 1280, 720);
  std::vector<cv::Point2f> corners;
  cv::goodFeaturesToTrack(picture(middle), corners, 500, 0.01, 10);
  Json all = Json::array();
  for (int way : {2, 10, 20, 40}) {
    for (int levels : {1, 2, 3, 4}) {
      FlowConfig config;
      config.levels = levels;
      FlowPair pair(picture(middle).clone(), picture(middle - cv::Point(way, 0)).clone(), config);
      pair.follow(corners);
      pair.ours();
      pair.opencv();
      const auto error = [&](const auto& to, const auto& status) {
        double sum = 0;
        int count = 0, good = 0;
        for (std::size_t i = 0; i < corners.size(); ++i) {
          if (!status[i]) continue;
          const double e =
              std::hypot(to[i].x - corners[i].x - static_cast<float>(way), to[i].y - corners[i].y);
          sum += e;
          good += e < 1;
          ++count;
        }
        return Json{{"mean", count ? sum / count : -1.0},
                    {"within_1_px", 100.0 * good / static_cast<double>(corners.size())}};
      };
      all.push_back({{"way", way},
                     {"levels", levels},
                     {"points", corners.size()},
                     {"ours", error(pair.to, pair.status)},
                     {"peer", error(pair.cv_to, pair.cv_status)}});
    }
  }
  program.note("flow_errors", all);
}

/// A third of the width of a frame, about the face where there is one.
cv::Mat portrait_of(const std::string& clip, int width, int height, int frame, int left) {
  const auto frames = test::read_clip(test::data_dir() + "/videos/" + clip, width, height, frame);
  if (frames.empty()) return {};
  return frames.back()(cv::Rect(left, 0, height * 9 / 16, height)).clone();
}

}  // namespace
}  // namespace cuface::eval

int main(int argc, char** argv) {
  using namespace cuface;
  eval::Program program(argc, argv);
  const cv::Mat mosaic = program.mosaic();
  std::vector<cv::Mat> clip = {eval::scaled(mosaic, {640, 360}),
                               eval::scaled(mosaic(cv::Rect(3, 3, 1900, 1070)), {640, 360})};
  cv::Mat one, none;
  if (!program.quick()) {
    const std::string pexels = "WolfgangLanger_Pexels.mp4";
    clip = test::read_clip(test::data_dir() + "/videos/" + pexels, 640, 360, 2);
    one = eval::portrait_of("franck.mp4", 360, 288, 101, 115);
    none = eval::portrait_of("vtest.avi", 768, 576, 51, 200);
    if (clip.size() != 2 || one.empty() || none.empty()) program.fail("clips are missing");
    eval::add_landmarks(program);
  }
  eval::add_sums(program);
  eval::add_integrals(program, mosaic);
  eval::add_groups(program);
  eval::add_fractions(program, mosaic, one, none);
  eval::add_searches(program, mosaic);
  eval::add_flow(program, clip);
  eval::add_flow_errors(program, clip[0]);
  return program.finish();
}
