// What motion keeps in device memory, and the launches that change it.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/motion/events.h"
#include "kernels/motion/light.h"
#include "kernels/motion/mixture.h"

namespace cuface::cuda::motion {

using Bits = ImageView<const std::uint64_t>;  ///< `width` in words

/// What the host says of a frame.
struct MotionFrame {
  std::int64_t time = 0;
  std::int32_t now = 0, then = -1;  ///< slots, as References::Choice has them
  std::int32_t forget = 0;          ///< what was before: MotionDetector::forget()
  std::int32_t finish = 0;          ///< the event before: MotionDetector::finish()
};

/// What is to be done with a frame.
struct Seen {
  std::int32_t compared = 0, global = 0, learning = 0;  ///< as cuface::motion::Background::Seen
  // The method background.
  std::int32_t begin = 0;         ///< the frame becomes the background
  std::int32_t relight = 0;       ///< by MotionMemory::light
  std::int32_t clear_unsure = 0;  ///< no pixel is unsure any more
  std::int32_t from = 0;          ///< which of two planes is that of the frame before
  cuface::motion::FrameRules rules;
};

/// Everything but pictures. All zero at the beginning.
struct MotionMemory {
  MotionFrame frame;
  Seen seen;
  MotionState state;
  std::int32_t frames, unsure_frames;  ///< as Background has them
  std::uint32_t other_samples, sample_blocks_done;
  cuface::motion::LightTable light;
  std::uint32_t changed[kMostMotionCells * kMostMotionCells];  ///< of each cell; 0 between frames
  std::uint32_t stirred[kMostMotionCells * kMostMotionCells];
};

/// Pictures of one size, one behind the other, without gaps.
template <typename T>
struct Slots {
  T* data = nullptr;
  int width = 0, height = 0;
  CUFACE_HD ImageView<T> view(int slot) const {
    const auto row = static_cast<std::ptrdiff_t>(width);
    return {data + slot * row * height, width, height,
            row * static_cast<std::ptrdiff_t>(sizeof(T))};
  }
};

/// The background: planes of half the picture (half.h), of one stride, a multiple of a word's
/// pixels, so that whole quads of pixels may be read and written.
struct ModeSlots {
  /// The first modes, a word each: the mean, above it the spread, and the weight at the top. So one
  /// addition changes all three.
  std::uint32_t* first;
  // The others; [0] are none.
  std::uint16_t* mean[cuface::motion::kModes];
  std::uint8_t *weight[cuface::motion::kModes], *spread[cuface::motion::kModes];
  std::uint8_t *restless[2], *grey[2];  ///< of the frame before, and of this one
  std::uint8_t* flags;
  int stride;

  CUFACE_HD static void unpack(std::uint32_t word, cuface::motion::Modes& modes) {
    modes.mean[0] = static_cast<std::uint16_t>(word);
    modes.spread[0] = static_cast<std::uint8_t>(word >> 16);
    modes.weight[0] = static_cast<std::uint8_t>(word >> 24);
  }
  CUFACE_HD static std::uint32_t packed(const cuface::motion::Modes& modes) {
    return modes.mean[0] | std::uint32_t{modes.spread[0]} << 16 |
           std::uint32_t{modes.weight[0]} << 24;
  }
  CUFACE_HD void load_first(std::ptrdiff_t at, cuface::motion::Modes& modes) const {
    unpack(first[at], modes);
  }
  CUFACE_HD void store_first(std::ptrdiff_t at, const cuface::motion::Modes& modes) const {
    first[at] = packed(modes);
  }
};

/// cuface::motion::CountedPixels::cell_pixels(), in device memory, and what they come to.
struct Counted {
  const std::uint32_t* of_cells;
  std::uint32_t pixels;
  std::int32_t cells;  ///< that have any
};

/// What the mask of a frame is made of, and what stays of it.
struct MaskViews {
  Bits kept;  ///< cuface::motion::CountedPixels::kept(); edges: null = all
  Counted counted;
  ImageView<std::uint64_t> mask;
  Slots<std::uint64_t> maps;       ///< edges: of the frames
  Slots<std::uint64_t> widened;    ///< edges: what is near those
  Slots<std::uint64_t> hollow;     ///< edges, not symmetric: what is near pixels without one
  ImageView<std::uint64_t> found;  ///< differences and background: before the majority
  // The background; these three, and `found`, are of half the picture.
  ImageView<std::uint64_t> moved;   ///< what the majority kept
  ImageView<std::uint64_t> near;    ///< what moved on the frame before, widened
  ImageView<std::uint64_t> before;  ///< what stayed of it on the frame before
  bool early;                       ///< follow() is Launcher::early()
};

/// Takes a picture into the frame's slot, and marks where it differs.
Status differ(ImageView<const std::uint8_t> picture, const MotionFrame& frame,
              const Slots<std::uint8_t>& pictures, const MaskViews& views, MotionMemory* memory,
              Launcher launch);
/// Marks what is not background. Three launches.
Status look_at_background(ImageView<const std::uint8_t> picture, const MotionFrame& frame,
                          const ModeSlots& planes, const MaskViews& views, MotionMemory* memory,
                          Launcher launch);
/// The last of these.
Status mix(ImageView<const std::uint8_t> picture, const ModeSlots& planes,
           ImageView<std::uint64_t> found, const MotionMemory* memory, Launcher launch);
/// What a frame adds to; the host may read it meanwhile.
struct MotionCounters {
  std::uint64_t moving_frames, global_changes, events;
};
/// What the counts of the cells make of those before: the result. `counters`: null = none.
Status follow(const MotionPlan& plan, const Counted& counted, MotionMemory* memory,
              MotionResult* out, MotionCounters* counters, Launcher launch);
Result<bool> follow_can_be_early();
/// Makes the mask, counts the cells, and has the result. Two launches.
Status finish_mask(const MotionPlan& plan, const MaskViews& views, MotionMemory* memory,
                   MotionResult* out, MotionCounters* counters, Launcher launch);
/// The same for the method edges, with nothing before it: takes the edges into the frame's slot.
/// Two launches.
Status mask_edges(Bits edges, const MotionPlan& plan, const MotionFrame& frame,
                  const MaskViews& views, MotionMemory* memory, MotionResult* out,
                  MotionCounters* counters, Launcher launch);

/// MotionDetector::mask() as bytes, and draw_cells(), of null without a cell: `out` has the
/// picture's size.
Status unpack(Bits bits, ImageView<std::uint8_t> out, Launcher launch);
Status draw_cells(const MotionPlan& plan, const MotionResult* result, ImageView<std::uint8_t> out,
                  Launcher launch);

}  // namespace cuface::cuda::motion
