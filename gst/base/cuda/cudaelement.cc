// The GPU side of elements: which context they work in, and what they keep there.
#include <gst/cuda/gstcudautils.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "gst/base/cuda/context.h"
#include "gst/base/cuda/deviceframe.h"
#include "gst/base/device.h"
#include "kernels/common/try.h"

namespace cuface::gst {
namespace {

using cuda::check;

Status refuse(std::string text) { return {StatusCode::kInvalidArgument, std::move(text)}; }

class CudaElement final : public DeviceElement {
 public:
  explicit CudaElement(GstElement* element) : element_(element) {}
  ~CudaElement() override { stop(); }

  Status start(int device_id, bool required) override {
    device_id_ = device_id;
    {
      const std::lock_guard lock(counts_mutex_);
      counted_ = {};
    }
    *kept_.waits = 0;
    kept_.clock.reset_total();
    return required ? given_context().status() : Status();
  }

  void stop() override {
    release();
    const std::lock_guard lock(context_mutex_);
    gst_clear_object(&given_);
  }

  void set_context(GstContext* context, int device_id) override {
    GstCudaContext* answer = nullptr;
    gst_cuda_handle_set_context(element_, context, device_id, &answer);
    if (!answer) return;
    const std::lock_guard lock(context_mutex_);
    // Who asks in this very thread looks for the answer there.
    if (asking_ == std::this_thread::get_id() && !*asked_)
      *asked_ = GST_CUDA_CONTEXT(gst_object_ref(answer));
    if (!given_) given_ = GST_CUDA_CONTEXT(gst_object_ref(answer));
    gst_object_unref(answer);
  }

  bool answer_query(GstQuery* query) override {
    CudaContext context;
    {
      const std::lock_guard lock(context_mutex_);
      context = CudaContext(given_);
    }
    return context && gst_cuda_handle_context_query(element_, query, context.get());
  }

  Result<bool> finds_other(Frame& frame, bool in_cuda_memory) override {
    if (in_cuda_memory && kept_.context && is_of(frame.buffer(), kept_.context)) return false;
    CUFACE_TAKE(wanted, in_cuda_memory ? memory_context(frame) : chain_context(frame));
    if (kept_.context && wanted == kept_.context) return false;
    const int there = wanted.device_id();
    if (device_id_ >= 0 && there != device_id_)
      return refuse("the frame lies on CUDA device " + std::to_string(there) +
                    ", this element works on device " + std::to_string(device_id_) +
                    " (cuda-device-id); let decoder and face elements use the same GPU");
    if (kept_.context && there != kept_.context.device_id())
      return refuse("the frame lies on CUDA device " + std::to_string(there) +
                    ", those before it on device " + std::to_string(kept_.context.device_id()) +
                    "; let all decoders before the face elements use the same GPU");
    next_ = std::move(wanted);
    return true;
  }

  Status adopt() override {
    release();
    kept_.context = std::move(next_);
    const Status status = make_kept();
    if (!status.ok()) release();  // or the next frame would take it for whole
    return status;
  }

  void enter() override {
    if (kept_.context && gst_cuda_context_push(kept_.context.get())) ++entered_;
  }
  void leave() override {
    if (entered_ == 0) return;
    gst_cuda_context_pop(nullptr);
    --entered_;
  }

  void settle() override {
    if (kept_.last_chain && kept_.mark_last().ok()) cudaEventSynchronize(kept_.last);
  }

  DeviceFrame* begin(Frame& frame, bool in_cuda_memory) override {
    frame_.emplace(kept_, frame, in_cuda_memory);
    return &*frame_;
  }

  Status end() override {
    const Status status = frame_->end();
    frame_.reset();
    if (const auto& built = kept_.graphs.built(); built.graphs != told_graphs_) {
      told_graphs_ = built.graphs;
      GST_DEBUG_OBJECT(element_, "CUDA graph %d: %d nodes, %d of them conditional", built.graphs,
                       built.nodes, built.conditional);
    }
    return status;
  }

  Counts counts() const override {
    const std::lock_guard lock(counts_mutex_);
    Counts counts = counted_;
    if (!kept_.counters.is_there()) return counts;
    // The GPU may be writing: each number is whole, and the next look sees the rest.
    const auto* now = reinterpret_cast<const volatile std::uint64_t*>(kept_.counters.told());
    Counts seen;
    std::copy_n(now, seen.size(), seen.begin());
    add_counts(counts, seen);
    return counts;
  }

