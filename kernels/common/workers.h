// Threads that share the tasks of calls. All users in a process share one pool of helpers, so that
// many streams do not have more threads than processors. Helpers sleep between calls; none spins.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <vector>

namespace cuface {

/// One user of the pool, which lasts as long as its last user. The calling thread does its tasks
/// itself, and helpers join where there are free ones. While as many threads work on tasks as there
/// are processors, no helper joins: each caller then works alone, and none waits for a helper that
/// has not begun. A user that asks for more threads than there are processors gets them.
class Workers {
 public:
  /// The calling thread and at most `threads` - 1 helpers, or as many as the system starts.
  explicit Workers(int threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Threads that take part in a call at most.
  int count() const { return count_; }

  /// task(i, worker) for each i from 0 to tasks - 1, started in that order; returns when all are
  /// done. A worker, 0 to count() - 1, does one at a time; worker 0 is the calling thread, the
  /// others are of this call, not of a thread. Not from two threads at once; a task must not throw,
  /// nor call run() of the same user.
  template <typename Task>
  void run(int tasks, const Task& task) {
    run(tasks, &task,
        [](const void* t, int i, int worker) { (*static_cast<const Task*>(t))(i, worker); });
  }

  /// Processors that this thread may run on.
  static int processors();

 private:
  class Pool;

  /// A task without its type: no allocation, as std::function may need one.
  using Function = void (*)(const void* task, int i, int worker);

  struct Call {
    const void* task = nullptr;
    Function function = nullptr;
    int tasks = 0;
    std::atomic<int> next{0};  ///< the task to begin next
    int threads = 1;           ///< that may work on it at once
    // Under the pool's mutex.
    std::vector<int> free;         ///< workers that no helper is now
    int helpers = 0;               ///< in it
    std::condition_variable left;  ///< the last helper did
  };

  void run(int tasks, const void* task, Function function);

  std::shared_ptr<Pool> pool_;  ///< null: the caller works alone
  int count_ = 1;
  Call call_;  ///< the one on its way
};

}  // namespace cuface
