// Fits the maps from the boxes of cascades and of the network to the boxes of dlib's 68-point
// model, on the human rows of landmarks68.csv, and writes what it found as JSON:
// docs/results/box-map.json is its output, models/box_map.cc holds the maps, and test_box_map holds
// the two together.
//
//   CUFACE_DATA=... build/tests/models/calibrate YUNET.cuface > docs/results/box-map.json
//
// A cascade's boxes are OpenCV's (ours are equal: test_detect_opencv), scale factor 1.1,
// min-neighbors 3, min-size 24. The network has cufacedetect's defaults. Of a picture's boxes the
// one counts that overlaps best with the box of the true points, if they overlap by 0.4. A grid
// over scale and downward shift is searched for the lowest mean error, smoothed 3x3, because the
// valley is flat and its walls are steep.
//
// The committed map is fitted on all faces. Its error there is too good, so each face is also
// scored by the map of the other four fifths of the photographs (`unseen`).
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <opencv2/objdetect.hpp>
#include <set>
#include <vector>

#include "kernels/landmarks/landmarks.h"
#include "kernels/network/faces.h"
#include "models/models.h"
#include "tests/models/landmark_rows.h"

namespace {

using namespace cuface;
using Json = nlohmann::ordered_json;

constexpr const char* kCascades[] = {"haarcascade_frontalface_alt", "haarcascade_frontalface_alt2",
                                     "haarcascade_frontalface_default"};
constexpr int kFolds = 5;
constexpr int kInputSize = 640;
constexpr std::size_t kScales = 9, kShifts = 9;

/// From 0.80 to 1.20, and from -0.075 to 0.125.
BoxMap map_at(std::size_t scale, std::size_t shift, bool square) {
  return {static_cast<float>(80 + 5 * static_cast<int>(scale)) / 100.0f, 0,
          static_cast<float>(-75 + 25 * static_cast<int>(shift)) / 1000.0f, square};
}

struct LabelledFace {
  test::LandmarkRow row;
  cv::Mat picture;
  Box tight_box;  // around the truth
  int fold = 0;
};

/// What a detector found of one face.
struct Found {
  const LabelledFace* face = nullptr;
  Box box;
  Roll roll;
};

/// The grid's errors of one face.
using Grid = std::array<std::array<double, kShifts>, kScales>;

/// In the grid.
struct Place {
  std::size_t scale = 0, shift = 0;
};

Box tight_box(std::span<const Point> points) {
  Point low = points[0], high = points[0];
  for (const Point& p : points) {
    low = {std::min(low.x, p.x), std::min(low.y, p.y)};
    high = {std::max(high.x, p.x), std::max(high.y, p.y)};
  }
  return {low.x, low.y, high.x - low.x, high.y - low.y};
}

/// Faces of one photograph have a name's first number in common.
std::string photograph(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return path.find("helen") == std::string::npos ? name : name.substr(0, name.find('_'));
}

std::vector<LabelledFace> labelled_faces() {
  std::vector<LabelledFace> faces;
  std::set<std::string> names;
  for (const test::LandmarkRow& row : test::landmark_rows()) {
    if (!row.human) continue;
    faces.push_back({row, row.picture(), tight_box(row.truth)});
    names.insert(photograph(row.path));
  }
  for (LabelledFace& face : faces) {
    const auto place = std::distance(names.begin(), names.find(photograph(face.row.path)));
    face.fold = static_cast<int>(place) % kFolds;
  }
  return faces;
}

Json summary(const std::vector<double>& errors) {
  double sum = 0;
  for (const double e : errors) sum += e;
  return {{"nme_percent", std::round(1000 * sum / static_cast<double>(errors.size())) / 1000},
          {"over_10_percent",
           std::count_if(errors.begin(), errors.end(), [](double e) { return e > 10; })}};
}

/// The map with the lowest mean error over the faces that count.
Place lowest(const std::vector<Grid>& grids, const std::function<bool(std::size_t)>& counts) {
  Grid sum{};
  for (std::size_t i = 0; i < grids.size(); ++i) {
    if (!counts(i)) continue;
    for (std::size_t s = 0; s < kScales; ++s)
      for (std::size_t d = 0; d < kShifts; ++d) sum[s][d] += grids[i][s][d];
  }
  double least = 1e18;
  Place best;
  for (std::size_t s = 1; s + 1 < kScales; ++s) {
    for (std::size_t d = 1; d + 1 < kShifts; ++d) {
      double smoothed = 0;
      for (std::size_t i = s - 1; i <= s + 1; ++i)
        for (std::size_t j = d - 1; j <= d + 1; ++j) smoothed += sum[i][j];
      if (smoothed < least) least = smoothed, best = {s, d};
    }
  }
  return best;
}

class Calibration {
 public:
  Calibration(std::shared_ptr<const ForestModel> model, std::shared_ptr<const NetworkModel> network)
      : model_(std::move(model)),
        network_(std::move(network)),
        landmarker_(std::move(Landmarker::create(Backend::kCpu, model_).value())),
        points_(static_cast<std::size_t>(model_->landmarks)),
        faces_(labelled_faces()) {}

