// The samples of a training in device memory, and what one regression stage begins with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/landmarks/regression.h"

namespace cuface::cuda::grow {

/// A face's box, and its picture in device memory.
struct TrainingFace {
  ImageView<const std::uint8_t> picture;
  Box box;
};

/// All in device memory. A row is what a sample lacks in all coordinates, in steps
/// (kernels/grow/steps.h), then a 1 that counts it, then zeros.
struct DeviceSamples {
  std::uint32_t count = 0;
  std::uint32_t padded = 0;  ///< of a row of pixels
  std::uint32_t amount = 1;  ///< samples of a face
  int size = 0;              ///< coordinates
  int stride = 0;            ///< of a row, a multiple of kQuad
  int pool = 0;
  const TrainingFace* faces = nullptr;
  const float* targets = nullptr;         ///< [faces][size]
  const std::uint8_t* present = nullptr;  ///< [faces][size / 2]; null: all are there
  const std::uint8_t* weights = nullptr;  ///< [faces]; null: 1
  float* shapes = nullptr;                ///< [count][size]
  std::int32_t* rows = nullptr;           ///< [count][stride]
  std::uint8_t* pixels = nullptr;         ///< [pool][padded]

  static constexpr int kQuad = 4;

  CUFACE_HD bool has(std::uint32_t face, int coordinate) const {
    return !present || present[static_cast<std::size_t>(face) * static_cast<std::size_t>(size / 2) +
                               static_cast<std::size_t>(coordinate / 2)] != 0;
  }
  CUFACE_HD std::int32_t weight(std::uint32_t sample) const {
    return weights ? weights[sample / amount] : 1;
  }
  CUFACE_HD std::size_t row(std::uint32_t sample) const {
    return static_cast<std::size_t>(sample) * static_cast<std::size_t>(stride);
  }
  CUFACE_HD std::size_t shape(std::uint32_t sample) const {
    return static_cast<std::size_t>(sample) * static_cast<std::size_t>(size);
  }
  CUFACE_HD bool goes_left(const ForestSplit& split, std::uint32_t sample) const {
    const int a = pixels[static_cast<std::size_t>(split.a) * padded + sample];
    const int b = pixels[static_cast<std::size_t>(split.b) * padded + sample];
    return static_cast<float>(a - b) > split.threshold;
  }
};

/// The feature pixels of a stage, in device memory.
struct StagePixels {
  const forest::Lever* levers;   ///< [size / 2]
  const std::uint32_t* anchors;  ///< [pool]
  const Point* deltas;           ///< [pool]
};

/// Reads the pixels of all samples at their shapes, and writes their rows.
Status begin_stage(const DeviceSamples& samples, const StagePixels& stage, Launcher launch);

}  // namespace cuface::cuda::grow
