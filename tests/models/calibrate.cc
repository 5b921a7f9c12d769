// Fits the map from a cascade's boxes to the boxes of dlib's 68-point model, on the human rows of
// landmarks68.csv, and writes what it found as JSON: docs/results/box-map.json is its output,
// models/box_map.cc holds the maps, and test_box_map holds the two together.
//
//   CUFACE_DATA=... build/tests/models/calibrate > docs/results/box-map.json
//
// Boxes are OpenCV's (ours are equal: test_detect), scale factor 1.1, min-neighbors 3, min-size 24;
// of a picture's boxes the one that overlaps best with the box of the true points, if they overlap
// by 0.4. A grid over scale and downward shift is searched for the lowest mean error, smoothed 3x3,
// because the valley is flat and its walls are steep.
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <opencv2/objdetect.hpp>
#include <vector>

#include "kernels/landmarks/landmarks.h"
#include "models/models.h"
#include "tests/models/landmark_rows.h"

namespace {

using namespace cuface;
using Json = nlohmann::ordered_json;

constexpr const char* kCascades[] = {"haarcascade_frontalface_alt", "haarcascade_frontalface_alt2",
                                     "haarcascade_frontalface_default"};
constexpr int kScales = 9, kShifts = 9;
float scale_at(int i) { return static_cast<float>(80 + 5 * i) / 100.0f; }     // 0.80 .. 1.20
float shift_at(int i) { return static_cast<float>(-75 + 25 * i) / 1000.0f; }  // -0.075 .. 0.125

struct Face {
  cv::Mat picture;
  std::vector<Point> truth;
  Box tight_box;  // around the truth
};

struct Error {
  double mean = 0;
  int failures = 0;  // over 10 %
};

double overlap(const Box& a, const Box& b) {
  const double w = std::min(a.x + a.w, b.x + b.w) - std::max(a.x, b.x);
  const double h = std::min(a.y + a.h, b.y + b.h) - std::max(a.y, b.y);
  if (w <= 0 || h <= 0) return 0;
  return w * h / (a.w * a.h + b.w * b.h - w * h);
}

Box tight_box(std::span<const Point> points) {
  Point low = points[0], high = points[0];
  for (const Point& p : points) {
    low = {std::min(low.x, p.x), std::min(low.y, p.y)};
    high = {std::max(high.x, p.x), std::max(high.y, p.y)};
  }
  return {low.x, low.y, high.x - low.x, high.y - low.y};
}

class Calibration {
 public:
  explicit Calibration(std::shared_ptr<const ForestModel> model)
      : model_(std::move(model)),
        landmarker_(std::move(Landmarker::create(Backend::kCpu, model_).value())),
        points_(static_cast<std::size_t>(model_->landmarks)) {
    for (const test::LandmarkRow& row : test::landmark_rows()) {
      if (!row.human) continue;
      faces_.push_back({row.picture(), row.truth, tight_box(row.truth)});
    }
  }

  Json report() {
    Json result;
    std::vector<std::size_t> all;
    std::vector<Box> true_boxes;
    for (std::size_t i = 0; i < faces_.size(); ++i) {
      all.push_back(i);
      true_boxes.push_back(box_from_landmarks(*model_, faces_[i].truth));
    }
    result["what"] = "mean point error in % of the distance of the outer eye corners";
    result["model"] = model_->name;
    result["human_rows"] = faces_.size();
    result["in_the_box_of_the_true_points"] = to_json(error(all, true_boxes));
    for (const char* name : kCascades) result["cascades"][name] = calibrate(name);
    return result;
  }

 private:
  static Json to_json(const Error& e) {
    return {{"nme_percent", std::round(e.mean * 1000) / 1000}, {"over_10_percent", e.failures}};
  }

  std::span<const Point> points_in(const Face& face, const Box& box) {
    if (!landmarker_->enqueue(test::view(face.picture), {&box, 1}, points_).ok()) std::abort();
    return points_;
  }

