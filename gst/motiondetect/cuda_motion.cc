#include "gst/motiondetect/cuda_motion.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "gst/base/cuda/deviceframe.h"
#include "gst/meta/edges.h"
#include "gst/motiondetect/motionmap.h"
#include "kernels/common/try.h"
#include "kernels/edges/cuda/detector.h"
#include "kernels/luma/write.h"
#include "kernels/luma/write_cuda.h"
#include "kernels/motion/cuda/detector.h"

namespace cuface::gst {
namespace {

using Bits = ImageView<const std::uint64_t>;
using cuda::motion::MotionCounters;

static_assert(sizeof(MotionCounters) <= sizeof(Counts));
constexpr std::size_t offset_of(MotionCounter counter) {
  return static_cast<std::size_t>(counter) * sizeof(Counts::value_type);
}
static_assert(offsetof(MotionCounters, moving_frames) == offset_of(kMovingFrames) &&
              offsetof(MotionCounters, global_changes) == offset_of(kGlobalChanges) &&
              offsetof(MotionCounters, events) == offset_of(kEvents));

class CudaMotionFinder final : public DeviceMotionFinder {
 public:
  Status make(Frame& frame, const MotionConfig& config,
              ImageView<const std::uint8_t> ignored) override {
    const int width = frame.width(), height = frame.height();
    CUFACE_TRY(frame.device()->settle());
    detector_.reset();
    CUFACE_TAKE(made, cuda::MotionDetector::create(config, width, height));
    CUFACE_TRY(made.ignore(ignored));
    made.count_in(reinterpret_cast<MotionCounters*>(frame.device()->counters()));
    detector_.emplace(std::move(made));
    CUFACE_TRY(take(cuda::DeviceImage<std::uint8_t>::create(width, height), picture_));
    on_host_ = {width, height};
    if (config.method != MotionMethod::kEdges) return {};
    cuda::ScratchLayout layout;
    CUFACE_TAKE(edges, cuda::EdgeDetector::create({}, width, height, layout));
    const auto map = layout.add<std::uint64_t>(static_cast<std::size_t>(words_of(width)) *
                                               static_cast<std::size_t>(height));
    CUFACE_TRY(take(cuda::DeviceBuffer<std::byte>::create(layout.bytes()), scratch_));
    edges.bind(scratch_.data());
    edges_.emplace(std::move(edges));
    map_ = map;
    map_.bind(scratch_.data());
    return {};
  }

  void forget() override {
    if (detector_) detector_->forget();
  }
  void finish() override {
    if (detector_) detector_->finish();
  }

  Result<MotionFound> look(Frame& frame, std::int64_t time, MotionOutput output,
                           std::uint64_t ids_before) override {
    DeviceFrame& device = *frame.device();
    CUFACE_TAKE(launch, device.launcher());
    const MotionPlan plan = detector_->plan();
    CUFACE_TAKE(motion,
                device.new_raw_result(
                    sizeof(MotionResult),
                    [plan, ids_before](const std::byte* bytes) -> std::shared_ptr<const void> {
                      return motion_map(plan, *reinterpret_cast<const MotionResult*>(bytes),
                                        ids_before);
                    }));
    auto* out = reinterpret_cast<MotionResult*>(motion->written());
    if (plan.config.method == MotionMethod::kEdges) {
      CUFACE_TAKE(edges, edges_of(frame, launch));
      CUFACE_TRY(detector_->enqueue(edges, time, out, launch));
    } else {
      CUFACE_TAKE(luma, device.luma());
      CUFACE_TRY(detector_->enqueue(luma, time, out, launch));
    }
    MotionFound found(motion, frame.width(), frame.height());
    if (output == MotionOutput::kMask)
      CUFACE_TRY(cuda::motion::unpack(detector_->mask(), picture_.view(), launch));
    if (output == MotionOutput::kCells)
      CUFACE_TRY(cuda::motion::draw_cells(plan, out, picture_.view(), launch));
    if (output == MotionOutput::kMeta || !device.in_cuda_memory()) {
      CUFACE_TRY(device.submit_result<MotionMap>(std::move(motion)));
      if (output != MotionOutput::kMeta) CUFACE_TRY(show_on_host(frame));
      return found;
    }
    CUFACE_TRY(draw(frame));
    device.add_drawn_result<MotionMap>(std::move(motion));
    return found;
  }

