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
  float parts[kParts] = {};
  for (int p = 0; p < centre_values(size); ++p) {
    const int at = centre_value(size, p);
    parts[p] = a[at] * b[at];
  }
  return folded(parts);
}

}  // namespace cuface::match
