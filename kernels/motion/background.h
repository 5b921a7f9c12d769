// The method background on the CPU (mixture.h, light.h).
#pragma once

#include <cstdint>

#include "kernels/motion/light.h"
#include "kernels/motion/mixture.h"
#include "kernels/motion/steps.h"

namespace cuface::motion {

/// What is known of each pixel, in planes of one size. What takes the time is their memory, which
/// is more than the caches next to a core: so the grey level of the background is the first mean,
/// and flags are bits.
struct ModePlanes {
  Image<std::uint16_t> mean[kModes];
  Image<std::uint8_t> weight[kModes], spread[kModes];
  Image<std::uint8_t> restless;
  BitImage was_foreground, unsure;  ///< kWasForeground, kUnsure
};

/// A row of all that its pixels are judged by. For the vector code it may be read and written up to
/// the next multiple of 64 pixels.
struct MixtureRow {
  const std::uint8_t* picture = nullptr;
  /// Those around it before the frame (RowsAround).
  const std::uint8_t *const *grey_around = nullptr, *const *restless_around = nullptr;
  std::uint16_t* mean[kModes] = {};
  std::uint8_t *weight[kModes] = {}, *spread[kModes] = {};
  std::uint8_t *restless = nullptr, *foreground = nullptr;
  std::uint64_t* was_foreground = nullptr;
  const std::uint64_t* unsure = nullptr;  ///< null where none is, and the light did not change
};

/// For pictures of one size.
class Background {
 public:
  Background(int width, int height);

  /// What is known of a frame.
  struct Seen {
    bool compared = false;  ///< false for the first, which is the background and has no mask
    bool global = false;    ///< it changed as a whole, and the mask is of no use
    bool learning = false;  ///< what is new was taken for background
  };
  /// Takes a frame and says in `mask` what of it is not background.
  Seen look(Bytes picture, ImageView<std::uint64_t> mask);
  void forget() { frames_ = 0; }

 private:
  void begin(Bytes picture);
  /// Whether most samples are other than the background; if so, the light is taken into account,
  /// or the model begins anew.
  bool change_of_all(Bytes picture);
  void relight(const LightTable& table);
  void copy_grey(int y, std::uint8_t* to);  ///< background_grey() of a row
  void take_row(Bytes picture, int y, const FrameRules& rules);

  const int width_, height_;
  int frames_ = 0;         ///< since the model was begun
  int unsure_frames_ = 0;  ///< left
  ModePlanes planes_;
  Image<std::uint8_t> row_;     ///< of the picture, with room behind it
  Image<std::uint8_t> sample_;  ///< a row of the background, and where the picture is other
  RowsAround grey_before_, restless_before_;
  Majority majority_;
  Dilation hidden_, staying_;
  BitImage moved_;                 ///< what the majority kept on the frame before
  BitImage hidden_bits_, stayed_;  ///< it and what is around it, as light changed and on each frame
};

}  // namespace cuface::motion
