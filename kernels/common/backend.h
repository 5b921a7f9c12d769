// Which processor a stage runs on. Chosen when an object is created, never changed afterwards.
#pragma once

namespace cuface {

enum class Backend {
  kCpu,
  kCuda,  ///< creators return StatusCode::kUnsupported in builds without CUDA
};

/// The same of a training, whose result has the same bytes on either.
enum class TrainingBackend {
  kAuto,  ///< on a GPU where there is one with enough memory, else on the CPU
  kCpu,
  kCuda  ///< kUnsupported without a GPU
};

}  // namespace cuface
