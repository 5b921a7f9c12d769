// Searches beside cv::CascadeClassifier's: the same picture, options and number of threads, ours
// and OpenCV's in turn, the same faces or exit status 1. Writes what was measured as JSON.
//
//   cpu_detect OUTPUT.json [--rounds N] [--threads 1|2|0 (0 = both)] [--heights 720|1080|0]
//
// With the 5 rounds of the default it takes about three minutes on two idle cores. Medians of wall
// and CPU time; the load of the machine before and after is written too.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <opencv2/objdetect.hpp>
#include <tuple>

#include "kernels/common/simd.h"
#include "kernels/detect/detect.h"
#include "tests/bench/naturals.h"
#include "tests/bench/ratio.h"
#include "tests/kernels/pictures.h"

namespace cuface {
namespace {

struct Time {
  double wall = 0, cpu = 0;  ///< ms
};

double wall_ms() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

double cpu_ms() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& t) {
    return 1e3 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_usec);
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

template <typename F>
Time timed(F f) {
  const double wall = wall_ms(), cpu = cpu_ms();
  f();
  return {wall_ms() - wall, cpu_ms() - cpu};
}

Time median(const std::vector<Time>& times) {
  std::vector<double> wall, cpu;
  for (const Time& t : times) {
    wall.push_back(t.wall);
    cpu.push_back(t.cpu);
  }
  return {bench::median(wall), bench::median(cpu)};
}

double rounded(double v) { return std::round(v * 1000) / 1000; }

nlohmann::ordered_json json_of(const Time& t) {
  return {{"wall_ms", rounded(t.wall)}, {"cpu_ms", rounded(t.cpu)}};
}

using Faces = std::map<std::tuple<int, int, int, int>, int>;

Faces faces_of(const DetectResult& result) {
  Faces out;
  for (const Detection& d : result.faces) ++out[{d.box.x, d.box.y, d.box.w, d.box.h}];
  return out;
}

Faces faces_of(const std::vector<cv::Rect>& rects) {
  Faces out;
  for (const cv::Rect& r : rects) ++out[{r.x, r.y, r.width, r.height}];
  return out;
}

struct Case {
  std::string cascade;
  int height;
  double scale_factor;
  int min_size;
  int threads;
};

nlohmann::ordered_json measure(const Case& c, const cv::Mat& picture, int rounds) {
  DetectConfig config;
  config.scale_factor = c.scale_factor;
  config.min_size = c.min_size;
  config.threads = c.threads;
  auto detector = Detector::create(Backend::kCpu, bench::cascade(c.cascade), config, picture.cols,
                                   picture.rows);
  if (!detector.ok()) {
    std::cerr << detector.status().message() << "\n";
    std::exit(2);
  }
  cv::CascadeClassifier classifier(test::cascade_path(c.cascade));
  cv::setNumThreads(c.threads);
  DetectResult result;
  std::vector<cv::Rect> rects;
  std::vector<Time> ours, opencv;
  for (int i = 0; i < rounds; ++i) {
    ours.push_back(timed([&] {
      if (!detector.value()->enqueue(test::view_of(picture), result).ok()) std::exit(2);
    }));
    opencv.push_back(timed([&] {
      classifier.detectMultiScale(picture, rects, c.scale_factor, 3, 0, {c.min_size, c.min_size});
    }));
  }
  const Time a = median(ours), b = median(opencv);
  return {{"cascade", c.cascade},
          {"picture", "mosaic" + std::to_string(c.height)},
          {"scale_factor", c.scale_factor},
          {"min_size", c.min_size},
          {"threads", c.threads},
          {"ours", json_of(a)},
          {"opencv", json_of(b)},
          {"ratio_wall", rounded(b.wall / a.wall)},
          {"ratio_cpu", rounded(b.cpu / a.cpu)},
          {"faces", rects.size()},
          {"same_faces", faces_of(result) == faces_of(rects)}};
}

std::vector<double> load() {
  std::vector<double> out(3);
  if (getloadavg(out.data(), 3) != 3) out.clear();
  return out;
}

}  // namespace
}  // namespace cuface

int main(int argc, char** argv) {
  using namespace cuface;
  if (argc < 2 || argc % 2 != 0) {
    std::cerr << "usage: cpu_detect OUTPUT.json [--rounds N] [--threads N] [--heights N]\n";
    return 2;
  }
  int rounds = 5, only_threads = 0, only_height = 0;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--rounds") rounds = std::max(std::atoi(argv[i + 1]), 1);
    if (option == "--threads") only_threads = std::atoi(argv[i + 1]);
    if (option == "--heights") only_height = std::atoi(argv[i + 1]);
  }
  nlohmann::ordered_json out, cases;
  out["what"] =
      "milliseconds of a search, ours and OpenCV's in turn; medians over the rounds; cpu: of all "
      "threads together";
  out["processor"] = bench::processor();
  out["instruction_set"] = simd::chosen();
  out["opencv"] = CV_VERSION;
  out["rounds"] = rounds;
  out["load_before"] = load();
  bool same = true;
  double least = 1e9;
  for (const int threads : {1, 2}) {
    if (only_threads != 0 && threads != only_threads) continue;
    for (const int height : {720, 1080}) {
      if (only_height != 0 && height != only_height) continue;
      const cv::Mat picture = bench::mosaic(height);
      if (picture.empty()) {
        std::cerr << "no mosaics: set CUFACE_DATA\n";
        return 2;
      }
      for (const char* cascade : {"frontalface_alt", "frontalface_alt2", "frontalface_default"}) {
        for (const double scale_factor : {1.1, 1.2}) {
          for (const int min_size : {24, 60}) {
            const Case c{cascade, height, scale_factor, min_size, threads};
            cases.push_back(measure(c, picture, rounds));
            const nlohmann::ordered_json& done = cases.back();
            same = same && done["same_faces"].get<bool>();
            least = std::min(least, done["ratio_cpu"].get<double>());
            std::cerr << threads << " threads, " << height << ", " << cascade << ", "
                      << scale_factor << "/" << min_size << ": " << done["ours"]["cpu_ms"] << " / "
                      << done["opencv"]["cpu_ms"] << " ms CPU, ratio " << done["ratio_cpu"]
                      << ", wall " << done["ratio_wall"] << "\n";
          }
        }
      }
    }
  }
  out["load_after"] = load();
  out["cases"] = cases;
  std::ofstream(argv[1]) << out.dump(1) << "\n";
  std::cerr << cases.size() << " cases, " << (same ? "the same faces in all" : "FACES DIFFER")
            << ", least ratio of CPU times " << least << "\n";
  return same ? 0 : 1;
}
