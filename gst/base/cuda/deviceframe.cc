#include "gst/base/cuda/deviceframe.h"

#include <gst/cuda/gstcudamemory.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

// GstCudaStream came with 1.24. Before, a frame's memory is ready when it is pushed.
#if GST_CHECK_VERSION(1, 24, 0)
#include <gst/cuda/gstcudastream.h>
#define CUFACE_HAVE_CUDA_STREAMS
#endif

namespace cuface::gst {
namespace {

using cuda::check;
using cuda::DeviceFaces;

static_assert(FaceSlots::kBlocks == cuda::Delivery::kMost);

GstMemory* cuda_memory_of(GstBuffer* buffer) {
  if (gst_buffer_n_memory(buffer) == 0) return nullptr;
  GstMemory* memory = gst_buffer_peek_memory(buffer, 0);
  return gst_is_cuda_memory(memory) ? memory : nullptr;
}

#ifdef CUFACE_HAVE_CUDA_STREAMS
/// The stream that whoever writes the memory works in, null when there is none.
cudaStream_t stream_of(GstMemory* memory) {
  GstCudaStream* stream = gst_cuda_memory_get_stream(GST_CUDA_MEMORY_CAST(memory));
  return stream ? gst_cuda_stream_get_handle(stream) : nullptr;
}
#endif

}  // namespace

CudaContext context_of(GstBuffer* buffer) {
  GstMemory* memory = cuda_memory_of(buffer);
  return memory ? CudaContext(GST_CUDA_MEMORY_CAST(memory)->context) : CudaContext();
}

bool is_of(GstBuffer* buffer, const CudaContext& context) {
  GstMemory* memory = cuda_memory_of(buffer);
  return memory && GST_CUDA_MEMORY_CAST(memory)->context == context.get();
}

int landmarks_capacity(const FaceResult& faces) {
  if (const DeviceFacesRef device = on_device(faces.pending)) return device->landmarks_capacity();
  return faces.list ? points_per_face(*faces.list) : 0;
}

DetectorName detector_of(const FaceResult& faces) {
  if (const DeviceFacesRef device = on_device(faces.pending)) return device->detector();
  return std::make_shared<const std::string>(faces.list ? faces.list->detector : "");
}

Status DeviceMapping::map(Frame& frame, GstMapFlags flags) {
  GstMemory* memory = cuda_memory_of(frame.buffer());
  if (!memory) return {StatusCode::kIo, "the frame does not lie in CUDA memory"};
  const GstVideoInfo* info = &frame.info();
  GstVideoInfo laid_out;
  if (!gst_buffer_get_video_meta(frame.buffer())) {
    const GstVideoInfo& layout = GST_CUDA_MEMORY_CAST(memory)->info;
    laid_out = frame.info();
    std::copy(std::begin(layout.stride), std::end(layout.stride), laid_out.stride);
    std::copy(std::begin(layout.offset), std::end(layout.offset), laid_out.offset);
    info = &laid_out;
  }
  const auto all =
      static_cast<GstMapFlags>(static_cast<int>(flags) | static_cast<int>(GST_MAP_CUDA) |
                               static_cast<int>(GST_VIDEO_FRAME_MAP_FLAG_NO_REF));
  if (!gst_video_frame_map(&frame_, info, frame.buffer(), all))
    return {StatusCode::kIo, "cannot map the video frame on the GPU"};
  mapped_ = true;
  view_ = frame_view(frame_, frame.geometry());
  return {};
}

/// The chain of the elements before, while they are in this thread and nobody can have touched a
/// pixel since; else one of the element's own.
Status DeviceFrame::join() {
  if (chain_) return {};
  Chain* shared = frame_.chain_with_these_pixels();
  const std::uint64_t generation = frame_.record().generation;
  std::shared_ptr<DeviceChain> chain = shared ? shared->device(generation) : nullptr;
  if (!chain || !chain->fits(element_.context, frame_.width(), frame_.height())) {
    if (!element_.own || !element_.own->fits(element_.context, frame_.width(), frame_.height())) {
      auto own =
          DeviceChain::create(element_.context, frame_.width(), frame_.height(), element_.waits);
      if (!own.ok()) return own.status();
      element_.own = std::move(own.value());
    }
    chain = element_.own;
    if (Status s = chain->begin_frame(); !s.ok()) return s;
    if (shared) shared->set_device(chain, generation);
  }
  if (element_.last_chain && element_.last_chain != chain) {
    if (Status s = element_.mark_last(); !s.ok()) return s;
    if (Status s =
            check(cudaStreamWaitEvent(chain->stream(), element_.last, 0), "ordering CUDA streams");
        !s.ok())
      return s;
    element_.graphs = {};  // they record events of a chain that may go now
    element_.clock.time_first_frames();
  }
  chain_ = std::move(chain);
  work_ = &element_.work[element_.turn++ % element_.work.size()];
  work_->clear();
  work_->use(element_.post.get());
  return element_.clock.begin(cuda::Launcher(*work_));
}

Result<cuda::Launcher> DeviceFrame::launcher() {
  if (Status s = join(); !s.ok()) return s;
  return cuda::Launcher(*work_);
}

/// The stream orders the graph behind what was put there directly: uploads, and waits for the work
/// of others.
Status DeviceFrame::submit(cuda::Scratch* scratch) {
  if (Status s = element_.clock.end(cuda::Launcher(*work_)); !s.ok()) return s;
  const cudaStream_t on = chain_->stream();
  const auto submit_graph = [&] { return element_.graphs.submit(*work_, on); };
  const auto& owner = chain_->shared_stream();
  if (Status s = scratch ? scratch->take_turn(on, owner, submit_graph) : submit_graph(); !s.ok())
    return s;
  owner->count_submission();
  return {};
}

Status DeviceFrame::follow_producer() {
#ifdef CUFACE_HAVE_CUDA_STREAMS
  if (const cudaStream_t producer = stream_of(cuda_memory_of(frame_.buffer())))
    return chain_->follow(producer);
#endif
  return {};
}

Result<ImageView<const std::uint8_t>> DeviceFrame::luma() {
  if (Status s = join(); !s.ok()) return s;
  if (const auto view = chain_->luma(); view.data) return view;
  if (!in_cuda_memory_) {
    if (Status s = chain_->upload_luma(frame_); !s.ok()) return s;
    return chain_->luma();
  }
  DeviceMapping mapping;
  if (Status s = mapping.map(frame_, GST_MAP_READ); !s.ok()) return s;
  if (Status s = follow_producer(); !s.ok()) return s;
  auto use = chain_->fill_luma(mapping.view(), cuda::Launcher(*work_));
  if (!use.ok()) return use.status();
#ifdef CUFACE_HAVE_CUDA_STREAMS
  writer_ = stream_of(cuda_memory_of(frame_.buffer()));
#endif
  // With a stream too: a decoder that goes (a new size) frees its surfaces, in no stream's order.
  frame_.record().uses.push_back(std::move(use.value()));
  return chain_->luma();
}

/// Null for faces that have left the GPU.
Result<const DeviceFaces*> DeviceFrame::use(const DeviceFacesRef& faces) {
  if (Status s = join(); !s.ok()) return s;
  // What writes there next is enqueued in this stream too, behind this.
  if (faces->producer() == chain_->shared_stream()) return faces->in_stream();
  if (!faces->keep_slot()) return static_cast<const DeviceFaces*>(nullptr);
  if (Status s = faces->hold_back(chain_->stream()); !s.ok()) return s;
  chain_->keep(faces);
  return static_cast<const DeviceFaces*>(faces->slot());
}

Result<const DeviceFaces*> DeviceFrame::upload(const FaceList& faces) {
  const int each = points_per_face(faces);
  if (Status s = make_slots(each); !s.ok()) return s;
  auto room = DeviceFacesResult::create(element_.slots);
  if (!room.ok()) return room.status();
  std::vector<std::byte> bytes(cuda::device_faces_bytes(each));
  auto* host = reinterpret_cast<DeviceFaces*>(bytes.data());
  const std::size_t count = std::min<std::size_t>(faces.faces.size(), cuda::kMaxFaces);
  host->count = static_cast<std::int32_t>(count);
  host->landmarks_per_face = faces.landmarks_per_face;
  host->followed_per_face = faces.landmarks_per_face > 0 ? 0 : faces.followed_per_face;
  host->searched = faces.searched;
  host->part = faces.part;
  std::copy_n(faces.faces.begin(), count, host->faces);
  const auto& points = faces.landmarks_per_face > 0 ? faces.landmarks : faces.followed;
  std::copy_n(points.begin(), count * static_cast<std::size_t>(each), host->landmarks());
  // From memory that is not pinned: read before the call returns.
  if (Status s = check(cudaMemcpyAsync(room.value()->slot(), bytes.data(), bytes.size(),
                                       cudaMemcpyHostToDevice, chain_->stream()),
                       "copying faces to the GPU");
      !s.ok())
    return s;
  chain_->keep(room.value());
  return static_cast<const DeviceFaces*>(room.value()->slot());
}

Result<const DeviceFaces*> DeviceFrame::faces(const FaceResult& faces) {
  if (!faces) return static_cast<const DeviceFaces*>(nullptr);
  if (Status s = join(); !s.ok()) return s;
  const DeviceFacesRef device = on_device(faces.pending);
  if (device && device->context() == element_.context && device->width() == faces.width &&
      device->height() == faces.height) {
    auto used = use(device);
    if (!used.ok() || used.value()) return used;
  }
  if (!faces.is_ready()) chain_->count_wait();
  const auto read = faces.read();
  if (!read.ok()) return read.status();
  return upload(*read.value());
}

Result<const DeviceFaces*> DeviceFrame::flags(const PendingFacesRef& faces) {
  const DeviceFacesRef device = on_device(faces);
  if (!device || !(device->context() == element_.context))
    return static_cast<const DeviceFaces*>(nullptr);
  return use(device);
}

Status DeviceFrame::make_slots(int landmarks) {
  if (element_.slots && element_.slots->landmarks() >= landmarks) return {};
  auto slots = FaceSlots::create(element_.context, landmarks);
  if (!slots.ok()) return slots.status();
  element_.slots = std::move(slots.value());
  return {};
}

Result<std::shared_ptr<DeviceFacesResult>> DeviceFrame::new_faces(int landmarks) {
  if (lists_ == made_.size())
    return Status(StatusCode::kInvalidArgument, "too many lists of faces for a frame");
  if (Status s = make_slots(landmarks); !s.ok()) return s;
  const std::uint64_t moved = element_.slots->moved();
  auto made = DeviceFacesResult::create(element_.slots, &element_.slots->block(lists_));
  if (made.ok()) made_[lists_++] = made.value();
  *element_.waits += element_.slots->moved() - moved;
  return made;
}

Result<FaceResult> DeviceFrame::finish(std::shared_ptr<DeviceFacesResult> faces,
                                       DetectorName detector, cuda::CountedWork work,
                                       cuda::Scratch* scratch) {
  const cuda::Launcher launch(*work_);
  work.over = chain_->shared_stream()->over();
  cuda::Delivery delivery;
  for (std::size_t i = 0; i < lists_; ++i) {
    delivery.from.list[i] = made_[i]->written();
    delivery.to.list[i] = made_[i]->slot();
  }
  if (Status s =
          cuda::count_faces(faces->written(), work, element_.counters.data(), launch, delivery);
      !s.ok())
    return s;
  if (Status s = submit(scratch); !s.ok()) return s;
  return submitted(std::move(faces), std::move(detector));
}

Result<FaceResult> DeviceFrame::submitted(std::shared_ptr<DeviceFacesResult> faces,
                                          DetectorName detector) {
  faces->describe(frame_.width(), frame_.height(), std::move(detector), chain_->shared_stream());
  return FaceResult(std::move(faces), frame_.width(), frame_.height());
}

Status DeviceFrame::settle() {
  if (Status s = join(); !s.ok()) return s;
  return check(cudaStreamSynchronize(chain_->stream()), "waiting for the GPU");
}

Status DeviceFrame::hand_over() {
  auto use = chain_->use_frame();
  if (!use.ok()) return use.status();
#ifdef CUFACE_HAVE_CUDA_STREAMS
  GstMemory* memory = cuda_memory_of(frame_.buffer());
  if (const cudaStream_t producer = stream_of(memory)) {
    GST_MINI_OBJECT_FLAG_SET(memory, GST_CUDA_MEMORY_TRANSFER_NEED_SYNC);
    frame_.record().uses.push_back(std::move(use.value()));  // as in luma()
    return chain_->hold_back(producer);
  }
#endif
  use.value()->wait();  // nobody behind knows our stream
  return {};
}

Status DeviceFrame::end() {
  if (!chain_) return {};
  if (writer_)
    if (Status s = chain_->hold_back(writer_); !s.ok()) return s;
  element_.last_chain = chain_;
  return {};
}

}  // namespace cuface::gst
