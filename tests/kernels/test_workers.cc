// Threads that share tasks: each is done once, by one worker at a time, and nothing is left over.
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "kernels/common/workers.h"

namespace cuface {
namespace {

TEST(Workers, DoEachTaskOnce) {
  long done = 0;
  for (const int threads : {-1, 0, 1, 2, 3, 8}) {
    Workers workers(threads);
    ASSERT_GE(workers.count(), 1);
    ASSERT_LE(workers.count(), std::max(threads, 1));
    for (int round = 0; round < 300; ++round) {
      const int tasks = round % 17;
      std::vector<std::atomic<int>> times(static_cast<std::size_t>(tasks));
      std::vector<std::atomic<int>> inside(static_cast<std::size_t>(workers.count()));
      std::atomic<int> wrong = 0;
      workers.run(tasks, [&](int i, int worker) {
        if (i < 0 || i >= tasks || worker < 0 || worker >= workers.count()) {
          ++wrong;
          return;
        }
        if (++inside[static_cast<std::size_t>(worker)] != 1) ++wrong;
        ++times[static_cast<std::size_t>(i)];
        --inside[static_cast<std::size_t>(worker)];
      });
      ASSERT_EQ(wrong, 0);
      for (const auto& t : times) ASSERT_EQ(t, 1);
      done += tasks;
    }
  }
  EXPECT_GT(done, 10'000);
}

// What tasks wrote is seen by the caller, and tasks of several workers run side by side: each of
// two waits for the other here, which would never end with one worker.
TEST(Workers, RunSideBySide) {
  Workers workers(2);
  ASSERT_EQ(workers.count(), 2);
  int written[2] = {};
  std::atomic<int> arrived = 0;
  workers.run(2, [&](int i, int) {
    written[i] = i + 1;
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  EXPECT_EQ(written[0], 1);
  EXPECT_EQ(written[1], 2);
}

TEST(Workers, KnowsTheProcessors) { EXPECT_GE(Workers::processors(), 1); }

}  // namespace
}  // namespace cuface
