#include "models/train/job_files.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace cuface::train {

std::string from_root(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

Status check_output(const char* what, const std::string& path,
                    std::initializer_list<std::string_view> endings) {
  const std::filesystem::path output(path);
  if (std::find(endings.begin(), endings.end(), output.extension().string()) == endings.end()) {
    std::string names;
    for (const std::string_view ending : endings)
      names += (names.empty() ? "" : " or ") + std::string(ending);
    return {StatusCode::kInvalidArgument,
            path + ": " + what + " is written as " + names + "; give --output such a name"};
  }
  const std::filesystem::path folder = std::filesystem::absolute(output).parent_path();
  if (::access(folder.c_str(), W_OK) != 0) {
    return {StatusCode::kIo, folder.string() + ": " + std::strerror(errno) +
                                 "; give --output a folder that can be written to"};
  }
  return {};
}

Status check_is_free(const std::string& path, Result<bool> (*may_go)(const Checkpoint&)) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const std::string instead = "; remove it, or give another --checkpoint";
  const Result<Checkpoint> there = Checkpoint::read(path);
  if (!there.ok()) {
    return {StatusCode::kInvalidArgument,
            path + ": is there, and is no checkpoint of this program" + instead};
  }
  const Result<bool> may = may_go(there.value());
  if (!may.ok()) return {StatusCode::kInvalidArgument, may.status().message() + instead};
  if (may.value()) return {};
  return {StatusCode::kInvalidArgument,
          path + ": is there, of a training that is not done. To go on: cuface-train resume " +
              path + instead};
}

Status expect_same(const char* name, const std::string& path, std::uint64_t before,
                   std::uint64_t now) {
  if (before == now) return {};
  return {StatusCode::kInvalidArgument,
          path +
              ": is not what it was when this training began. Put it back; where it has moved, say "
              "so with --" +
              name + "; or train from the beginning"};
}

std::size_t peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

}  // namespace cuface::train
