#include "models/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace cuface {
namespace {

/// What is read at once: small enough that a piece is still in the cache when it is looked at.
constexpr std::size_t kChunk = std::size_t{256} << 10;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

Status failed(const std::string& path, int error) {
  const StatusCode code =
      error == ENOENT || error == ENOTDIR ? StatusCode::kNotFound : StatusCode::kIo;
  return {code, path + ": " + std::strerror(error)};
}

FileIdentity identity_of(const struct stat& info) {
  return {static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino),
          static_cast<std::uint64_t>(info.st_size),
          info.st_mtim.tv_sec * std::int64_t{1000000000} + info.st_mtim.tv_nsec};
}

/// Reads up to `size` bytes from the start; fewer where the file ends. Minus errno when it fails.
ssize_t read_start(int fd, std::uint8_t* out, std::size_t size, const ModelFile::Visitor& visitor) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n =
        ::pread(fd, out + done, std::min(size - done, kChunk), static_cast<off_t>(done));
    if (n == 0) break;
    if (n > 0) {
      if (visitor) visitor({out + done, static_cast<std::size_t>(n)});
      done += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      return -errno;
    }
  }
  return static_cast<ssize_t>(done);
}

}  // namespace

FileBytes::FileBytes(std::string path, std::uint8_t* data, std::size_t size)
    : path_(std::move(path)), data_(data), size_(size) {}

FileBytes::~FileBytes() { ::munmap(data_, size_); }

Result<ModelFile> ModelFile::open(const std::string& path) {
  // Non-blocking, so that a pipe without a writer is refused instead of waited for.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return failed(path, errno);
  ModelFile file(path, fd, {});
  struct stat info = {};
  if (::fstat(fd, &info) != 0) return failed(path, errno);
  if (S_ISDIR(info.st_mode)) return failed(path, EISDIR);
  if (!S_ISREG(info.st_mode)) return Status(StatusCode::kIo, path + ": not a regular file");
  if (info.st_size == 0) return Status(StatusCode::kCorrupt, path + ": the file is empty");
  file.identity_ = identity_of(info);
  const ssize_t head = read_start(fd, file.head_, kHeadBytes, {});
  if (head < 0) return failed(path, static_cast<int>(-head));
  file.head_size_ = static_cast<std::size_t>(head);
  return file;
}

ModelFile::ModelFile(std::string path, int fd, const FileIdentity& identity)
    : path_(std::move(path)), fd_(fd), identity_(identity) {}

ModelFile::ModelFile(ModelFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      identity_(other.identity_),
      head_size_(other.head_size_) {
  std::copy_n(other.head_, kHeadBytes, head_);
}

ModelFile::~ModelFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::shared_ptr<const FileBytes>> ModelFile::read(std::size_t limit,
                                                         const Visitor& visitor) const {
  const std::size_t size = identity_.size;
  if (size > limit) {
    return Status(StatusCode::kUnsupported, path_ + ": too large for a model of this kind (" +
                                                std::to_string((size + (1 << 20) - 1) >> 20) +
                                                " MiB; at most " + std::to_string(limit >> 20) +
                                                " are read)");
  }
  void* const memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return Status(StatusCode::kOutOfMemory, path_ + ": not enough memory for this model");
  }
  auto* const data = static_cast<std::uint8_t*>(memory);
  const std::shared_ptr<const FileBytes> bytes(new FileBytes(path_, data, size));
  // Fewer faults now, and fewer misses later: a regression reads leaves all over the file.
  if (size >= kHugePage) ::madvise(memory, size, MADV_HUGEPAGE);
  const ssize_t got = read_start(fd_, data, size, visitor);
  if (got < 0) return failed(path_, static_cast<int>(-got));
  struct stat now = {};
  if (static_cast<std::size_t>(got) != size || ::fstat(fd_, &now) != 0 ||
      identity_of(now) != identity_) {
    return Status(StatusCode::kIo, path_ +
                                       ": the file was changed while it was read; replace a model "
                                       "by renaming a new file over it");
  }
  ::mprotect(memory, size, PROT_READ);
  return bytes;
}

}  // namespace cuface
