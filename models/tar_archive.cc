#include "models/tar_archive.h"

#include <cstring>

namespace cuface {
namespace {

constexpr std::size_t kBlock = 512;
constexpr int kMaxEntries = 10'000;

struct TarHead {
  char name[100], mode[8], owner[8], group[8], size[12], time[12], checksum[8], kind, link[100],
      magic[6], rest[249];
};
static_assert(sizeof(TarHead) == kBlock);

/// Octal digits, ended by a blank or zero; false for anything else.
bool octal(const char* text, std::size_t digits, std::uint64_t& value) {
  value = 0;
  std::size_t i = 0;
  for (; i < digits && text[i] >= '0' && text[i] <= '7'; ++i) {
    value = value * 8 + static_cast<std::uint64_t>(text[i] - '0');
  }
  return i > 0 && (i == digits || text[i] == ' ' || text[i] == '\0');
}

bool has_right_checksum(const TarHead& head) {
  std::uint64_t stated = 0, sum = 0;
  if (!octal(head.checksum, sizeof head.checksum, stated)) return false;
  TarHead blank = head;
  std::memset(blank.checksum, ' ', sizeof blank.checksum);
  for (const auto& byte : std::as_bytes(std::span(&blank, 1)))
    sum += std::to_integer<unsigned>(byte);
  return sum == stated;
}

}  // namespace

Result<std::map<std::string, std::string_view>> read_tar(std::span<const std::uint8_t> bytes,
                                                         const std::string& path) {
  std::map<std::string, std::string_view> files;
  const auto corrupt = [&](std::size_t at, const char* what) {
    return Status(StatusCode::kCorrupt,
                  path + ": not a usable tar archive: at byte " + std::to_string(at) + ": " + what);
  };
  std::size_t at = 0;
  for (int entries = 0;; ++entries) {
    if (bytes.size() - at < kBlock) return corrupt(at, "it was cut");
    TarHead head;
    std::memcpy(&head, bytes.data() + at, kBlock);
    if (head.name[0] == '\0') return files;
    std::uint64_t size = 0;
    if (entries == kMaxEntries) return corrupt(at, "it has too many entries");
    if (std::memcmp(head.magic, "ustar", 5) != 0 || !has_right_checksum(head) ||
        !octal(head.size, sizeof head.size, size)) {
      return corrupt(at, "no entry starts here");
    }
    at += kBlock;
    if (size > bytes.size() - at) return corrupt(at, "it was cut");
    const std::string_view name(head.name, ::strnlen(head.name, sizeof head.name));
    if ((head.kind == '0' || head.kind == '\0') && name.find('/') != name.npos) {
      const std::string_view content(reinterpret_cast<const char*>(bytes.data() + at), size);
      if (!files.emplace(name.substr(name.find('/') + 1), content).second) {
        return corrupt(at, "a second file of a name");
      }
    }
    const std::uint64_t padded = (size + kBlock - 1) / kBlock * kBlock;
    if (padded > bytes.size() - at) return corrupt(at, "it was cut");
    at += padded;
  }
}

}  // namespace cuface
