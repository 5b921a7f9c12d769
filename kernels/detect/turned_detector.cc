// A search at several angles: each is a search for upright faces in the turned picture.
#include "kernels/detect/turned_detector.h"

#include <algorithm>
#include <utility>

#include "kernels/common/lanes.h"
#include "kernels/common/try.h"
#include "kernels/detect/boxes.h"
#include "kernels/detect/search_angles.h"
#include "kernels/turn/turn.h"

namespace cuface {

std::vector<double> search_angles(int roll) {
  std::vector<double> angles = {0};
  const int a_side = (roll + kTurnStep - 1) / kTurnStep;
  for (int i = 1; i <= a_side; ++i) {
    const double angle = static_cast<double>(roll) * i / a_side;
    angles.push_back(angle);
    angles.push_back(-angle);
  }
  return angles;
}

namespace {

/// What join_angles() reads and writes.
struct AngleLists {
  const std::vector<DetectResult>& found;
  std::vector<Detection>& faces;
  std::vector<int>& angle_of;
  const StopFlag* stop;

  const Detection& at(int angle, int place) const {
    return found[static_cast<std::size_t>(angle)].faces[static_cast<std::size_t>(place)];
  }
  /// None once the search is stopped, which ends the join.
  int count(int angle) const {
    if (is_raised(stop)) return 0;
    return static_cast<int>(found[static_cast<std::size_t>(angle)].faces.size());
  }
  int neighbors(int angle, int place) const { return at(angle, place).neighbors; }
  Box box(int angle, int place) const { return as_box(at(angle, place).box); }
  int kept_angle(int k) const { return angle_of[static_cast<std::size_t>(k)]; }
  Box kept_box(int k) const { return as_box(faces[static_cast<std::size_t>(k)].box); }
  void keep(int, int angle, int place) {
    faces.push_back(at(angle, place));
    angle_of.push_back(angle);
  }
};

class TurnedDetector final : public Detector {
 public:
  Status plan(const std::shared_ptr<const CascadeModel>& model, const DetectConfig& config,
              int width, int height, const std::shared_ptr<SharedSearch>& shared) {
    stop_ = shared->stop();
    DetectConfig one = config;
    one.roll = 0;
    one.active_parts = false;
    max_faces_ = config.max_faces;
    for (const double angle : search_angles(config.roll))
      turns_.push_back(make_turn(angle, width, height));
    // Before the first search is made: then all have one layout, and share its tables.
    if (config.scale_mode == ScaleMode::kPyramid)
      for (const Turn& t : turns_)
        shared->make_room(plan_search(one, t.canvas_width, t.canvas_height));
    int canvas_width = 0, canvas_height = 0;
    for (std::size_t i = 0; i < turns_.size(); ++i) {
      const Turn& t = turns_[i];
      if (search_of(i) < detectors_.size()) continue;
      if (i > 0) one.min_neighbors = turned_neighbors(config.min_neighbors);
      CUFACE_TAKE(detector, make_detector(model, one, t.canvas_width, t.canvas_height, shared));
      detectors_.push_back(std::move(detector));
      canvas_width = std::max(canvas_width, t.canvas_width);
      canvas_height = std::max(canvas_height, t.canvas_height);
    }
    for (std::size_t i = 0; i < turns_.size(); ++i) windows_ += detectors_[search_of(i)]->windows();
    canvas_ = Image<std::uint8_t>(canvas_width, canvas_height);
    found_.resize(turns_.size());
    return {};
  }

  Status find(ImageView<const std::uint8_t> luma, DetectResult& out, const SearchRegion& band,
              std::span<const Followed>) override {
    if (band.is_part()) return {StatusCode::kInvalidArgument, "turned pictures have no parts"};
    out.clear();
    for (std::size_t i = 0; i < turns_.size(); ++i) {
      if (Status s = search(luma, i); !s.ok()) {
        out.overflow = false;
        return s;
      }
      out.overflow = out.overflow || found_[i].overflow;
    }
    if (out.overflow) return {};
    angle_of_.clear();
    AngleLists lists{found_, out.faces, angle_of_, stop_};
    join_angles(SerialLanes{}, lists, static_cast<int>(turns_.size()), max_faces_, scratch_);
    if (is_raised(stop_)) {
      out.faces.clear();
      return cancelled();
    }
    for (const int angle : angle_of_)
      out.rolls.push_back(turns_[static_cast<std::size_t>(angle)].roll());
    return {};
  }

  long long windows() const override { return windows_; }

 private:
  Status search(ImageView<const std::uint8_t> luma, std::size_t i) {
    if (i == 0) return detectors_[0]->enqueue(luma, found_[0]);
    const Turn& turn = turns_[i];
    ImageView<std::uint8_t> canvas = canvas_.view();
    canvas.width = turn.canvas_width;
    canvas.height = turn.canvas_height;
    CUFACE_TRY(turn_picture(luma, turn, canvas, stop_));
    CUFACE_TRY(detectors_[search_of(i)]->enqueue(canvas, found_[i]));
    std::erase_if(found_[i].faces, [&](Detection& d) { return !turning::to_picture(turn, d.box); });
    return {};
  }

  const StopFlag* stop_ = nullptr;
  int max_faces_ = 0;
  long long windows_ = 0;
  std::vector<Turn> turns_;                           ///< upright first
  std::vector<std::unique_ptr<Detector>> detectors_;  ///< by search_of()
  Image<std::uint8_t> canvas_;                        ///< of each turn in its turn
  std::vector<DetectResult> found_;                   ///< at each
  std::vector<int> angle_of_;                         ///< of the faces that are kept
  JoinScratch scratch_;
};

}  // namespace

Result<std::unique_ptr<Detector>> make_turned_detector(
    const std::shared_ptr<const CascadeModel>& model, const DetectConfig& config, int width,
    int height, const std::shared_ptr<SharedSearch>& shared) {
  auto detector = std::make_unique<TurnedDetector>();
  CUFACE_TRY(detector->plan(model, config, width, height, shared));
  return std::unique_ptr<Detector>(std::move(detector));
}

}  // namespace cuface
