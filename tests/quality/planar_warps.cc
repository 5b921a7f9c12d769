// Homographies beside cv::findHomography on the same matches, over seeded views of printed
// pictures: tilts from 0 to 60 degrees, scale 0.4 to 2, light and blur. A view in which nothing is
// found has an infinite error. Then the same after the refinement by flow.
//   planar_warps SEED VIEWS orb|surf     a line of JSON a tilt; views of other seeds are others
#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <opencv2/calib3d.hpp>
#include <string>
#include <vector>

#include "kernels/homography/homography.h"
#include "kernels/match/match_features.h"
#include "kernels/orb/orb.h"
#include "tests/planar_video.h"

namespace cuface {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

using test::features_of;
using test::reference_features;

/// As the tracker has them.
std::vector<Match> matches_of(MatchConfig config, const Features& a, const Features& b) {
  config.sign_check = !a.floats.empty();
  std::vector<Match> out;
  Matcher matcher = std::move(Matcher::create(config).value());
  if (!match_features(matcher, a, b, static_cast<int>(a.floats_each()), out).ok()) std::abort();
  return out;
}

/// The mean distance of the four corners from where they are.
double error_of(const cv::Matx33d& truth, const cv::Matx33d& map, const cv::Size& size) {
  double sum = 0;
  for (const auto& [x, y] : {std::pair{0, 0},
                             {size.width - 1, 0},
                             {size.width - 1, size.height - 1},
                             {0, size.height - 1}})
    sum += cv::norm(test::carried(truth, x, y) - test::carried(map, x, y)) / 4;
  return sum;
}

cv::Matx33d matrix(const Homography& h) { return cv::Matx33d(h.m); }

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

nlohmann::ordered_json number(double value) {
  if (value == kNever) return nullptr;
  return std::round(1000 * value) / 1000;
}

struct Way {
  std::string name;
  std::vector<double> errors = {};
};

nlohmann::ordered_json run(int tilt, unsigned first, int views, const PlanarSearchConfig& search) {
  std::vector<Way> ways = {{"ours"}, {"opencv_ransac"}, {"opencv_usac"}, {"refined"}};
  const PlanarConfig& config = search.planar;
  PlanarScratch scratch(test::kSceneWidth, test::kSceneHeight, config);
  for (int i = 0; i < views; ++i) {
    const auto seed = first + static_cast<unsigned>(1000 * tilt + i);
    std::mt19937 random(seed);
    const auto between = [&](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(random);
    };
    const cv::Mat object = test::poster(first + static_cast<unsigned>(i + 1));
    test::View view;
    view.tilt = tilt;
    view.towards = between(0, 360);
    view.roll = between(-180, 180);
    view.scale = std::exp(between(std::log(0.4), std::log(2)));
    view.x += between(-60, 60);
    view.y += between(-40, 40);
    cv::Mat frame = test::poster(seed + 500'000, test::kSceneWidth, test::kSceneHeight);
    const cv::Matx33d truth = test::map_of(view, object.size());
    test::lay(frame, object, truth);
    test::expose(frame, between(0.6, 1.2), between(-15, 15), between(0, 1.2), 2, seed);

    const Features ours = reference_features(object, search.features),
                   theirs = features_of(frame, search.features);
    const std::vector<Match> matches = matches_of(search.match, ours, theirs);
    std::vector<Point> from, to;
    std::vector<float> turns;
    std::vector<cv::Point2f> cv_from, cv_to;
    for (const Match& m : matches) {
      const Keypoint &p = ours.keypoints[static_cast<std::size_t>(m.query)],
                     &q = theirs.keypoints[static_cast<std::size_t>(m.train)];
      from.push_back({p.x, p.y});
      to.push_back({q.x, q.y});
      turns.push_back(q.angle - p.angle);
      cv_from.emplace_back(p.x, p.y);
      cv_to.emplace_back(q.x, q.y);
    }
    std::array<double, 4> error;
    error.fill(kNever);
    Homography map;
    std::vector<std::uint8_t> inlier(from.size());
    HomographyConfig known = config.homography;  // as the tracker has it
    known.width = static_cast<float>(object.cols);
    known.height = static_cast<float>(object.rows);
    if (find_homography(from, to, known, seed, inlier, map, turns) > 0)
      error[0] = error_of(truth, matrix(map), object.size());
    int at = 1;
    for (const int method : {static_cast<int>(cv::RANSAC), static_cast<int>(cv::USAC_DEFAULT)}) {
      if (cv_from.size() >= 4) {
        const cv::Mat found = cv::findHomography(cv_from, cv_to, method, 3);
        if (!found.empty())
          error[static_cast<std::size_t>(at)] = error_of(truth, cv::Matx33d(found), object.size());
      }
      ++at;
    }
    auto tracker = PlanarTracker::create(
        {object.data, object.cols, object.rows, static_cast<std::ptrdiff_t>(object.step)},
        ours.keypoints, config);
    GaussianPyramid pyramid(frame.cols, frame.rows);
    pyramid.build({frame.data, frame.cols, frame.rows, static_cast<std::ptrdiff_t>(frame.step)});
    if (!tracker.ok() || !tracker.value().find(from, to, turns, pyramid, seed, scratch).ok())
      std::abort();
    if (tracker.value().pose().visible)
      error[3] = error_of(truth, matrix(tracker.value().pose().map), object.size());
    for (std::size_t k = 0; k < ways.size(); ++k) ways[k].errors.push_back(error[k]);
  }
  nlohmann::ordered_json result = {{"tilt", tilt}, {"views", views}};
  for (const Way& way : ways) {
    result["median_px"][way.name] = number(median(way.errors));
    result["found"][way.name] = std::ranges::count_if(way.errors, [](double e) { return e < 10; });
  }
  return result;
}

}  // namespace
}  // namespace cuface

int main(int argc, char** argv) {
  const std::string kind = argc == 4 ? argv[3] : "";
  if (kind != "orb" && kind != "surf") {
    std::fprintf(stderr, "planar_warps SEED VIEWS orb|surf\n");
    return 2;
  }
  cv::setNumThreads(1);
  cuface::PlanarSearchConfig search;
  if (kind == "surf") search.features = cuface::test::kSurfFeatures;
  if (!validate(search).ok()) return 3;  // built without SURF
  for (int tilt = 0; tilt <= 60; tilt += 10) {
    const auto first = static_cast<unsigned>(std::atoi(argv[1]));
    std::printf("%s\n", cuface::run(tilt, first, std::atoi(argv[2]), search).dump().c_str());
    std::fflush(stdout);
  }
  return 0;
}
