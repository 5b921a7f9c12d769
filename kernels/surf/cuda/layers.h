// What SURF's kernels know of each layer, and what they leave each other in device memory.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/features/device_features.h"
#include "kernels/surf/layer.h"
#include "kernels/surf/samples.h"
#include "kernels/surf/surf.h"

namespace cuface::cuda::surf {

using cuface::surf::DescriptorShape;
using cuface::surf::LayerScale;
using cuface::surf::RingSample;

/// The corners of a layer's wavelets: words from the sum at a wavelet's own corner.
struct Layer {
  LayerScale scale;
  std::int32_t across, down;                  ///< places with an answer
  std::int32_t xx[2][4], yy[4][2], xy[4][4];  ///< row by row
  float of_xx[3], of_yy[3], of_xy[4];         ///< weights of the boxes

  CUFACE_HD bool has(int x, int y) const {
    const int first = scale.margin;
    return x >= first && x < first + across && y >= first && y < first + down;
  }
  /// The wavelets' own corner at a place that has an answer.
  CUFACE_HD const std::uint32_t* corner(const ImageView<const std::uint32_t>& sums, int x,
                                        int y) const {
    return sums.row((y - scale.margin) * scale.step) + (x - scale.margin) * scale.step;
  }
};

/// A grid of places that several layers share. All grids' tiles are one launch.
struct Octave {
  std::int32_t columns, rows, tiles_across;
  std::uint32_t first_tile;
};
struct Octaves {
  std::int32_t count, layers;  ///< layers of an octave in which keypoints are
  std::uint32_t tiles;         ///< of all
  float threshold;
  Octave all[kMostSurfOctaves];
};

/// A keypoint without a direction.
struct Found {
  float x, y, size, response;
  std::int32_t octave, sign;
};
/// The same, by its place in the list.
struct Chosen {
  float response;
  std::uint32_t index;
};

/// How a window is cut: rows of a patch in a band, columns in a group, and parts of a band, which
/// have every parts-th group.
struct WindowCut {
  std::int32_t rows, columns, parts;
};
/// A window to be resized: of each row or column of its patch what makes it, and where a row's
/// first line begins.
struct Window {
  cuface::surf::WindowOutline outline;
  WindowCut cut;
  cuface::surf::PixelShare shares[cuface::surf::kMostPatch];
  float x[cuface::surf::kMostPatch], y[cuface::surf::kMostPatch];
};
/// A part of a window: the band from a row on.
struct WindowPart {
  std::uint32_t keypoint : 16, row : 8, part : 8;
};

/// Counts begin at 0.
struct BlobWork {
  Found* found;
  float* responses;  ///< of these, once more: they are looked through several times
  std::uint32_t* found_count;
  Chosen* chosen;
  std::uint32_t* chosen_count;
  Window* windows;  ///< of each keypoint
  /// Those of large windows from the first on, so that they begin first; others from the last back.
  WindowPart* parts;
  std::uint32_t part_room;
  std::uint32_t* part_counts;  ///< of both
  std::uint32_t* taken;        ///< of these, by blocks
  std::uint8_t* patches;       ///< of each keypoint pixels() x pixels()
};
inline constexpr int kCounts = 8;  ///< words: five, in whole uint4

/// What directions and descriptors are made of.
struct Tables {
  const RingSample* ring;
  std::int32_t ring_count;
  const float* weights;
  SurfOrientation orientation;
  cuface::surf::Coding coding;
};

struct SummedPicture {
  ImageView<const std::uint8_t> grey;
  ImageView<const std::uint32_t> sums;
};

}  // namespace cuface::cuda::surf
