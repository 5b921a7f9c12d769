#include "tests/models/synthetic_forest.h"

#include <dlib/image_processing/shape_predictor.h>
#include <gtest/gtest.h>

#include <random>
#include <sstream>
#include <vector>

#include "models/dlib_dat.h"

namespace cuface::test {

dlib::shape_predictor synthetic_predictor(int landmarks, int cascades, int trees, int depth,
                                          int pool, unsigned seed) {
  std::mt19937 random(seed);
  const auto uniform = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  const auto below = [&](int n) {
    return static_cast<unsigned long>(std::uniform_int_distribution<int>(0, n - 1)(random));
  };
  dlib::matrix<float, 0, 1> mean(2 * landmarks);
  for (long i = 0; i < mean.size(); ++i) mean(i) = uniform(0, 1);
  std::vector<std::vector<dlib::impl::regression_tree>> forests;
  std::vector<std::vector<dlib::vector<float, 2>>> pixels;
  for (int c = 0; c < cascades; ++c) {
    forests.emplace_back();
    for (int t = 0; t < trees; ++t) {
      dlib::impl::regression_tree tree;
      for (int i = 0; i < (1 << depth) - 1; ++i) {
        tree.splits.push_back({below(pool), below(pool), uniform(-30, 30)});
      }
      for (int i = 0; i < 1 << depth; ++i) {
        dlib::matrix<float, 0, 1> leaf(2 * landmarks);
        for (long k = 0; k < leaf.size(); ++k) leaf(k) = uniform(-0.02f, 0.02f);
        tree.leaf_values.push_back(leaf);
      }
      forests.back().push_back(tree);
    }
    pixels.emplace_back();
    for (int i = 0; i < pool; ++i) {
      pixels.back().emplace_back(uniform(-0.3f, 1.3f), uniform(-0.3f, 1.3f));
    }
  }
  return {mean, forests, pixels};
}

std::string synthetic_dat(int landmarks, int cascades, int trees, int depth, int pool,
                          unsigned seed) {
  std::ostringstream out;
  serialize(synthetic_predictor(landmarks, cascades, trees, depth, pool, seed), out);
  return out.str();
}

std::shared_ptr<const ForestModel> synthetic_forest(int landmarks, int cascades, int trees,
                                                    int depth, int pool, unsigned seed) {
  const std::string bytes = synthetic_dat(landmarks, cascades, trees, depth, pool, seed);
  auto model = parse_dlib_dat(as_bytes(bytes), "synthetic.dat");
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model.ok() ? model.value() : nullptr;
}

}  // namespace cuface::test
