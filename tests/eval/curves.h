// What the programs of published experiments share: time against the size of the work, ours and a
// peer's in turn, as JSON that tests/eval/run reads.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "kernels/common/status.h"
#include "tests/bench/naturals.h"
#include "tests/bench/ratio.h"
#include "tests/kernels/pictures.h"

namespace cuface::eval {

using Json = nlohmann::ordered_json;
using Run = std::function<void()>;

/// Creates a stage or ends.
template <typename T>
T made(Result<T> result) {
  if (result.ok()) return std::move(result.value());
  std::fprintf(stderr, "%s\n", result.status().message().c_str());
  std::exit(1);
}

inline cv::Mat scaled(const cv::Mat& picture, cv::Size size) {
  cv::Mat out;
  const bool smaller = size.area() < static_cast<int>(picture.total());
  cv::resize(picture, out, size, 0, 0, smaller ? cv::INTER_AREA : cv::INTER_CUBIC);
  return out;
}

/// Their areas.
inline std::vector<double> squares(const std::vector<int>& sides) {
  std::vector<double> out;
  for (int side : sides) out.push_back(static_cast<double>(side) * side);
  return out;
}

inline cv::Mat square(const cv::Mat& picture, double pixels) {
  const int side = static_cast<int>(std::lround(std::sqrt(pixels)));
  return scaled(picture, {side, side});
}

/// PROGRAM FILE [--quick] [EXPERIMENT...]: writes FILE. Without names it runs all experiments.
/// --quick is for a test of the program itself: two points a curve, short, on a made-up picture.
class Program {
 public:
  Program(int argc, char** argv) : name_(argv[0]) {
    cv::setNumThreads(1);
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      if (word == "--quick") {
        quick_ = true;
      } else if (file_.empty()) {
        file_ = word;
      } else {
        wanted_.insert(word);
      }
    }
    if (file_.empty()) fail("FILE is missing");
  }

  [[noreturn]] void fail(const std::string& why) const {
    std::fprintf(stderr, "%s: %s\n", name_.c_str(), why.c_str());
    std::exit(1);
  }

  bool quick() const { return quick_; }
  bool wants(const std::string& experiment) const {
    return wanted_.empty() || wanted_.contains(experiment);
  }

  /// The mosaic of 12 faces; made up where --quick is given.
  cv::Mat mosaic() const {
    if (quick_) return test::smooth_noise(1920, 1080, 60, kSeed);
    cv::Mat picture = bench::mosaic(1080);
    if (picture.empty()) fail("no test data, or no ffmpeg: set CUFACE_DATA");
    return picture;
  }

  /// Medians of up to 15 passes in turn; work that takes longer than the budget is done once. The
  /// first call of either is apart. No peer: none is written.
  Json measure(double x, const Run& ours, const Run& peer) const {
    const double first = timed(ours), first_of_peer = peer ? timed(peer) : 0;
    std::vector<double> a{first}, b{first_of_peer};
    const double budget = quick_ ? 1e4 : 3e5;
    const int passes = std::clamp(static_cast<int>(budget / (first + first_of_peer)), 0, 15);
    if (passes > 0) a.clear(), b.clear();
    for (int i = 0; i < passes; ++i) {
      a.push_back(timed(ours));
      b.push_back(peer ? timed(peer) : 0);
    }
    const auto rounded = [](double v) { return std::round(v * 100) / 100; };
    Json point = {
        {"x", x}, {"ours_us", rounded(bench::median(a))}, {"ours_first_us", rounded(first)}};
    if (peer) {
      point["peer_us"] = rounded(bench::median(b));
      point["peer_first_us"] = rounded(first_of_peer);
    }
    std::printf("%12.0f %12.1f %12.1f us\n", x, bench::median(a), bench::median(b));
    std::fflush(stdout);
    return point;
  }

  /// A curve of an experiment; `point(x)` measures one. `peer` is "" where there is none.
  void add(const std::string& experiment, const std::string& curve, const std::string& axis,
           const std::string& peer, std::vector<double> xs,
           const std::function<Json(double)>& point) {
    if (!wants(experiment)) return;
    if (quick_ && xs.size() > 2) xs.resize(2);
    std::printf("%s %s\n", experiment.c_str(), curve.c_str());
    Json points = Json::array();
    for (double x : xs) points.push_back(point(x));
    curves_.push_back({{"experiment", experiment},
                       {"name", curve},
                       {"x", axis},
                       {"peer", peer},
                       {"points", points}});
  }

  /// Something else that an experiment has measured.
  void note(const std::string& key, const Json& value) { notes_[key] = value; }

  /// Writes what was measured and with what; the program's exit status.
  int finish() const {
    Json report = {{"what",
                    "microseconds of processor time of one thread; medians, ours and the "
                    "peer in turn"},
                   {"instruction_set", simd::chosen()},
                   {"compiler", __VERSION__},
                   {"opencv", opencv_build()},
                   {"seeds", {kSeed}},
                   {"curves", curves_}};
    report.update(notes_);
    std::string file = file_;
    char* arguments[] = {nullptr, file.data()};
    return bench::write_json(report, 2, arguments);
  }

  /// Of all that is made up.
  static constexpr unsigned kSeed = 1;

 private:
  static double timed(const Run& run) {
    const double begin = bench::thread_us();
    run();
    return bench::thread_us() - begin;
  }

  /// The peer's version and how it was built.
  static Json opencv_build() {
    Json out = {{"version", CV_VERSION}};
    std::istringstream text(cv::getBuildInformation());
    for (std::string line; std::getline(text, line);) {
      for (const char* key : {"Configuration", "Baseline", "Dispatched code generation"}) {
        const auto at = line.find(std::string(key) + ":");
        if (at == std::string::npos) continue;
        std::string value = line.substr(at + std::string(key).size() + 1);
        value.erase(0, value.find_first_not_of(' '));
        out[key] = value;
      }
    }
    return out;
  }

  std::string name_, file_;
  bool quick_ = false;
  std::set<std::string> wanted_;
  Json curves_ = Json::array(), notes_ = Json::object();
};

}  // namespace cuface::eval
