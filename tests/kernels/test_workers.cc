// Threads that share tasks: each is done once, by one worker at a time, and nothing is left over;
// and the users of a process, who share the threads.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "kernels/common/workers.h"

namespace cuface {
namespace {

using std::chrono::milliseconds;

/// Threads of this process. Those that ended a moment ago may still be listed.
int threads_now() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

/// Whether it comes true within ten seconds.
template <typename Condition>
bool comes(const Condition& condition) {
  for (int i = 0; i < 10'000 && !condition(); ++i) std::this_thread::sleep_for(milliseconds(1));
  return condition();
}

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

TEST(Workers, AreThoseOfTheProcess) {
  const int processors = Workers::processors(), before = threads_now();
  {
    std::vector<std::unique_ptr<Workers>> users;
    for (int i = 0; i < 20; ++i) {
      users.push_back(std::make_unique<Workers>(4));
      EXPECT_EQ(users.back()->count(), 4);
    }
    const int more = threads_now() - before;
    EXPECT_GE(more, 3);
    EXPECT_LE(more, std::max(processors - 1, 3));
    users.resize(1);
    std::atomic<int> arrived = 0;
    users[0]->run(4, [&](int, int) {  // as many as it asked for, whoever has left
      ++arrived;
      while (arrived < 4) std::this_thread::yield();
    });
  }
  EXPECT_TRUE(comes([&] { return threads_now() == before; })) << "they end with the last user";
  { const Workers later(2); }
  EXPECT_TRUE(comes([&] { return threads_now() == before; }));
}

TEST(Workers, ServeCallersAtTheSameTime) {
  constexpr int kCallers = 8, kRounds = 400;
  std::atomic<long> done = 0;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < kCallers; ++c)
    callers.emplace_back([&, c] {
      std::optional<Workers> workers;
      for (int round = 0; round < kRounds; ++round) {
        if (round % 50 == 0) workers.emplace(2 + (c + round / 50) % 4);  // users come and go
        const int tasks = (round * 7 + c) % 23;
        int sums[23] = {};
        std::vector<std::atomic<int>> inside(static_cast<std::size_t>(workers->count()));
        workers->run(tasks, [&](int i, int worker) {
          if (++inside[static_cast<std::size_t>(worker)] != 1) ++wrong;
          sums[i] += i + 1;
          --inside[static_cast<std::size_t>(worker)];
        });
        for (int i = 0; i < tasks; ++i)
          if (sums[i] != i + 1) ++wrong;
        done += tasks;
      }
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(done, kCallers * kRounds * 10);
}

/// Calls that keep as many threads at work as there are processors, until it is told to end.
class Busy {
 public:
  Busy() {
    for (int i = 0; i < Workers::processors(); ++i)
      threads_.emplace_back([this] {
        Workers workers(2);
        workers.run(2, [this](int task, int) {
          if (task == 0) ++working_;
          while (!end_) std::this_thread::sleep_for(milliseconds(1));
        });
      });
  }
  ~Busy() {
    end_ = true;
    for (std::thread& t : threads_) t.join();
  }
  bool is_working() const { return working_ == Workers::processors(); }

 private:
  std::atomic<bool> end_{false};
  std::atomic<int> working_{0};
  std::vector<std::thread> threads_;
};

/// The threads that work on a call of 60 ms.
std::set<std::thread::id> threads_of_call(Workers& workers) {
  std::vector<std::thread::id> by(60);
  workers.run(60, [&](int i, int) {
    std::this_thread::sleep_for(milliseconds(1));
    by[static_cast<std::size_t>(i)] = std::this_thread::get_id();
  });
  return {by.begin(), by.end()};
}

TEST(Workers, LeaveCallersAloneWhereAllProcessorsWork) {
  Workers workers(2);
  EXPECT_EQ(threads_of_call(workers).size(), 2u);
  {
    const Busy busy;
    ASSERT_TRUE(comes([&] { return busy.is_working(); }));
    // It ends, though the helpers never do.
    const auto by = threads_of_call(workers);
    EXPECT_EQ(by.size(), 1u);
    EXPECT_TRUE(by.contains(std::this_thread::get_id()));
    // Who asks for more than there are processors has them all the same.
    Workers many(Workers::processors() + 8);
    EXPECT_GT(threads_of_call(many).size(), 1u);
  }
  EXPECT_TRUE(comes([&] { return threads_of_call(workers).size() == 2; }));
}

TEST(Workers, KnowsTheProcessors) { EXPECT_GE(Workers::processors(), 1); }

}  // namespace
}  // namespace cuface
