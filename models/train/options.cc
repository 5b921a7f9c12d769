#include "models/train/options.h"

#include <glib.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <list>
#include <memory>

#include "models/train/command.h"

namespace cuface::train {
namespace {

template <typename T>
bool parse_all(const std::string& text, T& value) {
  T parsed{};
  const char* end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, parsed);
  if (result.ec != std::errc() || result.ptr != end) return false;
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(parsed)) return false;
  }
  value = parsed;
  return true;
}

/// The shortest text that is read back as the same value.
template <typename T>
std::string as_text(T value) {
  char text[64];
  const std::to_chars_result result = std::to_chars(text, text + sizeof text, value);
  return {text, result.ptr};
}

template <typename T>
Option number(const char* name, const char* peer, const char* argument, T& value,
              const char* help) {
  return {name,
          peer,
          argument,
          help,
          [&value](const std::string& text) { return parse_all(text, value); },
          [&value] { return as_text(value); }};
}

}  // namespace

Option option(const char* name, const char* peer, const char* argument, std::string& value,
              const char* help) {
  return {name,
          peer,
          argument,
          help,
          [&value](const std::string& text) {
            value = text;
            return !text.empty();
          },
          [&value] { return value; }};
}
Option text_option(const char* name, const char* argument, std::string& value, const char* help) {
  Option out = option(name, nullptr, argument, value, help);
  out.set = [&value](const std::string& text) {
    value = text;
    return true;
  };
  return out;
}

Option option(const char* name, const char* peer, const char* argument, int& value,
              const char* help) {
  return number(name, peer, argument, value, help);
}
Option option(const char* name, const char* peer, const char* argument, std::uint64_t& value,
              const char* help) {
  return number(name, peer, argument, value, help);
}
Option option(const char* name, const char* peer, const char* argument, float& value,
              const char* help) {
  return number(name, peer, argument, value, help);
}
Option option(const char* name, const char* peer, const char* argument, double& value,
              const char* help) {
  return number(name, peer, argument, value, help);
}
Option option(const char* name, const char* peer, const char* argument, WindowSize& value,
              const char* help) {
  return {name,
          peer,
          argument,
          help,
          [&value](const std::string& text) {
            const std::size_t x = text.find('x');
            return x != std::string::npos && parse_all(text.substr(0, x), value.width) &&
                   parse_all(text.substr(x + 1), value.height);
          },
          [&value] { return as_text(value.width) + "x" + as_text(value.height); }};
}
Option option(const char* name, const char* peer, bool& value, const char* help) {
  return {name,
          peer,
          nullptr,
          help,
          [&value](const std::string& text) {
            value = text == "yes";
            return value || text == "no";
          },
          [&value] { return std::string(value ? "yes" : "no"); }};
}

void append(std::vector<Option>& to, std::vector<Option> more) {
  for (Option& option : more) to.push_back(std::move(option));
}

namespace {

/// GLib's table of options, and the texts that it points to.
class GlibOptions {
 public:
  explicit GlibOptions(const std::vector<Option>& options) {
    for (const Option& option : options) {
      std::string help = option.help;
      const std::string value = option.argument ? option.get() : "";
      std::string more = value.empty() ? "" : "default " + value;
      if (option.peer)
        more += (more.empty() ? "" : "; ") + ("OpenCV's " + std::string(option.peer));
      if (!more.empty()) help += " (" + more + ")";
      add(option, option.name, 0, help, option.argument ? nullptr : "yes");
      if (!option.argument) add(option, "no-" + std::string(option.name), kHidden, "", "no");
      if (option.peer && std::string_view(option.peer) != option.name)
        add(option, option.peer, kHidden, "", option.argument ? nullptr : "yes");
    }
    entries_.push_back({"help", 'h', kHidden, G_OPTION_ARG_NONE, &help_, nullptr, nullptr});
    entries_.push_back(
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &rest_, nullptr, nullptr});
    entries_.push_back({});
  }
  GlibOptions(const GlibOptions&) = delete;
  GlibOptions& operator=(const GlibOptions&) = delete;
  ~GlibOptions() {
    for (Slot& slot : slots_) g_free(slot.text);
    g_strfreev(rest_);
  }

