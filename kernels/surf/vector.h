// SURF's detector by vectors. Needs simd::vectors().
//
// Determinants are computed from whole numbers, with other roundings than the reference's, and
// compared with a tolerance. Possible maxima are then computed again, as in the reference.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/common/stop_flag.h"
#include "kernels/surf/hessian.h"
#include "kernels/surf/layer.h"

namespace cuface::surf {

/// Columns of memory behind the sums that may be read: nothing depends on what they hold.
inline constexpr int kSpareColumns = 32;

/// Finds keypoints. Keeps its memory from picture to picture; serves one thread at a time.
class VectorFinder {
 public:
  /// Whether the tolerance holds for layers of this size, and leaves few places.
  static bool takes(const SurfConfig& config);

  /// Looks for maxima. The sums, with kSpareColumns behind each row, stay until the last next().
  /// False once `stop` is raised.
  bool begin(ImageView<const std::uint32_t> sums, const SurfConfig& config, const StopFlag* stop);

  /// Adds the strongest keypoints that are left, all of one response, sorted. False where none is.
  bool next(std::vector<Found>& out);

 private:
  /// A place that may be a maximum of layers_[layer].
  struct Candidate {
    float response;  ///< as the reference has it
    int octave, layer, x, y;
    bool operator<(const Candidate& other) const { return response < other.response; }
  };
  /// The sums, of the columns 0, step, 2 step ..., then 1, 1 + step, 1 + 2 step ...
  struct Columns {
    int step = 1, pitch = 0, height = 0;
    std::vector<std::uint32_t> values;
    const std::uint32_t* at(int x, int y) const;
  };

  bool find_in(int octave, const StopFlag* stop);
  void split();
  void fill_row(const LayerPlan& plan, int y, float* out) const;
  bool refine(const Candidate& candidate, Found& out) const;

  ImageView<const std::uint32_t> sums_{};
  SurfConfig config_;
  std::vector<LayerPlan> layers_;  ///< octave by octave
  Columns columns_, before_;
  std::vector<float> rows_;      ///< of determinants: the last three of each layer
  std::vector<int> places_;      ///< of a row
  std::vector<Candidate> heap_;  ///< the strongest at its top
};

}  // namespace cuface::surf
