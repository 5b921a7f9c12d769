#include <algorithm>
#include <utility>

#include "kernels/common/cuda/tables.h"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/try.h"
#include "kernels/detect/boxes.h"
#include "kernels/detect/cuda/upright.h"
#include "kernels/detect/searcher.h"
#include "kernels/group/box_rules.h"
#include "kernels/group/cuda/kernels.cuh"

namespace cuface::cuda {
namespace {

/// What the boxes of groups become.
struct Output {
  DeviceFaces* out;
  const std::int32_t* run;
  const SearchRegion* band;
  const SearchCounts* counts;
  std::int32_t width, height, searched_width, searched_height;
  std::int64_t max_faces;  // no padding: Launcher::begin_if()

  __device__ void begin() const {
    out->count = 0;
    out->landmarks_per_face = 0;
    out->followed_per_face = 0;
    out->has_confidences = 0;
    const bool part = band && band->is_part();
    out->searched = !idle(run) && !part;
    out->part = part ? *band : SearchRegion{};
    out->overflow = counts->raw > kMaxRawWindows;
  }

  /// False for a box that is none of the band's, or not in the picture.
  __device__ bool keep(Rect& box) const {
    return (!band || belongs(*band, box, searched_height)) &&
           clip(box, searched_width, searched_height);
  }

