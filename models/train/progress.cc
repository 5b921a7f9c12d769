#include "models/train/progress.h"

#include <unistd.h>

#include <algorithm>

namespace cuface::train {
namespace {

std::string number(double value, const char* unit) {
  char text[48];
  std::snprintf(text, sizeof text, value < 9.95 ? "%.1f %s" : "%.0f %s", value, unit);
  return text;
}

}  // namespace

std::string as_duration(double seconds) {
  if (seconds < 120) return number(seconds, "s");
  if (seconds < 7200) return number(seconds / 60, "min");
  return number(seconds / 3600, "h");
}

std::string as_count(double count) {
  for (const auto& [limit, unit] : {std::pair{1e9, "G"}, std::pair{1e6, "M"}, std::pair{1e3, "k"}})
    if (count >= limit) return number(count / limit, unit);
  return std::to_string(static_cast<long long>(count));
}

std::string as_percent(double share) {
  char text[48];
  std::snprintf(text, sizeof text, "%.3g %%", 100 * share);
  return text;
}

Progress::Progress(bool quiet)
    : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) == 1), every_(terminal_ ? 0.2 : 10) {}

Progress::~Progress() {
  if (shown_ > 0) std::fputc('\n', stderr);
}

void Progress::print(const std::string& line) {
  std::string text = line;
  // What is left of a longer line that stood here goes.
  if (text.size() < shown_) text.append(shown_ - text.size(), ' ');
  std::fprintf(stderr, "%s%s\n", shown_ > 0 ? "\r" : "", text.c_str());
  shown_ = 0;
}

void Progress::tell(const std::string& line) {
  if (!quiet_) print(line);
}

void Progress::warn(const std::string& line) { print("cuface-train: warning: " + line); }

void Progress::update(const std::function<std::string()>& text) {
  if (quiet_ || (!first_ && !every_.due())) return;
  first_ = false;
  every_.restart();
  if (!terminal_) return print(text());
  std::string line = text();
  const std::size_t size = line.size();
  if (size < shown_) line.append(shown_ - size, ' ');
  std::fprintf(stderr, "\r%s", line.c_str());
  std::fflush(stderr);
  shown_ = size;
}

}  // namespace cuface::train
