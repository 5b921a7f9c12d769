// What loading and planning with a model may cost: two seconds of a processor, and twice the file's
// size plus 256 MiB. And what a program does whose memory is limited.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "kernels/common/status.h"
#include "tests/models/bad_file.h"

namespace cuface::test {

inline constexpr int kWidth = 640, kHeight = 360;  ///< of the pictures that are planned for

#ifdef CUFACE_SANITIZED
inline constexpr double kMostPlanned = 60;
#else
inline constexpr double kMostPlanned = 2;
#endif
inline constexpr std::size_t kMostBeside = std::size_t{256} << 20;

inline void expect_cheap(const Cost& cost, std::size_t file_bytes, const std::string& name) {
  const double seconds = cost.seconds();
  const std::size_t bytes = cost.bytes();
  std::printf("%-44s %5.1f MB: %6.3f s, %6.1f MB\n", name.c_str(),
              static_cast<double>(file_bytes) / 1e6, seconds, static_cast<double>(bytes) / 1e6);
  EXPECT_LT(seconds, kMostPlanned * slowness()) << name;
  EXPECT_LT(bytes, 2 * file_bytes + kMostBeside) << name;
}

#ifndef CUFACE_SANITIZED

/// Loads, plans and looks at a frame with so much memory to be had; what comes of it.
template <typename Use>
StatusCode with_memory(std::size_t bytes, const Use& use) {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t limit = pages * 4096 + bytes;
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit most{limit, limit};
    ::setrlimit(RLIMIT_AS, &most);
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::_exit(static_cast<int>(use()));
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status) << " with " << bytes << " bytes";
  return WIFEXITED(status) ? static_cast<StatusCode>(WEXITSTATUS(status)) : StatusCode::kIo;
}

/// From no memory to enough, in steps.
template <typename Use>
void expect_status_without_memory(const Use& use) {
  int refused = 0, done = 0;
  for (std::size_t kib = 0; kib < 400'000; kib += 512 + kib / 3) {
    const StatusCode code = with_memory(kib << 10, use);
    EXPECT_TRUE(code == StatusCode::kOk || code == StatusCode::kOutOfMemory)
        << status_code_name(code) << " with " << kib << " KiB";
    ++(code == StatusCode::kOk ? done : refused);
  }
  std::printf("%d ended without memory, %d with enough\n", refused, done);
  EXPECT_GT(refused, 1);
  EXPECT_GT(done, 1);
}

#endif

}  // namespace cuface::test
