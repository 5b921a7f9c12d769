// What the tracker makes of whole clips, without any GStreamer: OpenCV's cascade every K frames,
// the tracker, and our landmarks fed back. The defaults of TrackConfig were chosen with it
// (docs/design/track.md).
//
//   track_clips --cache DIR [--interval K] [--clip PART] [--no-feedback] [--events]
//               [--set name=value]... [--pictures DIR]
//
// Detections are kept in the cache folder, so that only the first run is slow. One line a clip:
// frames, frames with a face, faces, ids, appearances (a face without predecessor of IoU > 0.3),
// blinks (missing 1 to 5 frames in one place), short (appearances of 1 or 2 frames), searches, lost
// by reason, `alone` (tracked faces of which a search of that frame, were there one, would see
// nothing) and the longest run of `alone`. --pictures writes those that are alone, for the eye.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <set>

#include "kernels/detect/detect.h"
#include "kernels/landmark_samples/landmark_samples.h"
#include "kernels/track/loss_rules.h"
#include "kernels/track/track.h"
#include "models/box_map.h"
#include "models/models.h"
#include "tests/clip.h"
#include "tests/data.h"
#include "tests/mat_view.h"

namespace cuface {
namespace {

using test::view_of;

constexpr const char* kCascade = "haarcascade_frontalface_alt";

struct Clip {
  const char* name;
  int width, height;
  double fps;
};
constexpr Clip kClips[] = {{"WolfgangLanger_Pexels.mp4", 640, 360, 23.976},
                           {"book.mkv", 640, 480, 30},
                           {"classroom.mp4", 480, 270, 15},
                           {"face-demographics-walking.mp4", 480, 270, 12},
                           {"franck.mp4", 360, 288, 24},
                           {"head-pose-face-detection-female-and-male.mp4", 480, 270, 12},
                           {"night.mkv", 640, 480, 30},
                           {"sister.mkv", 640, 480, 30},
                           {"vtest.avi", 768, 576, 10}};

struct Options {
  std::string cache, clip, pictures;
  int interval = 10;
  bool feedback = true, events = false;
  TrackConfig config;
};

bool set(TrackConfig& c, const std::string& name, double value) {
  const auto v = static_cast<float>(value);
  const std::map<std::string, float*> fields = {{"forward_backward", &c.forward_backward},
                                                {"max_residual", &c.max_residual},
                                                {"min_points", &c.min_points},
                                                {"min_confidence", &c.min_confidence},
                                                {"max_scale_step", &c.max_scale_step},
                                                {"max_shape_change", &c.max_shape_change},
                                                {"min_visible", &c.min_visible},
                                                {"min_width", &c.min_width},
                                                {"min_overlap", &c.min_overlap},
                                                {"doubt_below", &c.doubt_below},
                                                {"hold_time", &c.hold_time},
                                                {"min_correlation", &c.min_correlation},
                                                {"revive_time", &c.revive_time},
                                                {"revive_distance", &c.revive_distance}};
  if (name == "max_missed")
    c.max_missed = static_cast<int>(value);
  else if (name == "min_confirmed")
    c.min_confirmed = static_cast<int>(value);
  else if (name == "window")
    c.flow.window = static_cast<int>(value);
  else if (name == "levels")
    c.flow.levels = static_cast<int>(value);
  else if (fields.count(name))
    *fields.at(name) = v;
  else
    return false;
  return true;
}

using Detections = std::vector<std::vector<Face>>;  // by frame

Detections detect(const std::vector<cv::Mat>& frames, const std::string& cached) {
  Detections all(frames.size());
  if (std::ifstream in(cached); in) {
    std::size_t frame = 0;
    Face f;
    while (in >> frame >> f.box.x >> f.box.y >> f.box.w >> f.box.h >> f.neighbors) {
      f.confidence = detection_confidence(f.neighbors);
      all.at(frame).push_back(f);
    }
    return all;
  }
  if (frames.empty()) return all;
  const auto model = load_cascade(std::string(test::kCascadeDir) + "/" + kCascade + ".xml").value();
  const auto detector =
      std::move(Detector::create(Backend::kCpu, model, {}, frames[0].cols, frames[0].rows).value());
  std::ofstream out(cached);
  DetectResult result;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (!detector->enqueue(view_of(frames[i]), result).ok()) std::abort();
    for (const Detection& d : result.faces) {
      Face f;
      f.box = {static_cast<float>(d.box.x), static_cast<float>(d.box.y),
               static_cast<float>(d.box.w), static_cast<float>(d.box.h)};
      f.neighbors = d.neighbors;
      f.confidence = detection_confidence(f.neighbors);
      all[i].push_back(f);
      out << i << ' ' << d.box.x << ' ' << d.box.y << ' ' << d.box.w << ' ' << d.box.h << ' '
          << d.neighbors << '\n';
    }
  }
  return all;
}

bool has(const Face& face, const std::vector<Face>& faces) {
  for (const Face& other : faces) {
    if (intersection_over_union(face.box, other.box) > 0.3f) return true;
  }
  return false;
}

struct Summary {
  int with_face = 0, faces = 0, appearances = 0, blinks = 0, shorts = 0, alone = 0,
      longest_alone = 0;
  std::set<std::uint64_t> ids;
};

Summary summarise(const Detections& tracked, const Detections& found) {
  Summary s;
  std::map<std::uint64_t, int> alone;
  const auto at = [&](std::size_t t) {
    return t < tracked.size() ? tracked[t] : std::vector<Face>{};
  };
  for (std::size_t t = 0; t < tracked.size(); ++t) {
    s.with_face += !tracked[t].empty();
    for (const Face& f : tracked[t]) {
      ++s.faces;
      s.ids.insert(f.id);
      const bool first = t == 0 || !has(f, tracked[t - 1]);
      s.appearances += first;
      const bool ends_next = t + 1 < tracked.size() && !has(f, at(t + 1));
      const bool ends_after = t + 2 < tracked.size() && !has(f, at(t + 2));
      s.shorts += first && (ends_next || ends_after);
      bool later = false;
      for (std::size_t k = 2; k <= 6; ++k) later = later || has(f, at(t + k));
      s.blinks += ends_next && later;
      const bool lonely = !has(f, found[t]);
      s.alone += lonely;
      alone[f.id] = lonely ? alone[f.id] + 1 : 0;
      s.longest_alone = std::max(s.longest_alone, alone[f.id]);
    }
  }
  return s;
}

/// The chain: search, track, landmarks; what the elements do, without them.
class Chain {
 public:
  Chain(const Options& options, const std::shared_ptr<const ForestModel>& model, const Clip& clip)
      : options_(options), model_(model), clip_(clip) {
    tracker_ =
        std::move(Tracker::create(Backend::kCpu, options.config, clip.width, clip.height).value());
    for (auto& pyramid : pyramids_)
      pyramid = std::make_shared<GaussianPyramid>(clip.width, clip.height);
    if (model) landmarker_ = std::move(SampledLandmarker::create(Backend::kCpu, model).value());
  }

