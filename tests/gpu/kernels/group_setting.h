// A cuda::Grouper with the memory it works in and writes to.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/common/cuda/tables.h"
#include "kernels/group/box_rules.h"
#include "kernels/group/cuda/grouper.h"
#include "kernels/group/group.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/group_kernel.h"

namespace cuface::test {

struct GroupSetting {
  GroupSetting(Grouping rule, int neighbors, std::uint32_t limit)
      : rule(rule), neighbors(neighbors), groups(limit * sizeof(Detection), kCanary) {
    cuda::ScratchLayout layout;
    EXPECT_TRUE(take(cuda::Grouper::create(rule, neighbors, limit, layout), grouper).ok());
    EXPECT_TRUE(take(cuda::Scratch::create(layout.bytes()), memory).ok());
    grouper.bind(memory->data());
  }

  /// Windows and their number, as they lie in device memory.
  Status enqueue(GuardedBytes& windows, GuardedBytes& count, cuda::Launcher launch) {
    return enqueue_groups(grouper, reinterpret_cast<const Rect*>(windows.data()),
                          reinterpret_cast<const std::uint32_t*>(count.data()),
                          reinterpret_cast<Detection*>(groups.data()),
                          reinterpret_cast<std::uint32_t*>(number.data()), launch);
  }
  /// What the last launch found, in the order of group().
  std::vector<Detection> found() const {
    std::uint32_t count = 0;
    std::memcpy(&count, number.get().data(), sizeof count);
    const std::vector<std::uint8_t> bytes = groups.get();
    EXPECT_LE(count * sizeof(Detection), bytes.size());
    std::vector<Detection> out(std::min<std::size_t>(count, bytes.size() / sizeof(Detection)));
    std::memcpy(static_cast<void*>(out.data()), bytes.data(), out.size() * sizeof(Detection));
    std::sort(out.begin(), out.end(), comes_before);
    return out;
  }

  Grouping rule;
  int neighbors;
  cuda::Grouper grouper;
  std::shared_ptr<cuda::Scratch> memory;
  GuardedBytes groups, number{4, kCanary};
};

}  // namespace cuface::test
