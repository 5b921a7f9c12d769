// The energy that processors have taken, where the system lets it be read: RAPL, by
// /sys/class/powercap.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace cuface::eval {

class Rapl {
 public:
  Rapl() {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/class/powercap", none)) {
      // intel-rapl:0 is a processor, intel-rapl:0:0 a part of it.
      const std::string name = entry.path().filename();
      if (!name.starts_with("intel-rapl:") || name.find(':') != name.rfind(':')) continue;
      Domain domain{entry.path().string() + "/energy_uj", 0, 0};
      std::uint64_t most = 0;
      if (!read(domain.file, domain.last) ||
          !read(entry.path().string() + "/max_energy_range_uj", most))
        continue;
      domain.range = most;
      domains_.push_back(domain);
    }
  }

  bool can_be_read() const { return !domains_.empty(); }
  /// Since the last call. To be called before the counters, of a minute at least, go around twice.
  double joules() {
    double all = 0;
    for (Domain& domain : domains_) {
      std::uint64_t now = 0;
      if (!read(domain.file, now)) continue;
      all += static_cast<double>(now >= domain.last ? now - domain.last
                                                    : now + domain.range - domain.last);
      domain.last = now;
    }
    return 1e-6 * all;
  }

 private:
  struct Domain {
    std::string file;
    std::uint64_t last, range;
  };
  static bool read(const std::string& file, std::uint64_t& value) {
    return static_cast<bool>(std::ifstream(file) >> value);
  }
  std::vector<Domain> domains_;
};

}  // namespace cuface::eval
