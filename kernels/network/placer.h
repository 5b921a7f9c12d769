// Where tensors lie in scratch memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace cuface::network {

/// Gives each tensor its place in scratch memory while it is needed: the first gap that is large
/// enough.
class Placer {
 public:
  std::size_t place(std::size_t count) {
    std::size_t first = 0;
    auto before = taken_.begin();
    for (; before != taken_.end() && before->first < first + count; ++before) {
      first = before->first + before->count;
    }
    taken_.insert(before, {first, count});
    end_ = std::max(end_, first + count);
    return first;
  }
  void free(std::size_t first) {
    std::erase_if(taken_, [&](const Range& range) { return range.first == first; });
  }
  std::size_t end() const { return end_; }

 private:
  struct Range {
    std::size_t first, count;
  };
  std::vector<Range> taken_;  // ascending
  std::size_t end_ = 0;
};

}  // namespace cuface::network
