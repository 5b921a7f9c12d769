#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "kernels/common/cuda/raw.cuh"
#include "kernels/common/cuda/tables.h"
#include "kernels/common/lanes.h"
#include "kernels/common/try.h"
#include "kernels/detect/boxes.h"
#include "kernels/detect/cuda/detector.h"
#include "kernels/detect/searcher.h"
#include "kernels/turn/turn_cuda.h"

namespace cuface::cuda {
namespace {

Status invalid(const char* what) { return {StatusCode::kInvalidArgument, what}; }

struct Turns {
  int count;
  Turn turn[kMaxAngles];
};

/// What join_angles() reads and writes. In shared memory: made by fill().
struct AngleLists {
  int counts[kMaxAngles];
  int number[kMaxAngles][kMaxFaces];  ///< of neighbours
  Rect boxes[kMaxAngles][kMaxFaces];  ///< in the picture
  int angle_of[kMaxFaces];            ///< of the faces that are kept
  Box box_of[kMaxFaces];
  JoinScratch scratch;
  Turns turns;  ///< not by address: docs/design/detect.md, about arguments of kernels
  DeviceFaces* out;

  __device__ int count(int angle) const { return counts[angle]; }
  __device__ int neighbors(int angle, int place) const { return number[angle][place]; }
  __device__ Box box(int angle, int place) const { return as_box(boxes[angle][place]); }
  __device__ int kept_angle(int k) const { return angle_of[k]; }
  __device__ const Box& kept_box(int k) const { return box_of[k]; }
  __device__ void keep(int k, int angle, int place) {
    angle_of[k] = angle;
    box_of[k] = box(angle, place);
    write_found(out->faces[k], boxes[angle][place], number[angle][place], turns.turn[angle].roll());
  }
  /// The faces of one angle whose centres are in the picture; by one lane.
  __device__ void fill(int angle, const DeviceFaces& found) {
    int n = 0;
    for (int i = 0; i < found.count; ++i) {
      const Box& b = found.faces[i].box;
      Rect box{static_cast<int>(b.x), static_cast<int>(b.y), static_cast<int>(b.w),
               static_cast<int>(b.h)};
      // Upright boxes are where they belong, cut to the picture as they are.
      if (angle > 0 && !turning::to_picture(turns.turn[angle], box)) continue;
      boxes[angle][n] = box;
      number[angle][n++] = found.faces[i].neighbors;
    }
    counts[angle] = n;
  }
};

/// One block.
__global__ void __launch_bounds__(kMaxFaces)
    join_kernel(Turns turns, int max_faces, const DeviceFaces* found, DeviceFaces* out) {
  __shared__ Raw<AngleLists> memory;
  __shared__ bool overflow;
  AngleLists& lists = memory.get();
  const BlockLanes lanes;
  lanes.once([&] {
    lists.turns = turns;
    lists.out = out;
    overflow = false;
    for (int a = 0; a < turns.count; ++a) overflow = overflow || found[a].overflow;
  });
  lanes.each(turns.count, [&](int a) { lists.fill(a, found[a]); });
  const int kept = overflow ? 0 : join_angles(lanes, lists, turns.count, max_faces, lists.scratch);
  lanes.once([&] {
    out->count = kept;
    out->landmarks_per_face = 0;
    out->followed_per_face = 0;
    out->has_confidences = 0;
    out->searched = found[0].searched;
    out->part = {};
    out->overflow = overflow;
  });
}

}  // namespace

Result<std::unique_ptr<Detector>> Detector::create(std::shared_ptr<const CascadeModel> model,
                                                   const DetectConfig& config, int width,
                                                   int height, const ScratchSource& scratch,
                                                   const StopFlag* stop) {
  if (!model) return invalid("there is no cascade");
  CUFACE_TRY(validate(*model));
  CUFACE_TRY(validate_search(config, width, height));
  if (config.max_faces > kMaxFaces)
    return Status(StatusCode::kUnsupported,
                  "CUDA keeps at most " + std::to_string(kMaxFaces) + " faces");
  try {
    std::unique_ptr<Detector> detector(new Detector);
    CUFACE_TRY(detector->plan(*model, config, width, height, scratch, stop));
    return Result<std::unique_ptr<Detector>>(std::move(detector));  // nvcc does not move by itself
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kOutOfMemory, "no memory to search a picture of this size");
  }
}

