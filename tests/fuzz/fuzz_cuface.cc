// libFuzzer: our own format, cascades and forests, by path as the elements load it, and a frame.
// The checksums are made right first; with wrong ones nothing behind them would be reached.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "models/models.h"
#include "tests/fuzz/frame.h"
#include "tests/models/mend_checksums.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cuface;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  test::mend_checksums(bytes);
  const int fd = ::memfd_create("fuzz", MFD_CLOEXEC);
  test::require(fd >= 0 && ::write(fd, bytes.data(), size) == static_cast<ssize_t>(size));
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const auto cascade = load_cascade(path);
  const auto forest = load_forest(path);
  ::close(fd);
  FuzzedDataProvider choices(data, size);
  if (cascade.ok()) test::look(cascade.value(), choices);
  if (forest.ok()) test::look(forest.value(), choices);
  return 0;
}
