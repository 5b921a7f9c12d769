// What the fuzz targets do with a model that was accepted: plan, on both processors as far as the
// host goes, and look at a frame. Every instruction set of the machine must find what the plain
// references find.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/common/simd.h"
#include "kernels/detect/detect.h"
#include "kernels/landmark_samples/landmark_samples.h"
#include "kernels/network/cuda/steps.h"
#include "kernels/network/network.h"
#include "models/box_map.h"
#include "models/forest_file.h"
#include "tests/models/device_tables.h"

namespace cuface::test {

/// The run ends where something fails that must not.
inline void require(bool holds) {
  if (!holds) std::abort();
}

inline int pick(FuzzedDataProvider& from, std::initializer_list<int> values) {
  return *(values.begin() + from.ConsumeIntegralInRange<std::size_t>(0, values.size() - 1));
}

/// A small picture: noise, white, black, or stripes.
struct FuzzPicture {
  explicit FuzzPicture(FuzzedDataProvider& from)
      : width(pick(from, {72, 41, 20, 96, 3, 1})),
        height(pick(from, {56, 41, 20, 64, 3, 1})),
        pixels(static_cast<std::size_t>(width * height)) {
    const int kind = pick(from, {0, 1, 2, 3});
    std::uint32_t state = from.ConsumeIntegral<std::uint8_t>() + 1u;
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      state = state * 1664525u + 1013904223u;
      const bool stripe = static_cast<int>(i) % width / 5 % 2 != 0;
      const int value[] = {static_cast<int>(state >> 24), 255, 0, stripe ? 255 : 0};
      pixels[i] = static_cast<std::uint8_t>(value[kind]);
    }
  }
  ImageView<const std::uint8_t> view() const { return {pixels.data(), width, height, width}; }

  int width, height;
  std::vector<std::uint8_t> pixels;
};

inline DetectConfig fuzz_config(FuzzedDataProvider& from) {
  DetectConfig c;
  c.scale_factor = pick(from, {14, 11, 20, 105}) / 10.0;
  if (c.scale_factor > 10) c.scale_factor = 1.05;
  c.min_neighbors = pick(from, {0, 1, 3});
  c.min_size = pick(from, {0, 0, 25, 1000000});
  c.max_size = pick(from, {0, 0, 30, 1});
  c.max_faces = pick(from, {64, 1, 1000});
  c.grouping = from.ConsumeBool() ? Grouping::kOverlap : Grouping::kOpenCv;
  c.scale_mode = from.ConsumeBool() ? ScaleMode::kWindow : ScaleMode::kPyramid;
  c.step = pick(from, {0, 1, 2});
  c.detect_scale = pick(from, {1, 1, 2, 7});
  c.roll = pick(from, {0, 0, 0, 20, 90});
  c.verify = from.ConsumeBool();
  c.active_parts = from.ConsumeBool();
  return c;
}

/// What a detector finds in two frames, the second with followed faces and, where it may be asked
/// for them, of active parts only. Then one comes first, of new parts.
inline std::vector<DetectResult> detect_frames(const std::shared_ptr<const CascadeModel>& model,
                                               const DetectConfig& config,
                                               const FuzzPicture& picture) {
  auto detector = Detector::create(Backend::kCpu, model, config, picture.width, picture.height);
  require(detector.ok());
  const auto w = static_cast<float>(picture.width), h = static_cast<float>(picture.height);
  const Followed followed[] = {
      {{w / 4, h / 4, w / 2, h / 2}, {}}, {{0, 0, w, h}, {0.8f, 0.6f}}, {{w, h, 1e6f, 1e-6f}, {}}};
  std::vector<DetectResult> results(1);
  const bool parts = config.active_parts && can_search_bands(config);
  if (parts) {  // new everywhere
    require(detector.value()->enqueue(picture.view(), results[0], kNewParts, followed).ok());
    results.emplace_back();
  }
  require(detector.value()->enqueue(picture.view(), results.back()).ok());
  results.emplace_back();
  require(
      detector.value()
          ->enqueue(picture.view(), results.back(), parts ? kActiveParts : kWholePicture, followed)
          .ok());
  return results;
}

inline void look(const std::shared_ptr<const CascadeModel>& model, FuzzedDataProvider& from) {
  make_device_tables(*model);
  const DetectConfig config = fuzz_config(from);
  const FuzzPicture picture(from);
  require(simd::force("scalar").ok());
  const std::vector<DetectResult> plain = detect_frames(model, config, picture);
  const std::vector<std::string> versions = simd::available();
  for (std::size_t v = 1; v < versions.size(); ++v) {
    require(simd::force(versions[v]).ok());
    DetectConfig same = config;
    same.threads = 1 + static_cast<int>(v % 2);
    const std::vector<DetectResult> found = detect_frames(model, same, picture);
    for (std::size_t i = 0; i < found.size(); ++i) {
      require(found[i].overflow == plain[i].overflow);
      require(found[i].faces == plain[i].faces);
    }
  }
  (void)simd::force("");
}

/// Not a number in both counts as equal: its bits are nobody's.
inline bool is_same(const std::vector<Point>& a, const std::vector<Point>& b) {
  const auto same = [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same(a[i].x, b[i].x) || !same(a[i].y, b[i].y)) return false;
  return a.size() == b.size();
}

