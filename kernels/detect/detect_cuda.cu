#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "kernels/common/cuda_table.h"
#include "kernels/detect/boxes.h"
#include "kernels/detect/detect_cuda.h"
#include "kernels/detect/searcher.h"
#include "kernels/group/rules.h"

namespace cuface::cuda {
namespace {

constexpr int kBlock = 256, kBlocks = 256;

__global__ void start_kernel(DeviceFaces* out, const std::int32_t* run) {
  out->count = 0;
  out->landmarks_per_face = 0;
  out->searched = !idle(run);
  out->overflow = 0;
}

/// What the boxes of groups become.
struct Output {
  int width, height, searched_width, searched_height;
  int max_faces;

  __device__ bool clipped(Rect& box) const { return clip(box, searched_width, searched_height); }
};

/// A thread a group at a time: its place is the number of groups that come before it. Groups that
/// are equal come in the order of the list; nobody can tell them apart.
__global__ void write_kernel(Output output, const Detection* groups, const std::uint32_t* count,
                             const SearchCounts* counts, DeviceFaces* out) {
  const std::uint32_t n = *count;
  const std::uint32_t first = blockIdx.x * blockDim.x + threadIdx.x;
  if (first == 0) out->overflow = counts->raw > kMaxRawWindows;
  for (std::uint32_t i = first; i < n; i += gridDim.x * blockDim.x) {
    const Detection group = groups[i];
    Rect box = group.box;
    if (!output.clipped(box)) continue;
    int place = 0;
    for (std::uint32_t j = 0; j < n && place < output.max_faces; ++j) {
      const Detection other = groups[j];
      const bool before = comes_before(other, group) || (j < i && !comes_before(group, other));
      Rect other_box = other.box;
      if (before && output.clipped(other_box)) ++place;
    }
    if (place >= output.max_faces) continue;
    box = enlarged(box, output.width, output.height, output.searched_width, output.searched_height);
    // Field by field, so that padding is left alone.
    Face& face = out->faces[place];
    face.id = 0;
    face.confidence = detection_confidence(group.neighbors);
    face.neighbors = group.neighbors;
    face.origin = Origin::kDetected;
    face.age = 0;
    face.box.x = static_cast<float>(box.x);
    face.box.y = static_cast<float>(box.y);
    face.box.w = static_cast<float>(box.w);
    face.box.h = static_cast<float>(box.h);
    atomicMax(&out->count, place + 1);
  }
}

Status invalid(const char* what) { return {StatusCode::kInvalidArgument, what}; }

}  // namespace

Result<std::unique_ptr<Detector>> Detector::create(std::shared_ptr<const CascadeModel> model,
                                                   const DetectConfig& config, int width,
                                                   int height) {
  if (!model) return invalid("there is no cascade");
  if (Status s = validate(*model); !s.ok()) return s;
  if (Status s = validate_search(config, width, height); !s.ok()) return s;
  if (config.scale_mode != ScaleMode::kPyramid)
    return Status(StatusCode::kUnsupported, "CUDA searches scaled pictures only");
  if (config.max_faces > kMaxFaces)
    return Status(StatusCode::kUnsupported,
                  "CUDA keeps at most " + std::to_string(kMaxFaces) + " faces");
  try {
    std::unique_ptr<Detector> detector(new Detector);
    if (Status s = detector->plan(*model, config, width, height); !s.ok()) return s;
    return Result<std::unique_ptr<Detector>>(std::move(detector));  // nvcc does not move by itself
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kOutOfMemory, "no memory to search a picture of this size");
  }
}

Status Detector::plan(const CascadeModel& model, const DetectConfig& config, int width,
                      int height) {
  const SearchPlan plan = plan_search(config, width, height);
  width_ = width;
  height_ = height;
  searched_width_ = plan.width;
  searched_height_ = plan.height;
  max_faces_ = config.max_faces;
  if (config.detect_scale > 1) {
    if (Status s = take(DeviceImage<std::uint8_t>::create(plan.width, plan.height), small_);
        !s.ok())
      return s;
    const std::vector<AtlasSlot> whole = {{0, 0, plan.width, plan.height}};
    if (Status s = take(LevelResize::create(width, height, whole), shrink_); !s.ok()) return s;
  }

  const std::vector<Level> levels = plan_levels(model, plan);
  std::vector<AtlasSlot> with_margin;  // sums take a row and a column more
  for (const Level& level : levels)
    with_margin.push_back({0, 0, level.width + 1, level.height + 1});
  const Atlas atlas = make_atlas(std::move(with_margin));
  for (AtlasSlot slot : atlas.slots) {
    --slot.width;
    --slot.height;
    slots_.push_back(slot);
  }
  if (Status s = take(DeviceImage<std::uint8_t>::create(atlas.width, atlas.height), pixels_);
      !s.ok())
    return s;
  if (Status s = take(LevelResize::create(plan.width, plan.height, slots_), resize_); !s.ok())
    return s;
  const bool tilted = model.has_tilted();
  const int plane_count = tilted ? 3 : 2;
  planes_.stride = static_cast<std::ptrdiff_t>(atlas.width) * plane_count;
  planes_.squared = atlas.width;
  planes_.tilted = tilted ? 2 * static_cast<std::ptrdiff_t>(atlas.width) : 0;
  const std::size_t words =
      static_cast<std::size_t>(planes_.stride) * static_cast<std::size_t>(atlas.height);
  if (Status s = take(DeviceBuffer<std::uint32_t>::create(words), words_); !s.ok()) return s;
  planes_.data = words_.data();
  if (Status s = take(LevelIntegrals::create(slots_, tilted), integrals_); !s.ok()) return s;
  const SumLayout layout = {static_cast<int>(planes_.stride), planes_.tilted};
  if (Status s = take(
          CascadeSearch::create(model, levels, slots_, layout, planes_.squared, kMaxRawWindows),
          search_);
      !s.ok())
    return s;
  return take(Grouper::create(config.grouping, config.min_neighbors, kMaxRawWindows), grouper_);
}

Status Detector::enqueue(ImageView<const std::uint8_t> luma, const std::int32_t* run,
                         DeviceFaces* out, cudaStream_t stream) {
  if (luma.width != width_ || luma.height != height_ || !luma.data)
    return invalid("the picture does not have the planned size");
  if (!out) return invalid("there is no room for faces");
  start_kernel<<<1, 1, 0, stream>>>(out, run);
  if (Status s = check_launch("starting detection"); !s.ok()) return s;
  ImageView<const std::uint8_t> picture = luma;
  if (small_.width() > 0) {
    if (Status s = shrink_.enqueue(luma, small_.view(), run, stream); !s.ok()) return s;
    picture = std::as_const(small_).view();
  }
  if (Status s = resize_.enqueue(picture, pixels_.view(), run, stream); !s.ok()) return s;
  if (Status s = integrals_.enqueue(std::as_const(pixels_).view(), planes_, run, stream); !s.ok())
    return s;
  if (Status s = search_.enqueue(planes_.data, run, stream); !s.ok()) return s;
  if (Status s = grouper_.enqueue(search_.raw_windows(), &search_.counts()->raw, stream); !s.ok())
    return s;
  const Output output = {width_, height_, searched_width_, searched_height_, max_faces_};
  write_kernel<<<kBlocks, kBlock, 0, stream>>>(output, grouper_.groups(), grouper_.group_count(),
                                               search_.counts(), out);
  return check_launch("writing the faces");
}

}  // namespace cuface::cuda
