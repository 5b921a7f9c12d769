// Three kernels: the lines of every face, the pixelated areas, and the painting, in which a block
// owns a tile of the frame and blends into it, one after the other, what draw_faces() would.
// Pictures on faces: picture_cuda.cu.
#include <algorithm>
#include <utility>

#include "kernels/common/cuda/runtime.h"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/try.h"
#include "kernels/overlay/overlay_cuda.h"
#include "kernels/overlay/picture_cuda.h"
#include "kernels/overlay/pixelate.cuh"
#include "kernels/overlay/raster.h"
#include "kernels/overlay/strokes.h"

namespace cuface::cuda {
namespace {

using raster::Ink;
using raster::Inks;
using raster::Outline;
using raster::Segment;
using raster::Span2;
using raster::Stroke;

constexpr int kTile = raster::kTile;
constexpr int kPaintThreads = 256;
constexpr int kPixelateThreads = 1024;
constexpr int kMaxTextStrokes = strokes::kMaxLabel * strokes::kMaxGlyphStrokes;
static_assert(kMaxFaces <= 64, "a 64-bit set of faces");

constexpr Span2 kNothing = {0, 0, 0, 0};

/// What a frame shows of one face. Its strokes: those of the landmarks, ink after ink, then those
/// of the text.
struct Prepared {
  Span2 area;  ///< pixels outside of it are not touched
  Outline outline;
  int has_outline;
  int landmark_strokes[raster::kLandmarkInks], text_strokes;
  Span2 landmark_area, text_area;  ///< text with its rim
};

/// What all kernels of a call get.
struct Job {
  FrameView frame;
  Inks inks;
  unsigned draw;
  int width;           ///< of lines
  int capacity;        ///< landmarks that a face may have
  int stroke_stride;   ///< strokes of one face
  int landmark_space;  ///< of these, those for landmarks
  const DeviceFaces* faces;
  LandmarkScheme scheme;  ///< points 0: that of their number
  Prepared* prepared;
  Stroke* strokes;
};

__device__ int face_count(const DeviceFaces& faces) { return min(max(faces.count, 0), kMaxFaces); }

__device__ int landmark_count(const Job& job) {
  const int n = job.faces->landmarks_per_face;
  return n > 0 && n <= job.capacity ? n : 0;
}

__device__ Span2 joined(const Span2& a, const Span2& b) {
  return a.empty() ? b : b.empty() ? a : raster::join(a, b);
}

// ---- the lines of every face -------------------------------------------------------------------

/// The sink of layout: strokes to memory, and the pixels that they may touch.
class StrokeList {
 public:
  __device__ StrokeList(Stroke* strokes, int space, int more_radius)
      : strokes_(strokes), space_(space), more_radius_(more_radius) {}
  __device__ void add(const Stroke& stroke) {
    if (count_ == space_) return;
    strokes_[count_++] = stroke;
    Stroke wide = stroke;
    wide.radius += more_radius_;
    area_ = joined(area_, raster::bounds(wide));
  }
  __device__ int count() const { return count_; }
  __device__ Span2 area() const { return area_; }

