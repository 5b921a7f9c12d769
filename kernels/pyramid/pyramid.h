// pyramid: the picture at several sizes. Two kinds, because two stages of the published system need
// different ones: the detector's scale levels ([S0.15], INTER_LINEAR_EXACT) and the flow's Gaussian
// octaves [S0.30].
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/common/stop_flag.h"

namespace cuface {

/// Resizing from one fixed size to another, bit-equal to OpenCV 4.6's resize(INTER_LINEAR_EXACT) on
/// 8-bit grey (fixed point). Sizes from 1x1; up- and downscaling. Immutable, so threads may share
/// it.
class LinearResize {
 public:
  LinearResize(int src_width, int src_height, int dst_width, int dst_height);

  /// False, with some of the rows, once `stop` is raised.
  bool run(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst,
           const StopFlag* stop = nullptr) const;
  /// The row y of what run() makes, or the `count` columns of it from `first` on.
  void row(ImageView<const std::uint8_t> src, int y, std::uint8_t* dst) const {
    row(src, y, 0, static_cast<int>(columns_.size()), dst);
  }
  void row(ImageView<const std::uint8_t> src, int y, int first, int count,
           std::uint8_t* dst) const {
    const Tap& tap = rows_[static_cast<std::size_t>(y)];
    row(src.row(tap.first), src.row(tap.second), y, first, count, dst);
  }
  /// The same where the row's two source rows, those of rows()[y], lie apart.
  void row(const std::uint8_t* above, const std::uint8_t* below, int y, int first, int count,
           std::uint8_t* dst) const;

  /// The two source indices a destination index lies between, and their weights in 1/256.
  struct Tap {
    int first, second;
    std::uint16_t weight_first, weight_second;
  };

  /// The same for vector code, which reads four bytes at once: those at `at` hold the pixels of
  /// column x `shift` bits up, wherever that is in the row. Empty where a row has less than four.
  struct VectorColumns {
    std::vector<std::int32_t> at, shift, weight_second;
  };

  const std::vector<Tap>& columns() const { return columns_; }
  const std::vector<Tap>& rows() const { return rows_; }

  /// A source row's value at a destination column, times 256.
  CUFACE_HD static std::uint16_t along_row(const std::uint8_t* row, const Tap& column) {
    return static_cast<std::uint16_t>(row[column.first] * column.weight_first +
                                      row[column.second] * column.weight_second);
  }
  /// Two rows' values with the weights of the destination row, rounded once.
  CUFACE_HD static std::uint8_t blend(std::uint32_t a, std::uint32_t b, std::uint32_t weight_a,
                                      std::uint32_t weight_b) {
    constexpr std::uint32_t kHalf = 1u << 15;
    return static_cast<std::uint8_t>((a * weight_a + b * weight_b + kHalf) >> 16);
  }

 private:
  int src_width_;
  std::vector<Tap> columns_, rows_;
  VectorColumns vector_columns_;
  bool halves_;  // of the columns
};

/// `dst` := `src` resized to dst's size, by a LinearResize made for this one call. Allocates the
/// plan.
void resize_linear_exact(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst);

/// One Gaussian octave, bit-equal to OpenCV's pyrDown on 8-bit grey: [1 4 6 4 1]^2 / 256 rounded,
/// odd rows and columns dropped, border BORDER_REFLECT_101. dst is ((w+1)/2) x ((h+1)/2).
void gaussian_down(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst);

/// A level of GaussianPyramid. Above level 0 it is made where it is read, in tiles: a tracked face
/// needs a small part of a frame.
class PyramidLevel {
 public:
  /// What is made at once at the least. Rows around a tile are filtered for its neighbours again.
  static constexpr int kTileWidth = 32, kTileHeight = 16;

  /// `below` outlives this level; none: this is level 0.
  PyramidLevel(int width, int height, PyramidLevel* below);

  int width, height;

  /// The level, whose pixels in `part` are made, and those that reflection at the rim reads in
  /// their place where it lies outside. The others are not to be trusted.
  ImageView<const std::uint8_t> part(const Rect& part) {
    const Rect inside{std::clamp(part.x, 0, std::max(width - part.w, 0)),
                      std::clamp(part.y, 0, std::max(height - part.h, 0)), std::min(part.w, width),
                      std::min(part.h, height)};
    if (inside.x < ready_.x || inside.x + inside.w > ready_.x + ready_.w || inside.y < ready_.y ||
        inside.y + inside.h > ready_.y + ready_.h) {
      make(inside);
    }
    return picture_;
  }
  ImageView<const std::uint8_t> all() { return part({0, 0, width, height}); }

 private:
  friend class GaussianPyramid;

  void refer(ImageView<const std::uint8_t> picture);  ///< level 0
  void copy(ImageView<const std::uint8_t> picture);   ///< the same
  void forget();                                      ///< the others
  void allocate();
  void make(const Rect& part);

  PyramidLevel* below_;
  ImageView<const std::uint8_t> picture_;
  Image<std::uint8_t> own_;  // once there is something to make or to copy
  Rect ready_;               // a part that is made
  int tiles_across_ = 0;
  std::vector<std::uint8_t> made_;  // of each tile, row by row: is it made?
};

/// Level 0 is the full picture; level i+1 is gaussian_down of level i. Owns the levels above 0,
/// each allocated when it is first read. For one thread at a time. A level is made when it is first
/// read, and then shared.
class GaussianPyramid {
 public:
  /// With these it serves every valid FlowConfig.
  static constexpr int kMaxLevels = 10, kMinWindow = 5;

  /// `levels` >= 1 counts level 0. Fewer are kept where a level above 0 would not be larger than
  /// `min_side` in both directions (OpenCV's rule, with the flow window as min_side).
  GaussianPyramid(int width, int height, int levels = kMaxLevels, int min_side = kMinWindow);

  /// Begins the pyramid of a copy of `picture`, which has the constructor's size.
  void build(ImageView<const std::uint8_t> picture);
  /// The same without a copy: `picture` is level 0 itself, and stays there and as it is until the
  /// pyramid is begun anew.
  void refer(ImageView<const std::uint8_t> picture);
  int levels() const { return static_cast<int>(levels_.size()); }
  PyramidLevel& level(int i) { return levels_[static_cast<std::size_t>(i)]; }
  /// How many tiles all levels have made since the pyramid was begun.
  int tiles_made() const;

 private:
  void forget();
  std::vector<PyramidLevel> levels_;
};

}  // namespace cuface
