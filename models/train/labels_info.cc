// OpenCV's lists for opencv_createsamples: "picture count x y width height x y ..." a line.
#include <charconv>

#include "kernels/common/try.h"
#include "models/train/labels.h"

namespace cuface::train {
namespace {

/// The last `count` words of a line; what is before them is the path, which may hold blanks.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!(line = trimmed_blanks(line)).empty()) {
    const std::size_t end = line.find_first_of(" \t");
    words.push_back(line.substr(0, end));
    line.remove_prefix(words.back().size());
  }
  return words;
}

/// Where the word that counts the boxes stands; 0 where none fits what follows it.
std::size_t find_count(const std::vector<std::string_view>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::size_t count = 0;
    const char* end = words[i].data() + words[i].size();
    const std::from_chars_result result = std::from_chars(words[i].data(), end, count);
    if (result.ec == std::errc() && result.ptr == end && count < kMostObjects &&
        words.size() - i - 1 == 4 * count) {
      return i;
    }
  }
  return 0;
}

}  // namespace

Status read_info_labels(std::string_view text, LabelList& out) {
  TextLines lines(text);
  for (std::string_view line; lines.next(line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::string where = out.at_line(lines.number());
    const std::vector<std::string_view> words = words_of(line);
    const std::size_t count = find_count(words);
    if (count == 0) {
      return {StatusCode::kCorrupt,
              where +
                  ": a line is: picture, number of boxes, then x y width height of each; this "
                  "one is " +
                  shortened(line)};
    }
    const std::string_view name(line.data(),
                                static_cast<std::size_t>(words[count].data() - line.data()));
    CUFACE_TRY(out.add_picture(trimmed_blanks(name), where));
    for (std::size_t i = count + 1; i < words.size(); i += 4) {
      LabelledObject object{{}, where, {}};
      if (!parse_number(words[i], object.box.x) || !parse_number(words[i + 1], object.box.y) ||
          !parse_number(words[i + 2], object.box.w) || !parse_number(words[i + 3], object.box.h)) {
        return {StatusCode::kCorrupt, where + ": a box has something else than numbers"};
      }
      CUFACE_TRY(out.add_object(std::move(object)));
    }
  }
  return {};
}

}  // namespace cuface::train
