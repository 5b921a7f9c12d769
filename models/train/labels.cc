#include "models/train/labels.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "models/file_bytes.h"

namespace cuface::train {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

bool has_suffix(const std::string& path, const char* suffix) {
  return std::filesystem::path(path).extension() == suffix;
}

Status read_list(const std::string& path, std::string_view text, LabelList& out) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const char head = first == std::string_view::npos ? '\0' : text[first];
  if (head == '<') return read_imglab_labels(text, out);
  if (head == '{' || head == '[') return read_json_labels(text, out);
  if (has_suffix(path, ".csv")) return read_csv_labels(text, out);
  return read_info_labels(text, out);
}

}  // namespace

Result<std::string> read_label_text(const std::string& path, std::size_t most) {
  CUFACE_TAKE(file, ModelFile::open(path));
  CUFACE_TAKE(bytes, file.read(most));
  std::string text(reinterpret_cast<const char*>(bytes->bytes().data()), bytes->bytes().size());
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // a mark that some editors write
  if (text.find('\0') != std::string::npos) {
    return Status(StatusCode::kCorrupt,
                  path +
                      ": no list of labels: it holds binary data. Give a folder, a .vec file, or "
                      "a list in JSON, CSV, XML (imglab) or OpenCV's form");
  }
  return text;
}

std::string_view trimmed_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool parse_number(std::string_view word, float& out) {
  const std::from_chars_result result =
      std::from_chars(word.data(), word.data() + word.size(), out);
  return !word.empty() && result.ec == std::errc() && result.ptr == word.data() + word.size() &&
         std::isfinite(out);
}

bool TextLines::next(std::string_view& line) {
  if (rest_.empty()) return false;
  const std::size_t end = rest_.find('\n');
  line = trimmed_blanks(rest_.substr(0, end));
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  ++number_;
  return true;
}

Box box_around(const std::vector<LabelledPart>& parts) {
  if (parts.empty()) return {};
  Point low = parts.front().at, high = low;
  for (const LabelledPart& part : parts) {
    low = {std::min(low.x, part.at.x), std::min(low.y, part.at.y)};
    high = {std::max(high.x, part.at.x), std::max(high.y, part.at.y)};
  }
  return {low.x, low.y, high.x - low.x, high.y - low.y};
}

LabelList::LabelList(std::string path)
    : path_(std::move(path)), folder_(std::filesystem::path(path_).parent_path().string()) {}

Status LabelList::add_picture(std::string_view name, const std::string& where) {
  if (name.empty() || name.size() > kMostPathBytes || name.find('\n') != std::string_view::npos) {
    return {StatusCode::kCorrupt,
            where + ": no path of a picture: " + (name.empty() ? "it is empty" : shortened(name))};
  }
  const std::filesystem::path relative(name);
  const std::string path = relative.is_absolute() || folder_.empty()
                               ? relative.string()
                               : folder_ + "/" + relative.string();
  if (!pictures_.empty() && pictures_.back().path == path) return {};
  if (pictures_.size() >= kMostPictures) {
    return {StatusCode::kUnsupported,
            where + ": more than " + std::to_string(kMostPictures) + " pictures; split the list"};
  }
  pictures_.push_back({path, where, false, {}});
  return {};
}

Status LabelList::add_object(LabelledObject object) {
  const Box& b = object.box;
  if (!(b.w > 0 && b.h > 0) || !std::isfinite(b.x + b.y + b.w + b.h)) {
    return {StatusCode::kCorrupt,
            object.where + ": a box without a width or a height: correct the line or delete it"};
  }
  if (object.group.size() > 64) {
    return {StatusCode::kUnsupported, object.where + ": a group's name has more than 64 bytes"};
  }
  if (object.parts.size() > kMostParts || ++objects_ > kMostObjects) {
    return {StatusCode::kUnsupported, object.where + ": more than " + std::to_string(kMostParts) +
                                          " points, or more than " + std::to_string(kMostObjects) +
                                          " boxes in all; split the list"};
  }
  pictures_.back().objects.push_back(std::move(object));
  return {};
}

Result<std::vector<LabelledPicture>> read_labels(const std::string& path) {
  return guarded(path, [&]() -> Result<std::vector<LabelledPicture>> {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) return read_folder_labels(path);
    CUFACE_TAKE(text, read_label_text(path));
    LabelList list(path);
    CUFACE_TRY(read_list(path, text, list));
    std::size_t objects = 0;
    for (const LabelledPicture& picture : list.pictures()) objects += picture.objects.size();
    if (objects == 0) {
      return Status(StatusCode::kCorrupt,
                    path + ": it names no box, in " + std::to_string(list.pictures().size()) +
                        " pictures. Where all of each picture is the object, give the folder");
    }
    return std::move(list.pictures());
  });
}

Result<std::vector<LabelledPicture>> read_picture_list(const std::string& path) {
  return guarded(path, [&]() -> Result<std::vector<LabelledPicture>> {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
      CUFACE_TAKE(names, pictures_of_folder(path));
      std::vector<LabelledPicture> pictures;
      for (std::string& name : names) pictures.push_back({std::move(name), "", false, {}});
      return pictures;
    }
    CUFACE_TAKE(text, read_label_text(path));
    LabelList list(path);
    TextLines lines(text);
    for (std::string_view line; lines.next(line);) {
      if (!line.empty() && line[0] != '#') {
        CUFACE_TRY(list.add_picture(line, list.at_line(lines.number())));
      }
    }
    if (list.pictures().empty()) {
      return Status(StatusCode::kCorrupt, path + ": it names no picture; one path a line is read");
    }
    return std::move(list.pictures());
  });
}

}  // namespace cuface::train
