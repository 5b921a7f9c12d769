// A CUDA runtime without a GPU, for what the host does with one: memory is the host's, work is done
// when it is submitted, and any function can be made to fail. What the functions below tell and set
// is for one thread.
#pragma once

#include <cstddef>
#include <string>

namespace cuface::test::fake {

/// The call of this function after so many more returns an error, once.
void fail(const std::string& function, int after = 0);
/// No function fails.
void mend();

/// Whether these bytes lie in a block that is allocated.
bool is_allocated(const void* at, std::size_t bytes);
bool is_event(const void* event);

/// What is made and not freed; memory of the device and of the host alike.
struct Live {
  std::size_t blocks = 0, events = 0, streams = 0;
  bool operator==(const Live&) const = default;
};
Live live();

}  // namespace cuface::test::fake
