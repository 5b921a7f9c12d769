#include "kernels/common/workers.h"

#include <sched.h>

#include <algorithm>
#include <system_error>

namespace cuface {

Workers::Workers(int threads) {
  threads_.reserve(static_cast<std::size_t>(std::max(threads - 1, 0)));
  for (int worker = 1; worker < threads; ++worker) {
    try {
      threads_.emplace_back([this, worker] {
        std::unique_lock lock(mutex_);
        for (;;) {
          work_.wait(lock, [this] { return stop_ || next_ < tasks_; });
          if (stop_) return;
          take_tasks(lock, worker);
        }
      });
    } catch (const std::system_error&) {
      return;
    }
  }
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void Workers::take_tasks(std::unique_lock<std::mutex>& lock, int worker) {
  while (next_ < tasks_) {
    const int mine = next_++;
    ++busy_;
    lock.unlock();
    call_.call(call_.task, mine, worker);
    lock.lock();
    --busy_;
  }
  if (busy_ == 0) done_.notify_one();
}

void Workers::run(int tasks, Call call) {
  std::unique_lock lock(mutex_);
  call_ = call;
  next_ = 0;
  tasks_ = tasks;
  if (tasks > 1) work_.notify_all();
  take_tasks(lock, 0);
  done_.wait(lock, [this] { return busy_ == 0; });
}

int Workers::processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

}  // namespace cuface
