// What kernels/boost makes of samples, for test_boost_twin.py.
//
//   boost_stage SIDE COUNT [KEY=VALUE]... < SAMPLES > STAGE
//
// KEY: boosting, max_depth, max_weak_count, min_hit_rate, max_false_alarm, weight_trim_rate, mode;
// enumerators are numbers. SAMPLES: a byte a label, then a byte a pixel. STAGE is a JSON object.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "kernels/boost/boost.h"

namespace {

using namespace cuface;

int fail(const std::string& what) {
  std::fprintf(stderr, "boost_stage: %s\n", what.c_str());
  return 1;
}

bool set(BoostOptions& options, FeatureMode& mode, const std::string& key, const char* text) {
  const double number = std::atof(text);
  if (key == "boosting")
    options.boosting = static_cast<Boosting>(number);
  else if (key == "max_depth")
    options.max_depth = static_cast<int>(number);
  else if (key == "max_weak_count")
    options.max_weak_count = static_cast<int>(number);
  else if (key == "min_hit_rate")
    options.min_hit_rate = static_cast<float>(number);
  else if (key == "max_false_alarm")
    options.max_false_alarm = static_cast<float>(number);
  else if (key == "weight_trim_rate")
    options.weight_trim_rate = number;
  else if (key == "mode")
    mode = static_cast<FeatureMode>(number);
  else
    return false;
  return true;
}

void print(const BoostedStage& stage) {
  std::printf("{\"threshold\": %.9g, \"hit_rate\": %.9g, \"false_alarm\": %.9g, \"trees\": [",
              static_cast<double>(stage.threshold), static_cast<double>(stage.hit_rate),
              static_cast<double>(stage.false_alarm));
  const char* between_trees = "";
  for (const WeakTree& tree : stage.trees) {
    std::printf("%s\n{\"nodes\": [", between_trees);
    between_trees = ",";
    const char* between = "";
    for (const HaarNode& node : tree.nodes) {
      std::printf("%s[%d, %.9g, %d, %d]", between, node.feature,
                  static_cast<double>(node.threshold), node.left, node.right);
      between = ", ";
    }
    std::printf("], \"leaves\": [");
    between = "";
    for (const float leaf : tree.leaves) {
      std::printf("%s%.9g", between, static_cast<double>(leaf));
      between = ", ";
    }
    std::printf("]}");
  }
  std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  if (argc < 3) return fail("usage: boost_stage SIDE COUNT [KEY=VALUE]...");
  const int side = std::atoi(argv[1]);
  const auto count = static_cast<std::size_t>(std::atoi(argv[2]));
  BoostOptions options;
  FeatureMode mode = FeatureMode::kBasic;
  for (int i = 3; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos ||
        !set(options, mode, argument.substr(0, equals), argument.c_str() + equals + 1))
      return fail("no such option: " + argument);
  }
  const std::vector<char> input{std::istreambuf_iterator<char>(std::cin), {}};
  if (input.size() != count * static_cast<std::size_t>(side * side + 1))
    return fail("the input has not the size of the samples");
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(input.data());
  const TrainingSamples samples{{bytes + count, input.size() - count}, {bytes, count}, side, side};
  auto bank = FeatureBank::create(side, side, mode);
  if (!bank.ok()) return fail(bank.status().message());
  auto stage = train_stage(bank.value(), samples, options);
  if (!stage.ok()) return fail(stage.status().message());
  print(stage.value());
  return 0;
}
