// Matching beside cv::BFMatcher, one thread; and the published shortcuts [S2.13] beside the same
// work without them, on SURF's descriptors of dlib and on ORB's: how much faster, and what they
// lose.
#include <dlib/array2d.h>
#include <dlib/image_keypoint.h>

#include <opencv2/features2d.hpp>
#include <opencv2/imgproc.hpp>
#include <set>
#include <utility>

#include "kernels/match/match.h"
#include "kernels/match/match_features.h"
#include "kernels/match/reference.h"
#include "kernels/orb/orb.h"
#include "tests/bench/naturals.h"
#include "tests/bench/ratio.h"

namespace cuface {
namespace {

constexpr int kPasses = 41, kCount = 1020, kFewer = 300;

cv::Mat some(int count, int size, int type, int seed) {
  cv::RNG random(static_cast<std::uint64_t>(seed));
  cv::Mat out(count, size, type);
  random.fill(out, cv::RNG::UNIFORM, 0, type == CV_8U ? 256 : 1);
  return out;
}

template <typename T>
std::function<void()> ours(int count, int size, int type, MatchConfig config = {}) {
  return
      [a = some(count, size, type, 1), b = some(count, size, type, 2), out = std::vector<Match>(),
       matcher = std::move(Matcher::create(config).value())]() mutable {
        if (!matcher
                 .run(DescriptorSet<T>{a.ptr<T>(), a.rows, a.cols},
                      DescriptorSet<T>{b.ptr<T>(), b.rows, b.cols}, out)
                 .ok())
          std::abort();
      };
}

/// The two nearest of each; or with a cross check the nearest.
std::function<void()> opencv(int count, int size, int type, int norm, bool cross = false) {
  return [a = some(count, size, type, 1), b = some(count, size, type, 2),
          matcher = cv::BFMatcher(norm, cross), cross] {
    if (cross) {
      std::vector<cv::DMatch> out;
      matcher.match(a, b, out);
    } else {
      std::vector<std::vector<cv::DMatch>> out;
      matcher.knnMatch(a, b, out, 2);
    }
  };
}

// ---- shortcuts ---------------------------------------------------------------------------------

struct Surf {
  std::vector<float> values;
  std::vector<std::int8_t> signs;
  FloatSet set() const { return {values.data(), static_cast<int>(signs.size()), 64, signs.data()}; }
};

Surf surf_of(const cv::Mat& grey) {
  dlib::array2d<unsigned char> picture(grey.rows, grey.cols);
  for (int y = 0; y < grey.rows; ++y)
    for (int x = 0; x < grey.cols; ++x) picture[y][x] = grey.at<std::uint8_t>(y, x);
  Surf out;
  for (const dlib::surf_point& point : dlib::get_surf_points(picture, kCount)) {
    for (long i = 0; i < 64; ++i) out.values.push_back(static_cast<float>(point.des(i)));
    out.signs.push_back(point.p.laplacian > 0 ? 1 : -1);
  }
  return out;
}

struct Orb {
  BinaryFeatures found;
  BinarySet set() const { return binary_set(found); }
};

Orb orb_of(const cv::Mat& grey) {
  Orb out;
  auto detector = OrbDetector::create({.max_keypoints = kCount}, grey.cols, grey.rows);
  if (!detector.value().run({grey.data, grey.cols, grey.rows, grey.cols}, out.found).ok())
    std::abort();
  return out;
}

/// The picture turned by 20 degrees, smaller, darker and with noise.
cv::Mat changed(const cv::Mat& grey) {
  const cv::Point2f middle(static_cast<float>(grey.cols) / 2, static_cast<float>(grey.rows) / 2);
  cv::Mat out, noise(grey.size(), CV_8U);
  cv::warpAffine(grey, out, cv::getRotationMatrix2D(middle, 20, 0.85), grey.size());
  cv::RNG random(3);
  random.fill(noise, cv::RNG::NORMAL, 8, 4);
  out = out * 0.8 + noise;
  return out;
}

template <typename T>
std::vector<Match> matches_of(const T& a, const T& b, const MatchConfig& config) {
  std::vector<Match> out;
  if (!Matcher::create(config).value().run(a.set(), b.set(), out).ok()) std::abort();
  return out;
}

/// The share of the pairs whose distance is needed.
template <typename T>
double compared(const T& a, const T& b, const MatchConfig& config) {
  std::size_t needed = 0;
  const auto ours = a.set(), theirs = b.set();
  const auto is_near = [&](int i, int k) {
    if constexpr (std::is_same_v<T, Surf>)
      return config.early_out == 0 ||
             match::centre_product(ours.at(i), theirs.at(k), 64) > config.early_out;
    return true;
  };
  for (int i = 0; i < ours.count; ++i)
    for (int k = 0; k < theirs.count; ++k)
      needed += (!config.sign_check || ours.signs[i] == theirs.signs[k]) && is_near(i, k);
  return static_cast<double>(needed) / (1.0 * ours.count * theirs.count);
}

template <typename T>
nlohmann::ordered_json shortcut(const std::string& name, const T& a, const T& b,
                                const MatchConfig& config) {
  const auto run = [&](const MatchConfig& c) {
    return
        [&, out = std::vector<Match>(), matcher = std::move(Matcher::create(c).value())]() mutable {
          if (!matcher.run(a.set(), b.set(), out).ok()) std::abort();
        };
  };
  nlohmann::ordered_json result = bench::compare({name, 1, run(config), run({})}, kPasses);
  std::set<std::pair<int, int>> exact, found;
  for (const Match& m : matches_of(a, b, {})) exact.insert({m.query, m.train});
  for (const Match& m : matches_of(a, b, config)) found.insert({m.query, m.train});
  std::size_t kept = 0;
  for (const auto& pair : found) kept += exact.contains(pair);
  result["pairs_percent"] = std::round(1000 * compared(a, b, config)) / 10;
  result["matches"] = exact.size();
  result["lost"] = exact.size() - kept;
  result["other"] = found.size() - kept;
  std::printf("  %s\n", result.dump().c_str());
  return result;
}

}  // namespace
}  // namespace cuface