  const FaceList& step(const cv::Mat& frame, const std::vector<Face>& detections) {
    FaceList found;
    found.searched = count_ % options_.interval == 0 || nothing_found_ || whole(out_.search_wanted);
    if (found.searched) {
      found.detector = kCascade;
      found.faces = detections;
      nothing_found_ = detections.empty();
      ++searches;
    } else if (out_.search_wanted) {
      found.detector = kCascade;
      found.part = out_.search_wanted;
      std::copy_if(
          detections.begin(), detections.end(), std::back_inserter(found.faces),
          [&](const Face& f) { return is_in(found.part, f.box, frame.rows, kBandBorder); });
      ++searches;
    }
    TrackInput input;
    input.pyramid = pyramids_[count_ % 2];
    input.pyramid->refer(view_of(frame));
    input.faces = &found;
    input.feedback = count_ > 0 && landmarker_ ? &feedback_ : nullptr;
    input.frame = static_cast<std::uint64_t>(count_++);
    input.elapsed = 1 / clip_.fps;
    if (!tracker_->enqueue(input, out_).ok()) std::abort();
    for (std::size_t i = 0; i < lost.size(); ++i) lost[i] += out_.lost_by[i];
    if (options_.events) print_events(found);
    if (landmarker_) add_landmarks(view_of(frame));
    return out_.faces;
  }

  int searches = 0;
  std::array<int, kLossCount> lost{};

 private:
  static constexpr int kSamples = 4;  // cufacelandmark's default

  static bool whole(const SearchRegion& what) { return what && !what.is_part(); }

  void print_events(const FaceList& found) const {
    if (out_.lost == 0 && !(found.searched && found.faces.size() != out_.faces.faces.size()))
      return;
    std::printf("  frame %d searched %d found %zu lost", count_ - 1, found.searched,
                found.faces.size());
    for (int n : out_.lost_by) std::printf(" %d", n);
    for (const Face& f : out_.faces.faces) {
      std::printf(" | id %llu age %d %.0f,%.0f %.0f", static_cast<unsigned long long>(f.id), f.age,
                  static_cast<double>(f.box.x), static_cast<double>(f.box.y),
                  static_cast<double>(f.box.w));
    }
    std::printf("\n");
  }

