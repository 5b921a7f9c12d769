// Landmarks of labelled faces by a shape model; tests/full/shape_folds runs it.
//
//   shape_points boxes                          prints a box for each face that people labelled
//   shape_points find MODEL.cuface BOXES ROW... prints the points found from these boxes
//   shape_points time MODEL.cuface BOXES ROW... prints the milliseconds of the second search of
//   each
//
// Boxes are those of OpenCV's frontalface_alt2 that overlap the labelled points; a face without one
// starts from the box of its points, as in tests/full/stasm. All in pixels of the picture file.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <opencv2/objdetect.hpp>

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

int find(bool timed, const char* model_path, const char* boxes_path, int count, char** numbers) {
  auto model = load_shape(model_path);
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", model.status().message().c_str());
    return 1;
  }
  auto searcher = ShapeSearcher::create(Backend::kCpu, model.value());
  std::ifstream file(boxes_path);
  const Json boxes = Json::parse(file);
  const std::vector<test::LandmarkRow> rows = human_rows();
  const auto landmarks = static_cast<std::size_t>(model.value()->points);
  Json out = Json::array();
  for (int i = 0; i < count; ++i) {
    const auto number = static_cast<std::size_t>(std::atoi(numbers[i]));
    const test::LandmarkRow& row = rows.at(number);
    const float border = border_of(row);
    const Json& b = boxes.at(number).at("box");
    const Box box{b[0].get<float>() + border, b[1].get<float>() + border, b[2], b[3]};
    const cv::Mat picture = row.picture();
    std::vector<Point> points(landmarks);
    const auto search = [&] {
      return searcher.value()->enqueue(test::view(picture), {&box, 1}, points).ok();
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

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "boxes") return boxes();
  if ((what == "find" || what == "time") && argc > 4)
    return find(what == "time", argv[2], argv[3], argc - 4, argv + 4);
  std::fprintf(stderr, "usage: shape_points boxes | find|time MODEL BOXES ROW ...\n");
  return 2;
}
