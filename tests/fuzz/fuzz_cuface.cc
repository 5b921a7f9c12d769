// libFuzzer: our own format, cascades and forests, by path as the elements load it. The checksums
// are made right first; with wrong ones nothing behind them would be reached.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "models/models.h"
#include "tests/models/mend_checksums.h"
#include "tests/models/use_model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  cuface::test::mend_checksums(bytes);
  const int fd = ::memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0 || ::write(fd, bytes.data(), size) != static_cast<ssize_t>(size)) std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const auto cascade = cuface::load_cascade(path);
  const auto forest = cuface::load_forest(path);
  ::close(fd);
  if (cascade.ok() && !cuface::test::use(cascade.value())) std::abort();
  if (forest.ok() && !cuface::test::use(forest.value())) std::abort();
  return 0;
}
