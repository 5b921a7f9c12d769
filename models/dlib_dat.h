// dlib's serialised shape_predictor (version 1), as in shape_predictor_68_face_landmarks.dat.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/common/status.h"
#include "kernels/landmarks/landmarks.h"

namespace cuface {

/// True when these bytes start as a shape_predictor does.
bool looks_like_dlib_dat(std::span<const std::uint8_t> bytes);

/// Decodes and validates untrusted `bytes`. `path` is for messages and the model's name. Every
/// table is allocated only after the bytes that must hold it were seen to be there. Models whose
/// cascades or trees differ in size among each other are kUnsupported (dlib's trainer makes none).
Result<std::shared_ptr<const ForestModel>> parse_dlib_dat(std::span<const std::uint8_t> bytes,
                                                          const std::string& path);

}  // namespace cuface
