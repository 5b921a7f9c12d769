// Ours beside a peer in one process: the two take turns, so that a busy machine slows both, and the
// figure to look at is the ratio.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/common/simd.h"

namespace cuface::bench {

/// Processor time of this thread, in microseconds.
inline double thread_us() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e6 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_nsec);
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// What a pass of either does; both do the same amount of work, `units` times the thing that the
/// result names.
struct Contest {
  std::string name;
  double units = 1;
  std::function<void()> ours, peer;
  double goal = 0;  ///< the ratio wished for; 0 = none
};

/// Medians over the passes; the ratio is the median of the passes' own ratios, peer to ours.
inline nlohmann::ordered_json compare(const Contest& contest, int passes) {
  std::vector<double> ours, peer, ratios;
  const auto measure = [&](const std::function<void()>& run) {
    const double begin = thread_us();
    run();
    return (thread_us() - begin) / contest.units;
  };
  contest.ours();  // warm caches and tables for both
  contest.peer();
  for (int i = 0; i < passes; ++i) {
    ours.push_back(measure(contest.ours));
    peer.push_back(measure(contest.peer));
    ratios.push_back(peer.back() / ours.back());
  }
  nlohmann::ordered_json result = {{"what", contest.name},
                                   {"ours_us", median(ours)},
                                   {"peer_us", median(peer)},
                                   {"ours_best_us", *std::min_element(ours.begin(), ours.end())},
                                   {"peer_best_us", *std::min_element(peer.begin(), peer.end())},
                                   {"ratio", median(ratios)}};
  if (contest.goal > 0) result["goal"] = contest.goal;
  for (auto& [key, value] : result.items()) {
    if (value.is_number_float()) value = std::round(value.get<double>() * 100) / 100;
  }
  std::printf("%-52s %9.1f us %9.1f us  ratio %.2f\n", contest.name.c_str(),
              result["ours_us"].get<double>(), result["peer_us"].get<double>(),
              result["ratio"].get<double>());
  std::fflush(stdout);
  return result;
}

inline std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

/// To the file named by the only argument, if there is one; a program's exit status.
inline int write_json(const nlohmann::ordered_json& report, int argc, char** argv) {
  if (argc < 2) return 0;
  std::ofstream file(argv[1]);
  file << report.dump(2) << '\n';
  file.close();
  if (file) return 0;
  std::fprintf(stderr, "%s: %s\n", argv[1], std::strerror(errno));
  return 1;
}

/// Runs all contests and writes them with write_json().
inline int run_contests(const char* peer, const std::vector<Contest>& contests, int passes,
                        int argc, char** argv) {
  nlohmann::ordered_json report = {
      {"what", "processor time of one thread, ours and the peer in turn; medians over the passes"},
      {"peer", peer},
      {"processor", processor()},
      {"instruction_set", simd::chosen()},
      {"passes", passes}};
  for (const Contest& contest : contests) report["cases"].push_back(compare(contest, passes));
  return write_json(report, argc, argv);
}

}  // namespace cuface::bench
