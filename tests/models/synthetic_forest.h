// A small random shape predictor, made and written by dlib: tests of the forest and of its loaders
// need no download.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/landmarks/landmarks.h"

namespace dlib {
class shape_predictor;
}

namespace cuface::test {

/// Who calls it includes dlib/image_processing/shape_predictor.h.
dlib::shape_predictor synthetic_predictor(int landmarks, int cascades, int trees, int depth,
                                          int pool, unsigned seed);

/// The same predictor as dlib's file.
std::string synthetic_dat(int landmarks, int cascades, int trees, int depth, int pool,
                          unsigned seed);

inline std::span<const std::uint8_t> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// The same predictor as the loader makes it of that file; a failure of the test, and null, where
/// the loader refuses it.
std::shared_ptr<const ForestModel> synthetic_forest(int landmarks, int cascades, int trees,
                                                    int depth, int pool, unsigned seed);

}  // namespace cuface::test
