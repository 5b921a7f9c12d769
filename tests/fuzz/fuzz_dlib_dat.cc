// libFuzzer: dlib's shape predictors.
#include <cstdlib>

#include "models/dlib_dat.h"
#include "tests/models/use_model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto model = cuface::parse_dlib_dat({data, size}, "fuzz.dat");
  if (model.ok() && !cuface::test::use(model.value())) std::abort();
  return 0;
}
