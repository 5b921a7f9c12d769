// The experiments of descriptors [S2.01 - S2.11]: how long SURF takes to describe keypoints, ours
// and dlib's in turn, one thread each; and how well descriptors tell places apart.
// tests/eval/run runs it.
#include <dlib/array2d.h>
#include <dlib/image_keypoint.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <opencv2/imgcodecs.hpp>
#include <thread>

#include "kernels/integral/integral.h"
#include "kernels/keypoints/keypoints.h"
#include "kernels/surf/samples.h"
#include "kernels/surf/window.h"
#include "tests/described_places.h"
#include "tests/eval/curves.h"
#include "tests/eval/rapl.h"
#include "tests/eval/recall.h"

namespace cuface::eval {
namespace {

constexpr int kKeypoints = 1020;

void check(const Status& status) {
  if (!status.ok()) std::abort();
}

/// Those of a picture by their number.
std::vector<Keypoint> places_in(const cv::Mat& picture, int count) {
  return test::described_places(test::view_of(picture), count, Program::kSeed);
}

/// dlib's descriptors of the same places, without a direction, and its sums.
class DlibSurf {
 public:
  DlibSurf(const cv::Mat& grey, std::vector<Keypoint> places)
      : picture_(grey.rows, grey.cols), places_(std::move(places)) {
    for (int y = 0; y < grey.rows; ++y)
      for (int x = 0; x < grey.cols; ++x) picture_[y][x] = grey.at<std::uint8_t>(y, x);
  }
  void run() {
    sums_.load(picture_);
    for (const Keypoint& k : places_)
      dlib::compute_surf_descriptor(
          sums_, dlib::vector<double, 2>(static_cast<double>(k.x), static_cast<double>(k.y)),
          static_cast<double>(k.size) * 1.2 / 9, 0, descriptor_);
  }