  Status show_nothing(Frame& frame) override {
    CUFACE_TAKE(launch, frame.device()->launcher());
    const ImageView<std::uint8_t> shown = picture_.view();
    CUFACE_TRY(cuda::motion::draw_cells(detector_->plan(), nullptr, shown, launch));
    if (frame.device()->in_cuda_memory()) return draw(frame);
    for (int y = 0; y < on_host_.height(); ++y)
      std::fill_n(on_host_.view().row(y), on_host_.width(), std::uint8_t{0});
    return write(frame);
  }

 private:
  /// Those of a cuedgedetect before this element; without one, by the defaults.
  Result<Bits> edges_of(Frame& frame, cuda::Launcher launch) {
    DeviceFrame& device = *frame.device();
    const int words = words_of(frame.width()), height = frame.height();
    const auto stride = words * static_cast<std::ptrdiff_t>(sizeof(std::uint64_t));
    const FoundEdges found = frame.find<Edges>().result;
    if (const auto known = on_device(found.pending);
        known && known->width() == frame.width() && known->height() == height) {
      CUFACE_TAKE(bytes, device.use(known));
      if (bytes) return Bits{reinterpret_cast<const std::uint64_t*>(bytes), words, height, stride};
    }
    const ImageView<std::uint64_t> own{map_.data(), words, height, stride};
    CUFACE_TAKE(known, found.read());
    if (known && known->width() == frame.width() && known->height() == height) {
      const Bits bits = known->bits.view();
      CUFACE_TAKE(chain, device.chain());
      // From memory that is not pinned: read before the call returns.
      CUFACE_TRY(cuda::check(
          cudaMemcpy2DAsync(own.data, static_cast<std::size_t>(stride), bits.data,
                            static_cast<std::size_t>(bits.stride), static_cast<std::size_t>(stride),
                            static_cast<std::size_t>(height), cudaMemcpyHostToDevice,
                            chain->stream()),
          "copying edges to the GPU"));
    } else {
      CUFACE_TAKE(luma, device.luma());
      CUFACE_TRY(edges_->enqueue(luma, {.bits = own}, launch));
      frame.count(kEdgeMaps, 1);
    }
    return Bits{own.data, words, height, stride};
  }

  /// Submits what has been launched before, too.
  Status draw(Frame& frame) {
    frame.change_pixels();
    return frame.device()->draw([&](const FrameView& view, cuda::Launcher to) {
      return cuda::write_grey(std::as_const(picture_).view(), view, to);
    });
  }

  Status show_on_host(Frame& frame) {
    CUFACE_TRY(frame.device()->download(std::as_const(picture_).view(), on_host_.view()));
    return write(frame);
  }
  Status write(Frame& frame) {
    return frame.write([&](const FrameView& view) -> Status {
      write_grey(std::as_const(on_host_).view(), view);
      return {};
    });
  }

  std::optional<cuda::MotionDetector> detector_;
  std::optional<cuda::EdgeDetector> edges_;  ///< of the method edges
  cuda::DeviceBuffer<std::byte> scratch_;
  cuda::ScratchPart<std::uint64_t> map_;     ///< edges that no element before has put there
  cuda::DeviceImage<std::uint8_t> picture_;  ///< what is shown
  Image<std::uint8_t> on_host_;              ///< of frames in system memory
};

}  // namespace

std::unique_ptr<DeviceMotionFinder> make_device_motion_finder() {
  return std::make_unique<CudaMotionFinder>();
}

}  // namespace cuface::gst
