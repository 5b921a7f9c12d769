// libFuzzer: landmark models built from choices, all of them valid, so that the bytes go into what
// a regression makes of them.
#include "tests/fuzz/frame.h"

namespace cuface::test {
namespace {

struct BuiltForest : ForestModel {
  std::vector<float> means, offsets, values;
  std::vector<std::uint32_t> hooks;
  std::vector<ForestSplit> nodes;
};

float number(FuzzedDataProvider& from) {
  return from.ConsumeIntegralInRange(0, 15) == 0
             ? from.ConsumeFloatingPointInRange(-3.4e38f, 3.4e38f)
             : static_cast<float>(from.ConsumeIntegral<std::int8_t>()) / 64;
}

std::shared_ptr<const ForestModel> forest(FuzzedDataProvider& from) {
  auto m = std::make_shared<BuiltForest>();
  m->landmarks = from.ConsumeIntegralInRange(1, 24);
  m->stages = from.ConsumeIntegralInRange(1, 3);
  m->trees = from.ConsumeBool() ? from.ConsumeIntegralInRange(1, 9) : pick(from, {63, 64, 65, 70});
  m->depth = from.ConsumeIntegralInRange(1, 6);
  m->pool = from.ConsumeBool() ? from.ConsumeIntegralInRange(1, 40)
                               : pick(from, {255, 256, 257, 511, 512, 513, 2048, 2049});
  const auto size = [](int n) { return static_cast<std::size_t>(n); };
  const std::size_t trees = size(m->stages * m->trees), pixels = size(m->stages * m->pool);
  m->means.resize(size(m->leaf_size()));
  m->hooks.resize(pixels);
  m->offsets.resize(2 * pixels);
  m->nodes.resize(trees * size(m->splits_per_tree()));
  m->values.resize(trees * size(m->leaves_per_tree() * m->leaf_size()));
  // A few are chosen; large tables repeat them.
  const auto fill = [&](auto& table, auto one) {
    std::vector<std::decay_t<decltype(table[0])>> some(
        from.ConsumeIntegralInRange<std::size_t>(1, 24));
    for (auto& value : some) value = one();
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = some[i * 7 % some.size()];
  };
  fill(m->means, [&] { return number(from); });
  fill(m->offsets, [&] { return number(from); });
  fill(m->values, [&] { return number(from); });
  fill(m->hooks, [&] {
    return from.ConsumeIntegralInRange<std::uint32_t>(0,
                                                      static_cast<std::uint32_t>(m->landmarks - 1));
  });
  const auto last = static_cast<std::uint32_t>(m->pool - 1);
  fill(m->nodes, [&] {
    const auto pixel = [&] { return from.ConsumeIntegralInRange<std::uint32_t>(0, last); };
    const float threshold =
        from.ConsumeBool() ? number(from) : from.ConsumeFloatingPointInRange(-260.0f, 260.0f);
    const std::uint32_t a = pixel();
    return ForestSplit{a, pixel(), threshold};
  });
  m->mean_shape = m->means;
  m->anchors = m->hooks;
  m->deltas = m->offsets;
  m->splits = m->nodes;
  m->leaves = m->values;
  if (from.ConsumeBool()) m->box_maps = dlib_box_maps();
  return m;
}

}  // namespace
}  // namespace cuface::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider from(data, size);
  const auto model = cuface::test::forest(from);
  cuface::test::require(cuface::validate(*model).ok());
  cuface::test::look(model, from);
  return 0;
}