 private:
  dlib::array2d<unsigned char> picture_;
  std::vector<Keypoint> places_;
  dlib::integral_image sums_;
  dlib::matrix<double, 64, 1> descriptor_;
};

/// Of `upright` descriptors of 64 floats with the peer.
Json describing(const Program& program, double x, const cv::Mat& picture, int count, bool upright,
                int floats = 64, SurfSampling sampling = SurfSampling::kPatch) {
  const std::vector<Keypoint> places = places_in(picture, count);
  SurfDetector ours = made(
      SurfDetector::create({.upright = upright, .descriptor_size = floats, .sampling = sampling}));
  FloatFeatures out;
  DlibSurf peer(picture, places);
  const Run run_peer = [&] { peer.run(); };
  return program.measure(
      x, [&] { check(ours.describe(test::view_of(picture), places, out)); },
      upright && floats == 64 ? run_peer : Run());
}

void add_times(Program& program, const cv::Mat& mosaic) {
  const cv::Mat picture = scaled(mosaic, {512, 384});
  const char *upright = "SURF, upright, descriptors", *turned = "SURF, turned, descriptors",
             *peer = "dlib's compute_surf_descriptor, upright";
  const std::vector<double> counts = {100, 200, 400, 600, 800, 1020};
  program.add("S2.E1", "SURF, upright, 512x384", "descriptors", peer, {kKeypoints},
              [&](double x) { return describing(program, x, picture, kKeypoints, true); });
  program.add("S2.E1", "SURF, turned, 512x384", "descriptors", "", {kKeypoints},
              [&](double x) { return describing(program, x, picture, kKeypoints, false); });
  for (const auto& [kind, sampling] :
       {std::pair{std::string("SURF of sums"), SurfSampling::kIntegral},
        {"SURF of a mipmap", SurfSampling::kMipmap}})
    for (const bool is_upright : {true, false})
      program.add("S2.E1", kind + (is_upright ? ", upright, 512x384" : ", turned, 512x384"),
                  "descriptors", is_upright ? peer : "", {kKeypoints}, [&](double x) {
                    return describing(program, x, picture, kKeypoints, is_upright, 64, sampling);
                  });
  for (const int floats : {64, 36})
    for (const bool is_upright : {true, false})
      program.add(
          "S2.E6", "SURF-" + std::to_string(floats) + (is_upright ? ", upright" : ", turned"),
          "descriptors", is_upright && floats == 64 ? peer : "", {kKeypoints}, [&](double x) {
            return describing(program, x, picture, kKeypoints, is_upright, floats);
          });
  for (const bool is_upright : {true, false})
    program.add(
        "S2.E3", is_upright ? upright : turned, "descriptors", is_upright ? peer : "", counts,
        [&](double x) { return describing(program, x, picture, static_cast<int>(x), is_upright); });
  for (const bool is_upright : {true, false})
    program.add("S2.E4", is_upright ? "SURF, upright, 1,020" : "SURF, turned, 1,020",
                "pixels of the picture", is_upright ? peer : "",
                {256 * 256, 320 * 240, 512 * 512, 640 * 480, 800 * 600, 1024 * 1024},
                [&](double x) {
                  const int height = x == 320 * 240   ? 240
                                     : x == 640 * 480 ? 480
                                     : x == 800 * 600 ? 600
                                                      : static_cast<int>(std::sqrt(x));
                  const cv::Size size(static_cast<int>(x) / height, height);
                  return describing(program, x, scaled(mosaic, size), kKeypoints, is_upright);
                });
}

/// S2.E5: of the time of a description the sums of the picture, and the windows with their
/// resizing.
void add_steps(Program& program, const cv::Mat& mosaic) {
  if (!program.wants("S2.E5")) return;
  const cv::Mat picture = scaled(mosaic, {512, 384});
  const std::vector<Keypoint> places = places_in(picture, kKeypoints);
  SurfDetector detector = made(SurfDetector::create({.upright = true}));
  FloatFeatures out;
  Image<std::uint32_t> sums(picture.cols + 1, picture.rows + 1);
  surf::WindowPlace place;
  const int pixels = surf::shape_of({}).pixels();
  surf::WindowResize resize(pixels);
  std::uint8_t patch[surf::kMostPatch * surf::kMostPatch];
  const auto of = [&](const Run& run) {
    return program.measure(kKeypoints, run, {})["ours_us"].get<double>();
  };
  const double all = of([&] { check(detector.describe(test::view_of(picture), places, out)); });
  const double summing = of([&] { integral(test::view_of(picture), sums.view()); });
  const double windows = of([&] {
    for (const Keypoint& k : places) {
      place.set(k, true, pixels);
      simd::vectors() ? resize.run_vector(test::view_of(picture), place, patch)
                      : resize.run(test::view_of(picture), place, patch);
    }
  });
  program.note("shares", {{"sums of the picture", 100 * summing / all},
                          {"windows", 100 * windows / all},
                          {"gradients, sums and length", 100 * (all - summing - windows) / all}});
}

/// S2.E9: millijoules of a picture's descriptors, the idle draw subtracted. Null where the system
/// does not tell them. tests/gpu/bench/test_energy.cc has those of a GPU.
void add_energy(Program& program, const cv::Mat& mosaic) {
  if (!program.wants("S2.E9")) return;
  const cv::Mat picture = scaled(mosaic, {1024, 1024});
  const std::vector<Keypoint> places = places_in(picture, kKeypoints);
  const double least = program.quick() ? 0.01 : 3;
  Rapl rapl;
  struct Span {
    double watts, seconds;  // seconds of one call
  };
  const auto measure = [&](const auto& work) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    double seconds = 0;
    long calls = 0;
    for (rapl.joules(); seconds < least; ++calls) {
      work();
      seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    }
    return Span{rapl.joules() / seconds, seconds / static_cast<double>(calls)};
  };
  const double idle =
      measure([] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }).watts;
  Json energy = {{"idle", rapl.can_be_read() ? Json(idle) : Json()}};
  for (const auto& [kind, config] :
       {std::pair<std::string, SurfConfig>{"SURF of a mipmap, upright",
                                           {.upright = true, .sampling = SurfSampling::kMipmap}},
        {"SURF, upright", {.upright = true}},
        {"SURF, turned", {}}}) {
    SurfDetector detector = made(SurfDetector::create(config));
    FloatFeatures out;
    const Span span =
        measure([&] { check(detector.describe(test::view_of(picture), places, out)); });
    const double millijoules = 1e3 * (span.watts - idle) * span.seconds;
    energy[kind] = rapl.can_be_read() ? Json(millijoules) : Json();
    std::printf("%s: %.1f ms, %s\n", kind.c_str(), 1e3 * span.seconds,
                rapl.can_be_read() ? (std::to_string(millijoules) + " mJ").c_str()
                                   : "the energy cannot be read");
  }
  program.note("energy", energy);
}