/// What a landmarker finds in some boxes of which the last may leave the picture, and its answer.
struct Landmarks {
  Status status;
  std::vector<Point> points;
};
inline Landmarks find_landmarks(const std::shared_ptr<const ForestModel>& model, int iterations,
                                int samples, bool twice, const Box& last,
                                const FuzzPicture& picture) {
  auto landmarker = SampledLandmarker::create(Backend::kCpu, model, iterations);
  require(landmarker.ok());
  const Box boxes[] = {{4, 5, 30, 30}, {-10, -10, 200, 200}, last};
  const Roll rolls[] = {{}, {0.8f, 0.6f}, {0, -1}};
  const std::uint8_t looks[] = {1, 0, 1};
  Landmarks found;
  found.points.resize(3 * static_cast<std::size_t>(model->landmarks));
  found.status = landmarker.value()->enqueue(
      picture.view(), boxes, box_map_for(*model, "haarcascade_frontalface_alt"), samples,
      found.points, rolls,
      twice ? std::span<const std::uint8_t>(looks) : std::span<const std::uint8_t>());
  return found;
}

inline void look_at(const std::shared_ptr<const ForestModel>& model, FuzzedDataProvider& from) {
  const int iterations = pick(from, {0, 1, 1000}), samples = pick(from, {1, 2, 5});
  const bool twice = from.ConsumeBool();
  const float side = static_cast<float>(pick(from, {20, 1, 0, -5, 1000000}));
  const Box last{static_cast<float>(pick(from, {0, 60, -40, 100000})), 3, side, side};
  const FuzzPicture picture(from);
  require(simd::force("scalar").ok());
  const Landmarks plain = find_landmarks(model, iterations, samples, twice, last, picture);
  const std::vector<std::string> versions = simd::available();
  for (std::size_t v = 1; v < versions.size(); ++v) {
    require(simd::force(versions[v]).ok());
    const Landmarks found = find_landmarks(model, iterations, samples, twice, last, picture);
    require(found.status.code() == plain.status.code());
    require(!plain.status.ok() || is_same(found.points, plain.points));
  }
  (void)simd::force("");
  if (plain.status.ok())
    (void)box_from_landmarks(*model,
                             {plain.points.data(), static_cast<std::size_t>(model->landmarks)});
}

inline void look(const std::shared_ptr<const ForestModel>& model, FuzzedDataProvider& from) {
  look_at(model, from);
  if (model->is_compact()) return;
  const auto compact = compact_forest(*model);
  require(validate(*compact).ok());
  look_at(compact, from);
}

/// Cells and faces of one picture, which are finite whatever the network.
struct Found {
  std::vector<NetworkCell> cells;
  std::vector<NetworkFace> faces;
};
inline Found find_faces(const std::shared_ptr<const NetworkModel>& model,
                        const NetworkConfig& config, ImageView<const Bgr> picture) {
  auto network = FaceNetwork::create(Backend::kCpu, model, config, picture.width, picture.height);
  require(network.ok());
  Found found;
  require(network.value()->enqueue(picture, found.faces).ok());
  found.cells.assign(network.value()->cells().begin(), network.value()->cells().end());
  for (const NetworkFace& face : found.faces) {
    require(face.score >= 0 && face.score <= 1);
    for (const float x : {face.box.x, face.box.y, face.box.w, face.box.h, face.points[0].x,
                          face.points[kNetworkPoints - 1].y}) {
      require(std::isfinite(x));
    }
  }
  return found;
}

inline void look(const std::shared_ptr<const NetworkModel>& model, FuzzedDataProvider& from) {
  NetworkConfig config;
  config.score_threshold = static_cast<float>(pick(from, {6, 0, 10, 5})) / 10;
  config.nms_threshold = static_cast<float>(pick(from, {3, 0, 10})) / 10;
  config.max_faces = pick(from, {64, 1, kMaxNetworkCandidates});
  const FuzzPicture grey(from);
  // Seldom: making the integers takes most of the time.
  if (from.ConsumeIntegralInRange(0, 7) == 7) config.precision = NetworkPrecision::kInt16;
  std::vector<Bgr> pixels(grey.pixels.size());
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const std::uint8_t value = grey.pixels[i];
    pixels[i] = {value, grey.pixels[i / 2], static_cast<std::uint8_t>(255 - value)};
  }
  const ImageView<const Bgr> picture{pixels.data(), grey.width, grey.height,
                                     grey.width * static_cast<std::ptrdiff_t>(sizeof(Bgr))};
  const auto plan = plan_network(*model, grey.width, grey.height);
  require(plan.ok());
  (void)network::plan_steps(*model, plan.value());  // what CUDA prepares on the host
  require(simd::force("scalar").ok());
  const Found plain = find_faces(model, config, picture);
  const std::vector<std::string> versions = simd::available();
  for (std::size_t v = 1; v < versions.size(); ++v) {
    require(simd::force(versions[v]).ok());
    NetworkConfig same = config;
    same.threads = 1 + static_cast<int>(v % 2);
    const Found found = find_faces(model, same, picture);
    require(found.faces == plain.faces && found.cells.size() == plain.cells.size());
    require(std::memcmp(found.cells.data(), plain.cells.data(),
                        plain.cells.size() * sizeof(NetworkCell)) == 0);
  }
  (void)simd::force("");
}

}  // namespace cuface::test
