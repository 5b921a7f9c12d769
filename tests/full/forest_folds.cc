// Forests on labelled faces that they have not seen, beside dlib's trainer: five folds, in which
// all faces of a photograph are together (shape_folds.json), and a learning curve.
//
//   forest_folds [FILE [COMMIT [TREES]]]     100 trees a stage, minutes; 500 are dlib's default
//
// `ninja -C build forest-folds` writes docs/results/forest-folds.json. Needs CUFACE_DATA. Errors
// are in % of the distance between the outer corners of the eyes.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernels/detect/detect.h"
#include "kernels/faces/landmark_scheme.h"
#include "models/box_map.h"
#include "models/dlib_dat.h"
#include "models/models.h"
#include "models/train/face_set.h"
#include "models/train/small_model.h"
#include "tests/bench/dlib_native_trainer.h"
#include "tests/data.h"
#include "tests/models/landmark_rows.h"
#include "tests/models/synthetic_forest.h"

namespace {

using namespace cuface;
using Json = nlohmann::ordered_json;

constexpr int kStages = 10, kOversampling = 20, kThreads = 2, kPoints = 68;
constexpr int kShares[] = {8, 4, 2, 1};  // one of so many training photographs

/// Points on whole pixels, as people label them and dlib has them.
struct Faces {
  std::vector<cv::Mat> pictures;
  std::vector<Box> boxes;
  std::vector<std::vector<Point>> truth;

  /// In the box that dlib's detector would about give, on whole pixels too.
  void add(const test::LandmarkRow& row) {
    const Box box = train::box_of_landmarks(row.truth);
    add(row, {std::round(box.x), std::round(box.y), std::round(box.w), std::round(box.h)});
  }
  void add(const test::LandmarkRow& row, const Box& box) {
    pictures.push_back(row.picture());
    boxes.push_back(box);
    truth.push_back(row.truth);
    for (Point& p : truth.back()) p = {std::round(p.x), std::round(p.y)};
  }
  /// The same faces in other boxes.
  Faces in_boxes_by(const BoxMap& map) const {
    Faces out = *this;
    for (Box& box : out.boxes) box = map.apply(box);
    return out;
  }
  std::size_t count() const { return boxes.size(); }

  train::FaceSet set() const {
    train::FaceSet out;
    out.landmarks = kPoints;
    for (std::size_t i = 0; i < count(); ++i) {
      const cv::Mat& from = pictures[i];
      Image<std::uint8_t> picture(from.cols, from.rows);
      for (int y = 0; y < from.rows; ++y)
        std::copy_n(from.ptr(y), from.cols, &picture.view().at(0, y));
      out.pictures.push_back(std::move(picture));
      out.hashes.push_back(i);
      out.picture_of.push_back(static_cast<std::uint32_t>(i));
      out.boxes.push_back(boxes[i]);
      out.points.insert(out.points.end(), truth[i].begin(), truth[i].end());
      out.present.insert(out.present.end(), kPoints, 1);
      out.weights.push_back(1);
      out.where.push_back(std::to_string(i));
    }
    return out;
  }
};

/// Errors of faces, added up over folds.
struct Errors {
  std::vector<double> of_faces;

