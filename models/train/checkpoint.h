// Where a training stands, in a file: what is trained, with which settings and inputs, and what it
// has so far. Any kind of training: what the head and the records say is that training's business.
//
// The frame is that of our model files (models/container.h, docs/design/model-file.md) with another
// magic and version. Both checksums hold before a value is looked at; the values are untrusted
// still.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/common/status.h"
#include "models/container.h"

namespace cuface::train {

/// Raise it whenever old checkpoints would be read wrongly, or would go on to other bytes than an
/// undisturbed run: what trains has changed, then, too.
extern const ContainerFormat kCheckpointFormat;

/// Most that is read of one.
inline constexpr std::size_t kMostCheckpointBytes = std::size_t{4} << 30;

class Checkpoint {
 public:
  /// kNotFound, kIo; kCorrupt where it is damaged or no checkpoint; kUnsupported where it is one of
  /// another version. Each message names the file and what to do.
  static Result<Checkpoint> read(const std::string& path);

  const std::string& path() const { return container_.file()->path(); }
  std::string training() const { return container_.kind(); }  ///< "cascade", "forest"
  /// kInvalidArgument, with what the file is of and what to do, for another training's.
  Status expect(std::string_view training) const;

  /// An object of at most 64 KiB: what write_checkpoint() was given.
  const nlohmann::json& head() const { return container_.header(); }
  /// The record as values of T (trivial, alignment up to 64); empty where it is missing or has not
  /// whole ones.
  template <typename T>
  std::span<const T> record(const char* name) const {
    return container_.block<T>(name);
  }

  /// The Status of a head or record that is not what its training writes.
  Status damaged(const std::string& what) const;

 private:
  explicit Checkpoint(Container container) : container_(std::move(container)) {}

  Container container_;
};

/// Replaces `path`: it is the old checkpoint or the whole new one at any time, also when the disk
/// is full or the machine fails. `head` is an object without the names "kind", "source" and
/// "blocks". kIo.
Status write_checkpoint(const std::string& path, const std::string& training, nlohmann::json head,
                        const std::vector<Block>& records);

}  // namespace cuface::train
