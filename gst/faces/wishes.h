// The requests of a chain's tracker to its detectors for the next frame.
#pragma once

#include <cstdint>
#include <utility>

#include "gst/base/chain.h"
#include "gst/meta/facemeta.h"

namespace cuface::gst {

/// Shared in the Chain, and of its thread. A request made on one frame holds only for the next
/// frame.
class SearchWishes {
 public:
  static SearchWishes& of(Chain& chain) {
    auto& wishes = chain.shared<SearchWishes>();
    const std::uint64_t now = chain.generation();
    if (now == wishes.generation_) return wishes;
    wishes.now_ = now == wishes.generation_ + 1 ? std::move(wishes.next_) : Told{};
    wishes.next_ = {};
    wishes.generation_ = now;
    return wishes;
  }

  /// The part of the next frame that the tracker wants searched, and the part that it wanted on the
  /// frame before.
  void request(const SearchRegion& what) { next_.wanted = what; }
  const SearchRegion& requested() const { return now_.wanted; }
  /// The faces that the tracker followed on the frame before, in pixels of its frames; none where
  /// there is no tracker. Where they are on the GPU, only there is known how many, and whether it
  /// wishes for a search (cuda::DeviceFaces::search_wanted).
  void tell_followed(FaceResult faces) { next_.followed = std::move(faces); }
  const FaceResult& followed() const { return now_.followed; }

 private:
  struct Told {
    SearchRegion wanted;
    FaceResult followed;
  };
  std::uint64_t generation_ = 0;
  Told now_, next_;
};

}  // namespace cuface::gst
