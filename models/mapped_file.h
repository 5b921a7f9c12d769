// A file's bytes, mapped read-only, and what tells this content of the file from another.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
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

/// Move-only owner of a read-only mapping. Model files are replaced by renaming, never rewritten in
/// place: whoever shortens a file while it is mapped makes its readers fail (SIGBUS).
class MappedFile {
 public:
  /// A regular, non-empty file; anything else is a Status that names the path and the reason.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// Page-aligned.
  std::span<const std::uint8_t> bytes() const { return {data_, size_}; }
  const FileIdentity& identity() const { return identity_; }
  const std::string& path() const { return path_; }
  /// Tells the system that all of it is about to be read.
  void will_read() const;

 private:
  MappedFile(std::string path, const FileIdentity& identity, const std::uint8_t* data);

  std::string path_;
  FileIdentity identity_;
  const std::uint8_t* data_;
  std::size_t size_;
};

}  // namespace cuface
