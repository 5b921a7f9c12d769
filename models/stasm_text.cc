#include "models/stasm_text.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "kernels/common/try.h"

namespace cuface {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::string quoted(std::string_view text) {
  std::string result(1, '"');
  result += text;
  return result += '"';
}

std::size_t end_of_number(std::string_view text, std::size_t i) {
  while (i < text.size() &&
         (is_name(text[i]) || text[i] == '.' ||
          ((text[i] == '-' || text[i] == '+') && (text[i - 1] == 'e' || text[i - 1] == 'E')))) {
    ++i;
  }
  return i;
}

std::size_t after(std::string_view text, std::string_view mark, std::size_t from) {
  const std::size_t at = text.find(mark, from);
  return at == text.npos ? text.size() : at + mark.size();
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  bool is_line_start = true;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const std::string_view rest = text.substr(i);
    std::size_t end = i + 1;
    if (c == '\n' || c == ' ' || c == '\t' || c == '\r') {
      is_line_start = is_line_start || c == '\n';
      i = end;
      continue;
    }
    if (rest.starts_with("//") || (c == '#' && is_line_start)) {
      i = after(text, "\n", i) - (text.find('\n', i) == text.npos ? 0 : 1);
      continue;
    }
    if (rest.starts_with("/*")) {
      i = after(text, "*/", i + 2);
      continue;
    }
    is_line_start = false;
    if (is_digit(c) || (c == '.' && i + 1 < text.size() && is_digit(text[i + 1]))) {
      end = end_of_number(text, i + 1);
    } else if (c == '"') {
      end = after(text, "\"", i + 1);
    } else {
      while (is_name(c) && end < text.size() && is_name(text[end])) ++end;
    }
    words.push_back(text.substr(i, end - i));
    i = end;
  }
  return words;
}

}  // namespace

StasmText::StasmText(std::string_view text, std::string where)
    : where_(std::move(where)), words_(words_of(text)) {}

Status StasmText::wrong(const std::string& what) const {
  return {StatusCode::kCorrupt, where_ + ": not as Stasm 4.1 has it: " + what};
}

bool StasmText::is_at(std::size_t at, const std::vector<std::string_view>& words) const {
  if (words_.size() - at < words.size()) return false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words_[at + i] != words[i]) return false;
  }
  return true;
}

Status StasmText::skip_past(std::string_view text, bool once) {
  const std::vector<std::string_view> words = words_of(text);
  std::size_t found = words_.size();
  for (std::size_t at = at_; at < words_.size(); ++at) {
    if (!is_at(at, words)) continue;
    if (found != words_.size()) return wrong(quoted(text) + " comes twice");
    found = at;
    if (!once) break;
  }
  if (found == words_.size()) return wrong("no " + quoted(text));
  at_ = found + words.size();
  return {};
}

bool StasmText::is_next(std::string_view text) const { return is_at(at_, words_of(text)); }

Status StasmText::expect(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  if (!is_at(at_, words)) {
    return wrong("no " + quoted(text) + " behind word " + std::to_string(at_));
  }
  at_ += words.size();
  return {};
}

Status StasmText::word(std::string_view& value) {
  if (at_ == words_.size()) return wrong("it ends too soon");
  value = words_[at_++];
  return {};
}

Status StasmText::number(double& value) {
  const bool is_negative = is_next("-");
  if (is_negative) ++at_;
  std::string_view text;
  CUFACE_TRY(word(text));
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
      !(is_digit(text[0]) || text[0] == '.')) {
    return wrong(quoted(shortened(text)) + " is no number, word " + std::to_string(at_));
  }
  if (is_negative) value = -value;
  return {};
}

Status StasmText::integer(int& value) {
  double found = 0;
  CUFACE_TRY(number(found));
  if (found != std::floor(found) || std::abs(found) > 1e6) return wrong("a number is no integer");
  value = static_cast<int>(found);
  return {};
}

Status StasmText::constant(double& value) {
  value = 0;
  do {
    double product = 0;
    CUFACE_TRY(number(product));
    while (is_next("*")) {
      double factor = 0;
      ++at_;
      CUFACE_TRY(number(factor));
      product *= factor;
    }
    value += product;
    if (is_next(";")) break;
  } while (expect("+").ok());
  return expect(";");
}

Status StasmText::numbers(std::size_t count, std::vector<double>& values) {
  values.clear();
  CUFACE_TRY(expect("{"));
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) CUFACE_TRY(expect(","));
    double value = 0;
    CUFACE_TRY(number(value));
    values.push_back(value);
  }
  return expect("}");
}

Status StasmText::end() const {
  return at_ == words_.size() ? Status()
                              : wrong("more than is known behind word " + std::to_string(at_));
}

}  // namespace cuface
