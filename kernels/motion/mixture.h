// The method background: what a pixel of the half picture (half.h) has been like, as up to three
// modes, after Stauffer and Grimson's mixture. A mode has a mean, a spread and a weight: the frames
// that it explained, less those that it did not. A grey level is background where a mode of enough
// weight explains it.
//
// Where a pixel is restless - a leaf, an edge before a shaking camera - what is background close by
// explains it, too. Frames are counted, not seconds.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"

namespace cuface::motion {

inline constexpr int kModes = 3;

// Chosen on the seeds motion_scenes.CHOOSING, by tests/quality/motion.py.
inline constexpr int kLeastApart = 5;      ///< grey levels that a mode always explains
inline constexpr int kSpreads = 3;         ///< spreads that it explains beyond
inline constexpr int kFirstSpread = 32;    ///< sixteenths of a grey level
inline constexpr int kEnoughWeight = 50;   ///< a mode of more is background
inline constexpr int kDecayFrames = 4;     ///< so often modes lose weight that explained nothing
inline constexpr int kLearnFrames = 32;    ///< the first frames, in which all is background
inline constexpr int kChange = 16;         ///< restlessness of coming and of going
inline constexpr int kRestless = 80;       ///< is restless
inline constexpr int kRestlessReach = 2;   ///< pixels around a restless one that are, too
inline constexpr int kNeighbourReach = 2;  ///< whose background explains a restless pixel
inline constexpr int kUnsureWeight = 12;   ///< enough for pixels that were hidden as light changed
inline constexpr int kUnsureFrames = 60;   ///< for so long
inline constexpr int kHiddenReach = 2;     ///< around what moved then

/// How far from where something was on the frame before it can be: rain is elsewhere. In pixels of
/// the half picture, of its width.
CUFACE_HD inline int stay_reach(int width) { return width / 40 < 2 ? 2 : width / 40; }

/// Means are in 256ths of a grey level, spreads in 16ths: the median of what lies between the mean
/// and what it explained. The first has the most weight; those of weight 0 are none.
struct Modes {
  std::uint16_t mean[kModes] = {};
  std::uint8_t weight[kModes] = {}, spread[kModes] = {};
};

/// What holds for all pixels of a frame.
struct FrameRules {
  int shift = 5;         ///< a mean moves by 1 / 2^shift of what it is off
  bool decay = false;    ///< one of every kDecayFrames
  bool learn = false;    ///< what is new is background
  bool relight = false;  ///< the light has changed: what was not hidden is known anew
};

/// Of frame `number`, from 0, since the model was begun.
CUFACE_HD inline FrameRules frame_rules(int number, bool relight) {
  const int shift = number < 7 ? 2 : number < 23 ? 3 : number < 63 ? 4 : 5;
  return {shift, number % kDecayFrames == kDecayFrames - 1, number < kLearnFrames, relight};
}

/// What a pixel's flags say.
inline constexpr std::uint8_t kWasForeground = 1;  ///< unexplained on the frame before
inline constexpr std::uint8_t kUnsure = 2;         ///< hidden as the light changed

CUFACE_HD inline int distance(int a, int b) { return a > b ? a - b : b - a; }

CUFACE_HD inline bool explains(const Modes& modes, int k, int grey) {
  const int reach = kLeastApart * 256 + kSpreads * 16 * modes.spread[k];
  return modes.weight[k] > 0 && distance(grey * 256, modes.mean[k]) <= reach;
}

CUFACE_HD inline void swap_if_heavier(Modes& modes, int k) {
  if (modes.weight[k + 1] <= modes.weight[k]) return;
  const Modes was = modes;
  modes.mean[k] = was.mean[k + 1];
  modes.mean[k + 1] = was.mean[k];
  modes.weight[k] = was.weight[k + 1];
  modes.weight[k + 1] = was.weight[k];
  modes.spread[k] = was.spread[k + 1];
  modes.spread[k + 1] = was.spread[k];
}

/// Takes a grey level into the mode that explains it.
CUFACE_HD inline void strengthen(std::uint16_t& mean, std::uint8_t& weight, std::uint8_t& spread,
                                 int grey, bool unsure, const FrameRules& rules) {
  const bool relight = rules.relight && !unsure;
  const int off = distance(grey * 256, mean), step = off >> (relight ? 0 : rules.shift);
  mean = static_cast<std::uint16_t>(grey * 256 > mean ? mean + step : mean - step);
  int width = spread;
  if (relight && width < kFirstSpread) width = kFirstSpread;
  if (off >> 4 > width)
    width += width < 255;
  else
    width -= width > 0;
  spread = static_cast<std::uint8_t>(width);
  int more = weight + (weight < 255);
  if (unsure && more > kUnsureWeight && more <= kEnoughWeight) more = kEnoughWeight + 1;
  weight = static_cast<std::uint8_t>(more);
}

/// Takes a grey level into the modes, and says whether they explained it as background. Where the
/// first one explains it, and none decays, the others stay as they are.
CUFACE_HD inline bool take_grey(Modes& modes, int grey, bool unsure, const FrameRules& rules) {
  const bool learn = rules.learn || (rules.relight && !unsure);
  int hit = kModes;
  std::uint16_t mean = static_cast<std::uint16_t>(grey * 256);
  std::uint8_t weight = learn ? kEnoughWeight + 1 : 1, spread = kFirstSpread;
  for (int k = kModes - 1; k >= 0; --k) {
    if (!explains(modes, k, grey)) continue;
    hit = k;
    mean = modes.mean[k];
    weight = modes.weight[k];
    spread = modes.spread[k];
  }
  const bool background = weight > kEnoughWeight;
  if (hit == kModes)
    hit = kModes - 1;
  else
    strengthen(mean, weight, spread, grey, unsure, rules);
  // No index is known late, or a GPU would keep the modes in memory.
  for (int k = 0; k < kModes; ++k) {
    modes.mean[k] = k == hit ? mean : modes.mean[k];
    modes.weight[k] = k == hit ? weight : modes.weight[k];
    modes.spread[k] = k == hit ? spread : modes.spread[k];
  }
  // The first never goes.
  for (int k = 0; k < kModes; ++k) {
    const bool less = rules.decay && k != hit && modes.weight[k] > (k == 0);
    modes.weight[k] = static_cast<std::uint8_t>(modes.weight[k] - less);
  }
  swap_if_heavier(modes, 1);
  swap_if_heavier(modes, 0);
  return background;
}

/// A pixel's restlessness, which coming and going raise.
CUFACE_HD inline std::uint8_t restlessness(int before, bool was_foreground, bool is_foreground) {
  const int less = before > 0 ? before - 1 : 0;
  const int more = less + (was_foreground != is_foreground ? kChange : 0);
  return static_cast<std::uint8_t>(more < 255 ? more : 255);
}

/// The grey level of a background's first mode.
CUFACE_HD inline std::uint8_t background_grey(std::uint16_t mean) {
  const int grey = (mean + 128) >> 8;
  return static_cast<std::uint8_t>(grey < 255 ? grey : 255);
}

/// Whether the background close by, of the grey levels from `low` to `high`, explains a pixel.
CUFACE_HD inline bool explained_around(int grey, int low, int high) {
  return grey >= low - kLeastApart && grey <= high + kLeastApart;
}

}  // namespace cuface::motion
