#include "models/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace cuface {
namespace {

Status failed(const std::string& path, int error) {
  const StatusCode code =
      error == ENOENT || error == ENOTDIR ? StatusCode::kNotFound : StatusCode::kIo;
  return {code, path + ": " + std::strerror(error)};
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  // Non-blocking, so that a pipe without a writer is refused instead of waited for.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return failed(path, errno);
  struct stat info = {};
  void* data = MAP_FAILED;
  int error = 0;
  if (::fstat(fd, &info) != 0) {
    error = errno;
  } else if (S_ISREG(info.st_mode) && info.st_size > 0) {
    data = ::mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) error = errno;
  }
  ::close(fd);
  if (error != 0) return failed(path, error);
  if (!S_ISREG(info.st_mode)) {
    return Status(StatusCode::kIo, path + ": not a regular file");
  }
  if (info.st_size == 0) return Status(StatusCode::kCorrupt, path + ": the file is empty");
  const FileIdentity identity{
      static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino),
      static_cast<std::uint64_t>(info.st_size),
      info.st_mtim.tv_sec * std::int64_t{1000000000} + info.st_mtim.tv_nsec};
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, identity, static_cast<const std::uint8_t*>(data)));
}

MappedFile::MappedFile(std::string path, const FileIdentity& identity, const std::uint8_t* data)
    : path_(std::move(path)),
      identity_(identity),
      data_(data),
      size_(static_cast<std::size_t>(identity.size)) {}

MappedFile::~MappedFile() { ::munmap(const_cast<std::uint8_t*>(data_), size_); }

void MappedFile::will_read() const {
  ::madvise(const_cast<std::uint8_t*>(data_), size_, MADV_WILLNEED);
}

}  // namespace cuface
