// A file's bytes, read into memory of our own, and what tells this content of the file from
// another.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "kernels/common/status.h"

namespace cuface {

/// Which content a path led to: another file under the same name, or new content in the same file,
/// has another identity.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t modified_ns = 0;
  auto operator<=>(const FileIdentity&) const = default;
};

/// Move-only owner of a copy of a file's content. Not a mapping: what was checked must stay as it
/// was, and whoever shortens a mapped file ends the process (docs/design/model-file.md).
class FileBytes {
 public:
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes();

  /// Page-aligned, in huge pages where the system has them.
  std::span<const std::uint8_t> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

 private:
  friend class ModelFile;
  FileBytes(std::string path, std::uint8_t* data, std::size_t size);

  std::string path_;
  std::uint8_t* data_;
  std::size_t size_;
};

/// A regular, non-empty file that is open for reading. One thread at a time.
class ModelFile {
 public:
  static constexpr std::size_t kHeadBytes = 64;

  /// Anything else is a Status that names the path and the reason.
  static Result<ModelFile> open(const std::string& path);

  ModelFile(ModelFile&& other) noexcept;
  ModelFile& operator=(ModelFile&&) = delete;
  ~ModelFile();

  const FileIdentity& identity() const { return identity_; }
  const std::string& path() const { return path_; }
  /// The first bytes, at most kHeadBytes: what kind of file it is.
  std::span<const std::uint8_t> head() const { return {head_, head_size_}; }
  /// All of it. kIo when it cannot be read, or changed meanwhile; kUnsupported when it has more
  /// than `limit` bytes (then nothing is read). `visitor` gets it in pieces, in order, each while
  /// it is in the cache.
  using Visitor = std::function<void(std::span<const std::uint8_t> piece)>;
  Result<std::shared_ptr<const FileBytes>> read(std::size_t limit,
                                                const Visitor& visitor = {}) const;

 private:
  ModelFile(std::string path, int fd, const FileIdentity& identity);

  std::string path_;
  int fd_;
  FileIdentity identity_;
  std::uint8_t head_[kHeadBytes] = {};
  std::size_t head_size_ = 0;
};

}  // namespace cuface
