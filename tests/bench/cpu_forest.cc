// Landmarks beside dlib's, a new face in each call (the same face again and again would find its
// leaves in the cache), one thread each. Needs the fetched model and the pictures.
//
//   CUFACE_DATA=... build/tests/bench/cpu_forest [docs/results/cpu-forest.json]
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "kernels/forest/forest.h"
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
  std::size_t number;      // dlib's copy
  std::vector<Box> boxes;  // the true one, and seven around it
};

}  // namespace

int main(int argc, char** argv) {
  const std::string path = test::model_dir() + "/shape_predictor_68_face_landmarks.";
  const auto model = load_forest(path + "cuface");
  if (!model.ok() || test::data_dir().empty()) {
    std::fprintf(stderr, "cpu_forest: %s\n",
                 model.ok() ? "no test data: set CUFACE_DATA" : model.status().message().c_str());
    return 1;
  }
  bench::DlibNative dlibs(path + "dat");
  const auto exact = Landmarker::create(Backend::kCpu, model.value());
  // Written and read again, so that it lies in memory as models do.
  const auto compact_path = std::filesystem::temp_directory_path() / "cpu_forest.cuface";
  if (!write_forest_file(*compact_forest(*model.value()), {}, compact_path).ok()) return 1;
  const auto compact_model = load_forest(compact_path);
  std::filesystem::remove(compact_path);
  if (!compact_model.ok()) return 1;
  const auto compact = Landmarker::create(Backend::kCpu, compact_model.value());
  std::vector<Face> faces;
  for (const test::LandmarkRow& row : test::landmark_rows()) {
    if (!row.human) continue;
    Face face{row.picture(), 0, {}};
    const cv::Mat& p = face.picture;
    face.number = dlibs.add(p.data, p.cols, p.rows, static_cast<std::ptrdiff_t>(p.step));
    const Box box = box_from_landmarks(*model.value(), row.truth);
    for (int i = 0; i < 8; ++i) {  // moved and scaled by up to 4 %
      const float dx = static_cast<float>(i % 3 - (i ? 1 : 0)) * 0.04f * box.w;
      const float dy = static_cast<float>(i / 3 - (i ? 1 : 0)) * 0.04f * box.h;
      const float s = i == 0 ? 1.0f : 0.96f + 0.01f * static_cast<float>(i);
      face.boxes.push_back({std::round(box.x + dx), std::round(box.y + dy), std::round(box.w * s),
                            std::round(box.h * s)});
    }
    faces.push_back(std::move(face));
  }
  std::vector<Point> points(8 * static_cast<std::size_t>(model.value()->landmarks));
  volatile long sum = 0;
  const auto ours = [&](Landmarker& landmarker, std::size_t boxes) {
    return [&, boxes] {
      const std::span<Point> out =
          std::span(points).first(boxes * static_cast<std::size_t>(model.value()->landmarks));
      for (const Face& face : faces) {
        const std::span<const Box> some = std::span(face.boxes).first(boxes);
        if (!landmarker.enqueue(test::view(face.picture), some, out).ok()) std::abort();
      }
    };
  };
  const auto peer = [&](std::size_t boxes) {
    return [&, boxes] {
      for (const Face& face : faces) {
        for (const Box& b : std::span(face.boxes).first(boxes)) {
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
       {"68 points, 8 boxes of a face in one call", count, ours(*exact.value(), 8), peer(8)},
       {"68 points, 8 boxes of a face in one call, compact", count, ours(*compact.value(), 8),
        peer(8)}},
      kPasses, argc, argv);
}
