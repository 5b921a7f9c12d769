#include "kernels/grow/draws.h"

#include <cmath>
#include <limits>

#include "kernels/common/exponential.h"
#include "kernels/common/random.h"

namespace cuface::grow {
namespace {

constexpr double kLeastPart = 0.1;  // that a face has in a start

float distance(Point a, Point b) {
  const float x = a.x - b.x, y = a.y - b.y;
  return std::sqrt(x * x + y * y);
}

/// From -64 to 64: half of what two pixels differ by at most, as dlib has it.
float threshold_from(double draw) { return static_cast<float>((draw * 256 - 128) / 2); }

/// After so many pairs that lie too far from each other the last one is taken.
std::size_t most_attempts(std::span<const Point> pixels) { return pixels.size() * pixels.size(); }

class DlibDraws : public Draws {
 public:
  DlibDraws(const ForestOptions& options, std::size_t faces)
      : random_(options.random_seed),
        samples_(faces * static_cast<std::size_t>(options.oversampling_amount)),
        amount_(static_cast<std::size_t>(options.oversampling_amount)),
        lambda_(options.lambda) {}

  Part part(std::size_t, std::size_t) override {
    const std::size_t sample = random_.word() % samples_;
    return {sample / amount_, random_.real() + kLeastPart};
  }

  Place jitter(std::size_t) override { return place(); }
  Place pixel(int, int) override { return place(); }

  void splits(int, int, std::span<const Point> pixels, std::span<ForestSplit> tests) override {
    for (ForestSplit& split : tests) {
      for (std::size_t i = 0; i < most_attempts(pixels); ++i) {
        split.a = index(pixels);
        do split.b = index(pixels);
        while (split.a == split.b);
        // dlib asks its library's exp: a last bit decides nothing that 48 bits do not.
        const double apart = distance_of(pixels[split.a], pixels[split.b]);
        if (std::exp(-apart / lambda_) > random_.real()) break;
      }
      split.threshold = threshold_from(random_.real());
    }
  }

 private:
  std::uint32_t index(std::span<const Point> pixels) {
    return static_cast<std::uint32_t>(random_.index(pixels.size()));
  }

  Place place() {
    const double x = random_.real();
    return {x, random_.real()};
  }

  /// Squares in float, the root in double.
  static double distance_of(Point a, Point b) {
    const float x = a.x - b.x, y = a.y - b.y;
    return std::sqrt(static_cast<double>(x * x + y * y));
  }

  DlibRandom random_;
  std::size_t samples_, amount_;
  double lambda_;
};

double unit(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

/// [0, n) from 32 bits.
std::uint32_t below(std::uint64_t word, std::size_t n) {
  return static_cast<std::uint32_t>(((word & 0xffffffffu) * n) >> 32);
}

class OwnDraws : public Draws {
 public:
  OwnDraws(const ForestOptions& options, std::size_t faces)
      : tests_(static_cast<std::size_t>(options.num_test_splits)),
        faces_(faces),
        lambda_(static_cast<float>(options.lambda)) {
    for (const char c : options.random_seed)
      seed_ = random_at(seed_, static_cast<unsigned char>(c));
  }

  Part part(std::size_t sample, std::size_t index) override {
    const std::uint64_t stream = random_at(random_at(seed_, kStarts), sample);
    return {random_index(stream, 2 * index, faces_),
            unit(random_at(stream, 2 * index + 1)) + kLeastPart};
  }

  Place jitter(std::size_t sample) override {
    return place(random_at(random_at(seed_, kJitter), sample), 0);
  }

  Place pixel(int stage, int index) override {
    return place(random_at(random_at(seed_, kPixels), static_cast<std::uint64_t>(stage)),
                 static_cast<std::uint64_t>(index));
  }

  void splits(int stage, int tree, std::span<const Point> pixels,
              std::span<ForestSplit> tests) override {
    const std::uint64_t of_stage =
        random_at(random_at(seed_, kSplits), static_cast<std::uint64_t>(stage));
    const std::uint64_t of_tree = random_at(of_stage, static_cast<std::uint64_t>(tree));
    for (std::size_t i = 0; i < tests.size(); ++i) {
      const std::uint64_t of_node = random_at(of_tree, i / tests_);
      tests[i] = split(random_at(of_node, i % tests_), pixels);
    }
  }

 private:
  enum Purpose : std::uint64_t { kStarts, kJitter, kPixels, kSplits };

  static Place place(std::uint64_t stream, std::uint64_t index) {
    return {unit(random_at(stream, 2 * index)), unit(random_at(stream, 2 * index + 1))};
  }

  /// Value 0 of the stream makes the threshold, values 2i + 1 and 2i + 2 attempt i.
  ForestSplit split(std::uint64_t stream, std::span<const Point> pixels) const {
    ForestSplit split;
    split.threshold = threshold_from(unit(random_at(stream, 0)));
    for (std::size_t i = 0; i < most_attempts(pixels); ++i) {
      const std::uint64_t word = random_at(stream, 2 * i + 1);
      split.a = below(word >> 32, pixels.size());
      split.b = below(word, pixels.size() - 1);
      if (split.b >= split.a) ++split.b;
      const float apart = distance(pixels[split.a], pixels[split.b]);
      const float draw = static_cast<float>(random_at(stream, 2 * i + 2) >> 40) * 0x1p-24f;
      if (exponential(-apart / lambda_) > draw) break;
    }
    return split;
  }

  std::uint64_t seed_ = 0;
  std::size_t tests_, faces_;
  float lambda_;
};

}  // namespace

DlibRandom::DlibRandom(const std::string& seed) {
  std::uint32_t hash = 0;
  for (const char c : seed) hash = hash * 37 + static_cast<std::uint32_t>(c);
  if (!seed.empty()) twister_.seed(hash);
  twister_.discard(10000);
}

double DlibRandom::real() {
  constexpr std::uint32_t kLow = 0xffffff;
  const double high = word() & kLow;
  const double value = (high * 0x1p24 + (word() & kLow)) / (0x1p48 - 1 + 0.05);
  return value < 1 ? value : 1 - std::numeric_limits<double>::epsilon();
}

std::uint64_t DlibRandom::index(std::uint64_t n) {
  const std::uint64_t whole = std::numeric_limits<std::uint64_t>::max() / n * n;
  for (;;) {
    const std::uint64_t high = word();
    const std::uint64_t value = high << 32 | word();
    if (value < whole) return value % n;
  }
}

std::unique_ptr<Draws> make_draws(const ForestOptions& options, std::size_t faces) {
  if (options.draws == ForestDraws::kDlib) return std::make_unique<DlibDraws>(options, faces);
  return std::make_unique<OwnDraws>(options, faces);
}

}  // namespace cuface::grow
