// libFuzzer: dlib's shape predictors, and the landmarks of a frame by what was accepted.
#include "models/dlib_dat.h"
#include "tests/fuzz/frame.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto model = cuface::parse_dlib_dat({data, size}, "fuzz.dat");
  if (!model.ok()) return 0;
  FuzzedDataProvider choices(data, size);
  cuface::test::look(model.value(), choices);
  return 0;
}
