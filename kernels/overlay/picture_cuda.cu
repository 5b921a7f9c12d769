// Two kernels: where the picture lies on every face, and the painting, in which a block owns a tile
// of the frame and blends into it, face after face, what draw_picture() would.
#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/common/cuda/tables.h"
#include "kernels/common/try.h"
#include "kernels/overlay/picture_cuda.h"

namespace cuface::cuda {
namespace overlay {
namespace {

using raster::kAlign;
using raster::kTile;
using raster::PicturePixel;
using raster::PicturePlace;
using raster::Span2;

constexpr int kThreads = 256;
static_assert(kMaxFaces <= 64, "a 64-bit set of faces");

__device__ int face_count(const DeviceFaces& faces) { return min(max(faces.count, 0), kMaxFaces); }

__device__ int count_of(const PictureJob& job) { return face_count(*job.faces); }
__device__ int count_of(const PlaneJob& job) { return min(max(*job.count, 0), job.most); }

/// A thread a face. An empty area where nothing is drawn.
__global__ void __launch_bounds__(kMaxFaces) place_kernel(const __grid_constant__ PictureJob job) {
  const int i = static_cast<int>(threadIdx.x);
  if (i >= face_count(*job.faces)) return;
  const int all = job.faces->landmarks_per_face;
  const int count = all > 0 && all <= job.capacity ? all : 0;
  const raster::FacePose pose =
      raster::pose_of(job.faces->faces[i], count > 0 ? job.faces->landmarks_of(i) : nullptr,
                      scheme_for(&job.scheme, count));
  job.places[i] = pose.is_usable() ? raster::place_picture(job.levels, job.face, pose,
                                                           job.frame.width, job.frame.height)
                                   : PicturePlace{};
}

/// A thread a plane.
__global__ void __launch_bounds__(kThreads) plane_kernel(const __grid_constant__ PlaneJob job) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count_of(job)) return;
  const auto* corners = reinterpret_cast<const Point*>(
      reinterpret_cast<const std::byte*>(job.corners) + i * job.stride);
  job.places[i] = raster::place_on_plane(job.levels, corners, job.frame.width, job.frame.height);
}

/// The pixels of a tile that the picture may touch, made longer to where a chroma sample ends.
__device__ Span2 visible(const Span2& area, const Span2& tile) {
  if (area.empty()) return {0, 0, 0, 0};
  constexpr int kMask = ~(kAlign - 1);
  return raster::intersect({area.x0 & kMask, area.y0 & kMask, (area.x1 + kAlign - 1) & kMask,
                            (area.y1 + kAlign - 1) & kMask},
                           tile);
}

/// What lies on a tile's pixels.
struct Canvas {
  PicturePixel pixels[kTile][kTile];
};

__device__ void blend(const Component& c, int part, const Span2& tile, const Canvas& canvas) {
  const int step_x = 1 << c.sub_x, step_y = 1 << c.sub_y, columns = kTile >> c.sub_x;
  for (int k = static_cast<int>(threadIdx.x); k < columns * (kTile >> c.sub_y); k += kThreads) {
    const int x0 = k % columns * step_x, y0 = k / columns * step_y;
    const int x1 = min(x0 + step_x, tile.x1 - tile.x0), y1 = min(y0 + step_y, tile.y1 - tile.y0);
    std::uint32_t alphas = 0, values = 0;
    for (int y = y0; y < y1; ++y)
      for (int x = x0; x < x1; ++x) {
        alphas += canvas.pixels[y][x].alpha;
        values += canvas.pixels[y][x].value[part];
      }
    if (alphas == 0) continue;  // also where the sample lies outside of the frame
    std::uint8_t* at = raster::sample(c, (tile.x0 + x0) >> c.sub_x, (tile.y0 + y0) >> c.sub_y);
    const auto n = static_cast<std::uint32_t>((x1 - x0) * (y1 - y0));
    raster::store(c, at, raster::with_picture(raster::load(c, at), c.depth, alphas, values, n));
  }
}

template <typename Job>
__global__ void __launch_bounds__(kThreads) picture_kernel(const __grid_constant__ Job job) {
  __shared__ Canvas canvas;
  __shared__ unsigned long long here;  // of 64 faces, or planes: whose picture touches this tile
  constexpr int kAtOnce = 64;
  const int count = count_of(job);
  const int left = static_cast<int>(blockIdx.x) * kTile, top = static_cast<int>(blockIdx.y) * kTile;
  const Span2 tile = {left, top, min(left + kTile, job.frame.width),
                      min(top + kTile, job.frame.height)};
  const int thread = static_cast<int>(threadIdx.x);
  for (int first = 0; first < count; first += kAtOnce) {
    if (thread == 0) here = 0;
    __syncthreads();
    if (thread < min(count - first, kAtOnce) &&
        !visible(job.places[first + thread].area, tile).empty())
      atomicOr(&here, 1ull << thread);
    __syncthreads();
    for (unsigned long long left_over = here; left_over; left_over &= left_over - 1) {
      const auto& place = job.places[first + __ffsll(static_cast<long long>(left_over)) - 1];
      const Span2 area = visible(place.area, tile);
      const raster::PictureLevel& level = job.levels.level[place.level];
      for (int k = thread; k < kTile * kTile; k += kThreads) {
        const int x = tile.x0 + k % kTile, y = tile.y0 + k / kTile;
        const bool inside = x >= area.x0 && x < area.x1 && y >= area.y0 && y < area.y1;
        canvas.pixels[k / kTile][k % kTile] =
            inside ? raster::picture_at(level, place, x, y) : PicturePixel{};
      }
      __syncthreads();
      for (int part = 0; part < 3; ++part)
        if (job.frame.component[part].data) blend(job.frame.component[part], part, tile, canvas);
      __syncthreads();  // the canvas is free again
    }
    __syncthreads();  // all have read `here`
  }
}

unsigned tiles(int n) { return static_cast<unsigned>((n - 1) / kTile + 1); }

}  // namespace

