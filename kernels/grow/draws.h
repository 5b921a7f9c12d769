// All that is random in the training of a forest. None of the draws depend on the samples' pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>

#include "kernels/common/geometry.h"
#include "kernels/grow/grow.h"

namespace cuface::grow {

/// dlib::rand: a Mersenne Twister, seeded with a hash of the text and warmed up.
class DlibRandom {
 public:
  explicit DlibRandom(const std::string& seed);

  std::uint32_t word() { return static_cast<std::uint32_t>(twister_()); }
  /// A draw of 48 bits, in [0, 1).
  double real();
  /// In [0, n), each as likely.
  std::uint64_t index(std::uint64_t n);

 private:
  std::mt19937 twister_;
};

/// A sequence, so the calls come in this order: parts and jitter sample by sample, pixels stage by
/// stage, splits tree by tree. Only own draws could be asked in any order.
class Draws {
 public:
  virtual ~Draws() = default;

  /// One of the faces whose target shapes make the start of a sample, and its weight.
  struct Part {
    std::size_t face;
    double weight;
  };
  virtual Part part(std::size_t sample, std::size_t index) = 0;
  /// A place in a region, in parts of it: [0, 1).
  struct Place {
    double x, y;
  };
  /// Where the start of a sample is moved to.
  virtual Place jitter(std::size_t sample) = 0;
  /// Where a feature pixel lies.
  virtual Place pixel(int stage, int index) = 0;
  /// Fills `tests`, [nodes][tests], with the splits that a tree tries. `pixels` are the stage's.
  virtual void splits(int stage, int tree, std::span<const Point> pixels,
                      std::span<ForestSplit> tests) = 0;
};

/// The draws of options.draws for this many faces; the options are valid. One thread at a time.
std::unique_ptr<Draws> make_draws(const ForestOptions& options, std::size_t faces);

}  // namespace cuface::grow
