// The experiments of edges and motion [S1.01 - S1.12]: convolution, edges and motion against the
// size of a square picture, ours and OpenCV's in turn, one thread each. tests/eval/run runs it.
#include "kernels/edges/edges.h"

#include <algorithm>

#include "kernels/common/bits.h"
#include "kernels/common/draw_bits.h"
#include "kernels/convolve/convolve.h"
#include "kernels/motion/motion.h"
#include "tests/eval/curves.h"
#include "tests/published_edges.h"

namespace cuface::eval {
namespace {

constexpr const char* kPixels = "pixels of the picture";

template <typename T>
ImageView<T> view(cv::Mat& m) {
  return {m.ptr<T>(), m.cols, m.rows, static_cast<std::ptrdiff_t>(m.step)};
}

/// A picture of integers and one of floats, of which each pixel takes as many bytes.
struct Convolution {
  Convolution(const cv::Mat& picture, std::vector<std::int32_t> filter) : taps(std::move(filter)) {
    picture.convertTo(integers, CV_32S);
    picture.convertTo(floats, CV_32F);
    const int more = static_cast<int>(taps.size()) - 1;
    full.create(picture.rows + more, picture.cols + more, CV_32S);
  }
  void separable() {
    check(convolve_separable(view<const std::int32_t>(integers), taps, taps, 255,
                             view<std::int32_t>(full)));
  }
  void direct() {
    check(convolve_direct(view<const std::int32_t>(integers), outer_product(taps, taps), 255,
                          view<std::int32_t>(full)));
  }
  cv::Mat column() const { return cv::Mat_<float>(cv::Mat(taps)); }
  void opencv_separable() { cv::sepFilter2D(floats, out, CV_32F, column(), column()); }
  void opencv_direct() { cv::filter2D(floats, out, CV_32F, column() * column().t()); }
  /// cv::dft of picture and filter, as its documentation has it.
  void fft() {
    const int size = static_cast<int>(taps.size());
    const cv::Size whole(cv::getOptimalDFTSize(full.cols), cv::getOptimalDFTSize(full.rows));
    cv::Mat frequencies = cv::Mat::zeros(whole, CV_32F), filter = cv::Mat::zeros(whole, CV_32F);
    floats.copyTo(frequencies(cv::Rect({}, floats.size())));
    cv::Mat(column() * column().t()).copyTo(filter(cv::Rect(0, 0, size, size)));
    cv::dft(frequencies, frequencies, 0, floats.rows);
    cv::dft(filter, filter, 0, size);
    cv::mulSpectrums(frequencies, filter, frequencies, 0);
    cv::dft(frequencies, out, cv::DFT_INVERSE | cv::DFT_SCALE, full.rows);
  }
  static void check(const Status& status) {
    if (!status.ok()) std::abort();
  }

