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
  out->followed_per_face = 0;
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
                                                   int height, const ScratchSource& scratch) {
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
    if (Status s = detector->plan(*model, config, width, height, scratch); !s.ok()) return s;
    return Result<std::unique_ptr<Detector>>(std::move(detector));  // nvcc does not move by itself
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kOutOfMemory, "no memory to search a picture of this size");
  }
}

Status Detector::plan(const CascadeModel& model, const DetectConfig& config, int width, int height,
                      const ScratchSource& scratch) {
  const SearchPlan plan = plan_search(config, width, height);
  width_ = width;
  height_ = height;
  searched_width_ = plan.width;
  searched_height_ = plan.height;
  max_faces_ = config.max_faces;
  ScratchLayout parts;
  const auto plan_image = [&](ImageView<std::uint8_t>& image, int w, int h) {
    const std::size_t stride = ScratchLayout::stride_of(w);
    image = {nullptr, w, h, static_cast<std::ptrdiff_t>(stride)};
    return parts.add<std::uint8_t>(stride * static_cast<std::size_t>(h));
  };
  ScratchPart<std::uint8_t> small;
  if (config.detect_scale > 1) {
    small = plan_image(small_, plan.width, plan.height);
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
  ScratchPart<std::uint8_t> pixels = plan_image(pixels_, atlas.width, atlas.height);
  if (Status s = take(LevelResize::create(plan.width, plan.height, slots_), resize_); !s.ok())
    return s;
  const bool tilted = model.has_tilted();
  const int plane_count = tilted ? 3 : 2;
  planes_.stride = static_cast<std::ptrdiff_t>(atlas.width) * plane_count;
  planes_.squared = atlas.width;
  planes_.tilted = tilted ? 2 * static_cast<std::ptrdiff_t>(atlas.width) : 0;
  if (Status s = take(CascadeSearch::create(model, levels, slots_, planes_, kMaxRawWindows, parts),
                      search_);
      !s.ok())
    return s;
  ScratchPart<std::uint32_t> sums;
  if (!search_.makes_sums()) {
    sums = parts.add<std::uint32_t>(static_cast<std::size_t>(planes_.stride) *
                                    static_cast<std::size_t>(atlas.height));
    if (Status s = take(LevelIntegrals::create(slots_, tilted, parts), integrals_); !s.ok())
      return s;
  }
  grouper_ = Grouper(config.grouping, config.min_neighbors, kMaxRawWindows, parts);

  scratch_bytes_ = parts.bytes();
  if (Status s = take(scratch(scratch_bytes_), scratch_); !s.ok()) return s;
  std::byte* memory = scratch_->data();
  small.bind(memory);
  small_.data = small.data();
  pixels.bind(memory);
  pixels_.data = pixels.data();
  if (!search_.makes_sums()) {
    sums.bind(memory);
    planes_.data = sums.data();
    integrals_.bind(memory);
  }
  search_.bind(memory);
  grouper_.bind(memory);
  return {};
}

Status Detector::enqueue(ImageView<const std::uint8_t> luma, const std::int32_t* run,
                         DeviceFaces* out, Launcher launch) {
  if (luma.width != width_ || luma.height != height_ || !luma.data)
    return invalid("the picture does not have the planned size");
  if (!out) return invalid("there is no room for faces");
  if (run) launch.begin_if(run);
  if (Status s = enqueue_search(luma, run, out, launch); !s.ok()) return s;
  if (run) launch.end_if();
  return {};
}

Status Detector::enqueue_search(ImageView<const std::uint8_t> luma, const std::int32_t* run,
                                DeviceFaces* out, Launcher launch) {
  if (Status s = launch("starting detection", start_kernel, {1, 1}, out, run); !s.ok()) return s;
  ImageView<const std::uint8_t> picture = luma;
  if (small_.width > 0) {
    if (Status s = shrink_.enqueue(luma, small_, run, launch); !s.ok()) return s;
    picture = small_;
  }
  if (Status s = resize_.enqueue(picture, pixels_, run, launch); !s.ok()) return s;
  if (!search_.makes_sums())
    if (Status s = integrals_.enqueue(pixels_, planes_, run, launch); !s.ok()) return s;
  if (Status s = search_.enqueue(pixels_, planes_, run, launch); !s.ok()) return s;
  if (Status s = grouper_.enqueue(search_.raw_windows(), &search_.counts()->raw, launch); !s.ok())
    return s;
  const Output output = {width_, height_, searched_width_, searched_height_, max_faces_};
  return launch("writing the faces", write_kernel, {kBlocks, kBlock}, output, grouper_.groups(),
                grouper_.group_count(), search_.counts(), out);
}

}  // namespace cuface::cuda
