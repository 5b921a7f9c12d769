#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/match/match_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <bit>
#include <cstring>

#include "kernels/common/dispatch.h"
#include "kernels/match/reference.h"
#include "kernels/match/rows.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::match::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void hamming_rows(const std::uint8_t*, const BinarySet&, float*) {}
void squared_rows(const float*, const FloatSet&, float*) {}
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

void squared_rows(const float* query, const FloatSet& train, float* out) {
  const hn::CappedTag<float, kParts> d;
  const hn::FixedTag<float, 4> quarter;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  constexpr int kVectors = kParts / kLanes;
  for (int i = 0; i < train.count; ++i) {
    const float* theirs = train.at(i);
    hn::Vec<decltype(d)> sums[kVectors];
    for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
    int at = 0;
    for (; at + kParts <= train.size; at += kParts) {
      for (int v = 0; v < kVectors; ++v) {
        const int k = at + v * kLanes;
        const auto difference = hn::Sub(hn::LoadU(d, query + k), hn::LoadU(d, theirs + k));
        sums[v] = hn::Add(sums[v], hn::Mul(difference, difference));
      }
    }
    HWY_ALIGN float parts[kParts];
    for (int v = 0; v < kVectors; ++v) hn::Store(sums[v], d, parts + v * kLanes);
    for (int k = 0; at + k < train.size; ++k) {
      const float difference = query[at + k] - theirs[at + k];
      parts[k] += difference * difference;
    }
    const auto part = [&](int k) { return hn::Load(quarter, parts + 4 * k); };
    HWY_ALIGN float last[4];
    hn::Store(hn::Add(hn::Add(part(0), part(2)), hn::Add(part(1), part(3))), quarter, last);
    out[i] = (last[0] + last[2]) + (last[1] + last[3]);
  }
}

#endif
}  // namespace cuface::match::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::match {

HWY_EXPORT(hamming_rows);
HWY_EXPORT(squared_rows);

void hamming_row(const std::uint8_t* query, const BinarySet& train, float* out) {
  CUFACE_DISPATCH(hamming_rows)(query, train, out);
}

void squared_row(const float* query, const FloatSet& train, float* out) {
  CUFACE_DISPATCH(squared_rows)(query, train, out);
}

}  // namespace cuface::match
#endif