  std::uint64_t device_time_ns() const override { return kept_.clock.ask(); }

  std::uint64_t waits() const override { return *kept_.waits; }

 private:
  /// From the application or a neighbour, or made for this element. Asking them runs their code,
  /// which may ask this element, or give it a context, in this thread and in others: no lock is
  /// held meanwhile.
  Result<CudaContext> given_context() {
    GstCudaContext* answer = nullptr;
    {
      const std::lock_guard lock(context_mutex_);
      if (given_) return CudaContext(given_);
      asked_ = &answer;
      asking_ = std::this_thread::get_id();
    }
    gst_cuda_ensure_element_context(element_, device_id_, &answer);
    const std::lock_guard lock(context_mutex_);
    asked_ = nullptr;
    asking_ = {};
    // One that somebody else gave in the meantime goes before one that was made for want of it.
    if (!given_) given_ = std::exchange(answer, nullptr);
    gst_clear_object(&answer);
    if (given_) return CudaContext(given_);
    const int devices = cuda_machine().devices;
    if (device_id_ >= devices)
      return Status(StatusCode::kNotFound,
                    "there is no CUDA device " + std::to_string(device_id_) +
                        ": this machine has " + std::to_string(devices) +
                        ", numbered from 0; set cuda-device-id to one of them");
    return Status(StatusCode::kNotFound, "cannot make a context on CUDA device " +
                                             std::to_string(std::max<int>(device_id_, 0)));
  }

  Result<CudaContext> memory_context(Frame& frame) {
    CudaContext context = context_of(frame.buffer());
    if (!context)
      return Status(StatusCode::kUnsupported,
                    "the caps say that the video lies in CUDA memory, but it does not");
    return context;
  }

  /// For frames in system memory: the GPU of the elements before, if any works for this element.
  Result<CudaContext> chain_context(Frame& frame) {
    const auto before = on_device(frame.pending_before());
    if (before && (device_id_ < 0 || before->context().device_id() == device_id_))
      return before->context();
    if (kept_.context) return kept_.context;
    return given_context();
  }

  /// In the context chosen. What is made stays when something else cannot be.
  Status make_kept() {
    const ContextScope scope(kept_.context);
    CUFACE_TRY(check(cudaEventCreateWithFlags(&kept_.last, cudaEventDisableTiming),
                     "making a CUDA event"));
    CUFACE_TRY(kept_.clock.start());
    CUFACE_TRY(take(cuda::Mailbox::create(), kept_.post));
    CUFACE_TAKE(counters, cuda::TallyBuffer<Counts>::create());
    const std::lock_guard lock(counts_mutex_);
    kept_.counters = std::move(counters);
    return {};
  }

  void release() {
    if (!kept_.context) return;
    const ContextScope scope(kept_.context);
    settle();
    const std::lock_guard lock(counts_mutex_);
    if (kept_.counters.is_there()) add_counts(counted_, *kept_.counters.told());
    if (kept_.last) cudaEventDestroy(kept_.last);
    kept_.graphs = {};
    told_graphs_ = 0;
    kept_.clock.stop();
    kept_.own.reset();
    kept_.last_chain.reset();
    kept_.slots.reset();
    kept_.counters = {};
    kept_.post.reset();
    kept_.last = nullptr;
    kept_.context = {};
  }

  GstElement* const element_;
  int device_id_ = -1;  // set in start(), before there is a streaming thread

  std::mutex context_mutex_;  // of the three below; never held while others are asked
  GstCudaContext* given_ = nullptr;
  GstCudaContext** asked_ = nullptr;  // where the asking thread waits for its answer
  std::thread::id asking_;            // none while nobody asks

  mutable std::mutex counts_mutex_;  // of the counters and counted_
  Counts counted_{};

  // The streaming thread's.
  DeviceKept kept_;
  CudaContext next_;
  std::optional<DeviceFrame> frame_;
  int entered_ = 0;
  int told_graphs_ = 0;  // in the log
};

}  // namespace

std::unique_ptr<DeviceElement> DeviceElement::create(GstElement* element) {
  return std::make_unique<CudaElement>(element);
}

const std::string& DeviceElement::missing() { return cuda_machine().missing; }

}  // namespace cuface::gst
