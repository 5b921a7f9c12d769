// Compares the search by Stasm's shape model with Stasm itself; tests/full/stasm runs it.
//
//   shape_parity prepare MODEL.cuface FOLDER   writes a picture and a start for each labelled face
//   shape_parity compare MODEL.cuface FOLDER   reads what Stasm did with them, prints JSON
//   shape_parity time MODEL.cuface FOLDER/N    milliseconds of face N's second search in float
//
// Boxes are those of OpenCV's frontalface_alt2 that overlap the labelled points; a face without one
// starts from the box of its points, widened to the usual proportions.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <opencv2/objdetect.hpp>

#include "kernels/shape/search.h"
#include "models/models.h"
#include "tests/models/landmark_rows.h"

namespace {

using namespace cuface;
using Json = nlohmann::ordered_json;

constexpr double kConstraintLimit = 1e-6, kEndLimit = 0.01;  // pixels

std::string file_of(const std::string& folder, int face, const char* kind) {
  return folder + "/" + std::to_string(face) + kind;
}

Box detected(cv::CascadeClassifier& cascade, const cv::Mat& picture, const Box& labelled,
             int& found) {
  std::vector<cv::Rect> faces;
  cascade.detectMultiScale(picture, faces, 1.1, 3, 0, cv::Size(24, 24));
  Box best = labelled;
  float overlap = 0.4f;
  for (const cv::Rect& r : faces) {
    const Box box{static_cast<float>(r.x), static_cast<float>(r.y), static_cast<float>(r.width),
                  static_cast<float>(r.height)};
    const float share = intersection_over_union(box, labelled);
    if (share > overlap) overlap = share, best = box;
  }
  found += best == labelled ? 0 : 1;
  return best;
}

int prepare(const ShapeModel& model, const std::string& folder) {
  cv::CascadeClassifier cascade(test::cascade_path("frontalface_alt2"));
  int face = 0, found = 0;
  std::ofstream names(folder + "/names");
  for (const test::LandmarkRow& row : test::landmark_rows()) {
    if (!row.human) continue;
    const cv::Mat picture = row.picture();
    const Box box = detected(cascade, picture, test::box_around(row.truth), found);
    std::vector<ShapePoint> start(static_cast<std::size_t>(model.points));
    const Rect window = shape::start_in_window(model, box, picture.cols, picture.rows, start);
    cv::imwrite(file_of(folder, face, ".pgm"),
                picture(cv::Rect(window.x, window.y, window.w, window.h)));
    std::FILE* out = std::fopen(file_of(folder, face, ".start").c_str(), "w");
    for (const ShapePoint& p : start) {
      std::fprintf(out, "%.17g %.17g\n", p.x, p.y);
    }
    std::fclose(out);
    names << row.path << "\n";
    ++face;
  }
  std::fprintf(stderr, "%d faces, %d of them detected\n", face, found);
  return 0;
}

double distance(const ShapePoint& a, const ShapePoint& b) {
  return std::hypot(a.x - b.x, a.y - b.y);
}

class Comparison {
 public:
  Comparison(const ShapeModel& model, std::string folder)
      : model_(model), folder_(std::move(folder)) {}

  Json run() {
    std::ifstream names(folder_ + "/names");
    std::string name;
    for (int face = 0; std::getline(names, name); ++face) {
      if (!compare(face, name)) return {{"unreadable", name}};
    }
    Json result;
    result["faces"] = faces_;
    result["steps"] = steps_;
    result["points"] = points_;
    result["other_offsets"] = mismatches_.size();
    result["largest_difference_of_a_constrained_point_px"] = largest_;
    result["steps_above_1e-6_px"] = above_;
    result["bit_equal_steps"] = equal_steps_;
    result["faces_within_0.01_px"] = within_;
    result["bit_equal_faces"] = equal_faces_;
    result["largest_difference_at_the_end_px"] = largest_end_;
    result["float"] = {{"other_offsets_than_double", float_offsets_},
                       {"largest_difference_of_a_cost", float_cost_},
                       {"faces_within_0.01_px_of_double", float_within_}};
    result["mismatches"] = mismatches_;
    result["other_faces"] = others_;
    return result;
  }

