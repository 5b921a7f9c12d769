// match: which descriptor of one picture means the same as one of another: for each the nearest, by
// Hamming or Euclidean distance [S2.11, S2.12], with the published shortcuts and checks [S2.13].
//
// reference.h: the distances, plainly; rows.h: one descriptor against many, by vectors.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/features/features.h"

namespace cuface {

/// The descriptors of a picture, one after the other; somebody else owns them.
template <typename T>
struct DescriptorSet {
  const T* data = nullptr;
  int count = 0;
  int size = 0;                        ///< values of one
  const std::int8_t* signs = nullptr;  ///< of each: as in BinaryFeatures; for sign_check
  const T* at(int i) const { return data + std::ptrdiff_t{i} * size; }
};
using BinarySet = DescriptorSet<std::uint8_t>;  ///< kBinaryBytes bytes: the bits that differ count
using FloatSet = DescriptorSet<float>;          ///< 64 or 36 values: the Euclidean distance counts

struct Match {
  std::int32_t query = 0, train = 0;  ///< places in the two sets
  float distance = 0;
  friend bool operator==(const Match&, const Match&) = default;
};

struct MatchConfig {
  /// The nearest must be nearer than this times the second nearest: above 0, to 1 (no such test).
  /// Without a second one the nearest passes.
  float ratio = 0.75f;
  float max_distance = 0;    ///< of a match; 0 = any
  bool cross_check = false;  ///< the query must be the nearest to its match too
  bool sign_check = false;   ///< pairs of different signs are left out
  /// Pairs of float descriptors whose centre parts have a product that is not above this are left
  /// out; 0 = none is. Not exact: it may leave out the nearest one.
  float early_out = 0;
  friend bool operator==(const MatchConfig&, const MatchConfig&) = default;
};

/// kInvalidArgument, with the value's name, where one is out of the range that MatchConfig gives
/// it.
Status validate(const MatchConfig& config);

/// Matches sets. Allocates when it meets larger sets than before; serves one thread at a time.
class Matcher {
 public:
  static Result<Matcher> create(const MatchConfig& config);

  /// `out` := the matches, at most one for each of `query`, in its order. Among equally near ones
  /// the first of `train` counts. kInvalidArgument: sizes that differ or that there are not, more
  /// than kMostKeypoints, signs that sign_check misses, early_out with bytes. kCancelled, without
  /// any, once `stop` is raised.
  Status run(const BinarySet& query, const BinarySet& train, std::vector<Match>& out,
             const StopFlag* stop = nullptr);
  Status run(const FloatSet& query, const FloatSet& train, std::vector<Match>& out,
             const StopFlag* stop = nullptr);

 private:
  explicit Matcher(const MatchConfig& config) : config_(config) {}
  template <typename T>
  Status run_any(const DescriptorSet<T>& query, const DescriptorSet<T>& train,
                 std::vector<Match>& out, const StopFlag* stop);
  /// Without a look at signs.
  Status run_set(const BinarySet& query, const BinarySet& train, std::vector<Match>& out,
                 const StopFlag* stop);
  Status run_set(const FloatSet& query, const FloatSet& train, std::vector<Match>& out,
                 const StopFlag* stop);
  template <typename T, typename Row>
  Status run_rows(const DescriptorSet<T>& query, const DescriptorSet<T>& train, Row row,
                  std::vector<Match>& out, const StopFlag* stop);

  /// The nearest of a query: squared where distances are Euclidean.
  struct Nearest {
    std::int32_t train;
    float first, second;
  };
  /// The descriptors of one sign, and where they are in their set.
  template <typename T>
  struct Part {
    std::vector<T> data;
    std::vector<std::int32_t> of;
    DescriptorSet<T> take(const DescriptorSet<T>& all, std::int8_t sign);
  };
  template <typename T>
  struct Parts {
    Part<T> query, train;
  };
  MatchConfig config_;
  std::tuple<Parts<std::uint8_t>, Parts<float>> parts_;
  std::vector<Match> of_part_;
  std::vector<float> centres_;    ///< of `train`, as centre_lanes() has them
  std::vector<float> row_;        ///< a query's distance to all
  std::vector<Nearest> nearest_;  ///< of each query
  std::vector<float> least_;      ///< of each of `train`, and whose that is
  std::vector<std::int32_t> owner_;
};

}  // namespace cuface
