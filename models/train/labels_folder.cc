// A folder of pictures: each is an object, or a background; or iBUG's files of points beside them.
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>

#include "kernels/common/try.h"
#include "models/train/labels.h"

namespace cuface::train {
namespace {

constexpr std::array kSuffixes = {".png", ".jpg", ".jpeg", ".pgm", ".ppm", ".pnm",
                                  ".bmp", ".tif", ".tiff", ".gif", ".webp"};

std::string suffix_of(const std::filesystem::path& path) {
  std::string suffix = path.extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return suffix;
}

bool is_picture(const std::filesystem::path& path) {
  return std::find(kSuffixes.begin(), kSuffixes.end(), suffix_of(path)) != kSuffixes.end();
}

/// Files of a folder and the folders in it, by name.
struct FolderFiles {
  std::vector<std::string> pictures, points;
  std::size_t others = 0;
};

Result<FolderFiles> files_of_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  FolderFiles found;
  std::error_code error;
  // Links to folders are not followed, so there are no circles.
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    if (is_picture(it->path())) {
      found.pictures.push_back(it->path().string());
    } else if (suffix_of(it->path()) == ".pts") {
      found.points.push_back(it->path().string());
    } else {
      ++found.others;
    }
    if (std::max(found.pictures.size(), found.points.size()) > kMostPictures) {
      return Status(StatusCode::kUnsupported, folder + ": more than " +
                                                  std::to_string(kMostPictures) +
                                                  " pictures; give a list of some of them");
    }
  }
  if (error) return Status(StatusCode::kIo, folder + ": cannot be read: " + error.message());
  // The order of a folder is the file system's; that of names is the same everywhere.
  std::sort(found.pictures.begin(), found.pictures.end());
  std::sort(found.points.begin(), found.points.end());
  return found;
}

/// "version: 1", "n_points: 68", "{", a point a line, "}". The format comes from Matlab, where the
/// centre of the first pixel is 1.
Result<std::vector<LabelledPart>> read_pts(const std::string& path) {
  constexpr std::size_t kMostBytes = 1 << 20;
  CUFACE_TAKE(text, read_label_text(path, kMostBytes));
  TextLines lines(text);
  std::string_view line;
  std::size_t count = 0;
  std::vector<LabelledPart> parts;
  bool open = false;
  const auto corrupt = [&](const std::string& what) {
    return Status(StatusCode::kCorrupt, path + ":" + std::to_string(lines.number()) + ": " + what);
  };
  while (lines.next(line)) {
    if (line.empty() || line.starts_with("//") || line.starts_with("version:")) continue;
    if (line.starts_with("n_points:")) {
      float number = 0;
      if (!parse_number(trimmed_blanks(line.substr(9)), number) || number < 1 ||
          number > static_cast<float>(kMostParts)) {
        return corrupt("n_points is not from 1 to " + std::to_string(kMostParts));
      }
      count = static_cast<std::size_t>(number);
    } else if (line == "{") {
      open = true;
    } else if (line == "}") {
      if (parts.size() != count) {
        return corrupt(std::to_string(parts.size()) + " points end here, n_points says " +
                       std::to_string(count));
      }
      return parts;
    } else {
      const std::size_t blank = line.find_first_of(" \t");
      LabelledPart part{std::to_string(parts.size()), {}};
      if (!open || blank == std::string_view::npos ||
          !parse_number(line.substr(0, blank), part.at.x) ||
          !parse_number(trimmed_blanks(line.substr(blank)), part.at.y)) {
        return corrupt("x and y of a point are expected, between { and }");
      }
      if (parts.size() >= count) return corrupt("more points than n_points says");
      part.at = {part.at.x - 1, part.at.y - 1};
      parts.push_back(std::move(part));
    }
  }
  return corrupt("the file ends before a line with }");
}

/// Each picture with the points beside it; those of one count, as all faces of a model have it.
Result<std::vector<LabelledPicture>> read_pts_folder(const FolderFiles& files) {
  const auto stem = [](const std::string& path) {
    return std::filesystem::path(path).replace_extension().string();
  };
  std::vector<LabelledPicture> pictures;
  std::string first;
  std::size_t count = 0;
  std::map<std::string, std::string> by_stem;
  for (const std::string& picture : files.pictures) by_stem.emplace(stem(picture), picture);
  for (const std::string& path : files.points) {
    const auto picture = by_stem.find(stem(path));
    if (picture == by_stem.end()) {
      return Status(StatusCode::kNotFound,
                    path +
                        ": no picture of this name stands beside it; put it there, or take the "
                        "points away");
    }
    CUFACE_TAKE(parts, read_pts(path));
    if (pictures.empty()) first = path, count = parts.size();
    if (parts.size() != count) {
      return Status(StatusCode::kCorrupt, path + ": " + std::to_string(parts.size()) +
                                              " points, but " + first + " has " +
                                              std::to_string(count));
    }
    LabelledObject object{{}, path, std::move(parts), false, {}};
    object.box = box_around(object.parts);
    if (!(object.box.w > 0 && object.box.h > 0)) {
      return Status(StatusCode::kCorrupt, path + ": all points lie on one line");
    }
    pictures.push_back({picture->second, path, false, {}});
    pictures.back().objects.push_back(std::move(object));
  }
  return pictures;
}

}  // namespace

Result<std::vector<std::string>> pictures_of_folder(const std::string& folder) {
  CUFACE_TAKE(found, files_of_folder(folder));
  if (found.pictures.empty()) {
    return Status(StatusCode::kNotFound,
                  folder + ": no picture in this folder or below it (" +
                      std::to_string(found.others + found.points.size()) +
                      " other files). Pictures end in .png, .jpg, .pgm, .bmp, .tif or .webp");
  }
  return std::move(found.pictures);
}

Result<std::vector<LabelledPicture>> read_folder_labels(const std::string& folder) {
  CUFACE_TAKE(found, files_of_folder(folder));
  if (!found.points.empty()) return read_pts_folder(found);
  CUFACE_TAKE(names, pictures_of_folder(folder));
  std::vector<LabelledPicture> pictures;
  for (const std::string& name : names) pictures.push_back({name, {}, true, {}});
  return pictures;
}

}  // namespace cuface::train
