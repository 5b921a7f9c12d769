// How a face is known again anywhere in a picture: ORB's comparisons [S2.14] at fixed places of its
// box, drawn to one size. A place of one picture is compared with several of the other, as boxes
// and expressions differ. Integers only, so that the CPU and CUDA get the same.
// docs/design/track.md says how the constants were chosen.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/orb/pattern.h"
#include "kernels/track/appearance.h"
#include "kernels/track/track.h"

namespace cuface::track {

/// So much of a box's sides, around its middle, is face and not background.
inline constexpr float kFacePart = 0.75f;
/// This part is drawn as kDrawnSide x kDrawnSide pixels, each of kDrawnSamples^2 samples, and
/// blurred over squares that reach kDrawnBlur pixels to each side.
inline constexpr int kDrawnSide = 64, kDrawnPixels = kDrawnSide * kDrawnSide, kDrawnSamples = 2,
                     kDrawnBlur = 2;
/// What a view describes: kPlaces places, a square of them, by 256 bits each.
inline constexpr int kPlacesSide = 5, kPlaces = kPlacesSide * kPlacesSide, kFirstPlace = 12,
                     kPlaceStep = 10, kWords = 8;
/// A place is looked for so far from where it was, each way, in such steps.
inline constexpr int kShift = 6, kShiftStep = 2, kShifts = 2 * (kShift / kShiftStep) + 1;
/// All places of a face that are compared with a view's.
inline constexpr int kProbeSide = ((kPlacesSide - 1) * kPlaceStep + 2 * kShift) / kShiftStep + 1,
                     kProbes = kProbeSide * kProbeSide, kPlaceProbes = kPlaceStep / kShiftStep;
/// Two pictures show one face if no more bits differ, a place on average. If several faces match,
/// one must be this much more alike than the others.
inline constexpr int kMostDiffering = 34, kLeastApart = 3;
/// A place with fewer bits set, or cleared, has no structure: it counts as differing by half of the
/// bits.
inline constexpr int kLeastStructure = 32, kUnknown = 128;
/// px; a box that is narrower shows too little.
inline constexpr float kLeastFace = 32;
/// Views of a face that are kept, and the seconds from one to the next.
inline constexpr int kViews = 4;
inline constexpr double kViewTime = 0.5;

struct Descriptor {
  std::uint32_t word[kWords];
};
struct View {
  Descriptor at[kPlaces];
};
/// Of one face. The newest is made anew with each find until it is kViewTime old.
struct Views {
  View view[kViews];
};

/// What the tracker knows of faces, and what it compares with that.
struct KnownFaces {
  Views of_track[kMaxTracks];  // by slot
  Views of_ghost[kMaxTracks];  // by Ghost::appearance
  std::uint16_t drawn[kDrawnPixels], blurred[kDrawnPixels];
  Descriptor probe[kProbes];
  std::uint16_t differing[kMaxTracks][kViews][kPlaces];  // of ghosts
  int least[kMaxTracks];                                 // of ghosts: of all places of a view
};

/// A pixel of a drawn box: a sum.
CUFACE_HD inline std::uint16_t drawn_pixel(ImageView<const std::uint8_t> picture, const Box& box,
                                           int pixel) {
  constexpr int kSamples = kDrawnSide * kDrawnSamples;
  const int left = pixel % kDrawnSide * kDrawnSamples, top = pixel / kDrawnSide * kDrawnSamples;
  int sum = 0;
  for (int j = top; j < top + kDrawnSamples; ++j) {
    const std::uint8_t* row = picture.row(sample_of<kSamples>(box.y, box.h, j, picture.height));
    for (int i = left; i < left + kDrawnSamples; ++i)
      sum += row[sample_of<kSamples>(box.x, box.w, i, picture.width)];
  }
  return static_cast<std::uint16_t>(sum);
}

CUFACE_HD inline int drawn_index(int x, int y) {
  return std::clamp(y, 0, kDrawnSide - 1) * kDrawnSide + std::clamp(x, 0, kDrawnSide - 1);
}

/// A sum again: at most 25 pixels of 4 samples of 255.
CUFACE_HD inline std::uint16_t blurred_pixel(const std::uint16_t* drawn, int pixel) {
  const int x = pixel % kDrawnSide, y = pixel / kDrawnSide;
  int sum = 0;
  for (int j = -kDrawnBlur; j <= kDrawnBlur; ++j)
    for (int i = -kDrawnBlur; i <= kDrawnBlur; ++i) sum += drawn[drawn_index(x + i, y + j)];
  return static_cast<std::uint16_t>(sum);
}

/// 32 of the bits of the descriptor of a place; bit k of word w is the pair 32 w + k.
CUFACE_HD inline std::uint32_t word_at(const std::uint16_t* blurred, const orb::Pair* pattern,
                                       int x, int y, int word) {
  std::uint32_t bits = 0;
  for (int k = 0; k < 32; ++k) {
    const orb::Pair& pair = pattern[32 * word + k];
    const bool is_less = blurred[drawn_index(x + pair.x0, y + pair.y0)] <
                         blurred[drawn_index(x + pair.x1, y + pair.y1)];
    bits |= static_cast<std::uint32_t>(is_less) << k;
  }
  return bits;
}

CUFACE_HD inline int bits_of(std::uint32_t word) {
#ifdef __CUDA_ARCH__
  return __popc(word);
#else
  return __builtin_popcount(word);
#endif
}

CUFACE_HD inline int differing_bits(const Descriptor& a, const Descriptor& b) {
  int sum = 0;
  for (int w = 0; w < kWords; ++w) sum += bits_of(a.word[w] ^ b.word[w]);
  return sum;
}

/// The bits that differ between one place of a view and the most alike of those probed around it.
CUFACE_HD inline std::uint16_t least_differing(const View& view, const Descriptor* probe,
                                               int place) {
  const Descriptor& known = view.at[place];
  int set = 0;
  for (int w = 0; w < kWords; ++w) set += bits_of(known.word[w]);
  if (set < kLeastStructure || set > 32 * kWords - kLeastStructure) return kUnknown;
  const Descriptor* first =
      probe + place / kPlacesSide * kPlaceProbes * kProbeSide + place % kPlacesSide * kPlaceProbes;
  int least = 32 * kWords;
  for (int j = 0; j < kShifts; ++j)
    for (int i = 0; i < kShifts; ++i)
      least = std::min(least, differing_bits(known, first[j * kProbeSide + i]));
  return static_cast<std::uint16_t>(least);
}

/// memory.blurred := what the middle of a finite box shows.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void draw_face(const Lanes& lanes, ImageView<const std::uint8_t> picture, const Box& box,
                         KnownFaces& memory) {
  constexpr float kBorder = (1 - kFacePart) / 2;
  const Box part{box.x + kBorder * box.w, box.y + kBorder * box.h, kFacePart * box.w,
                 kFacePart * box.h};
  lanes.each(kDrawnPixels,
             [&](int pixel) { memory.drawn[pixel] = drawn_pixel(picture, part, pixel); });
  lanes.each(kDrawnPixels,
             [&](int pixel) { memory.blurred[pixel] = blurred_pixel(memory.drawn, pixel); });
}

