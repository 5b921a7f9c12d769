#include <algorithm>

#include "kernels/common/cuda/raw.cuh"
#include "kernels/common/cuda/tables.h"
#include "kernels/common/lanes.h"
#include "kernels/common/try.h"
#include "kernels/detect/boxes.h"
#include "kernels/detect/cuda/verifier.h"
#include "kernels/detect/search_angles.h"

namespace cuface::cuda {

namespace {

constexpr int kThreads = 256;

/// What all kernels are told.
struct Task {
  PatchShape shape;
  int width, height;  ///< of the picture
  int max_faces;
};

/// Whether a face ought to have been found by the search and was not.
__device__ bool is_missed(const Task& task, const Followed& face, const SearchRegion& band,
                          const DeviceFaces& found) {
  if (!can_verify(face, task.shape, band, task.width, task.height)) return false;
  for (int i = 0; i < found.count; ++i)
    if (intersection_over_union(found.faces[i].box, face.box) >= verify::kSameFace) return false;
  return true;
}

/// A block a patch; each goes through all faces for itself.
__global__ void __launch_bounds__(kThreads)
    patches_kernel(ImageView<const std::uint8_t> luma, const Task task, const std::int32_t* run,
                   const SearchRegion* band, const Activity::State* moved,
                   const FollowedFaces* followed, const DeviceFaces* found,
                   ImageView<std::uint8_t> atlas, ChosenFaces* chosen) {
  __shared__ bool missed[kMaxFaces];
  __shared__ int face, count;
  __shared__ Raw<Patch> memory;
  Patch& patch = memory.get();
  const int index = static_cast<int>(blockIdx.x);
  const BlockLanes lanes;
  const bool none = band && (band->only_new() || (moved && moved->is_unchanged(*band)));
  const bool any = !idle(run) && !found->overflow && !none;
  const int faces = any ? followed->count : 0;
  lanes.each(faces, [&](int i) {
    missed[i] = is_missed(task, followed->faces[i], band ? *band : SearchRegion{0, 1}, *found);
  });
  lanes.once([&] {
    count = 0;
    face = -1;
    for (int i = 0; i < faces && count < kMostVerified; ++i) {
      if (!missed[i]) continue;
      if (count++ == index) face = i;
    }
    if (index == 0) chosen->count = count;
    if (face < 0) return;
    patch = patch_of(followed->faces[face], task.shape);
    chosen->patch[index] = patch;
  });
  if (count == 0) return;
  const PatchShape& shape = task.shape;
  const int left = index % kPatchColumns * shape.width;
  const int top = index / kPatchColumns * shape.height;
  lanes.each(shape.width * shape.height, [&](int i) {
    const int u = i % shape.width, v = i / shape.width;
    atlas.at(left + u, top + v) = face < 0 ? kOutside : patch_sample(luma, shape, patch, u, v);
  });
}

/// What join_angles() reads and writes: "at angle 0" is what the search has found. In shared
/// memory: made by fill().
struct VerifiedLists {
  int counts[2];
  Face searched[kMaxFaces];
  int number[kMostVerified];  ///< of neighbours
  Rect boxes[kMostVerified];  ///< in the picture
  Roll rolls[kMostVerified];
  int list_of[kMaxFaces];  ///< of the faces that are kept
  Box box_of[kMaxFaces];
  JoinScratch scratch;
  DeviceFaces* out;

