// Stasm 4.1's trained model, which its publisher ships as C++ headers, read from an archive of its
// sources. For cuface-model alone: elements read our own format, and nothing of Stasm is compiled
// into the plugin.
//
// Files: stasm_sources.cc makes the model, stasm_text.h reads the text, tar_archive.h the archive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/common/status.h"
#include "kernels/shape/shape_model.h"

namespace cuface {

/// The largest archive that is read. PyStasm 0.3.1's has 4.6 MB.
inline constexpr std::size_t kMaxStasmBytes = std::size_t{16} << 20;

/// The validated model of 77 points in `bytes`, an uncompressed tar archive of PyStasm 0.3.1 or of
/// Stasm's own sources; its name is the file stem of `path`. Numbers come from the C++ code, never
/// from its comments. Each file must be of the form that Stasm's trainer writes, to the last word:
/// kCorrupt, with the file of the archive and what is wrong in it. Messages start with `path`.
Result<std::shared_ptr<const ShapeModel>> parse_stasm_sources(std::span<const std::uint8_t> bytes,
                                                              const std::string& path);

}  // namespace cuface
