// features: keypoints and descriptors as data, for code that finds, describes, matches or sends
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cuface {

/// Of one picture.
inline constexpr int kMostKeypoints = 65535;

/// A place that can be found again. In pixels of the picture; an integer coordinate is the centre
/// of a pixel.
struct Keypoint {
  float x = 0, y = 0;
  float size = 0;           ///< diameter of the part of the picture that is described
  float angle = 0;          ///< degrees from 0 to 360, clockwise; 0 where keypoints are upright
  float response = 0;       ///< how strong it is; which measure is the detector's matter
  std::int32_t octave = 0;  ///< the level on which it was found
  friend bool operator==(const Keypoint&, const Keypoint&) = default;
};

/// Bits of a binary descriptor, in bytes; bit i is bit i % 8 of byte i / 8.
inline constexpr int kBinaryBytes = 32;

/// The keypoints of a picture with binary descriptors.
struct BinaryFeatures {
  std::vector<Keypoint> keypoints;
  std::vector<std::uint8_t> descriptors;  ///< kBinaryBytes for each
  std::vector<std::int8_t> signs;         ///< of each: 1 dark on light, -1 light on dark, 0 neither
  const std::uint8_t* descriptor(std::size_t i) const {
    return descriptors.data() + i * kBinaryBytes;
  }
};

/// The keypoints of a picture with descriptors of floats, of unit length.
struct FloatFeatures {
  std::vector<Keypoint> keypoints;
  std::vector<std::int8_t> signs;  ///< of each: 1 dark on light, -1 light on dark, 0 neither
  std::vector<float> descriptors;  ///< as many for each
  std::size_t floats_each() const {
    return keypoints.empty() ? 0 : descriptors.size() / keypoints.size();
  }
  const float* descriptor(std::size_t i) const { return descriptors.data() + i * floats_each(); }
};

/// The keypoints of a picture with descriptors of one kind: bytes in `descriptors`, or `floats`.
struct Features : BinaryFeatures {
  std::vector<float> floats;  ///< as many for each
  std::size_t floats_each() const {
    return keypoints.empty() ? 0 : floats.size() / keypoints.size();
  }
  const float* floats_of(std::size_t i) const { return floats.data() + i * floats_each(); }
};

}  // namespace cuface
