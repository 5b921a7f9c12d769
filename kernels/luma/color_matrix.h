// The colour matrix of a frame's luma.
#pragma once

namespace cuface {

/// How Y, U and V are made of R, G and B: what video caps can say of a YUV format. The range is the
/// frame's own flag.
enum class ColorMatrix { kBt601, kBt709, kBt2020, kFcc, kSmpte240m };

/// Weights of red and blue in luma, in 1/10000; green has the rest.
struct LumaWeights {
  int red, blue;
};

/// By ITU-R BT.601, BT.709 and BT.2020, FCC 73.682 and SMPTE 240M.
constexpr LumaWeights luma_weights(ColorMatrix matrix) {
  switch (matrix) {
    case ColorMatrix::kBt601:
      return {2990, 1140};
    case ColorMatrix::kBt709:
      return {2126, 722};
    case ColorMatrix::kBt2020:
      return {2627, 593};
    case ColorMatrix::kFcc:
      return {3000, 1100};
    case ColorMatrix::kSmpte240m:
      return {2120, 870};
  }
  return {2990, 1140};
}

}  // namespace cuface
