// Frames as the twins in Python give them to our programs: a line with numbers, and the bytes.
#pragma once

#include <cstdint>
#include <istream>
#include <limits>
#include <vector>

#include "kernels/luma/luma.h"

namespace cuface::test {

/// Reads "offset stride pixel_stride depth shift sub_x sub_y" of each component, the rest of the
/// line, and then `bytes` bytes of the frame into `data`. False where they are none.
inline bool read_frame(std::istream& in, int components, std::size_t bytes,
                       std::vector<std::uint8_t>& data, FrameView& frame) {
  data.resize(bytes);
  for (Component& c : frame.component) c = {};
  for (int i = 0; i < components && i < 3; ++i) {
    Component& c = frame.component[i];
    std::size_t offset = 0;
    in >> offset >> c.stride >> c.pixel_stride >> c.depth >> c.shift >> c.sub_x >> c.sub_y;
    if (!in || offset >= bytes) return false;
    c.data = data.data() + offset;
  }
  in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  return static_cast<bool>(
      in.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(bytes)));
}

}  // namespace cuface::test
