// Curves that tests measure: time on CUDA against the size of the work.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kernels/pyramid/pyramid.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"

namespace cuface::test {

/// One curve's points, as lines for tests/gpu/tools/results.py.
class Curve {
 public:
  Curve(std::string name, std::string axis) : name_(std::move(name)), axis_(std::move(axis)) {}

  void add(double x, double us) {
    if (under_tool()) return;
    std::printf("{\"what\":\"curve\",\"curve\":\"%s\",\"axis\":\"%s\",\"x\":%.0f,\"us\":%.2f}\n",
                name_.c_str(), axis_.c_str(), x, us);
    points_.emplace_back(x, us);
  }
  /// Time must not grow faster than the size, but for a quarter that is chance.
  void expect_no_faster_than_the_work() const {
    if (under_tool()) return;
    ASSERT_GE(points_.size(), 2u) << name_;
    const auto& [small, fast] = points_.front();
    const auto& [large, slow] = points_.back();
    EXPECT_LE(slow / fast, 1.25 * large / small) << name_;
  }

 private:
  std::string name_, axis_;
  std::vector<std::pair<double, double>> points_;
};

/// Under a tool the sizes are few and small.
template <typename T>
std::vector<T> sizes(std::vector<T> all, std::vector<T> small) {
  return under_tool() ? small : all;
}

/// The picture of that name; under a tool, where it is not there, the first one. Empty without any.
inline Grey natural(const std::string& name) {
  for (const test::GrayPicture& p : test::load_gray_pictures()) {
    if (p.name != name && !under_tool()) continue;
    Grey out(p.width, p.height);
    out.pixels = p.pixels;
    return out;
  }
  return {0, 0};
}

inline Grey resized(const Grey& picture, int width, int height) {
  Grey out(width, height);
  resize_linear_exact(picture.view(), out.view());
  return out;
}

/// A curve's time on the device of `enqueue()`, in microseconds: the mean of the middle half of
/// many. Events tick in half microseconds, so a median of a few of them jumps by that much.
template <typename Enqueue>
double curve_us(cudaStream_t stream, Enqueue enqueue) {
  const std::vector<double> times = times_us(stream, enqueue, 101, 2001);
  const std::size_t quarter = times.size() / 4;
  const auto first = times.begin() + static_cast<std::ptrdiff_t>(quarter);
  const auto last = times.end() - static_cast<std::ptrdiff_t>(quarter);
  return std::accumulate(first, last, 0.0) / static_cast<double>(last - first);
}

/// The same of a list as a graph, as elements launch it.
inline double curve_us(cudaStream_t stream, cuda::LaunchList list) {
  cuda::GraphSet graphs;
  return curve_us(stream, [&] { EXPECT_TRUE(graphs.submit(list, stream).ok()); });
}

struct Size {
  int width, height;
  double area() const { return static_cast<double>(width) * height; }
};

}  // namespace cuface::test
