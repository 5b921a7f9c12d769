#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/match/match_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "kernels/common/dispatch.h"
#include "kernels/match/reference.h"
#include "kernels/match/rows.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::match::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void hamming_rows(const std::uint8_t*, const BinarySet&, float*) {}
void squared_rows(const float*, const FloatSet&, float*) {}
void squared_rows_near(const float*, const FloatSet&, const float*, float, float*) {}
#else

namespace hn = hwy::HWY_NAMESPACE;

// Every instruction set here has an instruction that counts the bits of a word, which the compiler
// takes.
void hamming_rows(const std::uint8_t* query, const BinarySet& train, float* out) {
  constexpr int kWords = kBinaryBytes / 8;
  std::uint64_t ours[kWords];
  std::memcpy(ours, query, kBinaryBytes);
  for (int i = 0; i < train.count; ++i) {
    std::uint64_t theirs[kWords];
    std::memcpy(theirs, train.at(i), kBinaryBytes);
    int bits = 0;
    for (int w = 0; w < kWords; ++w) bits += std::popcount(ours[w] ^ theirs[w]);
    out[i] = static_cast<float>(bits);
  }
}

HWY_INLINE float squared(const float* query, const float* theirs, int size) {
  const hn::CappedTag<float, kParts> d;
  const hn::FixedTag<float, 4> quarter;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  constexpr int kVectors = kParts / kLanes;
  hn::Vec<decltype(d)> sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
  int at = 0;
  for (; at + kParts <= size; at += kParts) {
    for (int v = 0; v < kVectors; ++v) {
      const int k = at + v * kLanes;
      const auto difference = hn::Sub(hn::LoadU(d, query + k), hn::LoadU(d, theirs + k));
      sums[v] = hn::Add(sums[v], hn::Mul(difference, difference));
    }
  }
  HWY_ALIGN float parts[kParts];
  for (int v = 0; v < kVectors; ++v) hn::Store(sums[v], d, parts + v * kLanes);
  for (int k = 0; at + k < size; ++k) {
    const float difference = query[at + k] - theirs[at + k];
    parts[k] += difference * difference;
  }
  const auto part = [&](int k) { return hn::Load(quarter, parts + 4 * k); };
  HWY_ALIGN float last[4];
  hn::Store(hn::Add(hn::Add(part(0), part(2)), hn::Add(part(1), part(3))), quarter, last);
  return (last[0] + last[2]) + (last[1] + last[3]);
}

void squared_rows(const float* query, const FloatSet& train, float* out) {
  for (int i = 0; i < train.count; ++i) out[i] = squared(query, train.at(i), train.size);
}

/// The centre products of some descriptors side by side, a lane each: so no sum goes across lanes.
/// A loop over those that pass, because a branch a pair would cost more than a distance.
void squared_rows_near(const float* query, const FloatSet& train, const float* centres, float least,
                       float* out) {
  const hn::CappedTag<float, kCentreLanes> d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  const int stride = (train.count + kCentreLanes - 1) / kCentreLanes * kCentreLanes;
  const int values = centre_values(train.size);
  float ours[kParts];
  for (int p = 0; p < values; ++p) ours[p] = query[centre_value(train.size, p)];
  const auto limit = hn::Set(d, least);
  std::fill(out, out + train.count, std::numeric_limits<float>::infinity());
  for (int i = 0; i < train.count; i += kLanes) {
    const auto product = [&](int p) {
      return hn::Mul(hn::Set(d, ours[p]), hn::LoadU(d, centres + std::ptrdiff_t{p} * stride + i));
    };
    // As reference.h says: 8 apart, 4, 2, 1.
    const auto four = [&](int p) {
      return values == 4 ? product(p)
                         : hn::Add(hn::Add(product(p), product(p + 8)),
                                   hn::Add(product(p + 4), product(p + 12)));
    };
    const auto sum = hn::Add(hn::Add(four(0), four(2)), hn::Add(four(1), four(3)));
    // What lies behind the last one has the product 0, which is above no limit.
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, hn::Gt(sum, limit), bytes);
    for (unsigned passed = bytes[0] | bytes[1] << 8u; passed != 0; passed &= passed - 1) {
      const int k = i + std::countr_zero(passed);
      out[k] = squared(query, train.at(k), train.size);
    }
  }
}

#endif
}  // namespace cuface::match::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::match {

HWY_EXPORT(hamming_rows);
HWY_EXPORT(squared_rows);
HWY_EXPORT(squared_rows_near);

void hamming_row(const std::uint8_t* query, const BinarySet& train, float* out) {
  CUFACE_DISPATCH(hamming_rows)(query, train, out);
}

void squared_row(const float* query, const FloatSet& train, float* out) {
  CUFACE_DISPATCH(squared_rows)(query, train, out);
}

std::size_t centre_floats(const FloatSet& train) {
  return static_cast<std::size_t>(centre_values(train.size)) *
         hwy::RoundUpTo(static_cast<std::size_t>(train.count), kCentreLanes);
}

void centre_lanes(const FloatSet& train, float* out) {
  const std::size_t stride = hwy::RoundUpTo(static_cast<std::size_t>(train.count), kCentreLanes);
  for (int p = 0; p < centre_values(train.size); ++p) {
    float* row = out + static_cast<std::size_t>(p) * stride;
    for (int i = 0; i < train.count; ++i) row[i] = train.at(i)[centre_value(train.size, p)];
    std::fill(row + train.count, row + stride, 0.0f);
  }
}

void squared_row_near(const float* query, const FloatSet& train, const float* centres, float least,
                      float* out) {
  CUFACE_DISPATCH(squared_rows_near)(query, train, centres, least, out);
}

}  // namespace cuface::match
#endif
