// integral on CUDA: the sums of a whole picture, as integral_squared() and integral_tilted() make
// them [S0.09, S0.10]. Searches of scaled pictures make those of their tiles by themselves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/common/cuda/tables.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"

namespace cuface::cuda {

/// plan(), then bind() to a scratch, then enqueue() as often as wanted.
class IntegralImages {
 public:
  /// For pictures of width x height, 2^24 pixels at most; places its parts of the scratch. Without
  /// `squares` there are no sums of them.
  void plan(int width, int height, bool tilted, ScratchLayout& parts, bool squares = true);
  void bind(std::byte* scratch);

  /// `picture` has the planned size and lies in device memory. Three launches, six with tilted
  /// sums. Nothing is written where *run is 0 (null = always), but `zeros` always are.
  Status enqueue(ImageView<const std::uint8_t> picture, const std::int32_t* run, const Zeros& zeros,
                 Launcher launch) const;

  /// What the last one left in device memory: width + 1 columns, height + 1 rows.
  ImageView<const std::uint32_t> sums() const;
  ImageView<const std::uint64_t> squared() const;
  /// From a row of sums to the next.
  int words_of_row() const {
    return static_cast<int>(sum_stride_ / std::ptrdiff_t{sizeof(std::uint32_t)});
  }
  /// Words from a sum to the tilted sum of the same place; 0 = there are none.
  std::ptrdiff_t tilted() const { return tilted_; }

 private:
  int width_ = 0, height_ = 0;
  std::ptrdiff_t sum_stride_ = 0, squared_stride_ = 0;  ///< bytes
  std::ptrdiff_t tilted_ = 0;
  ScratchPart<std::uint32_t> sums_;  ///< and the tilted ones, with the same stride
  ScratchPart<std::uint64_t> squared_;
  ScratchPart<uint2> totals_;  ///< of the columns of each band of rows: sum, squares
};

}  // namespace cuface::cuda
