// The nearest descriptors of two sets, and which of them are matches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/host_device.h"
#include "kernels/common/status.h"
#include "kernels/match/match.h"

namespace cuface::cuda {

/// DescriptorSet in device memory, whose size only the device may know.
template <typename T>
struct DeviceSet {
  const T* data = nullptr;
  std::ptrdiff_t stride = 0;            ///< from one to the next, in bytes
  const std::int32_t* count = nullptr;  ///< how many there are; null: `most`
  std::int32_t most = 0;
  std::int32_t size = 0;  ///< values of one
  const std::int8_t* signs = nullptr;
  std::ptrdiff_t sign_stride = 1;  ///< from one to the next, in bytes

  CUFACE_HD int there() const {
    const int all = count ? *count : most;
    return all < most ? all : most;
  }
};
using DeviceBinarySet = DeviceSet<std::uint8_t>;
using DeviceFloatSet = DeviceSet<float>;

/// A list: this, then the matches.
struct DeviceMatches {
  std::int32_t count, unused[3];
  CUFACE_HD Match* all() { return reinterpret_cast<Match*>(this + 1); }
  CUFACE_HD const Match* all() const { return reinterpret_cast<const Match*>(this + 1); }
};
constexpr std::size_t device_matches_bytes(std::size_t count) {
  return sizeof(DeviceMatches) + count * sizeof(Match);
}

namespace match {

/// Of one descriptor. Distances are words that grow with them: a count of bits, or the bits of a
/// float, squared. kFar or more: nobody.
struct alignas(16) Nearest {
  std::uint32_t first, second;
  std::int32_t index;
};
inline constexpr std::uint32_t kFar = 0x7f800000;  // of an infinite float

/// Which query is the nearest of a descriptor of `train`. 0: none.
using Owner = unsigned long long;

/// Float descriptors of `train` that a block compares at once.
inline constexpr int kTrainTile = 128;

/// Into how many parts `train` is best cut, so that memory stays small.
CUFACE_HD inline int train_parts(int most_queries, int most_trains) {
  constexpr int kMost = 16, kMostListed = 65536;
  const int tiles = (most_trains + kTrainTile - 1) / kTrainTile;
  const int room = kMostListed / (most_queries > 0 ? most_queries : 1);
  const int parts = tiles < kMost ? tiles : kMost;
  return parts < room ? (parts > 0 ? parts : 1) : (room > 0 ? room : 1);
}

/// Of each query, in `parts` lists of query.most, of a part of `train` each; and where `owners` is
/// not null, of each of `train` among the queries: they are 0 before.
template <typename T>
Status find_nearest(const DeviceSet<T>& query, const DeviceSet<T>& train, const MatchConfig& config,
                    Nearest* of_queries, int parts, Owner* owners, Launcher launch);

/// `out` := what passes the checks, in the order of queries. Makes the owners 0.
template <typename T>
Status check_nearest(const DeviceSet<T>& query, const DeviceSet<T>& train,
                     const MatchConfig& config, const Nearest* of_queries, int parts, Owner* owners,
                     DeviceMatches* out, Launcher launch);

}  // namespace match
}  // namespace cuface::cuda
