// libFuzzer: OpenCV's cascade XML, and a frame searched with what was accepted.
#include "models/cascade_xml.h"
#include "tests/fuzz/frame.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto model =
      cuface::parse_cascade_xml({reinterpret_cast<const char*>(data), size}, "fuzz.xml");
  if (!model.ok()) return 0;
  FuzzedDataProvider choices(data, size);
  cuface::test::look(model.value(), choices);
  return 0;
}
