// dlib's .dat, damaged and hostile.
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "tests/data.h"
#include "tests/models/bad_file.h"
#include "tests/models/synthetic_forest.h"

namespace cuface::test {
namespace {

/// Small, but built like the 68-point model.
std::string dat_68() { return synthetic_dat(68, 3, 12, 4, 50, 68); }

TEST(BadDat, Truncations) {
  Feeder<ForestModel> feeder(load_forest, "bad.dat");
  const std::string good = dat_68();
  ASSERT_TRUE(feeder.feed(good, "good"));
  const int cuts = feeder.feed_truncations(good, "68 points");
  EXPECT_EQ(feeder.take().refused, cuts);
}

TEST(BadDat, Flips) {
  Feeder<ForestModel> feeder(load_forest, "bad.dat");
  feeder.feed_flips(dat_68(), "68 points", kFlips, kNoMend);
  feeder.feed_flips(synthetic_dat(1, 1, 1, 1, 1, 1), "smallest", kFlips, kNoMend);
  const Fed fed = feeder.take();
  // The format has no checksum: another float may pass, another structure may not.
  EXPECT_GT(fed.refused, kFlips / 4);
  EXPECT_GT(fed.loaded, kFlips / 4);
}

// A real file takes long: 20 flips of the small one, or $CUFACE_FLIPS of it and 50 of the large
// one.
TEST(BadDat, FetchedModels) {
  Feeder<ForestModel> feeder(load_forest, "bad.dat");
  const auto path = [](int points) {
    return model_dir() + "/shape_predictor_" + std::to_string(points) + "_face_landmarks.dat";
  };
  if (!std::filesystem::exists(path(68))) GTEST_SKIP() << "run models/fetch --models";
  std::map<int, int> flips = {{5, 20}};
  if (const char* full = std::getenv("CUFACE_FLIPS")) flips = {{5, std::atoi(full)}, {68, 50}};
  for (const auto& [points, count] : flips) {
    const std::string good = read_file(path(points)), name = std::to_string(points) + " points";
    const int cuts = feeder.feed_truncations(good, name);
    feeder.feed_flips(good, name, count, kNoMend);
    const Fed fed = feeder.take();
    EXPECT_GE(fed.refused, cuts);
    EXPECT_EQ(fed.refused + fed.loaded, cuts + count);
  }
}

/// dlib's integer: a control byte (sign and length), then the magnitude, little end first.
std::string integer(std::uint64_t magnitude, bool negative = false, int bytes = 0) {
  std::string text;
  for (; magnitude != 0 || static_cast<int>(text.size()) < std::max(bytes, 1); magnitude >>= 8) {
    text += static_cast<char>(magnitude & 0xff);
  }
  return static_cast<char>(text.size() | (negative ? 0x80 : 0)) + text;
}

TEST(BadDat, Hostile) {
  Feeder<ForestModel> feeder(load_forest, "bad.dat");
  const std::string zero = integer(0) + integer(0);  // a float
  const std::string infinity = integer(0) + integer(32000), nan = integer(0) + integer(32002);
  const auto column = [](std::uint64_t rows) { return integer(rows, true) + integer(1, true); };
  const auto model = [&](const std::string& cascades, const std::string& trees,
                         const std::string& splits, const std::string& split,
                         const std::string& leaf, const std::string& anchor,
                         const std::string& delta) {
    return integer(1) + column(4) + repeated(zero, 4 * zero.size()) + cascades + trees + splits +
           split + integer(2) + column(4) + leaf + column(4) + leaf + integer(1) + integer(1) +
           anchor + integer(1) + integer(1) + delta;
  };
  const std::string one = integer(1), leaf = repeated(zero, 4 * zero.size());
  const std::string split = integer(0) + integer(0) + zero, delta = zero + zero;
  ASSERT_TRUE(feeder.feed(model(one, one, one, split, leaf, integer(0), delta), "good"));
  (void)feeder.take();
  const std::string padding(std::size_t{8} << 20, '\1');
  std::vector<std::pair<std::string, std::string>> files = {
      {"threshold infinite",
       model(one, one, one, integer(0) + integer(0) + infinity, leaf, integer(0), delta)},
      {"threshold nan",
       model(one, one, one, integer(0) + integer(0) + nan, leaf, integer(0), delta)},
      {"threshold over float",
       model(one, one, one, integer(0) + integer(0) + integer(1) + integer(200), leaf, integer(0),
             delta)},
      {"leaf infinite",
       model(one, one, one, split, infinity + zero + zero + zero, integer(0), delta)},
      {"delta nan", model(one, one, one, split, leaf, integer(0), zero + nan)},
      {"split of a pixel too many",
       model(one, one, one, one + integer(0) + zero, leaf, integer(0), delta)},
      {"anchor of a landmark too many", model(one, one, one, split, leaf, integer(2), delta)},
      {"anchor negative", model(one, one, one, split, leaf, integer(1, true), delta)},
      {"no cascades", model(integer(0), one, one, split, leaf, integer(0), delta)},
      {"no trees", model(one, integer(0), one, split, leaf, integer(0), delta)},
      {"no splits", model(one, one, integer(0), split, leaf, integer(0), delta)},
      {"mean of no landmarks", integer(1) + column(0)},
      {"mean with two columns", integer(1) + integer(4, true) + integer(2, true)},
      // As many trees as the bytes behind them could just hold, and no more.
      {"a claim the file could keep",
       integer(1) + column(4) + leaf + integer(100) + integer(2500) + integer(1) + padding},
      {"the deepest trees",
       integer(1) + column(2) + zero + zero + integer(10) + integer(20) + integer(4095) + padding},
      {"numbers of 8 bytes", integer(1) + repeated("\x88\xff\xff\xff\xff\xff\xff\xff\xff", 1000)},
      {"numbers of 15 bytes", integer(1) + integer(4, true) + repeated("\x0f", 1000)},
      {"one number and nothing", std::string("\1\1\x81\x88\x81\1", 6)},
      {"only ones", std::string("\1\1\x82") + repeated("\1", std::size_t{8} << 20)},
  };
  for (const std::uint64_t size :
       {std::uint64_t{1} << 31, std::uint64_t{1} << 32, (std::uint64_t{1} << 62) + 1,
        (std::uint64_t{1} << 63) - 1, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    const std::string claim = integer(size), n = std::to_string(size);
    files.insert(files.end(),
                 {{"rows " + n, integer(1) + integer(size, true) + integer(1, true) + padding},
                  {"columns " + n, integer(1) + integer(4, true) + integer(size, true) + padding},
                  {"cascades " + n, model(claim, one, one, split, leaf, integer(0), delta)},
                  {"trees " + n, model(one, claim, one, split, leaf, integer(0), delta)},
                  {"splits " + n, model(one, one, claim, split, leaf, integer(0), delta)},
                  {"split index " + n,
                   model(one, one, one, claim + integer(0) + zero, leaf, integer(0), delta)},
                  {"anchor " + n, model(one, one, one, split, leaf, claim, delta)},
                  {"exponent " + n,
                   model(one, one, one, split, leaf, integer(0), integer(1) + claim + zero)}});
  }
  for (const auto& [name, content] : files) EXPECT_FALSE(feeder.feed(content, name)) << name;
  EXPECT_EQ(feeder.take().refused, static_cast<int>(files.size()));
  // Shapes that overflow to infinity, and then to NaN, on the way.
  const std::string largest = integer(0xffffff) + integer(104);
  EXPECT_TRUE(feeder.feed(model(one, one, one, split, repeated(largest, 4 * largest.size()),
                                integer(0), largest + largest),
                          "largest floats"));
}

}  // namespace
}  // namespace cuface::test
