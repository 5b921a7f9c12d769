// Which processor a stage runs on. Chosen when an object is created, never changed afterwards.
#pragma once

namespace cuface {

enum class Backend {
  kCpu,
  kCuda,  ///< creators return StatusCode::kUnsupported in builds without CUDA
};

}  // namespace cuface
