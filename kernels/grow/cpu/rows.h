// The inner loops of growing trees, on blocks of samples. A row is what a sample lacks in all
// coordinates, in steps (steps.h), then a 1 that counts it, then zeros. All need simd::vectors().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/landmarks/landmarks.h"

namespace cuface::grow {

/// Samples of a block. The feature pixels of one lie [pool][kBlock].
inline constexpr std::size_t kBlock = 512;
/// Rows are padded to this many integers.
inline constexpr std::size_t kRowUnit = 16;
/// Splits that are tried together: a bucket is a set of them, those that send a sample left.
inline constexpr int kMostGroup = 8;

/// For each sample of a block its bucket, for at most kMostGroup splits.
void find_buckets(std::span<const ForestSplit> tests, const std::uint8_t* pixels,
                  std::uint8_t* buckets);

/// Sums of rows: for each group of splits a row for each bucket.
struct BucketSums {
  std::int32_t* sums;
  std::size_t stride;  ///< of a row
  std::size_t group;   ///< integers of a group
  int groups;
  const std::uint8_t* buckets;  ///< of the block, [groups][kBlock]
};

/// Adds the rows of samples of a block to their buckets, each times its weight; no weights: 1.
void add_rows(const std::int32_t* rows, std::span<const std::uint16_t> samples,
              const std::int32_t* weights, const BucketSums& to);

/// A row to be changed by after_leaf(), where the mask is not 0.
struct RowUpdate {
  std::int32_t* row;
  const std::int32_t *leaf, *mask;
};
/// Returns the bits of all that are then larger than 0, of absolute values.
std::uint32_t subtract_leaves(std::span<const RowUpdate> updates, std::size_t stride);

/// Adds to `left[i]` the rows of all buckets with split i of a group of so many splits, and to
/// `total` all rows, in 64 bits. The group is 0 afterwards.
void take_group(std::int32_t* sums, std::size_t stride, int splits, std::int64_t* const* left,
                std::int64_t* total);

/// Adds leaves, one after the other, to a shape.
void add_leaves(float* shape, std::span<const float* const> leaves, std::size_t size);

}  // namespace cuface::grow
