// What a landmark model finds in the labelled faces made hard (`thirds`: plain, and with a third
// covered), for tests/full/confidence: a line for each face and difficulty, with path and
// difficulty. Of a forest then each point's error (in distances of the outer corners of the eyes),
// score and confidence. Of a shape model each point's cost and confidence, then the shape's cost,
// then for each point that is labelled too its number, how far it is off right and down, and
// whether it is covered.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/landmark_samples/landmark_samples.h"
#include "kernels/landmark_samples/spread.h"
#include "kernels/shape/search.h"
#include "models/box_map.h"
#include "models/models.h"
#include "tests/models/landmark_rows.h"

namespace cuface::test {
namespace {

/// The box is moved by parts of its side and scaled; a grey rectangle lies on the face, in parts of
/// the true box; the picture is turned.
struct Difficulty {
  const char* name;
  double right = 0, down = 0, scale = 1;
  double covered[4] = {};  ///< left, top, right, bottom
  double degrees = 0;
};

/// A third of the box.
constexpr Difficulty kThirds[] = {
    {"plain"},
    {"left third covered", 0, 0, 1, {-0.1, -0.1, 0.33, 1.2}},
    {"right third covered", 0, 0, 1, {0.67, -0.1, 1.1, 1.2}},
    {"upper third covered", 0, 0, 1, {-0.1, -0.1, 1.1, 0.33}},
    {"lower third covered", 0, 0, 1, {-0.1, 0.67, 1.1, 1.2}},
};

constexpr Difficulty kAll[] = {
    {"plain"},
    {"box right", 0.15},
    {"box left", -0.15},
    {"box above", 0, -0.15},
    {"box below", 0, 0.15},
    {"box far right and below", 0.2, 0.12},
    {"box far left and above", -0.2, -0.12},
    {"box small", 0, 0, 0.75},
    {"box large", 0, 0, 1.35},
    {"box large, right and above", 0.12, -0.12, 1.2},
    {"left eye covered", 0, 0, 1, {0.1, 0.2, 0.5, 0.5}},
    {"right eye covered", 0, 0, 1, {0.5, 0.2, 0.9, 0.5}},
    {"nose covered", 0, 0, 1, {0.3, 0.4, 0.7, 0.75}},
    {"mouth covered", 0, 0, 1, {0.2, 0.65, 0.8, 1}},
    {"right half covered", 0, 0, 1, {0.5, -0.1, 1.2, 1.2}},
    {"turned by 15", 0, 0, 1, {}, 15},
    {"turned by -15", 0, 0, 1, {}, -15},
    {"turned by 30", 0, 0, 1, {}, 30},
    {"turned by -30", 0, 0, 1, {}, -30},
};

struct Hard {
  cv::Mat picture;
  Box box;
  std::vector<Point> truth;
  cv::Rect covered;
};

Hard made_hard(const cv::Mat& picture, const Box& box, const std::vector<Point>& truth,
               const Difficulty& d) {
  Hard hard{picture.clone(), box, truth, {}};
  const auto at = [](float from, float side, double part) {
    return static_cast<int>(
        std::lrint(static_cast<double>(from) + part * static_cast<double>(side)));
  };
  if (d.covered[2] > d.covered[0]) {
    const cv::Point first(at(box.x, box.w, d.covered[0]), at(box.y, box.h, d.covered[1]));
    const cv::Point last(at(box.x, box.w, d.covered[2]), at(box.y, box.h, d.covered[3]));
    cv::rectangle(hard.picture, first, last, {128}, -1);
    hard.covered = {first, last};
  }
  if (d.degrees != 0) {
    const cv::Mat m = cv::getRotationMatrix2D({box.x + box.w / 2, box.y + box.h / 2}, d.degrees, 1);
    cv::warpAffine(picture, hard.picture, m, picture.size(), cv::INTER_LINEAR,
                   cv::BORDER_REPLICATE);
    for (Point& p : hard.truth) {
      const double x = static_cast<double>(p.x), y = static_cast<double>(p.y);
      p = {
          static_cast<float>(m.at<double>(0, 0) * x + m.at<double>(0, 1) * y + m.at<double>(0, 2)),
          static_cast<float>(m.at<double>(1, 0) * x + m.at<double>(1, 1) * y + m.at<double>(1, 2))};
    }
  }
  const auto w = static_cast<double>(box.w), h = static_cast<double>(box.h);
  hard.box = {static_cast<float>(static_cast<double>(box.x) + d.right * w + w * (1 - d.scale) / 2),
              static_cast<float>(static_cast<double>(box.y) + d.down * h + h * (1 - d.scale) / 2),
              static_cast<float>(w * d.scale), static_cast<float>(h * d.scale)};
  return hard;
}

/// The box of haarcascade_frontalface_alt that the model's own comes from.
Box detectors_box(const Box& own, const BoxMap& map) {
  Box box;
  box.w = own.w / map.scale;
  box.h = own.h / map.scale;
  box.x = own.x - (box.w - own.w) / 2 - map.shift_x * box.w;
  box.y = own.y - (box.h - own.h) / 2 - map.shift_y * box.h;
  return box;
}

/// A table that says each score's logarithm, of scores from 2^first to 2^0: 1 at the lowest.
ConfidenceTable ruler() {
  ConfidenceTable table{-31, 32, {}};
  for (int i = 0; i < 32; ++i) table.at[i] = 1 - static_cast<float>(i) / 31;
  return table;
}

/// The score that ruler() gave that confidence.
double score_of(float confidence) {
  const double steps = (1 - static_cast<double>(confidence)) * 31;
  const double whole = std::floor(steps);
  return std::ldexp(1 + steps - whole, static_cast<int>(whole) - 31);
}

int fail(const Status& status) {
  std::fprintf(stderr, "confidence_points: %s\n", status.message().c_str());
  return 1;
}

int run(const std::string& path, int samples) {
  const auto loaded = load_forest(path);
  if (!loaded.ok()) return fail(loaded.status());
  auto ruled = std::make_shared<ForestModel>(*loaded.value());
  ruled->confidence = ruler();
  auto own = SampledLandmarker::create(Backend::kCpu, loaded.value());
  auto ruling = SampledLandmarker::create(Backend::kCpu, ruled);
  if (!own.ok() || !ruling.ok()) return 1;
  const BoxMap map = box_map_for(*loaded.value(), "haarcascade_frontalface_alt");
  const std::uint8_t twice = 1;
  std::vector<Point> points(68);
  std::vector<float> rulings(68), confidences(68);
  for (const LandmarkRow& row : landmark_rows()) {
    if (!row.human) continue;
    const cv::Mat picture = row.picture();
    const Box box = detectors_box(box_from_landmarks(*loaded.value(), row.truth), map);
    for (const Difficulty& difficulty : kAll) {
      const Hard hard = made_hard(picture, box, row.truth, difficulty);
      for (auto [landmarker, to] : {std::pair{ruling.value().get(), &rulings},
                                    std::pair{own.value().get(), &confidences}}) {
        const Status status = landmarker->enqueue(view(hard.picture), {&hard.box, 1}, map, samples,
                                                  points, {}, {&twice, 1}, *to);
        if (!status.ok()) return fail(status);
      }
      const auto [a, b] = std::pair{hard.truth[36], hard.truth[45]};
      const double eyes = std::hypot(a.x - b.x, a.y - b.y);
      std::printf("%s\t%s", row.path.c_str(), difficulty.name);
      for (std::size_t i = 0; i < 68; ++i)
        std::printf("\t%.5f %.6g %.6f",
                    std::hypot(points[i].x - hard.truth[i].x, points[i].y - hard.truth[i].y) / eyes,
                    score_of(rulings[i]), static_cast<double>(confidences[i]));
      std::printf("\n");
    }
  }
  return 0;
}

/// `common`: a list of Stasm's points and ours where both mean the same. `least_weight`: in place
/// of the model's. `pictures`: of which alone; none: of all.
int run_shape(bool is_of_thirds, const std::string& path, const std::string& forest_path,
              const std::string& common, double least_weight,
              const std::vector<std::string>& pictures) {
  const auto loaded = load_shape(path);
  if (!loaded.ok()) return fail(loaded.status());
  const auto weighed = std::make_shared<ShapeModel>(*loaded.value());
  weighed->least_weight = least_weight;
  const auto forest = load_forest(forest_path);
  if (!forest.ok()) return fail(forest.status());
  const ShapeModel& model = *weighed;
  const auto count = static_cast<std::size_t>(model.points);
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  if (model.points == 77) {
    std::ifstream file(common);
    nlohmann::json::parse(file).get_to(pairs);
  } else if (model.points == 68) {
    for (std::size_t i = 0; i < 68; ++i) pairs.emplace_back(i, i);
  } else {
    return fail({StatusCode::kUnsupported, path + ": neither 68 nor 77 points"});
  }
  auto searcher = ShapeSearcher::create(Backend::kCpu, weighed);
  if (!searcher.ok()) return fail(searcher.status());
  shape::FaceSearch search(model, ShapeArithmetic::kFloat);
  const BoxMap map = box_map_for(*forest.value(), "haarcascade_frontalface_alt2");
  std::vector<ShapePoint> points(count);
  std::vector<Point> found(count);
  std::vector<float> confidences(count, -1);
  const bool confident = searcher.value()->has_confidences();
  for (const LandmarkRow& row : landmark_rows()) {
    if (!row.human || (!pictures.empty() && std::ranges::count(pictures, row.path) == 0)) continue;
    const cv::Mat picture = row.picture();
    const Box box = detectors_box(box_from_landmarks(*forest.value(), row.truth), map);
    for (const Difficulty& difficulty :
         is_of_thirds ? std::span<const Difficulty>(kThirds) : std::span<const Difficulty>(kAll)) {
      const Hard hard = made_hard(picture, box, row.truth, difficulty);
      const auto luma = view(hard.picture);
      const Rect window = shape::start_in_window(model, hard.box, luma.width, luma.height, points);
      const ImageView<const std::uint8_t> part{luma.row(window.y) + window.x, window.w, window.h,
                                               luma.stride};
      if (!search.run(part, points).ok() ||
          !searcher.value()
               ->enqueue(luma, {&hard.box, 1}, found, {},
                         confident ? std::span(confidences) : std::span<float>{})
               .ok())
        return 1;
      const auto [a, b] = std::pair{hard.truth[36], hard.truth[45]};
      const auto eyes = static_cast<double>(std::hypot(a.x - b.x, a.y - b.y));
      std::printf("%s\t%s", row.path.c_str(), difficulty.name);
      for (std::size_t i = 0; i < count; ++i)
        std::printf("\t%.9g %.6f", search.matches()[i].cost, static_cast<double>(confidences[i]));
      std::printf("\t%.9g", search.shape_cost());
      for (const auto& [ours, truth] : pairs)
        std::printf("\t%zu %.5f %.5f %d", ours,
                    static_cast<double>(found[ours].x - hard.truth[truth].x) / eyes,
                    static_cast<double>(found[ours].y - hard.truth[truth].y) / eyes,
                    hard.covered.contains({static_cast<int>(std::lrint(hard.truth[truth].x)),
                                           static_cast<int>(std::lrint(hard.truth[truth].y))}));
      std::printf("\n");
    }
  }
  return 0;
}

}  // namespace
}  // namespace cuface::test

int main(int argc, char** argv) {
  const std::string what = argv[argc > 1 ? 1 : 0];
  if (argc >= 6 && (what == "shape" || what == "thirds"))
    return cuface::test::run_shape(what == "thirds", argv[2], argv[3], argv[4], std::atof(argv[5]),
                                   {argv + 6, argv + argc});
  if (argc != 3) {
    std::fprintf(
        stderr,
        "usage: confidence_points MODEL SAMPLES | shape|thirds MODEL FOREST COMMON LEAST_WEIGHT "
        "[PICTURE ...]\n");
    return 2;
  }
  return cuface::test::run(argv[1], std::atoi(argv[2]));
}
