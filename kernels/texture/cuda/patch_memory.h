// A patch's model and faces as a block has them that looks for it (patch.cuh).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/texture/integer_patch.h"
#include "kernels/texture/patch_pixels.h"
#include "kernels/texture/texture.h"

namespace cuface::cuda {

/// How numbers of a patch are taken by tensor cores: four neighbours of a row of the patch are a
/// word, and a step takes eight words. Rows are filled up to words, and patches to steps.
struct PatchSteps {
  static constexpr int kWords = 8, kNumbers = 4;
  int side;

  CUFACE_HD constexpr int words_across() const { return (side + kNumbers - 1) / kNumbers; }
  CUFACE_HD constexpr int words() const { return words_across() * side; }
  CUFACE_HD constexpr int count() const { return (words() + kWords - 1) / kWords; }
  /// Whether a step has words in its first half alone.
  CUFACE_HD constexpr bool is_half(int step) const { return words() - step * kWords <= kWords / 2; }
  /// Where a word is in a patch; below the last row for words that fill a step up.
  CUFACE_HD constexpr int x(int word) const { return word % words_across() * kNumbers; }
  CUFACE_HD constexpr int y(int word) const { return word / words_across(); }
};

/// A lane's words of the matrix for one step: rows g and g + 8, numbers of words t and t + 4, for
/// lane 4 g + t. Upper bytes and lower ones.
struct alignas(16) PatchWords {
  std::uint32_t words[4];
};
enum PatchByte { kUpper, kLower, kPatchBytes };

/// The bytes of which 256 times the upper one and the lower one are n; both have signs.
CUFACE_HD inline int upper_byte(int n) { return (n + 128) >> 8; }
CUFACE_HD inline int lower_byte(int n) { return n - 256 * upper_byte(n); }

/// A patch's model in device memory.
struct DevicePatch {
  const PatchWords* words;          ///< [blocks][steps][kPatchBytes][kWarp]; perhaps shared memory
  const texture::PatchUnits* rows;  ///< [blocks]; the same
  int blocks;
  float edge, base;
  /// Bytes from match_patch()'s memory to the words, with the rows behind them, where both are
  /// shared, too; else below 0.
  std::int32_t staged_at = -1;
  CUFACE_HD bool is_staged() const { return staged_at >= 0; }
  CUFACE_HD const PatchWords* staged(const void* memory) const {
    return reinterpret_cast<const PatchWords*>(static_cast<const std::byte*>(memory) + staged_at);
  }
  CUFACE_HD static const texture::PatchUnits* rows_behind(const PatchWords* words) {
    return reinterpret_cast<const texture::PatchUnits*>(words);
  }
  CUFACE_HD static int words_of_block(const PatchSteps& steps) {
    return steps.count() * kPatchBytes * kWarp;
  }
};

/// Pixels around a point that a block has copied, rows of `across`; (0, 0) is at `left`, `top`.
struct CopiedPixels {
  const std::uint8_t* bytes;
  int across, left, top;
  CUFACE_HD int at(int x, int y) const { return bytes[(y + top) * across + x + left]; }
};

/// Four pixels of a row and those around them, of copied rows of whole words. Beyond a row's ends
/// the word at the end stands again.
struct PixelWords {
  static constexpr int kBytes = 4;
  std::uint32_t words[3][3];

  CUFACE_HD PixelWords(const std::uint32_t* row, int words_across, int word) {
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 3; ++x)
        words[y][x] = row[(y - 1) * words_across + std::clamp(word + x - 1, 0, words_across - 1)];
  }
  /// The first of the four is (0, 0).
  CUFACE_HD int at(int x, int y) const {
    const int byte = x + kBytes;
    return static_cast<int>(words[y + 1][byte / kBytes] >> (8 * (byte % kBytes)) & 255);
  }
};

/// Of one of the faces.
struct PatchFace {
  ImageView<const std::uint8_t> picture;
  texture::BetweenPixels at;  ///< where its search starts
  float strongest;            ///< edge of the picture
};