  Json report() {
    Json result;
    std::vector<double> in_true_boxes;
    for (const LabelledFace& face : faces_) {
      in_true_boxes.push_back(error({&face, box_from_landmarks(*model_, face.row.truth), {}}, {}));
    }
    result["what"] = "mean point error in % of the distance of the outer eye corners";
    result["model"] = model_->name;
    result["human_rows"] = faces_.size();
    result["in_the_box_of_the_true_points"] = summary(in_true_boxes);
    for (const char* name : kCascades) {
      cv::CascadeClassifier cascade(std::string(test::kCascadeDir) + "/" + name + ".xml");
      result["detectors"][name] = calibrate(false, [&](const LabelledFace& face) {
        std::vector<cv::Rect> hits;
        cascade.detectMultiScale(face.picture, hits, 1.1, 3, 0, cv::Size(24, 24));
        std::vector<Found> found;
        for (const cv::Rect2f r : hits) found.push_back({&face, {r.x, r.y, r.width, r.height}, {}});
        return found;
      });
    }
    result["detectors"][kNetworkDetector] =
        calibrate(true, [&](const LabelledFace& face) { return faces_by_network(face); });
    return result;
  }

 private:
  double error(const Found& found, const BoxMap& map) {
    const Box box = map.apply(found.box, found.roll);
    const auto picture = test::view(found.face->picture);
    if (!landmarker_->enqueue(picture, {&box, 1}, points_, {&found.roll, 1}).ok()) std::abort();
    return test::nme_percent(points_, found.face->row.truth);
  }

  std::vector<Found> faces_by_network(const LabelledFace& face) {
    const cv::Mat whole = face.row.picture(cv::IMREAD_COLOR);
    cv::Mat picture = whole;
    if (const double factor = double{kInputSize} / std::max(whole.cols, whole.rows); factor < 1)
      cv::resize(whole, picture, {}, factor, factor, cv::INTER_LINEAR_EXACT);
    auto network = FaceNetwork::create(Backend::kCpu, network_, {}, picture.cols, picture.rows);
    std::vector<NetworkFace> faces;
    const ImageView<const Bgr> view{picture.ptr<Bgr>(), picture.cols, picture.rows,
                                    static_cast<std::ptrdiff_t>(picture.step)};
    if (!network.ok() || !network.value()->enqueue(view, faces).ok()) std::abort();
    const FaceList list =
        faces_from_network(faces, picture.cols, picture.rows, {}, whole.cols, whole.rows);
    std::vector<Found> found;
    for (const Face& f : list.faces) found.push_back({&face, f.box, f.roll});
    return found;
  }

  template <typename Find>
  Json calibrate(bool square, Find find) {
    std::vector<Found> found;
    for (const LabelledFace& face : faces_) {
      const auto overlap = [&](const Found& f) {
        return intersection_over_union(f.box, face.tight_box);
      };
      const std::vector<Found> all = find(face);
      const auto best = std::ranges::max_element(all, {}, overlap);
      if (best != all.end() && overlap(*best) >= 0.4) found.push_back(*best);
    }
    std::vector<Grid> grids(found.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (std::size_t s = 0; s < kScales; ++s)
        for (std::size_t d = 0; d < kShifts; ++d)
          grids[i][s][d] = error(found[i], map_at(s, d, square));
    }
    std::array<Place, kFolds> by_others;
    for (int fold = 0; fold < kFolds; ++fold) {
      by_others[static_cast<std::size_t>(fold)] =
          lowest(grids, [&](std::size_t i) { return found[i].face->fold != fold; });
    }
    const Place place = lowest(grids, [](std::size_t) { return true; });
    std::vector<double> raw, mapped, unseen, unseen_of_first;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Place other = by_others[static_cast<std::size_t>(found[i].face->fold)];
      raw.push_back(error(found[i], {}));
      mapped.push_back(grids[i][place.scale][place.shift]);
      unseen.push_back(grids[i][other.scale][other.shift]);
      if (first_found_.empty() || first_found_.contains(found[i].face))
        unseen_of_first.push_back(unseen.back());
    }
    if (first_found_.empty())
      for (const Found& f : found) first_found_.insert(f.face);
    const BoxMap map = map_at(place.scale, place.shift, square);
    const auto thousandths = [](float x) { return std::round(double{x} * 1000) / 1000; };
    Json maps = Json::array();
    for (const Place& p : by_others) {
      const BoxMap other = map_at(p.scale, p.shift, square);
      maps.push_back({thousandths(other.scale), thousandths(other.shift_y)});
    }
    return {{"faces", found.size()},
            {"missed", faces_.size() - found.size()},
            {"raw", summary(raw)},
            {"mapped", summary(mapped)},
            {"unseen", summary(unseen)},
            {"unseen_of_faces_that_the_first_finds", summary(unseen_of_first)},
            {"scale_and_shift_of_the_folds", maps},
            {"map",
             {{"scale", thousandths(map.scale)},
              {"shift_x", 0},
              {"shift_y", thousandths(map.shift_y)},
              {"square", square}}}};
  }

  std::shared_ptr<const ForestModel> model_;
  std::shared_ptr<const NetworkModel> network_;
  std::unique_ptr<Landmarker> landmarker_;
  std::vector<Point> points_;
  const std::vector<LabelledFace> faces_;
  std::set<const LabelledFace*> first_found_;  // by the first detector
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || test::data_dir().empty()) {
    std::fprintf(stderr, "usage: CUFACE_DATA=FOLDER calibrate YUNET.cuface\n");
    return 2;
  }
  const auto model = load_forest(test::model_dir() + "/shape_predictor_68_face_landmarks.dat");
  const auto network = load_network(argv[1]);
  for (const Status& status : {model.status(), network.status()}) {
    if (status.ok()) continue;
    std::fprintf(stderr, "calibrate: %s\n", status.message().c_str());
    return 1;
  }
  std::puts(Calibration(model.value(), network.value()).report().dump(2).c_str());
}