 private:
  Stroke* strokes_;
  int space_, more_radius_, count_ = 0;
  Span2 area_ = kNothing;
};

/// A block a face; its first thread lays out the landmarks, the first one of its second warp the
/// box and the text.
__global__ void prepare_kernel(Job job) {
  const int i = static_cast<int>(blockIdx.x);
  if (i >= face_count(*job.faces)) return;
  const Face& face = job.faces->faces[i];
  Prepared& out = job.prepared[i];
  Stroke* strokes = job.strokes + static_cast<std::ptrdiff_t>(i) * job.stroke_stride;
  const bool placed = strokes::is_near(face.box);
  __shared__ Span2 landmark_area;
  if (threadIdx.x == 0) {
    StrokeList list(strokes, job.landmark_space, 0);
    const int count = landmark_count(job);
    const LandmarkScheme scheme = scheme_for(&job.scheme, count);
    const strokes::FacePoints points{job.faces->landmarks_of(i), job.faces->confidences_of(i)};
    for (int ink = 0; ink < raster::kLandmarkInks; ++ink) {
      const int before = list.count();
      if ((job.draw & kDrawLandmarks) && count > 0 && (ink == 0 || points.confidences))
        strokes::add_landmarks(list, points, scheme, job.draw, job.width, ink);
      out.landmark_strokes[ink] = list.count() - before;
    }
    out.landmark_area = landmark_area = list.area();
  }
  Span2 area = kNothing;
  if (threadIdx.x == kWarp) {
    StrokeList list(strokes + job.landmark_space, kMaxTextStrokes, raster::kOne);
    if ((job.draw & (kDrawId | kDrawConfidence)) && placed) {
      const strokes::Label label = strokes::label_of(face, job.draw, job.frame.height, job.width);
      strokes::add_text(list, label, label.radius);
    }
    out.text_strokes = list.count();
    out.text_area = list.area();
    out.has_outline = (job.draw & kDrawBox) && placed;
    area = list.area();
    if (out.has_outline) {
      out.outline = strokes::outline_of(face.box, job.width);
      area = joined(area, raster::bounds(out.outline));
    }
  }
  __syncthreads();
  if (threadIdx.x == kWarp) out.area = joined(area, landmark_area);
}

// ---- pixelate ----------------------------------------------------------------------------------

/// Faces whose cells meet, directly or through others, are done by one block in their order; the
/// others do not see each other.
__global__ void __launch_bounds__(kPixelateThreads) pixelate_kernel(Job job) {
  const int count = face_count(*job.faces), self = static_cast<int>(blockIdx.x);
  if (self >= count) return;
  __shared__ Cells cells[kMaxFaces];
  __shared__ int group[kMaxFaces];  // the first face of those that meet
  const int i = static_cast<int>(threadIdx.x);
  if (i < count) {
    const Face& face = job.faces->faces[i];
    cells[i] = {kNothing, 1};
    if (strokes::is_near(face.box)) {
      const int points = landmark_count(job);
      const auto wanted = strokes::pixelation_of(
          face.box, points > 0 ? job.faces->landmarks_of(i) : nullptr, points);
      cells[i] = {raster::cells_of(job.frame.width, job.frame.height, wanted.area, wanted.block),
                  wanted.block};
    }
    group[i] = i;
  }
  for (int changed = 1; changed;) {
    __syncthreads();
    int first = i < count ? group[i] : 0;
    const int before = first;
    for (int k = 0; i < count && k < count; ++k)
      if (cells[i].meets(cells[k])) first = min(first, group[k]);
    __syncthreads();
    if (i < count) group[i] = first;
    changed = __syncthreads_or(first != before);
  }
  if (group[self] != self) return;

  const Span2 whole = {0, 0, job.frame.width, job.frame.height};
  const int warp = i / kWarp, warps = kPixelateThreads / kWarp, lane = i % kWarp;
  for (int face = self; face < count; ++face) {
    if (group[face] != self) continue;
    const Cells& c = cells[face];
    const int columns = c.columns(), n = columns * c.rows();
    for (int k = warp; k < 3 * n; k += warps) {
      const Component& component = job.frame.component[k / n];
      if (!component.data) continue;
      const int x = c.begin.x0 + k % n % columns * c.block;
      const int y = c.begin.y0 + k % n / columns * c.block;
      pixelate_cell(component, raster::intersect({x, y, x + c.block, y + c.block}, whole), lane);
    }
    __syncthreads();  // the next face reads what this one wrote
  }
}

// ---- painting ----------------------------------------------------------------------------------

/// The coverage of a tile's pixels and what fills it; in shared memory.
struct Canvas {
  std::uint16_t coverage[kTile][kTile];
  Segment segments[raster::kBatch];
  int segment_count;
};

/// Blends the canvas into all components.
__device__ void blend_tile(const FrameView& frame, const Span2& tile, const Ink& ink,
                           const Canvas& canvas) {
  for (int i = 0; i < 3; ++i) {
    const Component& c = frame.component[i];
    if (!c.data) continue;
    const int step_x = 1 << c.sub_x, step_y = 1 << c.sub_y, columns = kTile >> c.sub_x;
    for (int k = static_cast<int>(threadIdx.x); k < columns * (kTile >> c.sub_y);
         k += kPaintThreads) {
      const int x0 = k % columns * step_x, y0 = k / columns * step_y;
      const int x1 = min(x0 + step_x, tile.x1 - tile.x0), y1 = min(y0 + step_y, tile.y1 - tile.y0);
      int sum = 0;
      for (int y = y0; y < y1; ++y)
        for (int x = x0; x < x1; ++x) sum += canvas.coverage[y][x];
      if (sum == 0) continue;  // also where the sample lies outside of the frame
      std::uint8_t* at = raster::sample(c, (tile.x0 + x0) >> c.sub_x, (tile.y0 + y0) >> c.sub_y);
      raster::blend_sample(c, at, ink.value[static_cast<std::size_t>(i)], ink.alpha,
                           raster::mean_coverage(sum, (x1 - x0) * (y1 - y0)));
    }
  }
}

/// Calls coverage(x, y) for every pixel that this thread has of the tile.
template <typename Coverage>
__device__ void for_my_pixels(const Span2& tile, Canvas& canvas, Coverage coverage) {
  for (int k = static_cast<int>(threadIdx.x); k < kTile * kTile; k += kPaintThreads) {
    const int x = k % kTile, y = k / kTile;
    canvas.coverage[y][x] = coverage(tile.x0 + x, tile.y0 + y);
  }
}

__device__ void paint_outline(const Job& job, const Span2& tile, const Outline& outline,
                              Canvas& canvas) {
  const Outline in = raster::inner(outline);
  for_my_pixels(tile, canvas, [&](int x, int y) { return raster::coverage(outline, in, x, y); });
  __syncthreads();
  blend_tile(job.frame, tile, job.inks.box, canvas);
  __syncthreads();
}

/// In batches, as the CPU: within one nothing is blended twice.
__device__ void paint_strokes(const Job& job, const Span2& tile, const Stroke* strokes, int count,
                              int more_radius, const Ink& ink, Canvas& canvas) {
  if (ink.alpha == 0) return;
  for (int first = 0; first < count; first += raster::kBatch) {
    if (threadIdx.x == 0) canvas.segment_count = 0;
    __syncthreads();
    const int end = min(first + raster::kBatch, count);
    for (int i = first + static_cast<int>(threadIdx.x); i < end; i += kPaintThreads) {
      Stroke stroke = strokes[i];
      stroke.radius += more_radius;
      // In any order: the greatest coverage is wanted.
      if (!raster::intersect(raster::bounds(stroke), tile).empty())
        canvas.segments[atomicAdd(&canvas.segment_count, 1)] = raster::segment_of(stroke);
    }
    __syncthreads();
    const int segments = canvas.segment_count;
    if (segments > 0) {
      for_my_pixels(tile, canvas, [&](int x, int y) {
        std::uint16_t most = 0;
        for (int i = 0; i < segments; ++i) {
          const std::uint16_t c = canvas.segments[i].coverage(x, y);
          most = c > most ? c : most;
        }
        return most;
      });
      __syncthreads();
      blend_tile(job.frame, tile, ink, canvas);
    }
    __syncthreads();  // the canvas is free again
  }
}

/// A block a tile of the frame.
__global__ void __launch_bounds__(kPaintThreads) paint_kernel(Job job) {
  __shared__ Canvas canvas;
  __shared__ unsigned long long here;  // the faces that touch this tile
  const int count = face_count(*job.faces);
  if (count == 0) return;
  const int left = static_cast<int>(blockIdx.x) * kTile, top = static_cast<int>(blockIdx.y) * kTile;
  const Span2 tile = {left, top, min(left + kTile, job.frame.width),
                      min(top + kTile, job.frame.height)};
  const auto touches = [&](const Span2& area) { return !raster::intersect(area, tile).empty(); };
  if (threadIdx.x == 0) here = 0;
  __syncthreads();
  const int i = static_cast<int>(threadIdx.x);
  if (i < count && touches(job.prepared[i].area)) atomicOr(&here, 1ull << i);
  __syncthreads();
  for (unsigned long long left_over = here; left_over; left_over &= left_over - 1) {
    const int face = __ffsll(static_cast<long long>(left_over)) - 1;
    const Prepared& p = job.prepared[face];
    const Stroke* strokes = job.strokes + static_cast<std::ptrdiff_t>(face) * job.stroke_stride;
    if (p.has_outline && job.inks.box.alpha != 0 && touches(raster::bounds(p.outline)))
      paint_outline(job, tile, p.outline, canvas);
    if (touches(p.landmark_area)) {
      const Stroke* next = strokes;
      for (int ink = 0; ink < raster::kLandmarkInks; ++ink) {
        paint_strokes(job, tile, next, p.landmark_strokes[ink], 0, job.inks.landmark[ink], canvas);
        next += p.landmark_strokes[ink];
      }
    }
    if (touches(p.text_area)) {
      const Stroke* text = strokes + job.landmark_space;
      paint_strokes(job, tile, text, p.text_strokes, raster::kOne, job.inks.rim, canvas);
      paint_strokes(job, tile, text, p.text_strokes, 0, job.inks.text, canvas);
    }
  }
}

unsigned tiles(int n) { return static_cast<unsigned>((n - 1) / kTile + 1); }

class OverlayImpl final : public Overlay {
 public:
  static Result<std::unique_ptr<Overlay>> create(int landmarks) {
    if (landmarks < 0 || landmarks > kMostPoints)
      return Status(StatusCode::kInvalidArgument, "overlay: more landmarks than a model may have");
    auto self = std::unique_ptr<OverlayImpl>(new OverlayImpl);
    self->landmarks_ = landmarks;
    self->landmark_space_ = landmarks + kMaxLandmarkLines;
    self->stroke_stride_ = self->landmark_space_ + kMaxTextStrokes;
    CUFACE_TRY(take(DeviceBuffer<Prepared>::create(kMaxFaces), self->prepared_));
    CUFACE_TRY(take(DeviceBuffer<raster::PicturePlace>::create(kMaxFaces), self->places_));
    CUFACE_TRY(take(DeviceBuffer<Stroke>::create(static_cast<std::size_t>(kMaxFaces) *
                                                 static_cast<std::size_t>(self->stroke_stride_)),
                    self->strokes_));
    return Result<std::unique_ptr<Overlay>>(std::move(self));
  }

