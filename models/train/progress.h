// What a long training tells while it works, of any kind of training.
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>

namespace cuface::train {

/// "0.4 s", "34 s", "12 min", "3.2 h"
std::string as_duration(double seconds);
/// "812", "3.2 k", "1.5 M", "17 G"
std::string as_count(double count);
/// 0.0123 as "1.2 %"
std::string as_percent(double share);

/// Says when so many seconds have gone.
class Every {
 public:
  explicit Every(double seconds) : seconds_(seconds) {}
  bool due() const { return since() >= seconds_; }
  void restart() { since_ = std::chrono::steady_clock::now(); }
  double since() const {  ///< seconds
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - since_).count();
  }

 private:
  double seconds_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

/// Lines to the standard error. On a terminal the last one changes in place. One thread at a time.
class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void tell(const std::string& line);  ///< not if it is quiet
  void warn(const std::string& line);  ///< always
  /// Where things stand; `text` is asked for only when it is time for a new line.
  void update(const std::function<std::string()>& text);

 private:
  void print(const std::string& line);

  const bool quiet_, terminal_;
  Every every_;
  bool first_ = true;
  std::size_t shown_ = 0;  ///< characters of the line that changes
};

}  // namespace cuface::train
