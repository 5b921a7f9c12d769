// What a damaged or hostile model file may do: be refused with a message that names the file and
// the place, or be loaded and then work; in either case fast and in little memory.
#pragma once

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "models/models.h"
#include "tests/fewer.h"
#include "tests/models/temporary.h"
#include "tests/models/use_model.h"

namespace cuface::test {

inline const int kFlips = fewer(2000);  ///< of each file
/// For flips in formats without checksums.
inline const auto kNoMend = [](std::string&) {};

/// `text` over and over, at least so many bytes.
inline std::string repeated(const std::string& text, std::size_t bytes) {
  std::string out;
  out.reserve(bytes + text.size());
  while (out.size() < bytes) out += text;
  return out;
}

#ifdef CUFACE_SANITIZED
constexpr double kMostSeconds = 20.0;  // instrumented code is that much slower
#else
constexpr double kMostSeconds = 1.0;
#endif
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

/// CPU time and peak memory from now on. A sanitizer's memory is not the program's: 0 under one.
class Cost {
 public:
  Cost() {
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts anew
    start_bytes_ = status("VmRSS:");
    start_ = now();
  }
  double seconds() const { return now() - start_; }
  std::size_t bytes() const {
#ifdef CUFACE_SANITIZED
    return 0;
#else
    return std::max(status("VmHWM:"), start_bytes_) - start_bytes_;
#endif
  }

 private:
  static double now() {
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  }
  static std::size_t status(const std::string& key) {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
      if (line.rfind(key, 0) == 0) return std::stoull(line.substr(key.size())) * 1024;
    }
    return 0;
  }

  std::size_t start_bytes_ = 0;
  double start_ = 0;
};

/// What feeding many files gave.
struct Fed {
  int refused = 0, loaded = 0;
  double most_seconds = 0;
  std::size_t most_bytes = 0;
};

/// Writes files of one kind and loads each as an element does.
template <typename Model>
class Feeder {
 public:
  using Load = Result<std::shared_ptr<const Model>> (*)(const std::string&);

  Feeder(Load load, const char* name) : load_(load), path_(folder_ / name) {}

  /// False when it was refused. `name` is for the report of a failure. The file itself may be as
  /// large as it is: the limit is for what comes on top of it.
  bool feed(const std::string& content, const std::string& name) {
    write_file(path_, content);
    const Cost cost;
    const auto model = load_(path_);
    const double seconds = cost.seconds();
    const std::size_t bytes = cost.bytes();
    fed_.most_seconds = std::max(fed_.most_seconds, seconds);
    fed_.most_bytes = std::max(fed_.most_bytes, bytes);
    EXPECT_LT(seconds, kMostSeconds * slowness()) << name;
    EXPECT_LT(bytes, kMostBytes + content.size()) << name;
    if (model.ok()) {
      ++fed_.loaded;
      EXPECT_TRUE(validate(*model.value()).ok()) << name;
      EXPECT_TRUE(use(model.value())) << name;
      return true;
    }
    ++fed_.refused;
    check_message(model.status().message(), name);
    return false;
  }

  /// Cut at every hundredth of its length; none may load. How many they were.
  int feed_truncations(const std::string& good, const std::string& name) {
    int cuts = 0;
    for (std::size_t i = 0; i < 100; i += static_cast<std::size_t>(every()), ++cuts) {
      const std::size_t size = good.size() * i / 100;
      EXPECT_FALSE(feed(good.substr(0, size), name + " cut at " + std::to_string(i) + " %"));
    }
    return cuts;
  }

  /// One random bit, byte or run of bytes changed, `count` times; then `mend` may repair checksums.
  template <typename Mend>
  void feed_flips(const std::string& good, const std::string& name, int count, Mend mend) {
    std::mt19937_64 random(20);
    for (int i = 0; i < count; ++i) {
      std::string bad = good;
      std::size_t at = random() % bad.size();
      switch (random() % 3) {
        case 0:
          bad[at] = static_cast<char>(bad[at] ^ (1 << (random() % 8)));
          break;
        case 1:
          bad[at] = static_cast<char>(random());
          if (bad[at] == good[at]) bad[at] = static_cast<char>(bad[at] ^ 1);
          break;
        default:
          for (std::size_t n = 1 + random() % 16; n > 0 && at < bad.size(); --n, ++at) {
            bad[at] = static_cast<char>(random() % 2 ? 0xff : random());
          }
      }
      mend(bad);
      feed(bad, name + " flip " + std::to_string(i));
    }
  }

  Fed take() {
    std::printf("%d refused, %d loaded and used; at most %.3f s, %.1f MB\n", fed_.refused,
                fed_.loaded, fed_.most_seconds, static_cast<double>(fed_.most_bytes) / 1e6);
    return std::exchange(fed_, {});
  }

 private:
  void check_message(const std::string& message, const std::string& name) const {
    EXPECT_EQ(message.rfind(path_, 0), 0u) << name << ": " << message;
    EXPECT_LT(message.size(), path_.size() + 300) << name;
    // A line, a byte, a part with its number, or the header or the whole as such.
    static const std::regex place(
        ":\\d+: |at byte \\d+|(stage|tree|feature|leaf|node|landmark|pixel|layer|head|level) "
        "\\d+|the "
        "window is|"
        "has no stages|block |header|checksum|start as one|first bytes|its table |its sizes|"
        "\\d+ landmarks|box map|version|kind|is empty|larger|too large|no XML element|"
        ": a [\\w -]+, not a |the network has \\d+");
    EXPECT_TRUE(std::regex_search(message.substr(path_.size()), place)) << name << ": " << message;
  }

  const Load load_;
  const TemporaryFolder folder_;
  const std::string path_;
  Fed fed_;
};

}  // namespace cuface::test
