// Networks of the YuNet family as ONNX files (opset 11 to 17). For cuface-model alone: elements
// read our own format, so they need no protocol buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/common/status.h"
#include "kernels/network/network.h"

namespace cuface {

/// The largest ONNX file that is read: decoded, hostile ones take 90 times their size. YuNet has
/// 0.23 MB.
inline constexpr std::size_t kMaxOnnxBytes = std::size_t{1} << 20;

/// The validated network in `bytes`; its name is the file stem of `path`. Operators, shapes of
/// weights and connections must be the family's; names of nodes, the size of the picture and the
/// order of the outputs of different strides do not matter. kCorrupt: no ONNX file; kUnsupported:
/// another network, with the first node that does not fit. Messages start with `path`.
Result<std::shared_ptr<const NetworkModel>> parse_onnx_network(std::span<const std::uint8_t> bytes,
                                                               const std::string& path);

}  // namespace cuface