// ---- S2.E8 -------------------------------------------------------------------------------------

/// A picture beside the first, and how a place of the first is found in it.
struct View {
  cv::Mat picture;
  cv::Matx33d by = cv::Matx33d::eye();
};

/// Five steps of one change.
std::vector<View> steps_of(const std::string& change, const cv::Mat& first) {
  std::vector<View> out;
  for (int step = 1; step <= 5; ++step) {
    View view;
    if (change == "blur") {
      cv::GaussianBlur(first, view.picture, {}, 0.8 * step);
    } else if (change == "light") {
      first.convertTo(view.picture, CV_8U, 1 - 0.16 * step);
    } else if (change == "jpeg") {
      std::vector<std::uint8_t> bytes;
      const int quality[] = {40, 20, 10, 5, 2};
      cv::imencode(".jpg", first, bytes, {cv::IMWRITE_JPEG_QUALITY, quality[step - 1]});
      view.picture = cv::imdecode(bytes, cv::IMREAD_GRAYSCALE);
    } else {
      // A plane that turns away from its right side.
      const double lean = 0.00025 * step, narrower = 1 - 0.08 * step;
      view.by = cv::Matx33d(narrower, 0, 0, 0, 1, 0, lean, 0, 1);
      cv::warpPerspective(first, view.picture, view.by, first.size());
    }
    out.push_back(view);
  }
  return out;
}

/// Debian's opencv-doc has this pair and its homography, in $CUFACE_OPENCV_DOC or where it is
/// installed. Empty without it.
std::vector<View> graffiti(cv::Mat& first) {
  const char* set = std::getenv("CUFACE_OPENCV_DOC");
  const std::string folder =
      std::string(set ? set : "/usr/share/doc/opencv-doc") + "/examples/data/";
  if (!std::filesystem::exists(folder + "graf1.png")) return {};
  first = cv::imread(folder + "graf1.png", cv::IMREAD_GRAYSCALE);
  cv::Mat by;
  cv::FileStorage(folder + "H1to3p.xml", cv::FileStorage::READ)["H13"] >> by;
  return {{cv::imread(folder + "graf3.png", cv::IMREAD_GRAYSCALE), cv::Matx33d(by)}};
}

Features features_of(const cv::Mat& picture, const FeatureConfig& config) {
  Features out;
  check(find_keypoints(config, test::view_of(picture), out));
  return out;
}

/// How well the descriptors of a picture find those of others.
Recall recall_of(const cv::Mat& first, const std::vector<View>& views,
                 const FeatureConfig& config) {
  const Features ours = features_of(first, config);
  Recall recall;
  for (const View& view : views)
    add_pairs(ours, features_of(view.picture, config), view.by, view.picture.size(), recall);
  return recall;
}

cv::Mat picture_of_recall(const Program& program, const cv::Mat& mosaic) {
  return scaled(mosaic, program.quick() ? cv::Size(240, 160) : cv::Size(800, 600));
}