 private:
  using Shape = std::vector<ShapePoint>;

  /// What Stasm's choice costs in our arithmetic; of HAT descriptors.
  Json cost_of(int level, std::size_t point, const ShapePoint& from, const ShapePoint& to) const {
    const ShapeProfile& profile = model_.profile(level, static_cast<int>(point));
    if (profile.kind != ProfileKind::kHat) return nullptr;
    const auto pixel = [&](double v, double moved) {
      return grid_pixel(v, model_.hat.step) + static_cast<int>(std::lrint(moved - v));
    };
    return costs_->cost(pixel(from.x, to.x), pixel(from.y, to.y), profile.first_number);
  }
  static bool read(std::istream& in, std::span<double> numbers) {
    for (double& n : numbers) in >> n;
    return !in.fail();
  }

  bool compare(int face, const std::string& name) {
    const cv::Mat picture = cv::imread(file_of(folder_, face, ".pgm"), cv::IMREAD_GRAYSCALE);
    std::ifstream start_file(file_of(folder_, face, ".start"));
    std::ifstream trace(file_of(folder_, face, ".trace"));
    Shape start(static_cast<std::size_t>(model_.points));
    for (ShapePoint& p : start) start_file >> p.x >> p.y;
    if (picture.empty() || start_file.fail()) return false;
    shape::FaceSearch search(model_, ShapeArithmetic::kDouble);
    costs_ = search.hats();
    shape::FaceSearch in_float(model_, ShapeArithmetic::kFloat);
    const double factor = search.factor(start);
    if (!search.set_picture(test::view(picture), factor).ok() ||
        !in_float.set_picture(test::view(picture), factor).ok()) {
      return false;
    }
    std::string first_difference;
    for (int level = model_.levels - 1; level >= 0; --level) {
      search.start_level(level);
      in_float.start_level(level);
      for (int i = 0; i < model_.iterations; ++i) {
        if (!compare_step(search, in_float, trace, level, i, name, first_difference)) return false;
      }
    }
    return compare_end(trace, picture, start, name, first_difference);
  }

  bool compare_step(shape::FaceSearch& search, shape::FaceSearch& in_float, std::istream& trace,
                    int level, int iteration, const std::string& name,
                    std::string& first_difference) {
    std::string word;
    int of_level = -1, of_iteration = -1;
    trace >> word >> of_level >> of_iteration;
    if (word != "step" || of_level != level || of_iteration != iteration) return false;
    std::vector<double> before(static_cast<std::size_t>(model_.modes)), after = before;
    if (!read(trace, before) || !read(trace, after)) return false;
    Shape from(static_cast<std::size_t>(model_.points)), suggested = from, constrained = from;
    for (std::size_t p = 0; p < from.size(); ++p) {
      trace >> from[p].x >> from[p].y >> suggested[p].x >> suggested[p].y >> constrained[p].x >>
          constrained[p].y;
    }
    if (trace.fail()) return false;
    const std::string step =
        "level " + std::to_string(level) + ", iteration " + std::to_string(iteration);
    Shape ours = from;
    std::vector<TextureMatch> matches(from.size());
    search.suggest(ours, matches);
    for (std::size_t p = 0; p < from.size(); ++p) {
      if (distance(ours[p], suggested[p]) < kConstraintLimit) continue;
      mismatches_.push_back({{"face", name},
                             {"step", step},
                             {"point", p},
                             {"ours", {ours[p].x - from[p].x, ours[p].y - from[p].y}},
                             {"stasm", {suggested[p].x - from[p].x, suggested[p].y - from[p].y}},
                             {"our_cost", matches[p].cost},
                             {"cost_there", cost_of(level, p, from[p], suggested[p])}});
    }
    Shape with_floats = from;
    std::vector<TextureMatch> float_matches(from.size());
    in_float.suggest(with_floats, float_matches);
    for (std::size_t p = 0; p < from.size(); ++p) {
      if (with_floats[p] != ours[p]) ++float_offsets_;
      float_cost_ = std::max(float_cost_, std::abs(float_matches[p].cost - matches[p].cost));
    }
    const bool same_offsets = ours == suggested;
    ours = suggested;
    std::ranges::copy(before, search.constraint().weights().begin());
    search.constraint().run(ours);
    double largest = 0;
    for (std::size_t p = 0; p < from.size(); ++p) {
      largest = std::max(largest, distance(ours[p], constrained[p]));
    }
    largest_ = std::max(largest_, largest);
    above_ += largest <= kConstraintLimit ? 0 : 1;
    const bool same = same_offsets && ours == constrained;
    equal_steps_ += same ? 1 : 0;
    if (!same && first_difference.empty()) first_difference = step;
    ++steps_;
    points_ += model_.points;
    return true;
  }