  Status enqueue(const FrameView& frame, ColorMatrix matrix, const DeviceFaces* faces,
                 const LandmarkScheme* scheme, const OverlayStyle& style,
                 Launcher launch) override {
    if (frame.width < 1 || frame.height < 1 || !frame.component[0].data || !faces)
      return {StatusCode::kInvalidArgument, "overlay: no frame or no faces"};
    if (style.draw == kDrawNone) return {};
    Job job;
    job.frame = frame;
    job.inks = raster::make_inks(frame, matrix, style);
    job.draw = style.draw;
    job.width = strokes::line_width(frame.height, style);
    job.capacity = landmarks_;
    job.stroke_stride = stroke_stride_;
    job.landmark_space = landmark_space_;
    job.faces = faces;
    if (scheme) job.scheme = *scheme;
    job.prepared = prepared_.data();
    job.strokes = strokes_.data();
    if (style.draw & kDrawPixelate) {
      CUFACE_TRY(launch("overlay: pixelate", pixelate_kernel, {kMaxFaces, kPixelateThreads}, job));
    }
    if ((style.draw & kDrawImage) && style.picture)
      CUFACE_TRY(overlay::draw_pictures({frame, *style.picture, style.picture_face, faces,
                                         job.scheme, landmarks_, places_.data()},
                                        launch));
    if ((style.draw & ~(kDrawPixelate | kDrawImage)) == kDrawNone) return {};
    CUFACE_TRY(launch("overlay: prepare", prepare_kernel, {kMaxFaces, 2 * kWarp}, job));
    return launch("overlay: paint", paint_kernel,
                  {dim3(tiles(frame.width), tiles(frame.height)), kPaintThreads}, job);
  }

 private:
  static constexpr int kMostPoints = 1 << 16;

  OverlayImpl() = default;

  int landmarks_ = 0, landmark_space_ = 0, stroke_stride_ = 0;
  DeviceBuffer<Prepared> prepared_;
  DeviceBuffer<Stroke> strokes_;
  DeviceBuffer<raster::PicturePlace> places_;  ///< of the picture on each face
};

}  // namespace

Result<std::unique_ptr<Overlay>> Overlay::create(int landmarks) {
  return OverlayImpl::create(landmarks);
}

}  // namespace cuface::cuda
