#include "kernels/common/workers.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <mutex>
#include <system_error>
#include <thread>

namespace cuface {

class Workers::Pool {
 public:
  /// The process' one, or a new one after its last user has gone.
  static std::shared_ptr<Pool> shared() {
    struct Registry {
      std::mutex mutex;
      std::weak_ptr<Pool> pool;
    };
    static Registry& registry = *new Registry;  // users may outlive what is destroyed at exit
    const std::lock_guard lock(registry.mutex);
    std::shared_ptr<Pool> pool = registry.pool.lock();
    if (!pool) registry.pool = pool = std::make_shared<Pool>();
    return pool;
  }

  Pool() : processors_(Workers::processors()) {}
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    work_.notify_all();
    for (std::thread& t : threads_) t.join();
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Starts helpers for a user that can use so many. Returns how many it may have, to be
  /// given to remove_user().
  int add_user(int helpers) {
    const std::lock_guard lock(mutex_);
    wanted_ += helpers;
    largest_ = std::max(largest_, helpers);
    calls_.reserve(++users_);  // a call allocates nothing
    const int enough = std::min(wanted_, std::max(processors_ - 1, largest_));
    threads_.reserve(static_cast<std::size_t>(enough));
    while (static_cast<int>(threads_.size()) < enough) {
      try {
        threads_.emplace_back([this] { help(); });
      } catch (const std::system_error&) {
        break;
      }
    }
    const int granted = std::min(helpers, static_cast<int>(threads_.size()));
    wanted_ += granted - helpers;
    return granted;
  }

  void remove_user(int helpers) {
    const std::lock_guard lock(mutex_);
    wanted_ -= helpers;
    --users_;
  }

  /// Helpers may join from here on.
  void begin(Call& call) {
    int wake = 0;
    bool all = false;
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back(&call);
      open_calls_ = static_cast<int>(calls_.size());
      ++busy_;
      wake = std::min({call.tasks - 1, call.threads - 1, idle_, room_for(call)});
      all = wake == idle_;
    }
    if (all) return work_.notify_all();  // one call of the system, not one each
    for (; wake > 0; --wake) work_.notify_one();
  }

  /// None joins any more, and those that have begun a task finish it.
  void end(Call& call) {
    std::unique_lock lock(mutex_);
    calls_.erase(std::find(calls_.begin(), calls_.end(), &call));
    open_calls_ = static_cast<int>(calls_.size());
    --busy_;
    if (idle_ > 0 && std::any_of(calls_.begin(), calls_.end(),
                                 [this](const Call* other) { return may_join(*other); }))
      work_.notify_one();  // there is room for one elsewhere now
    call.left.wait(lock, [&] { return call.helpers == 0; });
  }

 private:
  /// Threads that may join it: a call counts on the processors that others leave it.
  int room_for(const Call& call) const { return std::max(processors_, call.threads) - busy_; }

  bool may_join(const Call& call) const {
    return !call.free.empty() && call.next < call.tasks && room_for(call) > 0;
  }

  void help() {
    pthread_setname_np(pthread_self(), "cuface-worker");
    std::unique_lock lock(mutex_);
    while (!stop_) {
      int task = 0;
      if (Call* call = join(task)) {
        work_on(*call, task, lock);
      } else {
        ++idle_;
        work_.wait(lock);
        --idle_;
      }
    }
  }

  /// Takes a task of the call that has the fewest helpers, or null where none needs one.
  Call* join(int& task) {
    for (;;) {
      Call* best = nullptr;
      for (Call* call : calls_) {
        if (!may_join(*call)) continue;
        if (!best || call->helpers < best->helpers) best = call;
      }
      if (!best) return nullptr;
      // The caller, which needs no lock for it, may have taken the last.
      task = best->next.fetch_add(1, std::memory_order_relaxed);
      if (task < best->tasks) return best;
    }
  }

  void work_on(Call& call, int task, std::unique_lock<std::mutex>& lock) {
    const int worker = call.free.back();
    call.free.pop_back();
    ++call.helpers;
    ++busy_;
    lock.unlock();
    for (;;) {
      call.function(call.task, task, worker);
      // Another call may need a helper more, or more have come than there are processors.
      if (open_calls_ > 1 || room_for(call) < 0) break;
      task = call.next.fetch_add(1, std::memory_order_relaxed);
      if (task >= call.tasks) break;
    }
    lock.lock();
    --busy_;
    call.free.push_back(worker);
    if (--call.helpers == 0) call.left.notify_one();
  }

  const int processors_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::vector<Call*> calls_;  // with a caller at work
  std::size_t users_ = 0;
  int wanted_ = 0, largest_ = 0;  // helpers, of all users and of one
  int idle_ = 0;
  bool stop_ = false;
  // Written under the mutex, and looked at between tasks without it.
  std::atomic<int> open_calls_{0}, busy_{0};  // busy: callers and helpers
  std::vector<std::thread> threads_;
};

Workers::Workers(int threads) {
  if (threads <= 1) return;
  auto pool = Pool::shared();
  const int helpers = pool->add_user(threads - 1);
  count_ = helpers + 1;
  call_.threads = count_;
  for (int worker = helpers; worker > 0; --worker) call_.free.push_back(worker);
  pool_ = std::move(pool);
}

Workers::~Workers() {
  if (pool_) pool_->remove_user(count_ - 1);
}

void Workers::run(int tasks, const void* task, Function function) {
  if (!pool_ || tasks <= 1) {
    for (int i = 0; i < tasks; ++i) function(task, i, 0);
    return;
  }
  call_.task = task;
  call_.function = function;
  call_.tasks = tasks;
  call_.next = 0;
  pool_->begin(call_);
  for (int i; (i = call_.next.fetch_add(1, std::memory_order_relaxed)) < tasks;)
    function(task, i, 0);
  pool_->end(call_);
}

int Workers::processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

}  // namespace cuface