  void add_landmarks(ImageView<const std::uint8_t> luma) {
    feedback_ = out_.faces;
    feedback_.landmarks_per_face = model_->landmarks;
    feedback_.landmarks.resize(feedback_.faces.size() *
                               static_cast<std::size_t>(model_->landmarks));
    const BoxMap map = box_map_for(*model_, kCascade);
    std::vector<Box> boxes;
    for (const Face& f : feedback_.faces) boxes.push_back(f.box);
    feedback_.landmark_confidences.resize(
        landmarker_->has_confidences(kSamples) ? feedback_.landmarks.size() : 0);
    if (!landmarker_
             ->enqueue(luma, boxes, map, kSamples, feedback_.landmarks, {}, {},
                       feedback_.landmark_confidences)
             .ok())
      std::abort();
  }

  const Options& options_;
  std::shared_ptr<const ForestModel> model_;
  Clip clip_;
  std::shared_ptr<GaussianPyramid> pyramids_[2];  // in turns, as in culktrack
  std::unique_ptr<Tracker> tracker_;
  std::unique_ptr<SampledLandmarker> landmarker_;
  TrackOutput out_;
  FaceList feedback_;
  int count_ = 0;
  bool nothing_found_ = false;
};

void write_picture(const std::string& folder, const Clip& clip, std::size_t t, const cv::Mat& frame,
                   const Face& f) {
  cv::Mat picture;
  cv::cvtColor(frame, picture, cv::COLOR_GRAY2BGR);
  cv::rectangle(picture, cv::Rect2f(f.box.x, f.box.y, f.box.w, f.box.h), {0, 255, 0}, 2);
  char name[200];
  std::snprintf(name, sizeof name, "%s/%s-%04zu-%llu-age%d.jpg", folder.c_str(), clip.name, t,
                static_cast<unsigned long long>(f.id), f.age);
  cv::imwrite(name, picture);
}

void run(const Options& options, const std::shared_ptr<const ForestModel>& model,
         const Clip& clip) {
  const auto frames =
      test::read_clip(test::data_dir() + "/videos/" + clip.name, clip.width, clip.height, 100000);
  if (frames.empty()) {
    std::printf("%s: cannot be decoded\n", clip.name);
    return;
  }
  const Detections found = detect(frames, options.cache + "/" + clip.name + ".txt");
  Chain chain(options, model, clip);
  Detections tracked;
  for (std::size_t t = 0; t < frames.size(); ++t) {
    tracked.push_back(chain.step(frames[t], found[t]).faces);
    if (options.pictures.empty()) continue;
    for (const Face& f : tracked.back()) {
      if (!has(f, found[t])) write_picture(options.pictures, clip, t, frames[t], f);
    }
  }
  const Summary s = summarise(tracked, found);
  std::printf(
      "%-20.20s frames %4zu with_face %4d %5.1f%% faces %4d ids %2zu app %2d blink %2d short %2d "
      "search %4d "
      "lost pt %d res %d scale %d shape %d frame %d miss %d alone %d longest %d\n",
      clip.name, frames.size(), s.with_face,
      100.0 * s.with_face / static_cast<double>(frames.size()), s.faces, s.ids.size(),
      s.appearances, s.blinks, s.shorts, chain.searches, chain.lost[0], chain.lost[1],
      chain.lost[2], chain.lost[3], chain.lost[4], chain.lost[5], s.alone, s.longest_alone);
  std::fflush(stdout);
}

bool parse(int argc, char** argv, Options& o) {
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (arg == "--no-feedback" || arg == "--events") {
      (arg == "--events" ? o.events : o.feedback) = arg == "--events";
      continue;
    }
    if (value.empty()) return false;
    ++i;
    if (arg == "--cache")
      o.cache = value;
    else if (arg == "--clip")
      o.clip = value;
    else if (arg == "--pictures")
      o.pictures = value;
    else if (arg == "--interval")
      o.interval = std::atoi(value.c_str());
    else if (const auto eq = value.find('=');
             arg != "--set" || eq == std::string::npos ||
             !set(o.config, value.substr(0, eq), std::atof(value.c_str() + eq + 1)))
      return false;
  }
  return !o.cache.empty() && o.interval > 0 && validate(o.config).ok();
}

}  // namespace
}  // namespace cuface

int main(int argc, char** argv) {
  using namespace cuface;
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: see the top of tests/bench/track_clips.cc\n");
    return 2;
  }
  std::filesystem::create_directories(options.cache);
  std::shared_ptr<const ForestModel> model;
  if (options.feedback) {
    auto loaded = load_forest(test::model_dir() + "/shape_predictor_68_face_landmarks.dat");
    if (!loaded.ok()) {
      std::fprintf(stderr, "%s\n", loaded.status().message().c_str());
      return 1;
    }
    model = loaded.value();
  }
  for (const Clip& clip : kClips) {
    if (std::strstr(clip.name, options.clip.c_str())) run(options, model, clip);
  }
  return 0;
}
