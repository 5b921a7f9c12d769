// The forest and dlib's on the human rows' faces, a new face in each call (the same face again and
// again would find its leaves in the cache), and loading its model. Needs the fetched model and
// the pictures.
#include <benchmark/benchmark.h>

#include <cmath>
#include <filesystem>

#include "kernels/forest/forest.h"
#include "models/forest_file.h"
#include "models/models.h"
#include "tests/models/dlib_forest.h"
#include "tests/models/landmark_rows.h"

namespace cuface {
namespace {

std::string model_path() { return test::model_dir() + "/shape_predictor_68_face_landmarks.dat"; }

struct Sample {
  cv::Mat picture;
  dlib::array2d<unsigned char> dlib_picture;
  Box box;
};

const std::vector<Sample>& samples(const ForestModel& model) {
  static const std::vector<Sample> faces = [&] {
    std::vector<Sample> list;
    for (const test::LandmarkRow& row : test::landmark_rows()) {
      if (!row.human) continue;
      Sample sample;
      sample.picture = row.picture();
      sample.dlib_picture = test::to_dlib(sample.picture);
      const Box box = box_from_landmarks(model, row.truth);
      sample.box = {std::round(box.x), std::round(box.y), std::round(box.w), std::round(box.h)};
      list.push_back(std::move(sample));
    }
    return list;
  }();
  return faces;
}

std::shared_ptr<const ForestModel> model_or_skip(benchmark::State& state) {
  auto model = load_forest(model_path());
  if (!model.ok()) state.SkipWithError(model.status().message().c_str());
  if (test::data_dir().empty()) state.SkipWithError("no test data: set CUFACE_DATA");
  return model.ok() ? model.value() : nullptr;
}

void ours(benchmark::State& state) {
  const auto model = model_or_skip(state);
  if (!model || test::data_dir().empty()) return;
  const auto landmarker = Landmarker::create(Backend::kCpu, model);
  std::vector<Point> points(static_cast<std::size_t>(model->landmarks));
  const std::vector<Sample>& faces = samples(*model);
  std::size_t i = 0;
  for (auto _ : state) {
    const Sample& face = faces[i++ % faces.size()];
    benchmark::DoNotOptimize(
        landmarker.value()->enqueue(test::view(face.picture), {&face.box, 1}, points));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(ours)->Unit(benchmark::kMicrosecond)->Iterations(1000)->Repetitions(5);

void dlibs(benchmark::State& state) {
  const auto model = model_or_skip(state);
  if (!model || test::data_dir().empty()) return;
  dlib::shape_predictor predictor;
  dlib::deserialize(model_path()) >> predictor;
  const std::vector<Sample>& faces = samples(*model);
  std::size_t i = 0;
  for (auto _ : state) {
    const Sample& face = faces[i++ % faces.size()];
    benchmark::DoNotOptimize(predictor(face.dlib_picture, test::to_dlib(face.box)));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(dlibs)->Unit(benchmark::kMicrosecond)->Iterations(1000)->Repetitions(5);

/// Page cache warm, as on the second start. Nobody holds the model between two loads.
void load(benchmark::State& state, const std::string& path) {
  for (auto _ : state) {
    const auto model = load_forest(path);
    if (!model.ok()) state.SkipWithError(model.status().message().c_str());
  }
}

void load_dat(benchmark::State& state) { load(state, model_path()); }
BENCHMARK(load_dat)->Unit(benchmark::kMillisecond)->Iterations(5);

void load_ours(benchmark::State& state) {
  const std::string path = std::filesystem::temp_directory_path() / "bench_forest.cuface";
  {
    const auto model = model_or_skip(state);
    if (!model || !write_forest_file(*model, {}, path).ok()) return;
  }
  load(state, path);
  std::filesystem::remove(path);
}
BENCHMARK(load_ours)->Unit(benchmark::kMillisecond)->Iterations(20);

void load_dat_dlib(benchmark::State& state) {
  for (auto _ : state) {
    dlib::shape_predictor predictor;
    dlib::deserialize(model_path()) >> predictor;
    benchmark::DoNotOptimize(predictor);
  }
}
BENCHMARK(load_dat_dlib)->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace
}  // namespace cuface

BENCHMARK_MAIN();
