// libFuzzer: OpenCV's cascade XML.
#include <cstdlib>

#include "models/cascade_xml.h"
#include "tests/models/use_model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto model =
      cuface::parse_cascade_xml({reinterpret_cast<const char*>(data), size}, "fuzz.xml");
  if (model.ok() && !cuface::test::use(model.value())) std::abort();
  return 0;
}
