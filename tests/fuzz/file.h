// A file of our own format made of a fuzzer's bytes. The checksums are made right; with wrong ones
// nothing behind them would be reached.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "tests/fuzz/frame.h"
#include "tests/models/mend_checksums.h"

namespace cuface::test {

class MendedFile {
 public:
  MendedFile(const std::uint8_t* data, std::size_t size)
      : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    std::string bytes(reinterpret_cast<const char*>(data), size);
    mend_checksums(bytes);
    require(fd_ >= 0 && ::write(fd_, bytes.data(), size) == static_cast<ssize_t>(size));
  }
  MendedFile(const MendedFile&) = delete;
  MendedFile& operator=(const MendedFile&) = delete;
  ~MendedFile() { ::close(fd_); }

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  const int fd_;
};

}  // namespace cuface::test
