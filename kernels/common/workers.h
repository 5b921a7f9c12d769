// Threads that share the tasks of one call after another. They sleep between calls; none spins.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace cuface {

class Workers {
 public:
  /// The calling thread and `threads` - 1 others, or as many of them as the system starts.
  explicit Workers(int threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int count() const { return static_cast<int>(threads_.size()) + 1; }

  /// task(i, worker) for each i from 0 to tasks - 1, started in that order; returns when all are
  /// done. A worker, 0 to count() - 1, does one at a time. Not from two threads at once; a task
  /// must not throw.
  template <typename Task>
  void run(int tasks, const Task& task) {
    run(tasks, Call{&task, [](const void* t, int i, int worker) {
                      (*static_cast<const Task*>(t))(i, worker);
                    }});
  }

  /// Processors that this thread may run on.
  static int processors();

 private:
  /// A task without its type: no allocation, as std::function may need one.
  struct Call {
    const void* task = nullptr;
    void (*call)(const void* task, int i, int worker) = nullptr;
  };

  void run(int tasks, Call call);
  void take_tasks(std::unique_lock<std::mutex>& lock, int worker);

  std::mutex mutex_;
  std::condition_variable work_, done_;
  Call call_;
  int next_ = 0, tasks_ = 0;
  int busy_ = 0;  ///< workers inside a task
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cuface
