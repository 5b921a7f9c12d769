// The frame of our own model files (.cuface): a header in JSON, then blocks that are used where
// they lie, in the copy of the file (docs/design/model-file.md). What is in them is forest_file.h's
// and cascade_file.h's business.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/common/status.h"
#include "models/file_bytes.h"
#include "models/training_record.h"

namespace cuface {

/// Where a model comes from; kept with it.
struct Provenance {
  std::string file;              ///< name of the file it was converted from
  std::string sha256;            ///< of that file
  std::string licence;           ///< one sentence
  TrainingRecord training = {};  ///< empty where it is not known
};

/// One array of little-endian words or floats.
struct Block {
  std::string name;
  std::span<const std::uint8_t> bytes;
};

template <typename T>
Block block_of(std::string name, std::span<const T> values) {
  return {std::move(name),
          {reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()}};
}

class DataScan;

/// What tells the files of one purpose from those of another. The frame is the same.
struct ContainerFormat {
  std::uint8_t magic[8];  ///< a byte above 127 and a line feed show damage by text transfers
  std::uint32_t version;
  const char* name;           ///< ".cuface"
  const char* what;           ///< for messages: ".cuface model"
  const char* if_version;     ///< what to do about a file of another version
  const char* if_damaged;     ///< the same of a damaged one; may be empty
  std::size_t most_json = 0;  ///< bytes; parsed, hostile text takes 80 times its size
};
/// Of our own model files. Their header has some 700 bytes.
extern const ContainerFormat kModelFormat;

/// A container whose frame is sound: version known, checksums right, every block inside the file,
/// at a multiple of 64 bytes. What the header says beyond that is still untrusted.
class Container {
 public:
  static constexpr std::size_t kAlignment = 64;

  static bool looks_like(std::span<const std::uint8_t> bytes,
                         const ContainerFormat& format = kModelFormat);
  static Result<Container> open(std::shared_ptr<const FileBytes> file);
  /// The same of a file that is still to be read: checked as it comes, so memory is gone through
  /// once. Errors are ModelFile::read's too.
  static Result<Container> read(const ModelFile& file, std::size_t limit,
                                const ContainerFormat& format = kModelFormat);

  const nlohmann::json& header() const { return header_; }
  std::string kind() const;  ///< "forest", "cascade"
  const Provenance& provenance() const { return provenance_; }
  /// Stem of the name the model had before it was converted (box maps go by it), else of this file.
  std::string name() const;
  /// A non-negative integer of the header, at most `high`; -1 when it is anything else.
  int integer(const char* key, int high) const;
  /// The block as values of T (trivial, alignment up to 64); empty when it is missing or its size
  /// is no multiple of T's.
  template <typename T>
  std::span<const T> block(const char* name) const {
    const std::span<const std::uint8_t> bytes = block_bytes(name);
    if (bytes.size() % sizeof(T) != 0) return {};
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  /// No word of the data is an infinite float or NaN: found out while they were read. False says
  /// nothing, as integers may look like those.
  bool all_finite() const { return all_finite_; }
  const std::shared_ptr<const FileBytes>& file() const { return file_; }

 private:
  Container(std::shared_ptr<const FileBytes> file, nlohmann::json header, Provenance source,
            std::span<const std::uint8_t> data, bool all_finite);
  static Result<Container> parse(std::shared_ptr<const FileBytes> file, const DataScan& scan,
                                 const ContainerFormat& format);
  std::span<const std::uint8_t> block_bytes(const char* name) const;

  std::shared_ptr<const FileBytes> file_;
  nlohmann::json header_;
  Provenance provenance_;
  std::span<const std::uint8_t> data_;
  bool all_finite_;
};

/// As "source" of a header has it.
nlohmann::json to_json(const Provenance& source);
/// kCorrupt, with what is wrong: a training record that is not sound.
Result<Provenance> provenance_from(const nlohmann::json& source);

/// Writes a container beside `path` and renames it into place, so that `path` is the old file or
/// the whole new one at any time. "kind", "source" and "blocks" are put into `header` here.
Status write_container(const std::string& path, const std::string& kind, nlohmann::json header,
                       const Provenance& source, const std::vector<Block>& blocks,
                       const ContainerFormat& format = kModelFormat);

}  // namespace cuface
