#include "gst/base/cuda/deviceframe.h"

#include <gst/cuda/gstcudamemory.h>

#include <algorithm>
#include <utility>

#include "kernels/common/try.h"

// GstCudaStream came with 1.24. Before, a frame's memory is ready when it is pushed.
#if GST_CHECK_VERSION(1, 24, 0)
#include <gst/cuda/gstcudastream.h>
#define CUFACE_HAVE_CUDA_STREAMS
#endif

namespace cuface::gst {
namespace {

using cuda::check;

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
    if (!element_.own || !element_.own->fits(element_.context, frame_.width(), frame_.height()))
      CUFACE_TRY(take(
          DeviceChain::create(element_.context, frame_.width(), frame_.height(), element_.waits),
          element_.own));
    chain = element_.own;
    CUFACE_TRY(chain->begin_frame());
    if (shared) shared->set_device(chain, generation);
  }
  if (element_.last_chain && element_.last_chain != chain) {
    CUFACE_TRY(element_.mark_last());
    CUFACE_TRY(
        check(cudaStreamWaitEvent(chain->stream(), element_.last, 0), "ordering CUDA streams"));
    element_.graphs = {};  // they record events of a chain that may go now
    element_.clock.time_first_frames();
  }
  chain_ = std::move(chain);
  work_ = &element_.work[element_.work_number++ % element_.work.size()];
  work_->clear();
  work_->use(element_.post.get());
  return element_.clock.begin(cuda::Launcher(*work_));
}

Result<cuda::Launcher> DeviceFrame::launcher() {
  CUFACE_TRY(join());
  return cuda::Launcher(*work_);
}

/// The stream orders the graph behind what was put there directly: uploads, and waits for the work
/// of others.
Status DeviceFrame::submit(cuda::Scratch* scratch) {
  CUFACE_TRY(element_.clock.end(cuda::Launcher(*work_)));
  const cudaStream_t on = chain_->stream();
  const auto submit_graph = [&] { return element_.graphs.submit(*work_, on); };
  const auto& owner = chain_->shared_stream();
  CUFACE_TRY(scratch ? scratch->take_turn(on, owner, submit_graph) : submit_graph());
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
  CUFACE_TRY(join());
  if (const auto view = chain_->luma(); view.data) return view;
  if (in_cuda_memory_) {
    CUFACE_TRY(read([&](const FrameView& view, cuda::Launcher launch) {
      return chain_->fill_luma(view, launch);
    }));
  } else {
    CUFACE_TRY(chain_->upload_luma(frame_));
  }
  return chain_->luma();
}

Status DeviceFrame::end_reading() {
  CUFACE_TAKE(use, chain_->use_frame(cuda::Launcher(*work_)));
#ifdef CUFACE_HAVE_CUDA_STREAMS
  writer_ = stream_of(cuda_memory_of(frame_.buffer()));
#endif
  // With a stream too: a decoder that goes (a new size) frees its surfaces, in no stream's order.
  frame_.record().uses.push_back(std::move(use));
  return {};
}

Result<DevicePyramid> DeviceFrame::pyramid() {
  CUFACE_TAKE(picture, luma());
  CUFACE_TAKE(pyramid, chain_->pyramid(picture));
  // What reads it has other arguments than on the frame before: graphs of their own.
  work_->set_variant(chain_->number_of(pyramid));
  return pyramid;
}

/// A chain's stream orders what reads a pyramid and who builds the next one there. Of another
/// chain's it knows nothing.
Status DeviceFrame::keep(const DevicePyramid& earlier) {
  CUFACE_TRY(join());
  if (earlier && chain_->number_of(earlier) < 0) chain_->keep(earlier);
  return {};
}

Result<DeviceChain*> DeviceFrame::chain() {
  CUFACE_TRY(join());
  return chain_.get();
}

Result<const std::byte*> DeviceFrame::use(const std::shared_ptr<const DeviceResult>& result) {
  CUFACE_TRY(join());
  if (!result || !(result->context() == element_.context))
    return static_cast<const std::byte*>(nullptr);
  // What writes there next is enqueued in this stream too, behind this.
  if (result->producer() == chain_->shared_stream()) return result->in_stream();
  if (!result->keep_slot()) return static_cast<const std::byte*>(nullptr);
  CUFACE_TRY(result->hold_back(chain_->stream()));
  chain_->keep(result);
  return static_cast<const std::byte*>(result->slot());
}

Result<std::shared_ptr<DeviceSlots>> DeviceFrame::slots(std::size_t bytes) {
  if (!element_.slots || element_.slots->slot_bytes() < bytes)
    CUFACE_TRY(take(DeviceSlots::create(element_.context, bytes), element_.slots));
  return element_.slots;
}

Result<std::shared_ptr<RawDeviceResult>> DeviceFrame::new_raw_result(
    std::size_t bytes, std::function<std::shared_ptr<const void>(const std::byte*)> value) {
  CUFACE_TAKE(room, slots(bytes));
  CUFACE_TAKE(made, DeviceResult::create<RawDeviceResult>(std::move(room)));
  made->set_decoder({bytes, [bytes](const std::byte*) { return bytes; }, std::move(value)});
  return made;
}

Status DeviceFrame::download(ImageView<const std::uint8_t> from, ImageView<std::uint8_t> to) {
  CUFACE_TRY(join());
  CUFACE_TRY(check(
      cudaMemcpy2DAsync(to.data, static_cast<std::size_t>(to.stride), from.data,
                        static_cast<std::size_t>(from.stride), static_cast<std::size_t>(to.width),
                        static_cast<std::size_t>(to.height), cudaMemcpyDeviceToHost,
                        chain_->stream()),
      "copying a picture from the GPU"));
  add_waits(1);
  return settle();
}

Status DeviceFrame::submit_counted() {
  const cuda::Tally<Counts> counters = element_.counters.get();
  CUFACE_TRY(cuda::count_over(chain_->shared_stream()->over(),
                              {counters.own->data(), counters.told->data()}, counters.own->size(),
                              cuda::Launcher(*work_)));
  return submit(nullptr);
}

Status DeviceFrame::settle() {
  CUFACE_TRY(join());
  return check(cudaStreamSynchronize(chain_->stream()), "waiting for the GPU");
}

Status DeviceFrame::hand_over() {
  CUFACE_TAKE(use, chain_->use_frame());
#ifdef CUFACE_HAVE_CUDA_STREAMS
  GstMemory* memory = cuda_memory_of(frame_.buffer());
  if (const cudaStream_t producer = stream_of(memory)) {
    GST_MINI_OBJECT_FLAG_SET(memory, GST_CUDA_MEMORY_TRANSFER_NEED_SYNC);
    frame_.record().uses.push_back(std::move(use));  // as in luma()
    return chain_->hold_back(producer);
  }
#endif
  use->wait();  // nobody behind knows our stream
  return {};
}

Status DeviceFrame::end() {
  if (!chain_) return {};
  if (writer_) CUFACE_TRY(chain_->hold_back(writer_));
  element_.last_chain = chain_;
  return {};
}

}  // namespace cuface::gst
