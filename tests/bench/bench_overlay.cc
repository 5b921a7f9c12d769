// What drawing costs a frame, on a natural picture, next to OpenCV's anti-aliased drawing of the
// same lines (which only knows packed pictures: BGR here).
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstring>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "kernels/overlay/overlay.h"
#include "kernels/overlay/picture.h"
#include "tests/data.h"

namespace {

cv::Mat picture(int width, int height) {
  const cv::Mat photo =
      cv::imread(cuface::test::data_dir() + "/images/scenes/astronaut.png", cv::IMREAD_COLOR);
  cv::Mat out(height, width, CV_8UC3, cv::Scalar(90, 100, 110));
  if (!photo.empty()) cv::resize(photo, out, out.size());
  return out;
}

/// A face a third of the frame high, 68 points on rings.
cuface::FaceList face_in(int width, int height) {
  cuface::FaceList faces;
  faces.width = width;
  faces.height = height;
  const float side = static_cast<float>(height) / 3;
  cuface::Face face;
  face.id = 12;
  face.confidence = 0.91f;
  face.box = {side, side / 2, side, side};
  faces.faces = {face};
  faces.landmarks_per_face = 68;
  for (int i = 0; i < 68; ++i) {
    const float a = static_cast<float>(i) * 0.2f, r = side * (i < 17 ? 0.45f : 0.2f);
    faces.landmarks.push_back({side * 1.5f + r * std::cos(a), side + r * std::sin(a)});
  }
  return faces;
}

cuface::FrameView view_i420(std::vector<std::uint8_t>& memory, int width, int height) {
  memory.assign(static_cast<std::size_t>(width * height * 3 / 2), 100);
  cuface::FrameView frame;
  frame.width = width;
  frame.height = height;
  frame.full_range = false;
  frame.component[0] = {memory.data(), width};
  frame.component[1] = {memory.data() + width * height, width / 2, 1, 8, 0, 1, 1};
  frame.component[2] = {memory.data() + width * height * 5 / 4, width / 2, 1, 8, 0, 1, 1};
  return frame;
}

cuface::FrameView view_bgr(cv::Mat& bgr) {
  cuface::FrameView frame;
  frame.width = bgr.cols;
  frame.height = bgr.rows;
  frame.rgb = true;
  const auto stride = static_cast<std::ptrdiff_t>(bgr.step);
  for (int i = 0; i < 3; ++i) frame.component[i] = {bgr.data + 2 - i, stride, 3};
  return frame;
}

void BM_DrawI420(benchmark::State& state) {
  const int width = static_cast<int>(state.range(0)), height = static_cast<int>(state.range(1));
  std::vector<std::uint8_t> memory;
  const auto frame = view_i420(memory, width, height);
  const auto faces = face_in(width, height);
  cuface::OverlayStyle style;
  style.draw = static_cast<unsigned>(state.range(2));
  for (auto _ : state) draw_faces(frame, cuface::ColorMatrix::kBt709, faces, style);
}

void BM_DrawBgr(benchmark::State& state) {
  cv::Mat bgr = picture(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  const auto frame = view_bgr(bgr);
  const auto faces = face_in(bgr.cols, bgr.rows);
  for (auto _ : state) draw_faces(frame, cuface::ColorMatrix::kBt709, faces, {});
}

void BM_OpenCvBgr(benchmark::State& state) {
  cv::Mat bgr = picture(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  const auto faces = face_in(bgr.cols, bgr.rows);
  const int width = std::max(1, bgr.rows / 360);
  const auto at = [&](int i) {
    const auto& p = faces.landmarks[static_cast<std::size_t>(i)];
    return cv::Point(static_cast<int>(p.x * 16), static_cast<int>(p.y * 16));
  };
  for (auto _ : state) {
    const auto& b = faces.faces[0].box;
    cv::rectangle(bgr, cv::Rect2f(b.x, b.y, b.w, b.h), {0, 255, 0}, width);
    for (int i = 0; i < 67; ++i)
      cv::line(bgr, at(i), at(i + 1), {0, 255, 255}, width, cv::LINE_AA, 4);
    cv::putText(bgr, "#12", {static_cast<int>(b.x), static_cast<int>(b.y)},
                cv::FONT_HERSHEY_SIMPLEX, 0.5, {255, 255, 255}, width, cv::LINE_AA);
  }
}

/// Discs of colour on nothing, by OpenCV.
cv::Mat disc_picture() {
  cv::Mat bgra(360, 300, CV_8UC4, cv::Scalar(0, 0, 0, 0));
  cv::circle(bgra, {150, 180}, 140, {40, 60, 200, 255}, cv::FILLED);
  cv::circle(bgra, {150, 180}, 90, {40, 200, 90, 128}, cv::FILLED);
  return bgra;
}

void draw_picture(benchmark::State& state, const cuface::FrameView& frame) {
  const cv::Mat bgra = disc_picture();
  cuface::Image<cuface::Argb> pixels(bgra.cols, bgra.rows);
  for (int y = 0; y < bgra.rows; ++y)
    std::memcpy(pixels.view().row(y), bgra.ptr(y), sizeof(cuface::Argb) * bgra.cols);
  auto picture = cuface::FacePicture::create(std::move(pixels));
  cuface::OverlayStyle style;
  style.draw = cuface::kDrawImage;
  style.picture = &picture.value().in(frame, cuface::ColorMatrix::kBt709);
  cuface::FaceList faces = face_in(frame.width, frame.height);
  faces.landmarks_per_face = 0;  // by the box
  faces.faces[0].roll = {0.96f, 0.28f};
  for (auto _ : state) draw_faces(frame, cuface::ColorMatrix::kBt709, faces, style);
}

void BM_PictureI420(benchmark::State& state) {
  std::vector<std::uint8_t> memory;
  draw_picture(
      state, view_i420(memory, static_cast<int>(state.range(0)), static_cast<int>(state.range(1))));
}

void BM_PictureBgr(benchmark::State& state) {
  cv::Mat bgr = picture(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  draw_picture(state, view_bgr(bgr));
}

/// The same turned picture of the same size in its place: a warp into the square around it, and a
/// mix.
void BM_PictureOpenCvBgr(benchmark::State& state) {
  cv::Mat bgr = picture(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  cv::Mat planes[4], premultiplied, warped;
  cv::split(disc_picture(), planes);
  for (int i = 0; i < 3; ++i) cv::multiply(planes[i], planes[3], planes[i], 1.0 / 255);
  cv::merge(planes, 4, premultiplied);
  const float side = static_cast<float>(bgr.rows) / 3;
  const double scale = 0.95 * static_cast<double>(side) / premultiplied.cols;
  const int square = static_cast<int>(1.5f * side);
  cv::Mat map = cv::getRotationMatrix2D({150, 180}, -16, scale);
  map.at<double>(0, 2) += square / 2.0 - 150;
  map.at<double>(1, 2) += square / 2.0 - 180;
  cv::Mat place = bgr({static_cast<int>(side) / 2, 0, square, square});
  for (auto _ : state) {
    cv::warpAffine(premultiplied, warped, map, place.size(), cv::INTER_LINEAR);
    for (int y = 0; y < square; ++y) {
      const cv::Vec4b* from = warped.ptr<cv::Vec4b>(y);
      auto* to = place.ptr<std::uint8_t>(y);
      for (int x = 0; x < square; ++x)
        for (int i = 0; i < 3; ++i)
          to[3 * x + i] = static_cast<std::uint8_t>(
              from[x][i] + (to[3 * x + i] * (255 - from[x][3]) + 127) / 255);
    }
  }
}

const std::vector<std::int64_t> kDefault = {cuface::kDrawBox | cuface::kDrawContour |
                                            cuface::kDrawId};

BENCHMARK(BM_DrawI420)->Args({640, 360, kDefault[0]})->Args({640, 360, 63})->Args({640, 360, 32});
BENCHMARK(BM_DrawI420)->Args({1920, 1080, kDefault[0]})->Args({3840, 2160, kDefault[0]});
BENCHMARK(BM_DrawBgr)->Args({640, 360})->Args({1920, 1080});
BENCHMARK(BM_PictureI420)->Args({640, 360})->Args({1920, 1080});
BENCHMARK(BM_PictureBgr)->Args({640, 360})->Args({1920, 1080});
BENCHMARK(BM_PictureOpenCvBgr)->Args({640, 360})->Args({1920, 1080});
BENCHMARK(BM_OpenCvBgr)->Args({640, 360})->Args({1920, 1080});

}  // namespace

BENCHMARK_MAIN();