int main(int argc, char** argv) {
  using namespace cuface;
  cv::setNumThreads(1);
  const cv::Mat picture = bench::mosaic(720);
  if (picture.empty()) {
    std::fprintf(stderr, "cpu_match: no test data, or no ffmpeg: set CUFACE_DATA\n");
    return 1;
  }
  MatchConfig cross;
  cross.ratio = 1;
  cross.cross_check = true;
  const std::vector<bench::Contest> contests = {
      {"1020 x 1020 of 32 bytes, ratio", 1, ours<std::uint8_t>(kCount, kBinaryBytes, CV_8U),
       opencv(kCount, kBinaryBytes, CV_8U, cv::NORM_HAMMING)},
      {"1020 x 1020 of 32 bytes, cross check", 1,
       ours<std::uint8_t>(kCount, kBinaryBytes, CV_8U, cross),
       opencv(kCount, kBinaryBytes, CV_8U, cv::NORM_HAMMING, true)},
      {"1020 x 1020 of 64 floats, ratio", 1, ours<float>(kCount, 64, CV_32F),
       opencv(kCount, 64, CV_32F, cv::NORM_L2)},
      {"1020 x 1020 of 64 floats, cross check", 1, ours<float>(kCount, 64, CV_32F, cross),
       opencv(kCount, 64, CV_32F, cv::NORM_L2, true)},
      {"300 x 300 of 64 floats, ratio", 1, ours<float>(kFewer, 64, CV_32F),
       opencv(kFewer, 64, CV_32F, cv::NORM_L2)}};
  nlohmann::ordered_json report = {
      {"what", "processor time of one thread, ours and the peer in turn; medians over the passes"},
      {"peer", "cv::BFMatcher"},
      {"processor", bench::processor()},
      {"instruction_set", simd::chosen()},
      {"passes", kPasses}};
  for (const bench::Contest& contest : contests)
    report["cases"].push_back(bench::compare(contest, kPasses));
  const Surf a = surf_of(picture), b = surf_of(changed(picture));
  report["keypoints"] = {a.signs.size(), b.signs.size()};
  MatchConfig config;
  config.sign_check = true;
  report["shortcuts"].push_back(shortcut("sign-check", a, b, config));
  config = {};
  for (const float least : {0.1f, 0.2f, 0.3f, 0.4f, 0.5f}) {
    config.early_out = least;
    report["shortcuts"].push_back(
        shortcut("early-out=" + std::to_string(least).substr(0, 3), a, b, config));
  }
  config.early_out = 0.3f;
  config.sign_check = true;
  report["shortcuts"].push_back(shortcut("sign-check, early-out=0.3", a, b, config));
  config.early_out = 0;
  report["shortcuts"].push_back(
      shortcut("sign-check, ORB's bits", orb_of(picture), orb_of(changed(picture)), config));
  return bench::write_json(report, argc, argv);
}
