#include "models/container.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>

#include "kernels/common/try.h"
#include "kernels/landmarks/landmarks.h"
#include "models/output_file.h"
#include "models/xxh64.h"

namespace cuface {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

using Json = nlohmann::json;

struct Prefix {
  std::uint8_t magic[8];
  std::uint32_t version;
  std::uint32_t json_bytes;   // text and the blanks that fill it up to a multiple of 64
  std::uint64_t data_bytes;   // to the end of the file
  std::uint64_t data_hash;    // of those
  std::uint64_t header_hash;  // of everything before this field, then the JSON text
};
static_assert(sizeof(Prefix) == 40);

std::size_t aligned(std::size_t offset) {
  return (offset + Container::kAlignment - 1) / Container::kAlignment * Container::kAlignment;
}

std::uint64_t hash_header(const Prefix& prefix, std::span<const std::uint8_t> json) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&prefix);
  return xxh64(json, xxh64({bytes, offsetof(Prefix, header_hash)}));
}

/// A member, or null (JSON's) when there is none.
const Json& member(const Json& object, const char* key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto it = object.find(key);
  return it == object.end() ? none : *it;
}

std::string text(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

/// [offset, bytes] of one block, checked against the data; false when it is anything else.
bool block_range(const Json& range, std::size_t data_bytes, std::uint64_t& offset,
                 std::uint64_t& bytes) {
  if (!range.is_array() || range.size() != 2 || !range[0].is_number_unsigned() ||
      !range[1].is_number_unsigned()) {
    return false;
  }
  offset = range[0].get<std::uint64_t>();
  bytes = range[1].get<std::uint64_t>();
  return offset % Container::kAlignment == 0 && offset <= data_bytes &&
         bytes <= data_bytes - offset;
}

}  // namespace

constinit const ContainerFormat kModelFormat = {
    {0x89, 'C', 'U', 'F', 'A', 'C', 'E', '\n'}, 1,  ".cuface", ".cuface model",
    "Convert the original model again",         "", 1 << 16};

/// What is found out about a file's data while they are read: their hash, and whether all words are
/// finite floats. They start where the head says; a head that is wrong about that is found out
/// before the hash is looked at.
class DataScan {
 public:
  explicit DataScan(std::span<const std::uint8_t> head) {
    Prefix prefix{};
    std::memcpy(&prefix, head.data(), std::min(head.size(), sizeof prefix));
    before_data_ = sizeof prefix + prefix.json_bytes;
  }
  void add(std::span<const std::uint8_t> piece) {
    const std::size_t skipped = std::min(before_data_, piece.size());
    before_data_ -= skipped;
    piece = piece.subspan(skipped);
    hash_.add(piece);
    // Only the last piece may end within a word.
    all_finite_ = all_finite_ && whole_words_ && is_word(piece.data()) &&
                  cuface::all_finite(
                      {reinterpret_cast<const float*>(piece.data()), piece.size() / sizeof(float)});
    whole_words_ = piece.size() % sizeof(float) == 0;
  }
  std::uint64_t hash() const { return hash_.value(); }
  bool all_finite() const { return all_finite_; }

 private:
  static bool is_word(const std::uint8_t* p) {
    return reinterpret_cast<std::uintptr_t>(p) % alignof(float) == 0;
  }

  std::size_t before_data_;
  Xxh64 hash_;
  bool all_finite_ = true, whole_words_ = true;
};

bool Container::looks_like(std::span<const std::uint8_t> bytes, const ContainerFormat& format) {
  return bytes.size() >= sizeof format.magic &&
         std::memcmp(bytes.data(), format.magic, sizeof format.magic) == 0;
}

Result<Container> Container::open(std::shared_ptr<const FileBytes> file) {
  DataScan scan(file->bytes());
  scan.add(file->bytes());
  return parse(std::move(file), scan, kModelFormat);
}

Result<Container> Container::read(const ModelFile& file, std::size_t limit,
                                  const ContainerFormat& format) {
  DataScan scan(file.head());
  Result<std::shared_ptr<const FileBytes>> bytes =
      file.read(limit, [&](std::span<const std::uint8_t> piece) { scan.add(piece); });
  if (!bytes.ok()) return bytes.status();
  return parse(std::move(bytes.value()), scan, format);
}

