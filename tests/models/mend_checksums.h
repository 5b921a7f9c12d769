// Makes both checksums of a .cuface file right again, as somebody who means harm would.
#pragma once

#include <cstring>
#include <string>

#include "models/xxh64.h"

namespace cuface::test {

inline void mend_checksums(std::string& bytes) {
  if (bytes.size() < 40) return;
  std::uint32_t json = 0;
  std::memcpy(&json, bytes.data() + 12, sizeof json);
  if (json > bytes.size() - 40) return;
  const std::span<const std::uint8_t> all(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                          bytes.size());
  const std::uint64_t data_hash = xxh64(all.subspan(40 + json));
  std::memcpy(bytes.data() + 24, &data_hash, sizeof data_hash);
  const std::uint64_t header_hash = xxh64(all.subspan(40, json), xxh64(all.first(32)));
  std::memcpy(bytes.data() + 32, &header_hash, sizeof header_hash);
}

}  // namespace cuface::test
