// C++ as a list of words, as much as headers of numbers need.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/common/status.h"

namespace cuface {

/// The words of a file: names, numbers, strings, and single signs. Comments, lines of the
/// preprocessor and white space are left out.
class StasmText {
 public:
  /// `where` names the archive and the file, for messages.
  StasmText(std::string_view text, std::string where);

  /// Goes on behind the next `words`, given as C++ ("const double intercept ="). kCorrupt where
  /// they do not come again, or, with `once`, where they come twice.
  Status skip_past(std::string_view words, bool once = true);
  /// The next words must be these.
  Status expect(std::string_view words);
  bool is_next(std::string_view words) const;

  /// A number, with its sign: finite. The only word that is taken.
  Status number(double& value);
  Status integer(int& value);
  /// Sums and products of numbers up to the sign `;`, which is taken.
  Status constant(double& value);
  /// `count` numbers between braces, separated by commas.
  Status numbers(std::size_t count, std::vector<double>& values);
  /// The next word, whatever it is.
  Status word(std::string_view& value);
  /// No word is left.
  Status end() const;

  Status wrong(const std::string& what) const;

 private:
  bool is_at(std::size_t at, const std::vector<std::string_view>& words) const;

  std::string where_;
  std::vector<std::string_view> words_;
  std::size_t at_ = 0;
};

}  // namespace cuface