  /// A warp a group at a time: its place is the number of groups that come before it. Groups that
  /// are equal come in the order of the list; nobody can tell them apart.
  __device__ void operator()(const Detection* groups, std::uint32_t n, std::uint32_t first,
                             std::uint32_t step) const {
    const std::uint32_t lane = threadIdx.x % kWarp;
    for (std::uint32_t i = first; i < n; i += step) {
      const Detection group = groups[i];
      Rect box = group.box;
      if (!keep(box)) continue;
      int place = 0;
      for (std::uint32_t begin = 0; begin < n && place < max_faces; begin += kWarp) {
        const std::uint32_t j = begin + lane;
        const Detection other = groups[min(j, n - 1)];
        Rect other_box = other.box;
        const bool before = comes_before(other, group) || (j < i && !comes_before(group, other));
        place += __popc(__ballot_sync(kAllLanes, j < n && before && keep(other_box)));
      }
      if (place >= max_faces || lane > 0) continue;
      box = enlarged(box, width, height, searched_width, searched_height);
      write_found(out->faces[place], box, group.neighbors, Roll{});
      atomicMax(&out->count, place + 1);
    }
  }
};

ScratchPart<std::uint8_t> plan_image(ImageView<std::uint8_t>& image, int width, int height,
                                     ScratchLayout& parts) {
  const std::size_t stride = ScratchLayout::stride_of(width);
  image = {nullptr, width, height, static_cast<std::ptrdiff_t>(stride)};
  return parts.add<std::uint8_t>(stride * static_cast<std::size_t>(height));
}

}  // namespace

Status UprightSearch::plan(DeviceCascade& cascade, const DetectConfig& config, int width,
                           int height, const StopFlag* stop) {
  const SearchPlan plan = plan_search(config, width, height);
  width_ = width;
  height_ = height;
  searched_width_ = plan.width;
  searched_height_ = plan.height;
  max_faces_ = config.max_faces;
  scales_windows_ = config.scale_mode == ScaleMode::kWindow;
  ScratchLayout parts;
  if (config.detect_scale > 1) {
    small_part_ = plan_image(small_, plan.width, plan.height, parts);
    const std::vector<AtlasSlot> whole = {{0, 0, plan.width, plan.height}};
    CUFACE_TRY(take(LevelResize::create(width, height, whole), shrink_));
  }
  if (config.active_parts)
    CUFACE_TRY(take(Activity::create(plan.width, plan.height, width, height), activity_));
  CUFACE_TRY(scales_windows_ ? plan_windows(cascade, plan, parts)
                             : plan_pyramid(cascade, plan, parts, stop));
  CUFACE_TRY(take(Grouper::create(config.grouping, config.min_neighbors, kMaxRawWindows, parts),
                  grouper_));
  scratch_bytes_ = parts.bytes();
  return {};
}

Status UprightSearch::plan_pyramid(DeviceCascade& cascade, const SearchPlan& plan,
                                   ScratchLayout& parts, const StopFlag* stop) {
  const std::vector<Level> levels = plan_levels(cascade.model(), plan);
  windows_ = count_windows(levels);
  Atlas atlas;
  CUFACE_TRY(take(level_atlas(levels), atlas));
  if (is_raised(stop)) return cancelled();
  for (std::size_t i = 0; i < levels.size(); ++i)
    slots_.push_back({atlas.slots[i].x, atlas.slots[i].y, levels[i].width, levels[i].height});
  pixels_part_ = plan_image(pixels_, atlas.width, atlas.height, parts);
  CUFACE_TRY(take(CascadeSearch::create(cascade, levels, slots_, kMaxRawWindows, parts), search_));
  return take(LevelResize::create(plan.width, plan.height, slots_, stop), resize_);
}

Status UprightSearch::plan_windows(DeviceCascade& cascade, const SearchPlan& plan,
                                   ScratchLayout& parts) {
  const std::vector<ScaledWindows> windows = plan_scaled_windows(cascade.model(), plan);
  windows_ = count_windows(windows);
  integrals_.plan(plan.width, plan.height, cascade.model().has_tilted(), parts);
  return take(ScaledSearch::create(cascade, windows, kMaxRawWindows, parts), scaled_search_);
}

void UprightSearch::bind(std::byte* scratch) {
  small_part_.bind(scratch);
  small_.data = small_part_.data();
  grouper_.bind(scratch);
  if (scales_windows_) {
    integrals_.bind(scratch);
    scaled_search_.bind(scratch);
    return;
  }
  pixels_part_.bind(scratch);
  pixels_.data = pixels_part_.data();
  search_.bind(scratch);
}

Status UprightSearch::prepare(ImageView<const std::uint8_t> luma, const std::int32_t* run,
                              const SearchRegion* band, const FollowedFaces* followed,
                              Launcher launch, const StopLook& look) {
  CUFACE_TRY(cuda::look(look, launch));
  if (small_.width > 0) CUFACE_TRY(shrink_.enqueue(luma, small_, run, launch));
  if (!searches_parts()) return {};
  return activity_.enqueue(searched(luma), run, band, followed, launch);
}

const std::int32_t* UprightSearch::due(const std::int32_t* run) const {
  return run && searches_parts() ? activity_.due() : run;
}

Status UprightSearch::enqueue(ImageView<const std::uint8_t> luma, const std::int32_t* run,
                              const SearchRegion* band, DeviceFaces* out, Launcher launch,
                              const StopLook& look) {
  const ImageView<const std::uint8_t> picture = searched(luma);
  if (scales_windows_) {
    CUFACE_TRY(integrals_.enqueue(picture, run, scaled_search_.zeros(), launch));
    CUFACE_TRY(cuda::look(look, launch));
    CUFACE_TRY(scaled_search_.enqueue(integrals_, run, launch));
  } else {
    CUFACE_TRY(search_pyramid(picture, run, band, launch, look));
  }
  const Output output = {
      out, run, band, counts(), width_, height_, searched_width_, searched_height_, max_faces_};
  return grouper_.enqueue(raw_windows(), &counts()->raw, output, launch);
}

Status UprightSearch::search_pyramid(ImageView<const std::uint8_t> picture, const std::int32_t* run,
                                     const SearchRegion* band, Launcher launch,
                                     const StopLook& look) {
  const DeviceMap active = activity_.map();
  const std::int32_t* search = active.map ? activity_.search() : run;
  CUFACE_TRY(resize_.enqueue(picture, pixels_, search, launch, search_.zeros()));
  CUFACE_TRY(cuda::look(look, launch));
  if (active.map) CUFACE_TRY(cuda::look({look.stop, activity_.search()}, launch));
  return search_.enqueue(pixels_, search, band, active, launch);
}

}  // namespace cuface::cuda