  std::vector<std::int32_t> taps;
  cv::Mat integers, floats, full, out;
};

const std::vector<std::int32_t> kGaussian = {1, 2, 1};

/// S1.E1: both ways of convolution; and, for larger filters, the way by Fourier transforms.
void add_convolutions(Program& program, const cv::Mat& picture) {
  const std::vector<double> sizes = squares({100, 500, 1000, 1500, 2000, 2500});
  program.add("S1.E1", "direct, 3x3", kPixels, "cv::filter2D of floats", sizes, [&](double x) {
    Convolution c(square(picture, x), kGaussian);
    return program.measure(
        x, [&] { c.direct(); }, [&] { c.opencv_direct(); });
  });
  program.add("S1.E1", "separable, 3x3", kPixels, "cv::sepFilter2D of floats", sizes,
              [&](double x) {
                Convolution c(square(picture, x), kGaussian);
                return program.measure(
                    x, [&] { c.separable(); }, [&] { c.opencv_separable(); });
              });
  const cv::Mat middle = scaled(picture, {1000, 1000});
  const auto of_taps = [&](void (Convolution::*way)()) {
    return [&, way](double x) {
      Convolution c(middle, std::vector<std::int32_t>(static_cast<std::size_t>(x), 1));
      return program.measure(
          x, [&] { (c.*way)(); }, [&] { c.fft(); });
    };
  };
  program.add("S1.E1", "direct, 1000x1000, by filter", "side of the filter", "cv::dft",
              {3, 5, 7, 9, 11, 13, 15}, of_taps(&Convolution::direct));
  program.add("S1.E1", "separable, 1000x1000, by filter", "side of the filter", "cv::dft",
              {3, 9, 15, 17, 19, 21, 23, 25, 27, 29, 31, 41, 51}, of_taps(&Convolution::separable));
  program.add("S1.E2", "separable convolution", kPixels, "cv::sepFilter2D of floats",
              squares({100, 500, 1000, 2000, 3000, 4000, 5000, 6000, 7500}), [&](double x) {
                Convolution c(square(picture, x), kGaussian);
                return program.measure(
                    x, [&] { c.separable(); }, [&] { c.opencv_separable(); });
              });
}

/// S1.E3: gradient, thinning by the published sectors and linking by an apron of 2.
void add_edges(Program& program, const cv::Mat& picture) {
  program.add("S1.E3", "edges as published", kPixels, "cv::Canny, L2",
              squares({100, 500, 1000, 2000, 3000, 4000, 5000, 6000}), [&](double x) {
                const EdgeConfig config = test::published_edges_without_blur();
                cv::Mat p = square(picture, x), ours(p.size(), CV_8U), peer;
                auto detector = made(EdgeDetector::create(config, p.cols, p.rows));
                return program.measure(
                    x,
                    [&] {
                      Convolution::check(
                          detector.run(test::view_of(p), {view<std::uint8_t>(ours), {}, {}}));
                    },
                    [&] { cv::Canny(p, peer, config.low, config.high, 3, true); });
              });
}

/// S1.E7: the edges of one large picture with noise. Of either side the first call makes what it
/// needs.
void add_large_picture(Program& program, const cv::Mat& picture) {
  const cv::Size size = program.quick() ? cv::Size(664, 373) : cv::Size(5312, 2988);
  program.add("S1.E7", "edges of a picture with noise", kPixels, "cv::GaussianBlur and cv::Canny",
              {static_cast<double>(size.area())}, [&](double x) {
                cv::Mat noisy = scaled(picture, size), noise(size, CV_8S), blurred, peer;
                cv::RNG random(Program::kSeed);
                random.fill(noise, cv::RNG::NORMAL, 0, 12);
                cv::add(noisy, noise, noisy, cv::noArray(), CV_8U);
                EdgeConfig config;
                config.sigma = 5;
                config.low = 15, config.high = 25;
                config.norm = GradientNorm::kL2;
                cv::Mat ours(size, CV_8U);
                std::unique_ptr<EdgeDetector> detector;
                return program.measure(
                    x,
                    [&] {
                      if (!detector)
                        detector = std::make_unique<EdgeDetector>(
                            made(EdgeDetector::create(config, size.width, size.height)));
                      Convolution::check(
                          detector->run(test::view_of(noisy), {view<std::uint8_t>(ours), {}, {}}));
                    },
                    [&] {
                      cv::GaussianBlur(noisy, blurred, {5, 5}, 5);
                      cv::Canny(blurred, peer, config.low, config.high, 3, true);
                    });
              });
}

/// The published motion between two edge maps, by OpenCV: dilation says what is near.
struct OpenCvMotion {
  MotionPlan plan;
  cv::Mat near, gone, kept, difference, area;

