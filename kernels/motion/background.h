// The method background on the CPU (mixture.h, light.h).
#pragma once

#include <cstdint>

#include "kernels/motion/light.h"
#include "kernels/motion/mixture.h"
#include "kernels/motion/steps.h"

namespace cuface::motion {

/// What is known of each pixel, in planes of one size.
struct ModePlanes {
  Image<std::uint16_t> mean[kModes];
  Image<std::uint8_t> weight[kModes], spread[kModes];
  Image<std::uint8_t> restless, flags;
  Image<std::uint8_t> grey;  ///< background_grey() of the first mode
};

/// A row of all that its pixels are judged by, for the vector code. Every row may be read and
/// written up to the next multiple of 64 pixels.
struct MixtureRow {
  const std::uint8_t *picture = nullptr, *low = nullptr, *high = nullptr, *near = nullptr;
  std::uint16_t* mean[kModes] = {};
  std::uint8_t *weight[kModes] = {}, *spread[kModes] = {};
  std::uint8_t *restless = nullptr, *flags = nullptr, *grey = nullptr, *foreground = nullptr;
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
  void look_around(int y);
  bool change_of_all(Bytes picture);
  void relight(const LightTable& table);
  void take_row(Bytes picture, int y, const FrameRules& rules);
  void take_row_plain(Bytes picture, int y, const FrameRules& rules);

  const int width_, height_;
  int frames_ = 0;         ///< since the model was begun
  int unsure_frames_ = 0;  ///< left
  ModePlanes planes_;
  Image<std::uint8_t> row_;                ///< of the picture, with room behind it
  Image<std::uint8_t> low_, high_, near_;  ///< of the frame: around each pixel
  Image<std::uint8_t> foreground_;         ///< of the frame: 1 or 0
  WindowFilter neighbours_, around_restless_;
  Majority majority_;
  Dilation hidden_, staying_;
  BitImage moved_;                 ///< what the majority kept on the frame before
  BitImage hidden_bits_, stayed_;  ///< it and what is around it, as light changed and on each frame
};

}  // namespace cuface::motion
