// Passing on what went wrong, in a line. For functions that return a Status or a Result.
#pragma once

#include <utility>

#include "kernels/common/status.h"

/// Returns the Status of `...` from the function unless it is ok.
#define CUFACE_TRY(...)                                                                            \
  do {                                                                                             \
    if (::cuface::Status cuface_status = (__VA_ARGS__); !cuface_status.ok()) return cuface_status; \
  } while (false)

/// Makes `name` the value of the Result `...`, or returns its Status. A statement of a block.
#define CUFACE_TAKE(name, ...)                            \
  auto name##_result = (__VA_ARGS__);                     \
  if (!name##_result.ok()) return name##_result.status(); \
  auto& name = name##_result.value()

namespace cuface {

/// Moves the value into `to`, or says why there is none; `to` is then as it was.
template <typename T, typename To>
Status take(Result<T> from, To& to) {
  CUFACE_TRY(from.status());
  to = std::move(from.value());
  return {};
}

}  // namespace cuface
