// libFuzzer: shape models of our own format, and faces that are searched for by what was accepted.
#include <cmath>

#include "kernels/shape/search.h"
#include "models/models.h"
#include "tests/fuzz/file.h"
#include "tests/fuzz/frame.h"

namespace cuface::test {
namespace {

/// Of a search, so that an input takes no more than a second of an instrumented build.
constexpr double kMostWork = 2e6;

struct FoundShapes {
  std::vector<Point> points;
  std::vector<float> confidences;
};

FoundShapes find(const std::shared_ptr<const ShapeModel>& model, ShapeArithmetic arithmetic,
                 std::span<const Point> starts, const FuzzPicture& picture) {
  auto searcher = ShapeSearcher::create(Backend::kCpu, model, arithmetic);
  require(searcher.ok());
  const Box boxes[] = {{4, 5, 30, 30}, {-10, -10, 200, 200}, {9e5f, 3, 1e-3f, 9e5f}};
  FoundShapes found;
  found.points.resize(3 * static_cast<std::size_t>(model->points));
  if (searcher.value()->has_confidences()) found.confidences.resize(found.points.size());
  require(searcher.value()
              ->enqueue(picture.view(), boxes, found.points, starts, found.confidences)
              .ok());
  for (const float c : found.confidences) require(c >= 0 && c <= 1);
  return found;
}

void search(const std::shared_ptr<const ShapeModel>& model, FuzzedDataProvider& from) {
  if (search_work(*model) > kMostWork) return;
  const FuzzPicture picture(from);
  std::vector<Point> starts;
  if (from.ConsumeBool()) {
    starts.resize(3 * static_cast<std::size_t>(model->points));
    for (Point& p : starts)
      p = {from.ConsumeFloatingPointInRange(-100.0f, 200.0f),
           from.ConsumeIntegralInRange(0, 15) == 0 ? std::nanf("") : 30.0f};
  }
  find(model, ShapeArithmetic::kDouble, starts, picture);
  require(simd::force("scalar").ok());
  const FoundShapes plain = find(model, ShapeArithmetic::kFloat, starts, picture);
  const std::vector<std::string> versions = simd::available();
  for (std::size_t v = 1; v < versions.size(); ++v) {
    require(simd::force(versions[v]).ok());
    const FoundShapes found = find(model, ShapeArithmetic::kFloat, starts, picture);
    require(is_same(found.points, plain.points) && found.confidences == plain.confidences);
  }
  (void)simd::force("");
}

}  // namespace
}  // namespace cuface::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cuface;
  const test::MendedFile file(data, size);
  const auto shape = load_shape(file.path());
  FuzzedDataProvider choices(data, size);
  if (shape.ok()) test::search(shape.value(), choices);
  return 0;
}
