#include "models/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace cuface {
namespace {

/// A file that is removed again unless it was renamed.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {}
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() {
    if (fd_ < 0) return;
    ::close(fd_);
    ::unlink(path_.c_str());  // fails, as it should, once it was renamed
  }

  bool ok() const { return fd_ >= 0; }
  bool write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return true;
  }
  bool finish(const std::string& target, bool wait_for_disk) {
    return (!wait_for_disk || ::fsync(fd_) == 0) && ::rename(path_.c_str(), target.c_str()) == 0;
  }

 private:
  std::string path_;
  int fd_;
};

/// Has the new name on the disk, too. A file system that cannot keeps the old one or the new one.
void sync_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)::fsync(fd);
  ::close(fd);
}

}  // namespace

Status replace_file(const std::string& path,
                    std::initializer_list<std::span<const std::byte>> pieces, bool wait_for_disk) {
  OutputFile out(path + ".part-" + std::to_string(::getpid()));
  bool good = out.ok();
  for (const std::span<const std::byte> piece : pieces) good = good && out.write(piece);
  if (!good || !out.finish(path, wait_for_disk)) {
    return {StatusCode::kIo, path + ": cannot be written: " + std::strerror(errno)};
  }
  if (wait_for_disk) sync_folder_of(path);
  return {};
}

}  // namespace cuface