  Error error(const std::vector<std::size_t>& which, const std::vector<Box>& boxes) {
    Error e;
    for (std::size_t i = 0; i < which.size(); ++i) {
      const Face& face = faces_[which[i]];
      const double nme = test::nme_percent(points_in(face, boxes[i]), face.truth);
      e.mean += nme / static_cast<double>(which.size());
      e.failures += nme > 10;
    }
    return e;
  }

  static std::vector<Box> mapped(const std::vector<Box>& boxes, const BoxMap& map) {
    std::vector<Box> result;
    for (const Box& box : boxes) result.push_back(map.apply(box));
    return result;
  }

  Json calibrate(const std::string& name) {
    cv::CascadeClassifier cascade(std::string(test::kCascadeDir) + "/" + name + ".xml");
    std::vector<std::size_t> found;
    std::vector<Box> boxes;
    for (std::size_t i = 0; i < faces_.size(); ++i) {
      std::vector<cv::Rect> hits;
      cascade.detectMultiScale(faces_[i].picture, hits, 1.1, 3, 0, cv::Size(24, 24));
      Box best;
      double best_overlap = 0;
      for (const cv::Rect& r : hits) {
        const Box box{static_cast<float>(r.x), static_cast<float>(r.y), static_cast<float>(r.width),
                      static_cast<float>(r.height)};
        const double now = overlap(box, faces_[i].tight_box);
        if (now > best_overlap) best_overlap = now, best = box;
      }
      if (best_overlap < 0.4) continue;
      found.push_back(i);
      boxes.push_back(best);
    }

    std::array<std::array<double, kShifts>, kScales> grid{};
    for (int s = 0; s < kScales; ++s) {
      for (int d = 0; d < kShifts; ++d) {
        grid[s][d] = error(found, mapped(boxes, {scale_at(s), 0, shift_at(d)})).mean;
      }
    }
    double lowest = 1e9;
    BoxMap map;
    for (int s = 1; s + 1 < kScales; ++s) {
      for (int d = 1; d + 1 < kShifts; ++d) {
        double sum = 0;
        for (int i = -1; i <= 1; ++i) {
          for (int j = -1; j <= 1; ++j) sum += grid[s + i][d + j] / 9;
        }
        if (sum < lowest) lowest = sum, map = {scale_at(s), 0, shift_at(d)};
      }
    }

    Json result;
    result["faces"] = found.size();
    result["missed"] = faces_.size() - found.size();
    result["raw"] = to_json(error(found, boxes));
    const std::vector<Box> best = mapped(boxes, map);
    result["mapped"] = to_json(error(found, best));
    std::vector<Box> again;
    for (std::size_t i = 0; i < found.size(); ++i) {
      again.push_back(box_from_landmarks(*model_, points_in(faces_[found[i]], best[i])));
    }
    result["mapped_then_in_its_own_box"] = to_json(error(found, again));
    result["smoothed_at_the_map"] = std::round(lowest * 1000) / 1000;
    result["map"] = {{"scale", std::round(map.scale * 1000.0) / 1000},
                     {"shift_x", 0},
                     {"shift_y", std::round(map.shift_y * 1000.0) / 1000}};
    return result;
  }

  std::shared_ptr<const ForestModel> model_;
  std::unique_ptr<Landmarker> landmarker_;
  std::vector<Point> points_;
  std::vector<Face> faces_;
};

}  // namespace

int main() {
  const auto model = load_forest(test::model_dir() + "/shape_predictor_68_face_landmarks.dat");
  if (!model.ok() || test::data_dir().empty()) {
    std::fprintf(stderr, "calibrate: %s\n",
                 model.ok() ? "no test data: set CUFACE_DATA" : model.status().message().c_str());
    return 1;
  }
  std::puts(Calibration(model.value()).report().dump(2).c_str());
}
