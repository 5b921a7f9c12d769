// libFuzzer: our own format, cascades and forests, by path as the elements load it, and a frame.
#include "models/models.h"
#include "tests/fuzz/file.h"
#include "tests/fuzz/frame.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cuface;
  const test::MendedFile file(data, size);
  const auto cascade = load_cascade(file.path());
  const auto forest = load_forest(file.path());
  FuzzedDataProvider choices(data, size);
  if (cascade.ok()) test::look(cascade.value(), choices);
  if (forest.ok()) test::look(forest.value(), choices);
  return 0;
}