Status Detector::plan(const CascadeModel& model, const DetectConfig& config, int width, int height,
                      const ScratchSource& scratch, const StopFlag* stop) {
  max_faces_ = config.max_faces;
  DetectConfig one = config;
  one.active_parts = config.active_parts && can_search_bands(config);
  std::size_t search_bytes = 0, canvas_bytes = 0;
  DeviceCascade cascade(model);
  for (const double angle : search_angles(config.roll)) {
    const Turn turn = make_turn(angle, width, height);
    turns_.push_back(turn);
    const std::size_t same = search_of(turns_.size() - 1);
    if (same < searches_.size()) {
      windows_ += searches_[same].windows();
      continue;
    }
    if (turns_.size() > 1) {
      one.min_neighbors = turned_neighbors(config.min_neighbors);
      CUFACE_TRY(validate_search(one, turn.canvas_width, turn.canvas_height));
      canvas_bytes = std::max(canvas_bytes, ScratchLayout::stride_of(turn.canvas_width) *
                                                static_cast<std::size_t>(turn.canvas_height));
    }
    UprightSearch& search = searches_.emplace_back();
    CUFACE_TRY(search.plan(cascade, one, turn.canvas_width, turn.canvas_height, stop));
    windows_ += search.windows();
    search_bytes = std::max(search_bytes, search.scratch_bytes());
  }
  if (config.verify) {
    verifier_ = std::make_unique<Verifier>();
    CUFACE_TRY(verifier_->plan(cascade, config, width, height, stop));
    search_bytes = std::max(search_bytes, verifier_->search_bytes());
  }
  ScratchLayout parts;
  parts.add<std::byte>(search_bytes);
  if (turns_.size() > 1) {
    canvas_ = parts.add<std::uint8_t>(canvas_bytes);
    found_ = parts.add<DeviceFaces>(turns_.size());
  }
  if (verifier_) verifier_->add_parts(parts);
  scratch_bytes_ = parts.bytes();
  CUFACE_TRY(take(scratch(scratch_bytes_), scratch_));
  for (UprightSearch& search : searches_) search.bind(scratch_->data());
  canvas_.bind(scratch_->data());
  found_.bind(scratch_->data());
  if (verifier_) verifier_->bind(scratch_->data());
  return {};
}

Status Detector::enqueue(ImageView<const std::uint8_t> luma, const std::int32_t* run,
                         DeviceFaces* out, Launcher launch, const SearchRegion* band,
                         const FollowedFaces* followed) {
  if (luma.width != turns_[0].width || luma.height != turns_[0].height || !luma.data)
    return invalid("the picture does not have the planned size");
  if (!out) return invalid("there is no room for faces");
  // In front of the node too, which then skips all of a search that waits in a queue.
  CUFACE_TRY(look(stop_, launch));
  UprightSearch& upright = searches_[0];
  const auto prepare = [&] { return upright.prepare(luma, run, band, followed, launch, stop_); };
  // What is active is known before the if: mostly nothing is.
  const bool of_parts = turns_.size() == 1 && upright.searches_parts();
  if (of_parts) CUFACE_TRY(prepare());
  if (run) launch.begin_if(upright.due(run));
  if (turns_.size() > 1) {
    CUFACE_TRY(enqueue_angles(luma, run, out, launch));
  } else {
    if (!of_parts) CUFACE_TRY(prepare());
    CUFACE_TRY(upright.enqueue(luma, run, band, out, launch, stop_));
  }
  if (verifier_ && followed)
    CUFACE_TRY(verifier_->enqueue(luma, run, band, activity().state(), followed, out, launch));
  if (run) launch.end_if();
  return {};
}

Status Detector::enqueue_angles(ImageView<const std::uint8_t> luma, const std::int32_t* run,
                                DeviceFaces* out, Launcher launch) {
  Turns turns;
  turns.count = static_cast<int>(turns_.size());
  std::copy(turns_.begin(), turns_.end(), turns.turn);
  for (std::size_t i = 0; i < turns_.size(); ++i) {
    ImageView<const std::uint8_t> upright = luma;
    if (i > 0) {
      const Turn& turn = turns_[i];
      const ImageView<std::uint8_t> canvas{
          canvas_.data(), turn.canvas_width, turn.canvas_height,
          static_cast<std::ptrdiff_t>(ScratchLayout::stride_of(turn.canvas_width))};
      CUFACE_TRY(turn_picture(luma, turn, canvas, run, launch));
      upright = canvas;
    }
    UprightSearch& search = searches_[search_of(i)];
    CUFACE_TRY(search.prepare(upright, run, nullptr, nullptr, launch, stop_));
    CUFACE_TRY(search.enqueue(upright, run, nullptr, found_.data() + i, launch, stop_));
  }
  return launch("joining what was found at each angle", join_kernel, {1, kMaxFaces}, turns,
                max_faces_, found_.data(), out);
}

}  // namespace cuface::cuda