  void add(const std::shared_ptr<const ForestModel>& model, const Faces& faces,
           std::span<const int> points) {
    const auto landmarker = Landmarker::create(Backend::kCpu, model);
    if (!landmarker.ok()) std::abort();
    std::vector<Point> found(points.size());
    for (std::size_t i = 0; i < faces.count(); ++i) {
      const ImageView<const std::uint8_t> picture = test::view(faces.pictures[i]);
      if (!landmarker.value()->enqueue(picture, {&faces.boxes[i], 1}, found).ok()) std::abort();
      const std::vector<Point>& truth = faces.truth[i];
      double sum = 0;
      for (std::size_t k = 0; k < found.size(); ++k) {
        const Point p = truth[static_cast<std::size_t>(points[k])];
        sum += std::hypot(found[k].x - p.x, found[k].y - p.y);
      }
      const double eyes = std::hypot(truth[36].x - truth[45].x, truth[36].y - truth[45].y);
      of_faces.push_back(100 * sum / static_cast<double>(found.size()) / eyes);
    }
  }
  double mean() const {
    double sum = 0;
    for (const double error : of_faces) sum += error;
    return sum / static_cast<double>(of_faces.size());
  }
  double standard_error() const {
    double squares = 0;
    for (const double error : of_faces) squares += (error - mean()) * (error - mean());
    const auto n = static_cast<double>(of_faces.size());
    return std::sqrt(squares / (n - 1) / n);
  }
  Json json() const {
    std::vector<double> sorted = of_faces;
    std::sort(sorted.begin(), sorted.end());
    const auto rounded = [](double value) { return std::round(value * 1000) / 1000; };
    return {{"faces", of_faces.size()},
            {"mean_percent", rounded(mean())},
            {"standard_error", rounded(standard_error())},
            {"median_percent", rounded(sorted[sorted.size() / 2])},
            {"over_10_percent",
             std::count_if(sorted.begin(), sorted.end(), [](double error) { return error > 10; })}};
  }
};

ForestOptions options_of(int trees) {
  ForestOptions options;
  options.cascade_depth = kStages;
  options.num_trees_per_cascade_level = trees;
  options.oversampling_amount = kOversampling;
  return options;
}

std::shared_ptr<const ForestModel> trained(train::FaceSet& set, const ForestOptions& options) {
  ForestRun run;
  run.threads = kThreads;
  const auto grown = grow_forest(set.faces(), options, run);
  if (!grown.ok()) std::abort();
  return make_forest(grown.value(), options).value();
}

std::shared_ptr<const ForestModel> dlibs(const Faces& faces, int trees) {
  bench::DlibNativeTrainer peer;
  for (std::size_t i = 0; i < faces.count(); ++i) {
    const ImageView<const std::uint8_t> picture = test::view(faces.pictures[i]);
    peer.add_picture(picture.data, picture.width, picture.height, picture.stride);
    const Box& box = faces.boxes[i];
    peer.add_face(std::lround(box.x), std::lround(box.y), std::lround(box.x + box.w) - 1,
                  std::lround(box.y + box.h) - 1, &faces.truth[i][0].x, kPoints);
  }
  const std::string file = peer.train(kStages, trees, kOversampling, kThreads);
  return parse_dlib_dat(test::as_bytes(file), "peer.dat").value();
}

/// Finds the boxes of our detector with its defaults.
class OurBoxes {
 public:
  std::optional<Box> of(const test::LandmarkRow& row) const {
    const cv::Mat mat = row.picture();
    const auto picture = test::view(mat);
    const auto detector =
        Detector::create(Backend::kCpu, cascade_, {}, picture.width, picture.height);
    DetectResult found;
    if (!detector.ok() || !detector.value()->enqueue(picture, found).ok()) std::abort();
    const Box truth = train::box_of_landmarks(row.truth);
    std::optional<Box> best;
    float overlap = kLeastOverlap;
    for (const Detection& d : found.faces) {
      const Box box{static_cast<float>(d.box.x), static_cast<float>(d.box.y),
                    static_cast<float>(d.box.w), static_cast<float>(d.box.h)};
      const float now = intersection_over_union(box, truth);
      if (now > overlap) overlap = now, best = box;
    }
    return best;
  }
  static BoxMap map() {
    for (const auto& [name, map] : dlib_box_maps())
      if (name == kCascade) return map;
    std::abort();
  }

 private:
  static constexpr const char* kCascade = "haarcascade_frontalface_alt";
  static constexpr float kLeastOverlap = 0.25f;
  std::shared_ptr<const CascadeModel> cascade_ =
      load_cascade(test::cascade_path("frontalface_alt")).value();
};

void add_mirrored(train::FaceSet& set) {
  train::add_mirrored(train::mirror_table("", kPoints).value(), set);
}

}  // namespace

