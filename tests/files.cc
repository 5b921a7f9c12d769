#include "tests/files.h"

#include <fnmatch.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace cuface::test {
namespace {

bool one_matches(const std::string& patterns, const std::string& name) {
  std::istringstream list(patterns);
  for (std::string pattern; std::getline(list, pattern, ':');)
    if (fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0) return true;
  return false;
}

/// GoogleTest's own rule: what a positive pattern takes, less what a pattern behind "-" takes.
bool passes(const std::string& filter, const std::string& name) {
  const std::size_t minus = filter.find('-');
  const std::string wanted = filter.substr(0, minus);
  if (!one_matches(wanted.empty() ? "*" : wanted, name)) return false;
  return minus == std::string::npos || !one_matches(filter.substr(minus + 1), name);
}

}  // namespace

bool choose_files(int argc, char** argv) {
  if (argc < 2) return true;
  const std::string filter = testing::GTEST_FLAG(filter);
  std::string chosen;
  std::vector<bool> found(static_cast<std::size_t>(argc));
  const auto& tests = *testing::UnitTest::GetInstance();
  for (int s = 0; s < tests.total_test_suite_count(); ++s) {
    const auto& suite = *tests.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const auto& test = *suite.GetTestInfo(t);
      const std::string file = std::filesystem::path(test.file()).filename();
      const std::string name = std::string(suite.name()) + "." + test.name();
      for (int i = 1; i < argc; ++i) {
        if (file != "test_" + std::string(argv[i]) + ".cc") continue;
        found[static_cast<std::size_t>(i)] = true;
        if (passes(filter, name)) chosen += name + ":";
      }
    }
  }
  for (int i = 1; i < argc; ++i)
    if (!found[static_cast<std::size_t>(i)]) {
      std::fprintf(stderr, "no case is in test_%s.cc\n", argv[i]);
      return false;
    }
  // An empty filter would be one that takes nothing, too; this says so.
  testing::GTEST_FLAG(filter) = chosen.empty() ? "-*" : chosen;
  return true;
}

}  // namespace cuface::test