/// S2.E7: the published descriptor, upright and of a mipmap, with numbers that are cut [S2.08].
void add_precision(Program& program, const cv::Mat& mosaic) {
  if (!program.wants("S2.E7")) return;
  const cv::Mat first = picture_of_recall(program, mosaic);
  Json figures = Json::object();
  for (const char* name : {"viewpoint", "jpeg"}) {
    const std::vector<View> views = steps_of(name, first);
    for (const auto& [kind, precision] : {std::pair{"floats", SurfPrecision::kFp32},
                                          {"halves", SurfPrecision::kFp16},
                                          {"8 bits", SurfPrecision::k8},
                                          {"10 bits", SurfPrecision::k10},
                                          {"13 bits", SurfPrecision::k13},
                                          {"16 bits", SurfPrecision::k16},
                                          {"23 bits", SurfPrecision::k23},
                                          {"24 bits", SurfPrecision::k24}}) {
      FeatureConfig config{FeatureDetector::kHessian, FeatureDescriptor::kSurf, {}, {}};
      config.surf = {.upright = true, .sampling = SurfSampling::kMipmap, .precision = precision};
      const Recall recall = recall_of(first, views, config);
      figures[std::string("recall, ") + name + ", " + kind] = {
          {"ours", std::round(1000 * recall.at(0.5)) / 10}, {"peer", nullptr}};
      std::printf("%s, %s: recall %.3f of %.0f correspondences\n", name, kind, recall.at(0.5),
                  recall.correspondences);
    }
  }
  program.note("figures", figures);
}

void add_recall(Program& program, const cv::Mat& mosaic) {
  if (!program.wants("S2.E8")) return;
  const FeatureConfig orb, surf{FeatureDetector::kHessian, FeatureDescriptor::kSurf, {}, {}};
  FeatureConfig upright = surf;
  upright.surf.upright = true;
  FeatureConfig smaller = surf, by_sums = surf, by_means = surf, overlapping = surf, sliding = surf,
                centroid = surf;
  overlapping.surf.window = SurfWindow::kOverlap;
  sliding.surf.orientation = SurfOrientation::kSliding;
  centroid.surf.orientation = SurfOrientation::kCentroid;
  by_means.surf.sampling = SurfSampling::kMipmap;
  smaller.surf.descriptor_size = 36;
  by_sums.surf.sampling = SurfSampling::kIntegral;
  const std::pair<const char*, FeatureConfig> kinds[] = {{"SURF, upright", upright},
                                                         {"SURF, turned", surf},
                                                         {"SURF-36, turned", smaller},
                                                         {"SURF of sums, turned", by_sums},
                                                         {"SURF of a mipmap, turned", by_means},
                                                         {"SURF, overlapping cells", overlapping},
                                                         {"SURF, sliding window", sliding},
                                                         {"SURF, centroid", centroid},
                                                         {"ORB", orb}};
  const cv::Mat made_of = picture_of_recall(program, mosaic);
  Json figures = Json::object(), curves = Json::object();
  for (const char* name : {"viewpoint", "light", "blur", "jpeg", "graffiti"}) {
    cv::Mat first = made_of;
    const std::vector<View> views =
        std::string(name) == "graffiti" ? graffiti(first) : steps_of(name, first);
    for (const auto& [kind, config] : kinds) {
      const Recall recall = recall_of(first, views, config);
      const std::string what = std::string(name) + ", " + kind;
      figures["recall, " + what] = {
          {"ours", views.empty() ? Json() : Json(std::round(1000 * recall.at(0.5)) / 10)},
          {"peer", nullptr}};
      Json points = Json::array();
      for (int wrong = 0; wrong <= 40; ++wrong)
        points.push_back(std::round(1e4 * recall.at(wrong / 40.0)) / 1e4);
      curves[name][kind] = points;
      std::printf("%s: recall %.3f of %.0f correspondences\n", what.c_str(), recall.at(0.5),
                  recall.correspondences);
    }
  }
  program.note("figures", figures);
  program.note("plot", curves);
}

}  // namespace
}  // namespace cuface::eval

int main(int argc, char** argv) {
  cuface::eval::Program program(argc, argv);
  const cv::Mat mosaic = program.mosaic();
  cuface::eval::add_times(program, mosaic);
  cuface::eval::add_steps(program, mosaic);
  cuface::eval::add_precision(program, mosaic);
  cuface::eval::add_recall(program, mosaic);
  cuface::eval::add_energy(program, mosaic);
  return program.finish();
}
