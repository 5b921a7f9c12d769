// The whole parity matrix of the detector: every picture of the test data, all Haar cascades of
// opencv-data, scale factors 1.1 and 1.2, min-neighbors 0 (raw, as a multiset) and 3, min-size 0
// and 60, ours against cv::CascadeClassifier::detectMultiScale. Writes what was compared as JSON;
// the exit status is 1 when anything differs.
//
//   detect_matrix OUTPUT.json [--commit HASH] [--date YYYY-MM-DD] [--pictures N]
//
// Takes about 15 minutes on one idle core. `meson compile -C build detect-parity` runs it and
// writes docs/results/detect-parity.json.
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>
#include <optional>

#include "tests/kernels/detections.h"
#include "tests/kernels/pictures.h"

namespace cuface {
namespace {

constexpr std::size_t kDifferencesListed = 50;
constexpr std::size_t kHelenPictures = 20;
constexpr int kHelenBorder = 96;

struct Picture {
  std::string name;
  cv::Mat grey;
};

struct Counts {
  long cases = 0, equal = 0, raw = 0, grouped = 0;
  double seconds_ours = 0, seconds_opencv = 0;
};

// Of this thread, so that other work on the machine does not count.
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::data_dir() + "/images/" + folder)) {
    if (entry.path().extension() != ".xml")
      out.push_back(folder + "/" + entry.path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

Picture read_picture(const std::string& name) {
  return {name, cv::imread(test::data_dir() + "/images/" + name, cv::IMREAD_GRAYSCALE)};
}

std::vector<Picture> all_pictures() {
  std::vector<Picture> out;
  for (const char* folder : {"scenes", "lfpw", "menpo", "dlib"}) {
    for (const std::string& name : files_in(folder)) out.push_back(read_picture(name));
  }
  std::vector<std::string> helen = files_in("helen");
  helen.resize(std::min(helen.size(), kHelenPictures));
  for (const std::string& name : helen) {
    Picture p = read_picture(name);
    cv::copyMakeBorder(p.grey, p.grey, kHelenBorder, kHelenBorder, kHelenBorder, kHelenBorder,
                       cv::BORDER_REPLICATE);
    out.push_back(p);
  }
  return out;
}

using test::Multiset;

std::optional<Multiset> ours(const std::shared_ptr<const CascadeModel>& model,
                             const DetectConfig& config, const cv::Mat& picture) {
  auto detector = Detector::create(Backend::kCpu, model, config, picture.cols, picture.rows);
  DetectResult result;
  if (!detector.ok() || !detector.value()->enqueue(test::view_of(picture), result).ok() ||
      result.overflow) {
    return std::nullopt;
  }
  return test::multiset(result.faces);
}

class Matrix {
 public:
  void run(const std::vector<Picture>& pictures, const std::vector<std::string>& cascades) {
    for (const std::string& path : cascades) {
      const auto parsed = load_cascade(path);
      if (!parsed.ok()) {
        std::cerr << parsed.status().message() << "\n";
        std::exit(2);
      }
      cv::CascadeClassifier classifier(path);
      for (const Picture& p : pictures) run_picture(parsed.value(), classifier, p);
      std::cerr << parsed.value()->name << ": " << counts_[parsed.value()->name].cases << " cases, "
                << differences_.size() << " differences so far\n";
    }
  }

  nlohmann::ordered_json result() const {
    nlohmann::ordered_json out, cascades;
    Counts all;
    for (const auto& [name, c] : counts_) {
      cascades[name] = {{"cases", c.cases},
                        {"equal", c.equal},
                        {"rectangles_raw", c.raw},
                        {"rectangles_grouped", c.grouped},
                        {"cpu_seconds_ours", c.seconds_ours},
                        {"cpu_seconds_opencv", c.seconds_opencv}};
      all.cases += c.cases;
      all.equal += c.equal;
      all.raw += c.raw;
      all.grouped += c.grouped;
    }
    out["cases"] = all.cases;
    out["cases_equal"] = all.equal;
    out["rectangles_raw"] = all.raw;
    out["rectangles_grouped"] = all.grouped;
    out["rectangles_compared"] = all.raw + all.grouped;
    out["differences"] = all.cases - all.equal;
    out["differing_cases"] = differences_;
    out["cascades"] = cascades;
    return out;
  }

  bool all_equal() const { return differences_.empty(); }

 private:
  void run_picture(const std::shared_ptr<const CascadeModel>& model,
                   cv::CascadeClassifier& classifier, const Picture& picture) {
    Counts& counts = counts_[model->name];
    for (const double scale_factor : {1.1, 1.2}) {
      for (const int min_neighbors : {0, 3}) {
        for (const int min_size : {0, 60}) {
          DetectConfig config;
          config.scale_factor = scale_factor;
          config.min_neighbors = min_neighbors;
          config.min_size = min_size;
          config.max_faces = kMaxRawWindows;
          const double start = cpu_seconds();
          const std::optional<Multiset> found = ours(model, config, picture.grey);
          const double middle = cpu_seconds();
          const Multiset expected =
              test::multiset(test::opencv_detections(classifier, config, picture.grey));
          counts.seconds_ours += middle - start;
          counts.seconds_opencv += cpu_seconds() - middle;
          ++counts.cases;
          for (const auto& [box, times] : expected) {
            (min_neighbors == 0 ? counts.raw : counts.grouped) += times;
          }
          if (found == expected) {
            ++counts.equal;
          } else if (differences_.size() < kDifferencesListed) {
            differences_.push_back(model->name + " on " + picture.name + ", scale factor " +
                                   std::to_string(scale_factor) + ", min-neighbors " +
                                   std::to_string(min_neighbors) + ", min-size " +
                                   std::to_string(min_size));
          }
        }
      }
    }
  }

  std::map<std::string, Counts> counts_;
  std::vector<std::string> differences_;
};

std::string today() {
  char text[16];
  const std::time_t now = std::time(nullptr);
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

}  // namespace
}  // namespace cuface

int main(int argc, char** argv) {
  using namespace cuface;
  if (argc < 2 || argc % 2 != 0) {
    std::cerr << "usage: detect_matrix OUTPUT.json [--commit HASH] [--date DATE] [--pictures N]\n";
    return 2;
  }
  std::string commit, date = today();
  std::size_t most = SIZE_MAX;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--commit") commit = argv[i + 1];
    if (option == "--date") date = argv[i + 1];
    if (option == "--pictures") most = std::stoul(argv[i + 1]);
  }
  if (test::data_dir().empty()) {
    std::cerr << "no test data: set CUFACE_DATA\n";
    return 2;
  }
  cv::setNumThreads(1);
  std::vector<Picture> pictures = all_pictures();
  if (pictures.size() > most) pictures.resize(most);
  std::vector<std::string> names;
  for (const Picture& p : pictures) {
    if (p.grey.empty()) {
      std::cerr << p.name << ": cannot be read\n";
      return 2;
    }
    names.push_back(p.name);
  }
  Matrix matrix;
  matrix.run(pictures, test::haar_cascades());
  nlohmann::ordered_json result = {{"what", "our detector against cv::detectMultiScale"},
                                   {"date", date},
                                   {"commit", commit},
                                   {"opencv", CV_VERSION},
                                   {"scale_factors", {1.1, 1.2}},
                                   {"min_neighbors", {0, 3}},
                                   {"min_sizes", {0, 60}},
                                   {"pictures", names}};
  result.update(matrix.result());
  std::ofstream(argv[1]) << result.dump(1) << "\n";
  return matrix.all_equal() ? 0 : 1;
}
