// The common part of searches on CUDA, with a cascade or a network.
#pragma once

#include <memory>
#include <utility>

#include "gst/facedetect/backend.h"
#include "gst/faces/cuda/devicefaceframe.h"
#include "kernels/detect/cuda/schedule.h"

namespace cuface::gst {

/// Scratch that a few plans of a context share in turns.
Result<std::shared_ptr<cuda::Scratch>> device_scratch(std::size_t bytes);

/// Decides, searches and joins on the device; the host waits for nothing.
class CudaBackend : public DetectBackend {
 public:
  ~CudaBackend() override { owner_.stop.mirror_to(nullptr); }
  void restart() override { restart_ = true; }
  Result<FaceResult> run(Frame& frame, const DetectSettings& settings,
                         const SearchInputs& inputs) override;

 protected:
  CudaBackend(const std::string& name, BackendOwner owner)
      : owner_(std::move(owner)), name_(std::make_shared<const std::string>(name)) {}
  const BackendOwner& owner() const { return owner_; }

  Status allocate();
  /// Of the owner's stop flag, for the GPU.
  const std::uint32_t* stop() const { return stop_.data(); }
  cuda::SearchState* state() { return state_.data(); }

  virtual bool is_planned_for(const DetectSettings& settings) const = 0;
  virtual Status plan(const DetectSettings& settings, int width, int height) = 0;
  /// A frame on which a search may be due.
  struct Turn {
    Frame& frame;
    DeviceFrame& device;
    const DetectSettings& settings;
    bool every_frame;                     ///< as of SearchInputs
    bool due;                             ///< false: state()->run will be 0, the host knows
    const cuda::FollowedFaces* followed;  ///< may be null
    cuda::DeviceFaces* found;
  };
  /// Launches the search, for where state()->run says so.
  virtual Status search(const Turn& turn, cuda::Launcher launch) = 0;
  virtual cuda::Scratch& scratch() = 0;
  /// Changes in the picture that the search knows; null = none.
  virtual const cuda::Activity::State* moved() const { return nullptr; }

 private:
  bool may_be_due(const cuda::SearchBegin& begin, const FaceResult& followed);

  const BackendOwner owner_;
  const DetectorName name_;
  cuda::PinnedBuffer<std::uint32_t> stop_;
  cuda::DeviceBuffer<cuda::SearchState> state_;
  cuda::PinnedBuffer<cuda::ScheduleSeen> seen_;
  std::uint64_t last_frame_ = 0;         // as SearchBegin numbers it
  cuda::DeviceBuffer<std::byte> found_;  // by the last search
  bool restart_ = true;
};

}  // namespace cuface::gst
