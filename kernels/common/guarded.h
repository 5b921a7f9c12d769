// No exception leaves the library: each public entry that may allocate has its body in guarded().
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/common/status.h"

namespace cuface {

/// "planning the search: not enough memory"; without the text where there is no memory for that.
Status out_of_memory(std::string_view doing) noexcept;
/// What a standard library or another one has thrown.
Status thrown(std::string_view doing, const std::exception& what) noexcept;

/// What `body` returns, a Status or a Result. std::bad_alloc and std::length_error, which a size
/// that no memory could hold gives, become kOutOfMemory, any other exception kIo: `doing` says
/// during what.
template <typename Body>
auto guarded(std::string_view doing, Body&& body) noexcept -> decltype(body()) {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    return out_of_memory(doing);
  } catch (const std::length_error&) {
    return out_of_memory(doing);
  } catch (const std::exception& what) {
    return thrown(doing, what);
  }
}

}  // namespace cuface
