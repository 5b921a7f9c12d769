// Curves that tests measure: time on CUDA against the size of the work.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "kernels/pyramid/pyramid.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/launch_time.h"

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
  /// Time must not grow faster than the size, but for a quarter that is chance. `from`: what is
  /// smaller has another reason to be fast.
  void expect_no_faster_than_the_work(double from = 0) const {
    if (under_tool()) return;
    const auto first =
        std::ranges::find_if(points_, [&](const auto& p) { return p.first >= from; });
    ASSERT_GE(points_.end() - first, 2) << name_;
    const auto& [small, fast] = *first;
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

struct Size {
  int width, height;
  double area() const { return static_cast<double>(width) * height; }
};

}  // namespace cuface::test
