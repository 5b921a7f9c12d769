// The method background on the CPU (mixture.h, light.h).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/motion/around.h"
#include "kernels/motion/half.h"
#include "kernels/motion/light.h"
#include "kernels/motion/mixture.h"
#include "kernels/motion/staying.h"
#include "kernels/motion/steps.h"

namespace cuface::motion {

/// A mode of 64 pixels of a row. Vector code has even and odd pixels in the halves of its lanes, so
/// that no lane crosses over as bytes become 16 bits. What takes the time is memory: a block is
/// four lines of the cache that follow each other.
struct alignas(kWordBits) ModeBlock {
  std::uint16_t means[2][kWordBits / 2];  ///< of even pixels, and of odd ones
  std::uint8_t weight[kWordBits], spread[kWordBits];

  std::uint16_t& mean(int x) { return means[x % 2][x / 2]; }
};

/// Pixels that share an entry of `owed` and of `stirred`.
inline constexpr int kNoted = 16;

/// What else is known of the same pixels. Vector code of one kind made the notes that it reads, so
/// a video stays with the version that it began with.
struct BlockNotes {
  std::uint64_t foreground;                       ///< kWasForeground
  std::uint64_t was_restless, is_restless;        ///< kRestless before and after a frame
  std::uint8_t owed[kModes][kWordBits / kNoted];  ///< by how much weights are still to decay
  std::uint8_t stirred[kWordBits / kNoted];       ///< 0 where none is restless at all
};

/// What is known of each pixel.
struct ModePlanes {
  Image<ModeBlock> modes;  ///< the first mode of all pixels, then the others: mode()
  Image<BlockNotes> notes;
  Image<std::uint8_t> restless;
  BitImage unsure;  ///< kUnsure

  ModeBlock* mode(int k, int y) { return modes.view().row(k * notes.height() + y); }
};

/// A row of all that its pixels are judged by. For the vector code it may be read and written up to
/// the next multiple of 64 pixels.
struct MixtureRow {
  const std::uint8_t* picture = nullptr;
  ModeBlock* mode[kModes] = {};
  int to_below = 0;  ///< blocks from a mode to that of the row below; 0 at the last row
  BlockNotes* notes = nullptr;
  std::uint8_t* restless = nullptr;
  const std::uint64_t* unsure = nullptr;  ///< null where none is, and the light did not change
  std::uint8_t* grey = nullptr;           ///< becomes background_grey() before this frame
};

/// A row whose foreground is to be explained by what is around it.
struct ExplainedRow {
  const std::uint8_t* picture = nullptr;
  const BlockNotes *notes = nullptr, *around[2 * kRestlessReach + 1] = {};
  const GreyAround::Row* const* grey_around = nullptr;
  std::uint64_t* seen = nullptr;  ///< becomes foreground that is not explained
};

/// For pictures of one size. All that it has is half as wide and as high: half.h.
class Background {
 public:
  /// Of the whole pictures.
  Background(int width, int height);

  /// What is known of a frame.
  struct Seen {
    bool compared = false;  ///< false for the first, which is the background and has no mask
    bool global = false;    ///< it changed as a whole, and the mask is of no use
    bool learning = false;  ///< what is new was taken for background
  };
  /// Takes a frame and says in `mask`, of half its size, what of it is not background.
  Seen look(Bytes whole, ImageView<std::uint64_t> mask);
  void forget() { frames_ = 0; }

 private:
  void begin(Bytes picture);
  /// Whether most samples are other than the background; if so, the light is taken into account,
  /// or the model begins anew.
  bool change_of_all(Bytes picture);
  void relight(const LightTable& table);
  std::uint8_t grey(int x, int y);  ///< background_grey() of a pixel
  int count_other(Bytes picture, int y);
  void take_row(Bytes picture, int y, const FrameRules& rules);
  /// Takes what is explained around it from the foreground of a row. kNeighbourReach rows below it
  /// have been taken: it reads kRestlessReach of them, too.
  void explain_row(Bytes picture, int y);

  const int width_, height_;
  int frames_ = 0;         ///< since the model was begun
  int unsure_frames_ = 0;  ///< left
  ModePlanes planes_;
  Image<std::uint8_t> half_;            ///< the frame
  std::vector<std::uint64_t> sampled_;  ///< pixels of a row that are samples
  GreyAround grey_;
  BitImage seen_;  ///< foreground that nothing around it explains
  Majority majority_;
  Dilation hidden_;
  Staying staying_;
  BitImage moved_;        ///< what the majority kept on the frame before
  BitImage hidden_bits_;  ///< it and what is around it, as light changed
};

}  // namespace cuface::motion