/// What a block shares while it looks for a patch. Words of gradients lie where gradients and edges
/// of pixels came before, and bytes of gradients where pixels came before and sums of squares
/// follow: the largest patches of one plane take less than 48 KB.
///
/// Where numbers of two planes take turns, words of neighbours are of both, too: those that begin
/// with the first plane, for even rows of a patch, then those that begin with the other.
struct PatchMemory {
  static constexpr int kPlaces = kWarp;  ///< of each face, that are multiplied together
  static constexpr int kMostFaces = 6;   ///< at once, where a warp has a lane for each place
  static constexpr int kCorners = 4;
  int area, places, most_blocks, faces;  ///< numbers of a side; all places of a face
  int planes, likelihoods;               ///< of the latter 1 or 0
  PatchSteps steps;

  CUFACE_HD PatchMemory(const PatchRule& rule, int blocks, int most_faces)
      : area(rule.side + 2 * rule.reach),
        places(rule.across() * rule.across()),
        most_blocks(blocks),
        faces(places <= kPlaces ? most_faces : 1),
        planes(rule.planes()),
        likelihoods(rule.likelihood > 0 ? 1 : 0),
        steps{rule.side} {}
  /// Of a plane: rows of as many as pixels have, which begin with one that is not used.
  CUFACE_HD int gradient_count() const { return (area + 1) * pixels_across(); }
  /// Each with its neighbours; whole words.
  CUFACE_HD int pixels_across() const { return (pixels_down() + 3) / 4 * 4; }
  CUFACE_HD int pixels_down() const { return area + 3; }
  /// Of a byte's words in one order of planes: the last place's last word reaches so far.
  CUFACE_HD int word_count() const {
    const int last = steps.count() * PatchSteps::kWords - 1;
    return area * area + (steps.y(last) - steps.side + 1) * area + steps.words_across() * 4;
  }
  /// Of a plane: whole words, of which the last word's bytes and one word more are read.
  CUFACE_HD int byte_count() const { return (word_count() + 3) / 4 * 4 + 8; }
  /// Of a face.
  CUFACE_HD int floats_first() const {
    const int before = planes * gradient_count() + kCorners * places;
    const int after = kPatchBytes * planes * word_count();
    return before > after ? before : after;
  }
  CUFACE_HD int floats_then() const {
    const int pixels = (pixel_count() + 3) / 4, bytes = kPatchBytes * planes * byte_count() / 4;
    const int before = pixels > bytes ? pixels : bytes;
    const int after = (most_blocks + likelihoods) * kPlaces;
    return before > after ? before : after;
  }
  CUFACE_HD int pixel_count() const { return pixels_across() * pixels_down(); }
  CUFACE_HD std::size_t bytes() const {
    return static_cast<std::size_t>(faces) *
           (sizeof(PatchFace) +
            sizeof(float) * static_cast<std::size_t>(floats_first() + floats_then() + places));
  }

#ifdef __CUDACC__
  __device__ PatchFace* face(void* memory) const { return static_cast<PatchFace*>(memory); }
  __device__ float* gradients(void* memory, int of_face) const {
    return reinterpret_cast<float*>(face(memory) + faces) + of_face * floats_first();
  }
  __device__ float* edges(void* memory, int of_face) const {
    return gradients(memory, of_face) + planes * gradient_count();
  }
  /// Of bytes of four neighbours, [planes][kPatchBytes][word_count()].
  __device__ std::uint32_t* words(void* memory, int of_face) const {
    return reinterpret_cast<std::uint32_t*>(gradients(memory, of_face));
  }
  /// [blocks][faces x kPlaces]
  __device__ float* squares(void* memory) const { return gradients(memory, faces); }
  /// [faces x kPlaces]: what likelihoods add, where patches have some.
  __device__ float* unlikelihoods(void* memory) const {
    return squares(memory) + most_blocks * faces * kPlaces;
  }
  __device__ std::uint8_t* pixels(void* memory, int of_face) const {
    return reinterpret_cast<std::uint8_t*>(squares(memory) + of_face * floats_then());
  }
  /// Bytes of what gradients count, [planes][kPatchBytes][byte_count()].
  __device__ std::uint8_t* counted(void* memory, int of_face) const {
    return pixels(memory, of_face);
  }
  /// What places' costs are weighed by.
  __device__ float* weights(void* memory, int of_face) const {
    return squares(memory) + faces * floats_then() + of_face * places;
  }
#endif
};

}  // namespace cuface::cuda
