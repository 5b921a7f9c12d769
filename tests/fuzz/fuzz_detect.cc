// libFuzzer: cascades built from choices, most of them valid, so that the bytes go into what a
// search makes of them.
#include "tests/fuzz/frame.h"

namespace cuface::test {
namespace {

float weight(FuzzedDataProvider& from) {
  const int halves = from.ConsumeIntegralInRange(-9, 9);
  return from.ConsumeBool() ? static_cast<float>(halves) : static_cast<float>(halves) * 111.1f;
}

/// A number as the files hold it: small, or any finite one.
float number(FuzzedDataProvider& from) {
  switch (from.ConsumeIntegralInRange(0, 3)) {
    case 0:
      return from.ConsumeFloatingPointInRange(-1.0f, 1.0f);
    case 1:
      return static_cast<float>(from.ConsumeIntegral<std::int8_t>());
    case 2:
      return from.ConsumeFloatingPointInRange(-3.4e38f, 3.4e38f);
    default:
      return 0;
  }
}

HaarFeature feature(FuzzedDataProvider& from, const CascadeModel& m) {
  HaarFeature f;
  f.tilted = from.ConsumeIntegralInRange(0, 7) == 0;
  f.rect_count = from.ConsumeBool() ? 2 : 3;
  for (int r = 0; r < f.rect_count; ++r) {
    HaarRect& rect = f.rects[r];
    rect.w = from.ConsumeIntegralInRange(1, m.window_width);
    rect.h = from.ConsumeIntegralInRange(1, m.window_height);
    rect.x = from.ConsumeIntegralInRange(0, m.window_width - rect.w);
    rect.y = from.ConsumeIntegralInRange(0, m.window_height - rect.h);
    rect.weight = r == 0 && from.ConsumeBool() ? -1.0f : weight(from);
  }
  // The shapes that have code of their own: a part of the whole.
  if (from.ConsumeBool()) {
    f.rects[1] = f.rects[0];
    f.rects[1].weight = from.ConsumeBool() ? 2.0f : 3.0f;
    const int parts = from.ConsumeIntegralInRange(2, 4);
    f.rects[1].w = std::max(f.rects[0].w / parts, 1);
    f.rects[1].x += from.ConsumeIntegralInRange(0, f.rects[0].w - f.rects[1].w);
  }
  return f;
}

std::shared_ptr<const CascadeModel> cascade(FuzzedDataProvider& from) {
  auto m = std::make_shared<CascadeModel>();
  m->window_width = from.ConsumeIntegralInRange(3, 40);
  m->window_height = from.ConsumeIntegralInRange(3, 40);
  const int features = from.ConsumeIntegralInRange(1, 12);
  for (int i = 0; i < features; ++i) m->features.push_back(feature(from, *m));
  const int stages = from.ConsumeIntegralInRange(1, 12);
  for (int s = 0; s < stages; ++s) {
    const int trees = from.ConsumeIntegralInRange(1, 6);
    m->stages.push_back({static_cast<int>(m->trees.size()), trees, number(from)});
    for (int t = 0; t < trees; ++t) {
      const int nodes =
          from.ConsumeIntegralInRange(0, 3) == 0 ? from.ConsumeIntegralInRange(2, 6) : 1;
      m->trees.push_back({static_cast<int>(m->nodes.size()), nodes,
                          static_cast<int>(m->leaves.size()), nodes + 1});
      for (int n = 0; n < nodes; ++n) {
        const auto child = [&] {
          const bool is_node = n + 1 < nodes && from.ConsumeBool();
          return is_node ? from.ConsumeIntegralInRange(n + 1, nodes - 1)
                         : -from.ConsumeIntegralInRange(0, nodes);
        };
        const int left = child(), right = child();
        m->nodes.push_back(
            {from.ConsumeIntegralInRange(0, features - 1), number(from), left, right});
      }
      for (int l = 0; l <= nodes; ++l) m->leaves.push_back(number(from));
    }
  }
  return m;
}

}  // namespace
}  // namespace cuface::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider from(data, size);
  const auto model = cuface::test::cascade(from);
  if (cuface::validate(*model).ok()) cuface::test::look(model, from);
  return 0;
}
