// Landmarks of labelled faces by a shape model; tests/full/shape_folds runs it.
//
//   shape_points boxes                          prints a box for each face that people labelled
//   shape_points find MODEL.cuface BOXES ROW... prints the points found from these boxes
//   shape_points time THREADS MODEL.cuface BOXES ROW... prints the milliseconds of the second
//   search of each
//   shape_points refits MODEL.cuface BOXES ROW... prints how many times each search moved all
//   points, and how many points it searched for again
//   shape_points again N SHARE WHAT MODEL.cuface BOXES ROW... does WHAT where points are searched
//   for again at most N times; limits of costs: the model's (SHARE 0), or those that so many of the
//   held-out costs that its confidences were calibrated by lie under, if these were normal
//
// Boxes are those of OpenCV's frontalface_alt2 that overlap the labelled points; a face without one
// starts from the box of its points, as in tests/full/stasm. All in pixels of the picture file.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <opencv2/objdetect.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/shape/search.h"
#include "models/models.h"
#include "tests/models/landmark_rows.h"

namespace {

using namespace cuface;
using Json = nlohmann::ordered_json;

std::vector<test::LandmarkRow> human_rows() {
  std::vector<test::LandmarkRow> rows = test::landmark_rows();
  std::erase_if(rows, [](const test::LandmarkRow& row) { return !row.human; });
  return rows;
}

float border_of(const test::LandmarkRow& row) {
  return row.set == "helen" ? test::LandmarkRow::kBorder : 0;
}

int boxes() {
  cv::CascadeClassifier cascade(test::cascade_path("frontalface_alt2"));
  Json out = Json::array();
  for (const test::LandmarkRow& row : human_rows()) {
    const float border = border_of(row);
    Box best = test::box_around(row.truth);
    float overlap = 0.4f;
    bool detected = false;
    std::vector<cv::Rect> faces;
    cascade.detectMultiScale(row.picture(), faces, 1.1, 3, 0, cv::Size(24, 24));
    const Box labelled = best;
    for (const cv::Rect& r : faces) {
      const Box box{static_cast<float>(r.x), static_cast<float>(r.y), static_cast<float>(r.width),
                    static_cast<float>(r.height)};
      const float share = intersection_over_union(box, labelled);
      if (share > overlap) overlap = share, best = box, detected = true;
    }
    Json points = Json::array();
    for (const Point& p : row.truth) points.push_back({p.x - border, p.y - border});
    out.push_back({{"path", row.path},
                   {"detected", detected},
                   {"box", {best.x - border, best.y - border, best.w, best.h}},
                   {"points", points}});
  }
  std::printf("%s\n", out.dump().c_str());
  return 0;
}

/// How often points are searched for again, in place of what the model says.
struct Again {
  int times = -1;    ///< -1: what the model says
  double share = 0;  ///< 0: the model's limits
};

/// Deviations of a normal distribution that such a share lies under.
double deviations_below(double share) {
  double low = -8, high = 8;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < share ? low : high) = middle;
  }
  return low;
}

/// From a usual cost's middle to its third quarter.
constexpr double kQuarter = 0.6744897501960817;

Result<std::shared_ptr<const ShapeModel>> load(const char* path, const Again& again) {
  auto loaded = load_shape(path);
  if (!loaded.ok() || again.times < 0) return loaded;
  const auto limits = std::make_shared<std::vector<double>>();
  const auto model = std::make_shared<ShapeModel>(*loaded.value());
  model->refits = again.times;
  if (again.share > 0) {
    const double by = deviations_below(again.share) / kQuarter;
    for (int i = 0; i < model->points; ++i) {
      const shape::UsualCost& usual = model->usual_costs[static_cast<std::size_t>(i)];
      limits->push_back(usual.middle + by * usual.spread);
    }
    model->refit_limits = *limits;
  }
  if (again.times == 0) model->refit_limits = {};
  model->storage = std::make_shared<std::pair<std::shared_ptr<const ShapeModel>, decltype(limits)>>(
      loaded.value(), limits);
  return std::shared_ptr<const ShapeModel>(model);
}

