// Landmarks beside dlib's, a new face in each call (the same face again and again would find its
// leaves in the cache), one thread each. Needs the fetched model and the pictures.
//
//   CUFACE_DATA=... build/tests/bench/cpu_landmarks [docs/results/cpu-landmarks.json]
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "kernels/landmark_samples/landmark_samples.h"
#include "models/forest_file.h"
#include "models/models.h"
#include "tests/bench/dlib_native.h"
#include "tests/bench/ratio.h"
#include "tests/models/landmark_rows.h"

namespace {

using namespace cuface;

constexpr int kPasses = 5;

struct Face {
  cv::Mat picture;
  std::size_t number;  // dlib's copy
  Box box;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string path = test::model_dir() + "/shape_predictor_68_face_landmarks.";
  const auto model = load_forest(path + "cuface");
  if (!model.ok() || test::data_dir().empty()) {
    std::fprintf(stderr, "cpu_landmarks: %s\n",
                 model.ok() ? "no test data: set CUFACE_DATA" : model.status().message().c_str());
    return 1;
  }
  bench::DlibNative dlibs(path + "dat");
  const auto exact = SampledLandmarker::create(Backend::kCpu, model.value());
  // Written and read again, so that it lies in memory as models do.
  const auto compact_path = std::filesystem::temp_directory_path() / "cpu_landmarks.cuface";
  if (!write_forest_file(*compact_forest(*model.value()), {}, compact_path).ok()) return 1;
  const auto compact_model = load_forest(compact_path);
  std::filesystem::remove(compact_path);
  if (!compact_model.ok()) return 1;
  const auto compact = SampledLandmarker::create(Backend::kCpu, compact_model.value());
  std::vector<Face> faces;
  for (const test::LandmarkRow& row : test::landmark_rows()) {
    if (!row.human) continue;
    Face face{row.picture(), 0, box_from_landmarks(*model.value(), row.truth)};
    const cv::Mat& p = face.picture;
    face.number = dlibs.add(p.data, p.cols, p.rows, static_cast<std::ptrdiff_t>(p.step));
    face.box = {std::round(face.box.x), std::round(face.box.y), std::round(face.box.w),
                std::round(face.box.h)};
    faces.push_back(std::move(face));
  }
  std::vector<Point> points(static_cast<std::size_t>(model.value()->landmarks));
  volatile long sum = 0;
  const auto ours = [&](SampledLandmarker& landmarker, int samples) {
    return [&, samples] {
      for (const Face& face : faces) {
        const std::span<const Box> one(&face.box, 1);
        if (!landmarker.enqueue(test::view(face.picture), one, {}, samples, points).ok())
          std::abort();
      }
    };
  };
  const auto peer = [&](int samples) {
    return [&, maps = make_sample_maps({}, samples).value()] {
      for (const Face& face : faces) {
        for (int k = 0; k < maps.count; ++k) {
          const Box b = maps.map[k].apply(face.box);
          sum = sum + dlibs.run(face.number, b.x, b.y, b.w, b.h);
        }
      }
    };
  };
  const auto count = static_cast<double>(faces.size());
  return bench::run_contests(
      "dlib's shape_predictor, -O3 -march=native",
      {{"68 points of a face", count, ours(*exact.value(), 1), peer(1), 3},
       {"68 points of a face, compact", count, ours(*compact.value(), 1), peer(1), 5},
       {"68 points, mean of 4 boxes of a face", count, ours(*exact.value(), 4), peer(4)},
       {"68 points, mean of 8 boxes of a face", count, ours(*exact.value(), 8), peer(8)},
       {"68 points, mean of 8 boxes of a face, compact", count, ours(*compact.value(), 8),
        peer(8)}},
      kPasses, argc, argv);
}
