// The options of cuface-train's commands: tables from which the command line, --help, checkpoints
// and what a model tells of its training are made.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/common/status.h"
#include "models/train/windows.h"

namespace cuface::train {

struct Option {
  const char* name;  ///< as typed, without hyphens: "stages"
  const char* peer;  ///< opencv_traincascade's name, taken too; null where it has none
  const char*
      argument;  ///< for --help: "N". Null for a switch: "yes" and "no", --NAME and --no-NAME
  const char* help;
  std::function<bool(const std::string&)> set;  ///< false where the text is no value
  std::function<std::string()> get;             ///< what set() would take
};

// Options of each kind of value; the value outlives them.
Option option(const char* name, const char* peer, const char* argument, std::string& value,
              const char* help);
/// The same of a text that may be empty.
Option text_option(const char* name, const char* argument, std::string& value, const char* help);
Option option(const char* name, const char* peer, const char* argument, int& value,
              const char* help);
Option option(const char* name, const char* peer, const char* argument, std::uint64_t& value,
              const char* help);
Option option(const char* name, const char* peer, const char* argument, float& value,
              const char* help);
Option option(const char* name, const char* peer, const char* argument, double& value,
              const char* help);
Option option(const char* name, const char* peer, const char* argument, WindowSize& value,
              const char* help);
Option option(const char* name, const char* peer, bool& value, const char* help);

/// A value of an enumeration, its name, and opencv_traincascade's.
template <typename E>
struct Choice {
  E value;
  const char *name, *peer;
};
template <typename E, std::size_t n>
Option option(const char* name, const char* peer, const char* argument, E& value,
              const Choice<E> (&choices)[n], const char* help) {
  return {name,
          peer,
          argument,
          help,
          [&value, &choices](const std::string& text) {
            for (const Choice<E>& choice : choices) {
              if (text != choice.name && text != choice.peer) continue;
              value = choice.value;
              return true;
            }
            return false;
          },
          [&value, &choices] {
            for (const Choice<E>& choice : choices)
              if (choice.value == value) return std::string(choice.name);
            return std::string();
          }};
}

/// Puts them behind the others.
void append(std::vector<Option>& to, std::vector<Option> more);

/// Sets the options by the arguments. The exit status where there is nothing to run: --help, or a
/// wrong command line, and what there is to say has been printed. `command` is "cascade", and
/// `usage` follows it: "--positives PATH ...".
std::optional<int> parse_command_line(const std::vector<std::string>& arguments,
                                      const std::string& command, const std::string& usage,
                                      const std::string& summary,
                                      const std::vector<Option>& options);

/// Prints what is wrong with a command line, and where to read on. Gives its exit status.
int wrong_usage(const std::string& message);
/// The same where one of the first `count` options has no value.
std::optional<int> check_given(const std::vector<Option>& options, std::size_t count);

}  // namespace cuface::train