  __device__ int count(int list) const { return counts[list]; }
  __device__ int neighbors(int list, int place) const {
    return list == 0 ? searched[place].neighbors : number[place];
  }
  __device__ Box box(int list, int place) const {
    return list == 0 ? searched[place].box : as_box(boxes[place]);
  }
  __device__ int kept_angle(int k) const { return list_of[k]; }
  __device__ const Box& kept_box(int k) const { return box_of[k]; }
  __device__ void keep(int k, int list, int place) {
    list_of[k] = list;
    box_of[k] = box(list, place);
    if (list == 0)
      out->faces[k] = searched[place];
    else
      write_found(out->faces[k], boxes[place], number[place], rolls[place]);
  }
  /// The best find of each patch; by one lane.
  __device__ void verified(const Task& task, const ChosenFaces& chosen, const DeviceFaces& found) {
    bool done[kMostVerified] = {};
    int n = 0;
    for (int k = 0; k < found.count; ++k) {
      const Box& b = found.faces[k].box;
      Rect box{static_cast<int>(b.x), static_cast<int>(b.y), static_cast<int>(b.w),
               static_cast<int>(b.h)};
      const int i = patch_at(box, task.shape);
      if (i >= chosen.count || done[i]) continue;
      const Patch& patch = chosen.patch[i];
      if (!from_patch(task.shape, patch, i, task.width, task.height, box)) continue;
      done[i] = true;
      number[n] = found.faces[k].neighbors;
      rolls[n] = patch.roll;
      boxes[n++] = box;
    }
    counts[1] = n;
  }
};

/// One block.
__global__ void __launch_bounds__(kMaxFaces)
    add_verified_kernel(const Task task, const ChosenFaces* chosen, const DeviceFaces* found,
                        DeviceFaces* out) {
  __shared__ Raw<VerifiedLists> memory;
  if (chosen->count == 0 || found->count == 0) return;
  VerifiedLists& lists = memory.get();
  const BlockLanes lanes;
  lanes.each(out->count, [&](int i) { lists.searched[i] = out->faces[i]; });
  lanes.once([&] {
    lists.out = out;
    lists.counts[0] = out->count;
    lists.verified(task, *chosen, *found);
  });
  const int kept = join_angles(lanes, lists, 2, task.max_faces, lists.scratch);
  lanes.once([&] { out->count = kept; });
}

ImageView<std::uint8_t> atlas_view(std::uint8_t* data, const PatchShape& shape) {
  return {data, shape.atlas_width(), shape.atlas_height(),
          static_cast<std::ptrdiff_t>(ScratchLayout::stride_of(shape.atlas_width()))};
}

}  // namespace

Status Verifier::plan(DeviceCascade& cascade, const DetectConfig& config, int width, int height,
                      const StopFlag* stop) {
  const CascadeModel& model = cascade.model();
  width_ = width;
  height_ = height;
  max_faces_ = config.max_faces;
  shape_ = patch_shape(model.window_width, model.window_height, config, width, height);
  return search_.plan(cascade, patch_search(shape_, config), shape_.atlas_width(),
                      shape_.atlas_height(), stop);
}

void Verifier::add_parts(ScratchLayout& parts) {
  atlas_ = parts.add<std::uint8_t>(ScratchLayout::stride_of(shape_.atlas_width()) *
                                   static_cast<std::size_t>(shape_.atlas_height()));
  found_ = parts.add<DeviceFaces>(1);
  chosen_ = parts.add<ChosenFaces>(1);
}

void Verifier::bind(std::byte* scratch) {
  search_.bind(scratch);
  atlas_.bind(scratch);
  found_.bind(scratch);
  chosen_.bind(scratch);
}

Status Verifier::enqueue(ImageView<const std::uint8_t> luma, const std::int32_t* run,
                         const SearchRegion* band, const Activity::State* moved,
                         const FollowedFaces* followed, DeviceFaces* out, Launcher launch) {
  const Task task{shape_, width_, height_, max_faces_};
  const ImageView<std::uint8_t> atlas = atlas_view(atlas_.data(), shape_);
  ChosenFaces* chosen = chosen_.data();
  CUFACE_TRY(launch("cutting out followed faces", patches_kernel, {kMostVerified, kThreads}, luma,
                    task, run, band, moved, followed, out, atlas, chosen));
  CUFACE_TRY(search_.prepare(atlas, &chosen->count, nullptr, nullptr, launch));
  CUFACE_TRY(search_.enqueue(atlas, &chosen->count, nullptr, found_.data(), launch));
  return launch("adding the faces verified", add_verified_kernel, {1, kMaxFaces}, task, chosen,
                found_.data(), out);
}

}  // namespace cuface::cuda