int main(int argc, char** argv) {
  const int trees = argc > 3 ? std::atoi(argv[3]) : 100;
  std::ifstream lists(CUFACE_SOURCE_ROOT "/tests/full/shape_folds.json");
  const auto folds = nlohmann::json::parse(lists).get<std::vector<std::vector<std::string>>>();
  std::vector<int> all;
  for (int i = 0; i < kPoints; ++i) all.push_back(i);
  Errors ours, peers, mirrored, five, through_map, without_map;
  const OurBoxes our_boxes;
  std::map<int, Errors> curve;
  std::map<int, std::size_t> learnt;
  for (std::size_t fold = 0; fold < folds.size(); ++fold) {
    Faces train_faces, others, train_found, others_found;
    std::map<int, Faces> parts;
    std::size_t number = 0;
    for (const test::LandmarkRow& row : test::landmark_rows()) {
      if (!row.human) continue;
      const bool is_other =
          std::find(folds[fold].begin(), folds[fold].end(), row.path) != folds[fold].end();
      (is_other ? others : train_faces).add(row);
      if (const auto box = our_boxes.of(row))
        (is_other ? others_found : train_found).add(row, *box);
      if (is_other) continue;
      for (const int share : kShares)
        if (share > 1 && number % static_cast<std::size_t>(share) == 0) parts[share].add(row);
      ++number;
    }
    train::FaceSet set = train_faces.set();
    ours.add(trained(set, options_of(trees)), others, all);
    peers.add(dlibs(train_faces, trees), others, all);
    for (const int share : kShares) {
      train::FaceSet part = share == 1 ? std::move(set) : parts[share].set();
      learnt[share] += part.boxes.size();
      add_mirrored(part);
      const auto model = trained(part, options_of(trees));
      curve[share].add(model, others, all);
      if (share > 1) continue;
      mirrored.add(model, others, all);
      through_map.add(model, others_found.in_boxes_by(OurBoxes::map()), all);
      train::FaceSet small = train::with_five_points(part);
      five.add(trained(small, train::small_options(options_of(trees))), others,
               train::kFiveOfSixtyEight);
    }
    train::FaceSet found = train_found.set();
    add_mirrored(found);
    without_map.add(trained(found, options_of(trees)), others_found, all);
    std::printf(
        "fold %zu: error %.2f %%, dlib's %.2f %%, mirrored %.2f %%, five points %.2f %%; in "
        "our boxes %.2f %% through the map, %.2f %% trained with them\n",
        fold, ours.mean(), peers.mean(), mirrored.mean(), five.mean(), through_map.mean(),
        without_map.mean());
    std::fflush(stdout);
  }
  Json points = Json::array();
  for (auto it = curve.rbegin(); it != curve.rend(); ++it)
    points.push_back({{"faces_learnt", learnt[it->first] / folds.size()},
                      {"mean_percent", it->second.json()["mean_percent"]}});
  // The slope over the last doubling, and where it would lead.
  const double last = curve[1].json()["mean_percent"], half = curve[2].json()["mean_percent"];
  const double slope = std::log2(half / last);
  const auto faces = static_cast<double>(learnt[1] / folds.size());
  const double wanted = 3;
  Json report = {
      {"what",
       "forests on labelled faces they have not seen, beside dlib's trainer, in % of the "
       "distance between the outer corners of the eyes"},
      {"command", "ninja -C build forest-folds"},
      {"commit", argc > 2 ? argv[2] : ""},
      {"folds", folds.size()},
      {"stages", kStages},
      {"trees", trees},
      {"oversampling", kOversampling},
      {"ours", ours.json()},
      {"dlibs", peers.json()},
      {"apart_in_standard_errors_of_the_difference",
       (ours.mean() - peers.mean()) / std::hypot(ours.standard_error(), peers.standard_error())},
      {"ours_mirrored", mirrored.json()},
      {"five_points_mirrored", five.json()},
      {"mirrored_in_our_boxes_through_the_map", through_map.json()},
      {"mirrored_trained_with_our_boxes", without_map.json()},
      {"learning_curve_mirrored", points},
      {"share_of_the_error_gone_a_doubling", 1 - last / half},
      {"error_wanted_percent", wanted},
      {"faces_for_it", std::ceil(faces * std::pow(last / wanted, 1 / slope))}};
  std::printf("%s\n", report.dump(1).c_str());
  if (argc < 2) return 0;
  std::ofstream file(argv[1]);
  file << report.dump(1) << '\n';
  return file.flush() ? 0 : 1;
}