  bool compare_end(std::istream& trace, const cv::Mat& picture, Shape start,
                   const std::string& name, const std::string& first_difference) {
    std::string word;
    trace >> word;
    Shape end(start.size());
    for (ShapePoint& p : end) trace >> p.x >> p.y;
    if (word != "end" || trace.fail()) return false;
    shape::FaceSearch in_float(model_, ShapeArithmetic::kFloat);
    Shape with_floats = start;
    if (!in_float.run(test::view(picture), with_floats).ok()) return false;
    shape::FaceSearch search(model_, ShapeArithmetic::kDouble);
    costs_ = search.hats();
    if (!search.run(test::view(picture), start).ok()) return false;
    double largest = 0;
    for (std::size_t p = 0; p < end.size(); ++p) {
      largest = std::max(largest, distance(start[p], end[p]));
    }
    double apart = 0;
    for (std::size_t p = 0; p < end.size(); ++p) {
      apart = std::max(apart, distance(start[p], with_floats[p]));
    }
    float_within_ += apart <= kEndLimit ? 1 : 0;
    ++faces_;
    largest_end_ = std::max(largest_end_, largest);
    equal_faces_ += start == end ? 1 : 0;
    if (largest <= kEndLimit) {
      ++within_;
    } else {
      others_.push_back({{"face", name}, {"px", largest}, {"first_other_step", first_difference}});
    }
    return true;
  }

  const ShapeModel& model_;
  const std::string folder_;
  HatCosts* costs_ = nullptr;  // of the newest search
  int faces_ = 0, steps_ = 0, points_ = 0, above_ = 0, equal_steps_ = 0, within_ = 0,
      equal_faces_ = 0, float_offsets_ = 0, float_within_ = 0;
  double largest_ = 0, largest_end_ = 0, float_cost_ = 0;
  Json mismatches_ = Json::array(), others_ = Json::array();
};

int time_one(const ShapeModel& model, const std::string& face) {
  const cv::Mat picture = cv::imread(face + ".pgm", cv::IMREAD_GRAYSCALE);
  std::ifstream start_file(face + ".start");
  std::vector<ShapePoint> start(static_cast<std::size_t>(model.points)), points;
  for (ShapePoint& p : start) start_file >> p.x >> p.y;
  if (picture.empty() || start_file.fail()) return 1;
  shape::FaceSearch search(model, ShapeArithmetic::kFloat);
  double ms = 0;
  for (int i = 0; i < 2; ++i) {
    points = start;
    const auto before = std::chrono::steady_clock::now();
    if (!search.run(test::view(picture), points).ok()) return 1;
    ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before)
             .count();
  }
  std::printf("%.3f\n", ms);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc == 4 ? argv[1] : "";
  if (command != "prepare" && command != "compare" && command != "time") return 2;
  const auto model = load_shape(argv[2]);
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", model.status().message().c_str());
    return 1;
  }
  if (command == "prepare") return prepare(*model.value(), argv[3]);
  if (command == "time") return time_one(*model.value(), argv[3]);
  const Json result = Comparison(*model.value(), argv[3]).run();
  std::printf("%s\n", result.dump(1).c_str());
  return result.contains("unreadable") ? 1 : 0;
}