  const GOptionEntry* entries() const { return entries_.data(); }
  bool help() const { return help_; }
  std::vector<std::string> rest() const {
    std::vector<std::string> out;
    for (char** at = rest_; at && *at; ++at) out.emplace_back(*at);
    return out;
  }
  /// Hands the texts to their options. What is wrong, or nothing.
  std::string apply() const {
    for (const Slot& slot : slots_) {
      const bool given = slot.fixed ? slot.flag : slot.text != nullptr;
      if (!given) continue;
      const std::string text = slot.fixed ? slot.fixed : slot.text;
      if (!slot.option->set(text))
        return "--" + slot.name + " " + text + ": give " + slot.option->argument;
    }
    return "";
  }

 private:
  static constexpr int kHidden = G_OPTION_FLAG_HIDDEN;
  /// What GLib writes to.
  struct Slot {
    const Option* option;
    std::string name, help;
    const char* fixed;  ///< of a switch
    char* text = nullptr;
    gboolean flag = FALSE;
  };

  void add(const Option& option, const std::string& name, int flags, const std::string& help,
           const char* fixed) {
    Slot& slot = slots_.emplace_back(Slot{&option, name, help, fixed});
    entries_.push_back({slot.name.c_str(), 0, flags,
                        fixed ? G_OPTION_ARG_NONE : G_OPTION_ARG_FILENAME,
                        fixed ? static_cast<void*>(&slot.flag) : static_cast<void*>(&slot.text),
                        slot.help.c_str(), option.argument});
  }

  std::list<Slot> slots_;  ///< a list: GLib keeps addresses
  std::vector<GOptionEntry> entries_;
  gboolean help_ = FALSE;
  char** rest_ = nullptr;
};

}  // namespace

int wrong_usage(const std::string& message) {
  std::fprintf(stderr, "cuface-train: %s\n(cuface-train COMMAND --help lists the options)\n",
               message.c_str());
  return kUsage;
}

std::optional<int> check_given(const std::vector<Option>& options, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (options[i].get().empty())
      return wrong_usage("--" + std::string(options[i].name) + " is missing");
  return {};
}

std::optional<int> parse_command_line(const std::vector<std::string>& arguments,
                                      const std::string& command, const std::string& usage,
                                      const std::string& summary,
                                      const std::vector<Option>& options) {
  GlibOptions glib(options);
  const std::unique_ptr<GOptionContext, decltype(&g_option_context_free)> context(
      g_option_context_new(usage.c_str()), g_option_context_free);
  g_option_context_set_help_enabled(context.get(), FALSE);
  g_option_context_set_summary(context.get(), summary.c_str());
  g_option_context_add_main_entries(context.get(), glib.entries(), nullptr);
  // GLib takes the first one for the program, and removes what it has used from a list that it
  // frees.
  char** list = g_new0(char*, arguments.size() + 2);
  list[0] = g_strdup("cuface-train");
  for (std::size_t i = 0; i < arguments.size(); ++i) list[i + 1] = g_strdup(arguments[i].c_str());
  GError* error = nullptr;
  g_set_prgname(("cuface-train " + command).c_str());
  g_option_context_parse_strv(context.get(), &list, &error);
  g_strfreev(list);
  std::string wrong = error ? error->message : "";
  g_clear_error(&error);
  if (wrong.empty() && glib.help()) {
    char* text = g_option_context_get_help(context.get(), TRUE, nullptr);
    std::fputs(text, stdout);
    g_free(text);
    return kDone;
  }
  if (wrong.empty()) wrong = glib.apply();
  if (!wrong.empty()) return wrong_usage(wrong);
  const std::vector<std::string> rest = glib.rest();
  if (!rest.empty()) return wrong_usage("what is \"" + rest.front() + "\" for?");
  return std::nullopt;
}

}  // namespace cuface::train
