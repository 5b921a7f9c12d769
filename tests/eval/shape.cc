// The experiments of active shape models [S3.01 - S3.20]: the search for the landmarks of a face of
// 300 pixels in pictures of many sizes. tests/eval/run runs it; $CUFACE_SHAPE_MODEL is the model.
#include <cmath>

#include "kernels/shape/search.h"
#include "models/models.h"
#include "tests/eval/search.h"
#include "tests/models/landmark_rows.h"

namespace cuface::eval {
namespace {

constexpr const char* kPixels = "pixels of the picture";
constexpr float kFace = 300;

/// A face, and where it is.
struct Portrait {
  cv::Mat picture;
  Box box;
};

/// Of the first labelled face, scaled; made up where --quick is given.
Portrait portrait(const Program& program) {
  if (program.quick())
    return {test::smooth_noise(400, 400, 60, Program::kSeed), {50, 50, 300, 300}};
  for (const test::LandmarkRow& row : test::landmark_rows()) {
    if (!row.human) continue;
    const cv::Mat read = row.picture();
    const Box around = test::box_around(row.truth);
    const float scale = kFace / around.w;
    const Box box{scale * around.x, scale * around.y, kFace, kFace};
    return {scaled(read, {cvRound(scale * static_cast<float>(read.cols)),
                          cvRound(scale * static_cast<float>(read.rows))}),
            box};
  }
  program.fail("no test data: set CUFACE_DATA");
}

/// The face in the middle of a picture of 4:3 with so many pixels; its rim goes on to all sides.
Portrait framed(const Portrait& face, double pixels) {
  const int width = static_cast<int>(std::lround(std::sqrt(pixels * 4 / 3)));
  const int height = static_cast<int>(std::lround(pixels / width));
  const auto before = [](int size, float middle) {
    return cvRound(static_cast<float>(size) / 2 - middle);
  };
  const int left = before(width, face.box.x + face.box.w / 2);
  const int top = before(height, face.box.y + face.box.h / 2);
  Portrait out{cv::Mat(height, width, CV_8UC1), face.box};
  out.box.x += static_cast<float>(left);
  out.box.y += static_cast<float>(top);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      out.picture.at<std::uint8_t>(y, x) =
          face.picture.at<std::uint8_t>(std::clamp(y - top, 0, face.picture.rows - 1),
                                        std::clamp(x - left, 0, face.picture.cols - 1));
    }
  }
  return out;
}

void measure(Program& program) {
  const char* const path = std::getenv("CUFACE_SHAPE_MODEL");
  if (!path) program.fail("set CUFACE_SHAPE_MODEL to a file of cuface-train shape");
  const auto model = made(load_shape(path));
  const Portrait face = portrait(program);
  std::vector<Point> points(static_cast<std::size_t>(model->points));
  const auto search = [&](const Portrait& in, ShapeSearcher& searcher) {
    return [&, in] { (void)searcher.enqueue(test::view_of(in.picture), {&in.box, 1}, points); };
  };

  constexpr double kLeast = 640 * 480, kMost = 1920 * 1080;
  std::vector<double> sizes;
  for (int i = 0; i < 19; ++i) sizes.push_back(std::round(kLeast + i * (kMost - kLeast) / 18));
  const auto searcher = made(ShapeSearcher::create(Backend::kCpu, model));
  const auto of_size = [&](double x) {
    const Portrait in = framed(face, x);
    return program.measure(x, search(in, *searcher), {});
  };
  program.add("S3.E1", "patches, one face", kPixels, "", sizes, of_size);

  const std::vector<double> few = {sizes.front(), sizes[6], sizes[12], sizes.back()};
  program.add("S3.E4", "grey", kPixels, kGreyPeer, few,
              [&](double x) { return grey_point(program, x, framed(face, x).picture); });
  DetectConfig config;
  config.min_size = 100;
  program.add("S3.E4", "detect, from 100 px", kPixels, "cv::CascadeClassifier", few, [&](double x) {
    return search_point(program, x, framed(face, x).picture, "frontalface_default", config, true);
  });
  program.add("S3.E4", "patches, one face", kPixels, "", few, of_size);

  // Each step of the way to what elements use.
  const auto reference =
      made(ShapeSearcher::create(Backend::kCpu, model, ShapeArithmetic::kDouble));
  const Portrait least = framed(face, kLeast);
  const std::string best = simd::chosen();
  program.add("S3.E5", "in double, place by place", "faces", "", {1},
              [&](double x) { return program.measure(x, search(least, *reference), {}); });
  program.add("S3.E5", "in float, likeliest place first", "faces", "", {1}, [&](double x) {
    (void)simd::force("scalar");
    const Json point = program.measure(x, search(least, *searcher), {});
    (void)simd::force(best);
    return point;
  });
  program.add("S3.E5", "in vectors of rows", "faces", "", {1},
              [&](double x) { return program.measure(x, search(least, *searcher), {}); });
}

}  // namespace
}  // namespace cuface::eval

int main(int argc, char** argv) {
  cuface::eval::Program program(argc, argv);
  cuface::eval::measure(program);
  return program.finish();
}
