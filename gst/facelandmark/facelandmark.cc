// cufacelandmark: landmarks inside each face box.
#include <string>
#include <utility>

#include "gst/facelandmark/backend.h"
#include "gst/faces/counters.h"
#include "gst/faces/elements.h"
#include "gst/faces/faceelement.h"
#include "gst/faces/feedback.h"
#include "kernels/common/try.h"
#include "models/models.h"

GST_DEBUG_CATEGORY_STATIC(cuface_landmark_debug);
#define GST_CAT_DEFAULT cuface_landmark_debug

namespace cuface::gst {
namespace {

struct Settings : LandmarkSettings {
  std::string model;
};

class FaceLandmark final : public FaceElementWith<Settings> {
 public:
  using FaceElementWith::FaceElementWith;

  Status load() override {
    std::string path = copy_settings().model;
    if (path.empty()) CUFACE_TRY(take(find_default_forest(), path));
    model_ = {};
    const Status status = take(load_forest(path), model_.forest);
    // A forest is large: it is read once, and what is none is looked at again.
    if (status.code() == StatusCode::kCorrupt) {
      const Result<ModelKind> kind = model_kind(path);
      if (kind.ok() && kind.value() == ModelKind::kShape) return load_shape_model(path);
    }
    CUFACE_TRY(status);
    GST_INFO_OBJECT(element(), "%d landmarks from %s", model_.forest->landmarks, path.c_str());
    return {};
  }

  void unload() override { model_ = {}; }

  Status plan(const GstVideoInfo&) override {
    CUFACE_TRY(
        take(make_landmark_backend(backend(), model_, copy_settings(), stop_flag()), backend_));
    return {};
  }

  void unplan() override { backend_.reset(); }

 protected:
  Status process_faces(Frame& frame) override {
    double seconds = follow_time(frame);
    if (frame.is_gap())
      held_ += seconds;
    else
      seconds += std::exchange(held_, 0);
    CUFACE_TAKE(result, backend_->run(frame, input_faces(frame), copy_settings(), seconds));
    auto& [faces, unsmoothed] = result;
    give_feedback(frame, unsmoothed ? unsmoothed : faces);
    return deliver_faces(frame, std::move(faces));
  }

  void reset_faces(Reset why) override {
    forget();
    if (why == Reset::kStart) told_no_feedback_ = false;
  }

 private:
  Status load_shape_model(const std::string& path) {
    CUFACE_TRY(take(load_shape(path), model_.shape));
    if (copy_settings().start == LandmarkStart::kEyes) CUFACE_TRY(load_eyes());
    GST_INFO_OBJECT(element(), "%d landmarks by a shape model from %s", model_.shape->points,
                    path.c_str());
    return {};
  }

  Status load_eyes() {
    const Result<std::string> path = find_eye_cascade();
    Status status = path.ok() ? take(load_cascade(path.value()), model_.eyes) : path.status();
    if (status.ok()) return status;
    return {status.code(), "start=eyes: " + status.message() + "; or set start=box"};
  }

  void forget() {
    if (backend_) backend_->forget();
    held_ = 0;
  }

  /// Seconds since the previous frame. After a jump nothing is known of the faces before.
  double follow_time(const Frame& frame) {
    constexpr double kUnknown = 1.0 / 30;
    if (frame.step().jump) forget();
    const double elapsed = frame.step().jump ? 0 : frame.step().seconds;
    return elapsed > 0 ? elapsed : kUnknown;
  }

  /// The boxes to put landmarks into. An empty list where none are known: the result is a list in
  /// any case.
  FaceResult input_faces(const Frame& frame) const {
    if (FaceResult known = known_faces(frame)) return known;
    auto none = std::make_shared<FaceList>();
    none->width = frame.width();
    none->height = frame.height();
    return {std::move(none)};
  }

  /// The way back to a tracker before this element.
  void give_feedback(Frame& frame, const FaceResult& faces) {
    const auto cell = frame.find<FeedbackCell>().result;
    if (!cell || cell.host()->post(faces)) return;
    if (!std::exchange(told_no_feedback_, true))
      GST_INFO_OBJECT(
          element(),
          "culktrack runs in another streaming thread (a queue lies between): it tracks points of "
          "its own instead of these landmarks");
  }

