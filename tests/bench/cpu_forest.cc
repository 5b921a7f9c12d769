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
  std::size_t number;          // dlib's copy
  std::vector<Box> near, far;  // each the true box and seven around it
};

/// The box and seven moved by up to `shift` of its size and scaled by up to `scale`.
std::vector<Box> around(const Box& box, float shift, float scale) {
  std::vector<Box> out{box};
  for (int i = 1; i < 8; ++i) {
    const float dx = static_cast<float>(i % 3 - 1) * shift * box.w;
    const float dy = static_cast<float>(i / 3 - 1) * shift * box.h;
    const float s = 1 + static_cast<float>(i - 4) / 3 * scale;
    out.push_back({box.x + dx, box.y + dy, box.w * s, box.h * s});
  }
  for (Box& b : out) b = {std::round(b.x), std::round(b.y), std::round(b.w), std::round(b.h)};
  return out;
}

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
    const Box box = box_from_landmarks(*model.value(), row.truth);
    Face face{row.picture(), 0, around(box, 0.02f, 0.03f), around(box, 0.04f, 0.04f)};
    const cv::Mat& p = face.picture;
    face.number = dlibs.add(p.data, p.cols, p.rows, static_cast<std::ptrdiff_t>(p.step));
    faces.push_back(std::move(face));
  }
  std::vector<Point> points(8 * static_cast<std::size_t>(model.value()->landmarks));
  volatile long sum = 0;
  const auto ours = [&](Landmarker& landmarker, std::size_t boxes,
                        std::vector<Box> Face::*which = &Face::near) {
    return [&, boxes, which] {
      const std::span<Point> out =
          std::span(points).first(boxes * static_cast<std::size_t>(model.value()->landmarks));
      for (const Face& face : faces) {
        const std::span<const Box> some = std::span(face.*which).first(boxes);
        if (!landmarker.enqueue(test::view(face.picture), some, out).ok()) std::abort();
      }
    };
  };
  const auto peer = [&](std::size_t boxes, std::vector<Box> Face::*which = &Face::near) {
    return [&, boxes, which] {
      for (const Face& face : faces) {
        for (const Box& b : std::span(face.*which).first(boxes)) {
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
       {"8 boxes of a face, moved to 2 %, scaled to 3 %", count, ours(*exact.value(), 8), peer(8)},
       {"8 boxes of a face, moved to 2 %, compact", count, ours(*compact.value(), 8), peer(8)},
       {"8 boxes of a face, moved and scaled to 4 %", count, ours(*exact.value(), 8, &Face::far),
        peer(8, &Face::far)}},
      kPasses, argc, argv);
}
