// Faces with landmarks to train a forest with, from labelled pictures (labels.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/grow/grow.h"
#include "models/train/labels.h"

namespace cuface::train {

inline constexpr const char* kPipelineBoxes = "pipeline";

struct FaceOptions {
  int points = 0;         ///< of each face; 0 = as many as the labels name
  bool skip_bad = false;  ///< leave out and tell what is wrong with a picture or a face
  bool mirror = false;    ///< each picture also mirrored
  /// For `mirror`: a file of as many numbers as there are points, the point that each becomes.
  /// Empty: the scheme's own (kernels/faces/landmark_scheme.h).
  std::string mirror_table;
  /// A cascade whose boxes take the place of the labels'. A face that it does not find is left out
  /// and told. Empty: the labels' boxes. kPipelineBoxes: these too, and a detector or a tracker of
  /// ours has given them.
  std::string detector;
  std::map<std::string, int> weights;  ///< 1 to 255 of a group of faces; others have 1
  int threads = 0;
};

struct FaceSet {
  int landmarks = 0;
  std::vector<Image<std::uint8_t>> pictures;
  std::vector<std::uint64_t> hashes;  ///< hash_of() each
  std::vector<std::uint32_t> picture_of;
  std::vector<Box> boxes;
  std::vector<Point> points;
  std::vector<std::uint8_t> present, weights;
  std::vector<std::string> where;  ///< what names each face, for messages
  std::vector<std::string> notes;  ///< what was left out, or may surprise

  /// What training takes; it points into this, whose pictures stay as they are from then on.
  LabelledFaces faces();
  /// Of all that a forest's bytes depend on.
  std::uint64_t hash() const;

 private:
  std::vector<ImageView<const std::uint8_t>> views_;
};

/// In the order of the list; mirrored ones behind all others. Labels without boxes have those of
/// box_of_landmarks(). Numbered points keep their numbers, others come in the order of their names,
/// as dlib has it; a point that a face does not have is not present. An error names the file, the
/// line and what to do. kCancelled once `stop` is raised.
Result<FaceSet> load_faces(const std::string& path, const FaceOptions& options,
                           const StopFlag* stop = nullptr);

/// All faces again, mirrored, behind the others; `table` is mirror_table().
void add_mirrored(const std::vector<int>& table, FaceSet& set);

/// Checked: each point becomes another one or stays, and twice is back. kInvalidArgument,
/// kNotFound, kIo, kCorrupt.
Result<std::vector<int>> mirror_table(const std::string& path, int points);

/// Where a detector as dlib's would put its box around 68 landmarks.
Box box_of_landmarks(std::span<const Point> landmarks);

}  // namespace cuface::train