Status draw_pictures(const PictureJob& pictures, Launcher launch) {
  CUFACE_TRY(launch("overlay: place pictures", place_kernel, {1, kMaxFaces}, pictures));
  return launch("overlay: draw pictures", picture_kernel<PictureJob>,
                {dim3(tiles(pictures.frame.width), tiles(pictures.frame.height)), kThreads},
                pictures);
}

Status draw_pictures(const PlaneJob& planes, Launcher launch) {
  const auto blocks = static_cast<unsigned>((planes.most + kThreads - 1) / kThreads);
  CUFACE_TRY(launch("overlay: place pictures on planes", plane_kernel, {blocks, kThreads}, planes));
  return launch("overlay: draw pictures on planes", picture_kernel<PlaneJob>,
                {dim3(tiles(planes.frame.width), tiles(planes.frame.height)), kThreads}, planes);
}

}  // namespace overlay

Result<DevicePicture> DevicePicture::create(const raster::PictureLevels& levels) {
  std::vector<raster::PicturePixel> all;
  std::vector<std::size_t> begins;
  for (int i = 0; i < levels.count; ++i) {
    const raster::PictureLevel& level = levels.level[i];
    const std::size_t count =
        (static_cast<std::size_t>(level.width) + 2) * (static_cast<std::size_t>(level.height) + 2);
    begins.push_back(all.size());
    all.insert(all.end(), level.pixels, level.pixels + count);
  }
  DevicePicture made;
  CUFACE_TRY(take(upload(all), made.pixels_));
  made.levels_ = levels;
  for (int i = 0; i < levels.count; ++i)
    made.levels_.level[i].pixels = made.pixels_.data() + begins[static_cast<std::size_t>(i)];
  return Result<DevicePicture>(std::move(made));  // nvcc does not move by itself
}

}  // namespace cuface::cuda
