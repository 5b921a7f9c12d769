// Edges as a kind of result, for our own elements (not installed). Their public side is
// gstcufaceedgemeta.h.
#pragma once

#include <cstdint>
#include <memory>

#include "gst/meta/framemeta.h"
#include "gst/meta/gstcufaceedgemeta.h"
#include "kernels/common/bits.h"
#include "kernels/common/image.h"

namespace cuface {

/// The edges of one frame as a bit map (bits.h). Filled by one thread, then shared and never
/// changed again.
class Edges {
 public:
  Edges(int width, int height) : bits(words_of(width), height), width_(width), height_(height) {}
  int width() const { return width_; }
  int height() const { return height_; }

  Image<std::uint64_t> bits;

 private:
  int width_, height_;
};
using EdgesRef = std::shared_ptr<const Edges>;

}  // namespace cuface

namespace cuface::gst {

/// Edges have the pixels of the picture that they were found in, whatever its size is now; behind a
/// crop there are none.
template <>
struct ResultKind<Edges> {
  static GType type() { return gst_cuface_edge_meta_api_get_type(); }
  static EdgesRef scaled(EdgesRef edges, int, int) { return edges; }
  static EdgesRef cropped(const Edges&, const PictureMap&) {
    return std::make_shared<const Edges>(0, 0);
  }
};

using FoundEdges = FrameResult<Edges>;

}  // namespace cuface::gst