Result<Container> Container::parse(std::shared_ptr<const FileBytes> file, const DataScan& scan,
                                   const ContainerFormat& format) {
  const std::span<const std::uint8_t> bytes = file->bytes();
  const auto corrupt = [&](const std::string& what) {
    return Status(StatusCode::kCorrupt,
                  file->path() + ": not a usable " + format.what + ": " + what + format.if_damaged);
  };
  if (!looks_like(bytes, format)) return corrupt("it does not start as one");
  Prefix prefix;
  if (bytes.size() < sizeof prefix) return corrupt("the file ends within its header");
  std::memcpy(&prefix, bytes.data(), sizeof prefix);
  if (prefix.version != format.version) {
    return Status(StatusCode::kUnsupported,
                  file->path() + ": version " + std::to_string(prefix.version) + " of the " +
                      format.name + " format; this program reads version " +
                      std::to_string(format.version) + ". " + format.if_version);
  }
  const std::size_t data_start = sizeof prefix + prefix.json_bytes;
  if (prefix.json_bytes > format.most_json || data_start % kAlignment != 0) {
    return corrupt("its header has an impossible size");
  }
  if (bytes.size() < data_start || bytes.size() - data_start != prefix.data_bytes) {
    return corrupt("the file has " + std::to_string(bytes.size()) +
                   " bytes, its header asks for another size; it was cut or added to");
  }
  const std::span<const std::uint8_t> json = bytes.subspan(sizeof prefix, prefix.json_bytes);
  const std::span<const std::uint8_t> data = bytes.subspan(data_start);
  if (hash_header(prefix, json) != prefix.header_hash) {
    return corrupt("the header's checksum is wrong; the file was damaged");
  }
  if (scan.hash() != prefix.data_hash) {
    return corrupt("the data's checksum is wrong; the file was damaged");
  }
  Json header = Json::parse(json.begin(), json.end(), nullptr, false);
  if (!header.is_object()) return corrupt("its header is not a JSON object");
  const Json& blocks = member(header, "blocks");
  if (!blocks.is_object()) return corrupt("its header lists no blocks");
  for (const auto& [name, range] : blocks.items()) {
    std::uint64_t offset = 0, size = 0;
    if (!block_range(range, data.size(), offset, size)) {
      return corrupt("block " + shortened(name) + " does not lie inside the file");
    }
  }
  const Result<Provenance> source = provenance_from(member(header, "source"));
  if (!source.ok()) return corrupt("its header: " + source.status().message());
  return Container(std::move(file), std::move(header), source.value(), data, scan.all_finite());
}

Container::Container(std::shared_ptr<const FileBytes> file, Json header, Provenance source,
                     std::span<const std::uint8_t> data, bool all_finite)
    : file_(std::move(file)),
      header_(std::move(header)),
      provenance_(std::move(source)),
      data_(data),
      all_finite_(all_finite) {}

std::string Container::kind() const { return text(header_, "kind"); }

std::string Container::name() const {
  const std::string& source = provenance_.file;
  return std::filesystem::path(source.empty() ? file_->path() : source).stem().string();
}

int Container::integer(const char* key, int high) const {
  const Json& value = member(header_, key);
  if (!value.is_number_unsigned()) return -1;
  const std::uint64_t number = value.get<std::uint64_t>();
  return number <= static_cast<std::uint64_t>(high) ? static_cast<int>(number) : -1;
}

std::span<const std::uint8_t> Container::block_bytes(const char* name) const {
  std::uint64_t offset = 0, size = 0;
  if (!block_range(member(member(header_, "blocks"), name), data_.size(), offset, size)) return {};
  return data_.subspan(offset, size);
}

Json to_json(const Provenance& source) {
  Json json = {{"file", source.file}, {"sha256", source.sha256}, {"licence", source.licence}};
  if (!source.training.empty()) json["training"] = source.training.to_json();
  return json;
}

Result<Provenance> provenance_from(const Json& source) {
  Provenance out{text(source, "file"), text(source, "sha256"), text(source, "licence")};
  if (const Json& training = member(source, "training"); !training.is_null()) {
    CUFACE_TAKE(record, TrainingRecord::from_json(training));
    out.training = record;
  }
  return out;
}

Status write_container(const std::string& path, const std::string& kind, Json header,
                       const Provenance& source, const std::vector<Block>& blocks,
                       const ContainerFormat& format) {
  std::vector<std::uint8_t> data;
  std::size_t size = 0;
  for (const Block& block : blocks) size = aligned(size) + block.bytes.size();
  data.reserve(size);  // once, so that no second copy grows beside it
  header["kind"] = kind;
  header["source"] = to_json(source);
  header["blocks"] = Json::object();
  for (const Block& block : blocks) {
    data.resize(aligned(data.size()));
    header["blocks"][block.name] = {data.size(), block.bytes.size()};
    data.insert(data.end(), block.bytes.begin(), block.bytes.end());
  }
  // Names of files need not be UTF-8; what is not is replaced.
  std::string json = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  json.resize(aligned(sizeof(Prefix) + json.size()) - sizeof(Prefix), ' ');
  if (json.size() > format.most_json) {
    return {StatusCode::kInvalidArgument,
            path + ": the header of this " + format.what + " would be too large"};
  }

  Prefix prefix{};
  std::memcpy(prefix.magic, format.magic, sizeof prefix.magic);
  prefix.version = format.version;
  prefix.json_bytes = static_cast<std::uint32_t>(json.size());
  prefix.data_bytes = data.size();
  prefix.data_hash = xxh64(data);
  prefix.header_hash =
      hash_header(prefix, {reinterpret_cast<const std::uint8_t*>(json.data()), json.size()});

  return replace_file(path, {std::as_bytes(std::span(&prefix, 1)), std::as_bytes(std::span(json)),
                             std::as_bytes(std::span(data))});
}

}  // namespace cuface
