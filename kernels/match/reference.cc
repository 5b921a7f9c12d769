#include "kernels/match/reference.h"

#include <bit>

#include "kernels/features/features.h"

namespace cuface::match {
namespace {

/// The sum of the parts.
float folded(float (&parts)[kParts]) {
  for (int apart = kParts / 2; apart > 0; apart /= 2) {
    for (int i = 0; i < apart; ++i) parts[i] += parts[i + apart];
  }
  return parts[0];
}

}  // namespace

int hamming(const std::uint8_t* a, const std::uint8_t* b) {
  int bits = 0;
  for (int i = 0; i < kBinaryBytes; ++i)
    bits += std::popcount(static_cast<unsigned>(a[i]) ^ static_cast<unsigned>(b[i]));
  return bits;
}

float squared_distance(const float* a, const float* b, int size) {
  float parts[kParts] = {};
  for (int i = 0; i < size; ++i) {
    const float difference = a[i] - b[i];
    parts[i % kParts] += difference * difference;
  }
  return folded(parts);
}

float centre_product(const float* a, const float* b, int size) {
  constexpr int kValues = 4;  // of a cell
  const int cells = size == 64 ? 4 : 3, first = 1, count = cells - 2;
  float parts[kParts] = {};
  int part = 0;
  for (int y = first; y < first + count; ++y) {
    for (int x = first; x < first + count; ++x) {
      const int at = (y * cells + x) * kValues;
      for (int i = 0; i < kValues; ++i) parts[part++] = a[at + i] * b[at + i];
    }
  }
  return folded(parts);
}

}  // namespace cuface::match
