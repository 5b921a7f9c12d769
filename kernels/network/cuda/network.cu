#include <string>
#include <utility>

#include "kernels/common/cuda/tables.h"
#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "kernels/network/cuda/network.h"

namespace cuface::cuda {

Result<std::unique_ptr<FaceNetwork>> FaceNetwork::create(std::shared_ptr<const NetworkModel> model,
                                                         const NetworkConfig& config, int width,
                                                         int height, const ScratchSource& scratch) {
  using Made = Result<std::unique_ptr<FaceNetwork>>;
  return guarded("planning the network", [&]() -> Made {
    if (!model) return Status(StatusCode::kInvalidArgument, "a network needs a model");
    CUFACE_TRY(validate(*model));
    CUFACE_TRY(validate(config));
    if (config.precision != NetworkPrecision::kFloat) {
      return Status(StatusCode::kUnsupported, "CUDA computes a network in floats only");
    }
    if (config.max_faces > kMaxFaces) {
      return Status(StatusCode::kUnsupported,
                    "CUDA keeps at most " + std::to_string(kMaxFaces) + " faces");
    }
    std::unique_ptr<FaceNetwork> made(new FaceNetwork);
    CUFACE_TRY(take(plan_network(*model, width, height), made->plan_));
    CUFACE_TRY(made->make(*model, config, scratch));
    return Made(std::move(made));  // nvcc does not move by itself
  });
}

Status FaceNetwork::make(const NetworkModel& model, const NetworkConfig& config,
                         const ScratchSource& scratch) {
  ScratchLayout parts;
  cells_ = parts.add<NetworkCell>(plan_.cells);
  forward_.add_parts(model, plan_, parts);
  decode_.add_parts(plan_, config, parts);
  CUFACE_TRY(take(scratch(parts.bytes()), scratch_));
  cells_.bind(scratch_->data());
  decode_.bind(scratch_->data());
  return forward_.bind(model, plan_, scratch_->data(), cells_.data());
}

template <typename Decode>
Status FaceNetwork::enqueue_search(ImageView<const Bgr> picture, const std::int32_t* run,
                                   const Decode& decode, Launcher launch) {
  if (!picture.data || picture.width != plan_.width || picture.height != plan_.height) {
    return {StatusCode::kInvalidArgument, "the network was planned for another picture size"};
  }
  if (run) launch.begin_if(run);
  CUFACE_TRY(forward_.enqueue(picture, run, launch));
  CUFACE_TRY(decode());
  if (run) launch.end_if();
  return {};
}

Status FaceNetwork::enqueue(ImageView<const Bgr> picture, const std::int32_t* run,
                            DeviceNetworkFaces* out, Launcher launch) {
  if (!out) return {StatusCode::kInvalidArgument, "there is no room for faces"};
  return enqueue_search(
      picture, run, [&] { return decode_.enqueue(cells_.data(), run, out, launch); }, launch);
}

Status FaceNetwork::enqueue(ImageView<const Bgr> picture, const std::int32_t* run,
                            const FaceLimits& limits, int width, int height, DeviceFaces* out,
                            Launcher launch) {
  if (!out) return {StatusCode::kInvalidArgument, "there is no room for faces"};
  const NetworkTarget target{limits, static_cast<float>(width) / static_cast<float>(plan_.width),
                             static_cast<float>(height) / static_cast<float>(plan_.height), width,
                             height};
  return enqueue_search(
      picture, run, [&] { return decode_.enqueue(cells_.data(), run, target, out, launch); },
      launch);
}

}  // namespace cuface::cuda
