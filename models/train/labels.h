// Labelled pictures: where the things to find are. One reader a format; all give the same.
//
// labels.cc tells the formats apart. labels_csv.cc, labels_imglab.cc (dlib), labels_info.cc
// (OpenCV's lists), labels_json.cc (COCO and alike) and labels_folder.cc (whole pictures, and
// iBUG's .pts) read one each. A list is untrusted: each has limits, and an error names the file,
// the line and what to do.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/status.h"

namespace cuface::train {

/// A point of an object: the corner of an eye, say.
struct LabelledPart {
  std::string name;  ///< "0", "1" ... where the format has numbers
  Point at;
};

/// Something in a picture.
struct LabelledObject {
  Box box;
  std::string where;  ///< "labels.csv:12", "boxes.json: annotation 7"
  std::vector<LabelledPart> parts;
  bool boxed = true;    ///< else `box` is what encloses the points
  std::string group{};  ///< what it belongs to, as "glasses"; empty where nothing is said
};

struct LabelledPicture {
  std::string path;    ///< as it can be opened
  std::string where;   ///< what names it; empty where a folder does
  bool whole = false;  ///< all of the picture is the object, and `objects` is empty
  std::vector<LabelledObject> objects;
};

/// Most that is read of any list.
inline constexpr std::size_t kMostLabelBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMostPictures = 1 << 20;
inline constexpr std::size_t kMostObjects = 1 << 22;
inline constexpr std::size_t kMostParts = 1024;  ///< of an object
inline constexpr std::size_t kMostPathBytes = 4096;

/// What a list or a folder names, in its order; of a folder by name: each picture is an object, or,
/// where .pts files stand there, each of these with the picture of its name. Paths are taken from
/// the list's folder. Whether the pictures can be read, and whether boxes lie in them, shows later.
/// kNotFound, kIo, kCorrupt, kUnsupported.
Result<std::vector<LabelledPicture>> read_labels(const std::string& path);

/// The pictures of a folder and the folders in it, or those that a list of paths names, one a line;
/// without objects.
Result<std::vector<LabelledPicture>> read_picture_list(const std::string& path);

// What the readers share.

/// Gathers what a list says, within the limits.
class LabelList {
 public:
  explicit LabelList(std::string path);

  /// A picture at the list's end; one that is there already if it has just been added.
  Status add_picture(std::string_view name, const std::string& where);
  /// To the last picture. Refuses a box that has no size or is no number.
  Status add_object(LabelledObject object);
  /// "labels.csv:12"
  std::string at_line(std::size_t line) const { return path_ + ":" + std::to_string(line); }
  const std::string& path() const { return path_; }
  std::vector<LabelledPicture>& pictures() { return pictures_; }

 private:
  std::string path_, folder_;
  std::size_t objects_ = 0;
  std::vector<LabelledPicture> pictures_;
};

Status read_csv_labels(std::string_view text, LabelList& out);
Status read_imglab_labels(std::string_view text, LabelList& out);
Status read_info_labels(std::string_view text, LabelList& out);
Status read_json_labels(std::string_view text, LabelList& out);
Result<std::vector<std::string>> pictures_of_folder(const std::string& folder);
Result<std::vector<LabelledPicture>> read_folder_labels(const std::string& folder);

/// All of a text file, at most so many bytes; kCorrupt for one that holds binary data.
Result<std::string> read_label_text(const std::string& path, std::size_t most = kMostLabelBytes);
/// What encloses the points; empty without points.
Box box_around(const std::vector<LabelledPart>& parts);

/// The lines of a text without their ends, one after another.
class TextLines {
 public:
  explicit TextLines(std::string_view text) : rest_(text) {}
  /// False behind the last one.
  bool next(std::string_view& line);
  std::size_t number() const { return number_; }  ///< of the last one, from 1

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

/// Without blanks at both ends.
std::string_view trimmed_blanks(std::string_view text);
/// All of a word as a finite number; false otherwise.
bool parse_number(std::string_view word, float& out);

}  // namespace cuface::train
