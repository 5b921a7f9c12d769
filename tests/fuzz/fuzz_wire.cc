// libFuzzer: metas that come from another process. What is taken is written again as the same
// bytes, so nothing is mended on the way in.
#include <cstdint>
#include <span>
#include <vector>

#include "gst/meta/wire.h"
#include "tests/fuzz/frame.h"

namespace {

template <typename T>
void look(std::span<const std::uint8_t> bytes) {
  using namespace cuface;
  const auto taken = gst::from_bytes<T>(bytes);
  if (!taken) return;
  test::require(gst::to_bytes(*taken) == std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
}

}  // namespace

/// As unixfdsrc gives them: the picture's size, then a result, here of a kind that the first byte
/// says.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cuface;
  if (size == 0) return 0;
  std::span<const std::uint8_t> bytes(data + 1, size - 1);
  const auto [width, height] = gst::take_size(bytes);
  if (width == 0) return 0;
  test::require(width > 0 && height > 0);
  if (data[0] % 6 == 0) look<FaceList>(bytes);
  if (data[0] % 6 == 1) look<MotionMap>(bytes);
  if (data[0] % 6 == 2) look<Edges>(bytes);
  if (data[0] % 6 == 3) look<FrameFeatures>(bytes);
  if (data[0] % 6 == 4) look<FrameMatches>(bytes);
  if (data[0] % 6 == 5) look<FramePlanar>(bytes);
  return 0;
}