/// `view` := the places of what draw_face() drew.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void describe_face(const Lanes& lanes, const orb::Pair* pattern, KnownFaces& memory,
                             View& view) {
  lanes.each(kPlaces * kWords, [&](int k) {
    const int place = k / kWords, word = k % kWords;
    view.at[place].word[word] =
        word_at(memory.blurred, pattern, kFirstPlace + place % kPlacesSide * kPlaceStep,
                kFirstPlace + place / kPlacesSide * kPlaceStep, word);
  });
}

/// memory.probe := the places of what draw_face() drew where a view's are looked for.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void probe_face(const Lanes& lanes, const orb::Pair* pattern, KnownFaces& memory) {
  constexpr int kFirst = kFirstPlace - kShift;
  lanes.each(kProbes * kWords, [&](int k) {
    const int probe = k / kWords, word = k % kWords;
    memory.probe[probe].word[word] =
        word_at(memory.blurred, pattern, kFirst + probe % kProbeSide * kShiftStep,
                kFirst + probe / kProbeSide * kShiftStep, word);
  });
}

/// memory.least[g] := how many bits of ghost g's most alike view differ from the probed face, over
/// all places; more than can be where it has no view. Its views are the first count_of(g) of
/// memory.of_ghost[index_of(g)].
CUFACE_HD_GENERIC
template <typename Lanes, typename CountOf, typename IndexOf>
CUFACE_HD void compare_views(const Lanes& lanes, int ghosts, KnownFaces& memory, CountOf count_of,
                             IndexOf index_of) {
  constexpr int kEach = kViews * kPlaces;
  lanes.each(ghosts * kEach, [&](int k) {
    const int g = k / kEach, view = k % kEach / kPlaces, place = k % kPlaces;
    if (view < count_of(g))
      memory.differing[g][view][place] =
          least_differing(memory.of_ghost[index_of(g)].view[view], memory.probe, place);
  });
  lanes.each(ghosts, [&](int g) {
    int least = 32 * kWords * kPlaces + 1;
    for (int view = 0; view < count_of(g); ++view) {
      int sum = 0;
      for (int place = 0; place < kPlaces; ++place) sum += memory.differing[g][view][place];
      least = std::min(least, sum);
    }
    memory.least[g] = least;
  });
}

/// The ghost that the probed face is, or -1: none is alike, or two are and it is in doubt.
CUFACE_HD inline int known_ghost(const int* least, int ghosts) {
  int best = -1, second = -1;
  for (int g = 0; g < ghosts; ++g) {
    if (best < 0 || least[g] < least[best]) {
      second = best;
      best = g;
    } else if (second < 0 || least[g] < least[second]) {
      second = g;
    }
  }
  if (best < 0 || least[best] > kMostDiffering * kPlaces) return -1;
  return second < 0 || least[second] - least[best] >= kLeastApart * kPlaces ? best : -1;
}

}  // namespace cuface::track