using Searched = std::pair<test::LandmarkRow, Box>;

/// Of rows with these numbers; boxes in pixels of picture().
std::vector<Searched> searched(const char* boxes_path, std::span<char*> numbers) {
  std::ifstream file(boxes_path);
  const Json boxes = Json::parse(file);
  const std::vector<test::LandmarkRow> rows = human_rows();
  std::vector<Searched> out;
  for (const char* text : numbers) {
    const auto number = static_cast<std::size_t>(std::atoi(text));
    const test::LandmarkRow& row = rows.at(number);
    const float border = border_of(row);
    const Json& b = boxes.at(number).at("box");
    out.emplace_back(row, Box{b[0].get<float>() + border, b[1].get<float>() + border, b[2], b[3]});
  }
  return out;
}

int find(bool timed, const ShapeModel& model, ShapeSearcher& searcher,
         const std::vector<Searched>& rows) {
  Json out = Json::array();
  for (const auto& [row, box] : rows) {
    const float border = border_of(row);
    const cv::Mat picture = row.picture();
    std::vector<Point> points(static_cast<std::size_t>(model.points));
    const auto search = [&] {
      return searcher.enqueue(test::view(picture), {&box, 1}, points).ok();
    };
    if (!search()) return 1;
    if (timed) {
      const auto start = std::chrono::steady_clock::now();
      search();
      out.push_back(
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
              .count());
      continue;
    }
    Json found = Json::array();
    for (const Point& p : points) found.push_back({p.x - border, p.y - border});
    out.push_back(found);
  }
  std::printf("%s\n", out.dump().c_str());
  return 0;
}

/// Of the search that find() does.
int refits(const ShapeModel& model, const std::vector<Searched>& rows) {
  shape::FaceSearch search(model, ShapeArithmetic::kFloat);
  Json out = Json::array();
  std::vector<ShapePoint> points(static_cast<std::size_t>(model.points));
  for (const auto& [row, box] : rows) {
    const cv::Mat picture = row.picture();
    const auto luma = test::view(picture);
    const Rect window = shape::start_in_window(model, box, luma.width, luma.height, points);
    const ImageView<const std::uint8_t> part{luma.row(window.y) + window.x, window.w, window.h,
                                             luma.stride};
    if (!search.run(part, points).ok()) return 1;
    out.push_back({search.iterations(), search.refitted()});
  }
  std::printf("%s\n", out.dump().c_str());
  return 0;
}

int run(const std::string& what, const Again& again, int threads, std::span<char*> arguments) {
  const auto model = load(arguments[0], again);
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", model.status().message().c_str());
    return 1;
  }
  const std::vector<Searched> rows = searched(arguments[1], arguments.subspan(2));
  if (what == "refits") return refits(*model.value(), rows);
  const auto searcher = ShapeSearcher::create(Backend::kCpu, model.value(), ShapeArithmetic::kFloat,
                                              nullptr, threads);
  if (!searcher.ok()) {
    std::fprintf(stderr, "%s\n", searcher.status().message().c_str());
    return 1;
  }
  return find(what == "time", *model.value(), *searcher.value(), rows);
}

}  // namespace

int main(int argc, char** argv) {
  std::span<char*> arguments(argv + 1, argv + std::max(argc, 1));
  Again again;
  if (arguments.size() > 3 && std::string(arguments[0]) == "again") {
    again = {std::atoi(arguments[1]), std::atof(arguments[2])};
    arguments = arguments.subspan(3);
  }
  const std::string what = arguments.empty() ? "" : arguments[0];
  if (what == "boxes") return boxes();
  const bool timed = what == "time";
  const int threads = timed && arguments.size() > 1 ? std::atoi(arguments[1]) : 1;
  if (timed && !arguments.empty()) arguments = arguments.subspan(1);
  if ((what == "find" || timed || what == "refits") && threads > 0 && arguments.size() > 3)
    return run(what, again, threads, arguments.subspan(1));
  std::fprintf(stderr,
               "usage: shape_points boxes | [again N SHARE] find|time THREADS|refits MODEL BOXES "
               "ROW ...\n");
  return 2;
}