  void run(const cv::Mat& then, const cv::Mat& now) {
    const int reach = plan.config.tolerance, border = plan.config.border;
    const cv::Mat box = cv::Mat::ones(2 * reach + 1, 2 * reach + 1, CV_8U);
    cv::dilate(then, near, box);
    cv::erode(then, kept, box);
    cv::bitwise_not(near, near);
    cv::bitwise_and(now, near, difference);
    cv::bitwise_not(now, gone);
    cv::bitwise_and(gone, kept, gone);
    cv::bitwise_or(difference, gone, difference);
    cv::Mat all = cv::Mat::zeros(now.size(), CV_8U);
    const cv::Rect inside(border, border, now.cols - 2 * border, now.rows - 2 * border);
    difference(inside).copyTo(all(inside));
    difference = all;
    area = cv::Mat::zeros(now.size(), CV_8U);
    for (int row = 0; row < plan.config.rows; ++row) {
      for (int column = 0; column < plan.config.columns; ++column) {
        const auto first = [](int cell, int cells, int size) {
          return first_pixel(cell, cells, size);
        };
        const int left = first(column, plan.config.columns, now.cols);
        const int top = first(row, plan.config.rows, now.rows);
        const cv::Rect cell(left, top, first(column + 1, plan.config.columns, now.cols) - left,
                            first(row + 1, plan.config.rows, now.rows) - top);
        const auto changed = static_cast<std::uint32_t>(cv::countNonZero(difference(cell)));
        if (is_active_as_published(changed, plan)) area(cell).setTo(255);
      }
    }
  }
};

/// Two edge maps, between which a part of the picture moves.
struct MotionFrames {
  explicit MotionFrames(const cv::Mat& still) {
    cv::Mat moved = still.clone();
    // What was a third of the way to the right is in the middle.
    const int third = still.cols / 3;
    still(cv::Rect(0, third, third, third)).copyTo(moved(cv::Rect(third, third, third, third)));
    cv::Canny(still, edges[0], 70, 80, 3, true);
    cv::Canny(moved, edges[1], 70, 80, 3, true);
  }
  static MotionConfig config() {
    MotionConfig out = published_motion();
    out.tolerance = 12;
    return out;
  }
  cv::Mat edges[2];
};

const std::vector<double> kMotionSizes =
    squares({100, 500, 1000, 2000, 3000, 4000, 5000, 6000, 7500});

/// S1.E4: difference, densities and the motion-area image of two edge maps; and without the image,
/// of bit maps.
void add_motion(Program& program, const cv::Mat& picture) {
  program.add(
      "S1.E4", "motion as published", kPixels, "cv::dilate, cv::erode and cv::countNonZero",
      squares({100, 500, 1000, 2000, 3000, 4000, 5000, 6000, 7500}), [&](double x) {
        MotionConfig config = published_motion();
        config.tolerance = 12;
        cv::Mat still = square(picture, x), moved = still.clone();
        // What was a third of the way to the right is in the middle.
        const int third = still.cols / 3;
        still(cv::Rect(0, third, third, third)).copyTo(moved(cv::Rect(third, third, third, third)));
        cv::Mat edges[2], area(still.size(), CV_8U);
        cv::Canny(still, edges[0], 70, 80, 3, true);
        cv::Canny(moved, edges[1], 70, 80, 3, true);
        auto ours = made(MotionDetector::create(config, still.cols, still.rows));
        OpenCvMotion peer{ours.plan(), {}, {}, {}, {}, {}};
        std::int64_t number = 0, peers_number = 0;
        const MotionResult* result = nullptr;
        const auto look = [&] {
          result = made(ours.look(test::view_of(edges[number % 2]), number));
          draw_cells(ours.plan(), *result, view<std::uint8_t>(area));
          ++number;
        };
        look();
        Json point = program.measure(x, look, [&] {
          peer.run(edges[peers_number % 2], edges[(peers_number + 1) % 2]);
          ++peers_number;
        });
        // The same in the same frames: both have seen the second map last, or both the first.
        if ((number - 1) % 2 != peers_number % 2) look();
        cv::Mat mask(area.size(), CV_8U);
        draw_bits(ours.mask(), view<std::uint8_t>(mask));
        point["changed_pixels"] = result->changed;
        point["moving_cells"] = result->moving_cells;
        point["pixels_unlike_peer"] = cv::countNonZero(mask != peer.difference);
        point["area_unlike_peer"] = cv::countNonZero(area != peer.area);
        return point;
      });
  program.add(
      "S1.E4", "motion of bit maps, as published", kPixels, "", kMotionSizes, [&](double x) {
        const MotionFrames frames(square(picture, x));
        const cv::Size size = frames.edges[0].size();
        std::vector<Image<std::uint64_t>> maps;
        for (const cv::Mat& edges : frames.edges) {
          maps.emplace_back(words_of(size.width), size.height);
          for (int y = 0; y < size.height; ++y)
            pack_row(edges.ptr(y), size.width, maps.back().view().row(y));
        }
        auto ours = made(MotionDetector::create(MotionFrames::config(), size.width, size.height));
        std::int64_t number = 0;
        const auto look = [&] {
          (void)made(ours.look(maps[static_cast<std::size_t>(number % 2)].view(), number));
          ++number;
        };
        look();
        return program.measure(x, look, {});
      });
}

}  // namespace
}  // namespace cuface::eval

int main(int argc, char** argv) {
  cuface::eval::Program program(argc, argv);
  const cv::Mat picture = program.mosaic();
  cuface::eval::add_convolutions(program, picture);
  cuface::eval::add_edges(program, picture);
  cuface::eval::add_large_picture(program, picture);
  cuface::eval::add_motion(program, picture);
  return program.finish();
}
