// luma: any camera frame -> 8-bit full-range grey, which all stages but a network read.
//
// Source: the published systems [S0.03, S2.01] use grey without saying how it is made; the
// weights and roundings here are the numeric contract's (docs/design/numeric-contract.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"

namespace cuface {

/// One colour component of a frame, as it lies in memory.
struct Component {
  std::uint8_t* data = nullptr;  ///< first sample (top left); luma() only reads through it
  std::ptrdiff_t stride = 0;     ///< bytes between rows
  int pixel_stride = 1;          ///< bytes between samples of one row
  int depth = 8;  ///< significant bits, 8..16; above 8 a sample is a little-endian 16-bit word
  int shift = 0;  ///< the sample is word >> shift (P010: 6; I420_10LE: 0)
  int sub_x = 0, sub_y = 0;  ///< log2 of the subsampling, 0..2
};

/// A mapped frame; owns nothing. Components are Y,U,V or R,G,B; a grey picture has Y only (data of
/// the others is null). Alpha and padding are not listed.
struct FrameView {
  int width = 0, height = 0;
  bool rgb = false;
  bool full_range = true;  ///< RGB is always full range
  Component component[3];
};

/// Refuses what luma() could not read: no data, sizes below 1x1, depth or stride out of range.
Status validate(const FrameView& frame);
/// The same of one component, whatever its subsampling, of a frame `width` pixels wide.
Status validate(const Component& component, int width);

/// Writes the whole width x height of `out` (which must have the frame's size). Exact integers:
/// full-range 8-bit: y; limited 8-bit: clamp(((y-16)*255+109)/219); 10-bit limited:
/// clamp(((v-64)*255+438)/876), full: v >> 2; RGB: (9798R+19235G+3735B+16384) >> 15.
/// Needs a frame that validate() accepts. False, with some of the rows, once `stop` is raised.
/// Thread-safe.
bool luma(const FrameView& frame, ImageView<std::uint8_t> out, const StopFlag* stop = nullptr);

}  // namespace cuface