  // The streaming thread's.
  LandmarkModel model_;
  std::unique_ptr<LandmarkBackend> backend_;
  double held_ = 0;  ///< seconds from the last frame that was looked at to the last one
  bool told_no_feedback_ = false;
};

GType box_map_type() {
  return enum_type(
      "GstCufaceBoxMap",
      {{static_cast<int>(BoxMapChoice::kAuto),
        "The calibrated map of the detector that found the face; learned for other detectors",
        "auto"},
       {static_cast<int>(BoxMapChoice::kNone), "The box as it is", "none"}});
}

GType start_type() {
  return enum_type(
      "GstCufaceLandmarkStart",
      {{static_cast<int>(LandmarkStart::kBox), "The mean face in the face's box", "box"},
       {static_cast<int>(LandmarkStart::kTracker),
        "The landmarks as culktrack followed them; the box if there are none", "tracker"},
       {static_cast<int>(LandmarkStart::kEyes),
        "The mean face on the eyes that OpenCV's cascade finds; the box if it finds none",
        "eyes"}});
}

#define FIELD(member) CUFACE_FIELD(Settings, member)

std::vector<Setting> landmark_settings() {
  return {
      standard_metas_setting<Settings>(),
      labels_setting<Settings>(),
      text("model", "Model",
           "Landmark model: a dlib shape predictor, or a .cuface file of a forest or shape model. "
           "Unset loads the 68-point model if it is installed.",
           FIELD(model), kReady),
      number("iterations", "Iterations",
             "Regression stages to run; 0 runs all, 15 in dlib's models. Lower it for faster, "
             "coarser landmarks.",
             FIELD(iterations), 0, 1000),
      choice("box-map", "Box map",
             "How a face's box becomes the box that the model expects. Set none if the boxes fit "
             "already.",
             FIELD(box_map), box_map_type()),
      choice("start", "Start",
             "Where the search of a shape model starts. Set eyes for single pictures of tilted "
             "heads, tracker for video.",
             FIELD(start), start_type(), kReady),
      number("threads", "Threads",
             "Threads that share the search of patches on the CPU; 0 is one a processor. Set 1 to "
             "leave processors to others.",
             FIELD(threads), 0, 1024, kReady),
      number("samples", "Samples",
             "Boxes for each face; the element averages their landmarks. Raise it for steadier "
             "landmarks, lower it to save time.",
             FIELD(samples), 1, kMaxSamples),
      number("smooth", "Smooth",
             "Smooths landmarks of followed faces over about this many seconds; 0 is off. Raise it "
             "against jitter, at some delay.",
             FIELD(smooth), 0, 10),
      boolean("follow-roll", "Follow roll",
              "Turns the picture upright by a followed head's roll before finding its landmarks. "
              "Turn it off for dlib's points.",
              FIELD(follow_roll)),
      number("inertia", "Inertia",
             "Weight of optical flow in the place of a resting landmark, for followed faces. Lower "
             "it if landmarks follow expressions too slowly.",
             FIELD(inertia), 0, 0.95f),
      boolean("refine", "Refine",
              "Finds the landmarks of a new face in two passes, which is more accurate. Turn it "
              "off to save time without a culktrack.",
              FIELD(refine)),
  };
}

constexpr StatsField kStats[] = {{"faces", kFaces}};

}  // namespace

constexpr ElementInfo kFaceLandmark{
    .name = "cufacelandmark",
    .debug = &cuface_landmark_debug,
    .type = "GstCufaceLandmark",
    .title = "Face landmarks",
    .category = "Filter/Analyzer/Video",
    .description = "Finds landmarks of each frame's faces with regression trees or a shape model",
    .cuda_use = CudaUse::kComputes,
    .make = make_element<FaceLandmark>,
    .settings = landmark_settings,
    .stats = kStats,
};

}  // namespace cuface::gst
