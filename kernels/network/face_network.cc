// The network on the CPU: the choice between the plain and the vector version, and decoding.
#include <memory>
#include <utility>
#include <vector>

#include "kernels/common/guarded.h"
#include "kernels/common/simd.h"
#include "kernels/common/try.h"
#include "kernels/network/decode.h"
#include "kernels/network/network.h"
#include "kernels/network/reference.h"

namespace cuface {
namespace {

using namespace network;

class CpuFaceNetwork final : public FaceNetwork {
 public:
  CpuFaceNetwork(std::shared_ptr<const NetworkModel> model, NetworkPlan plan,
                 const NetworkConfig& config, const StopFlag* stop)
      : model_(std::move(model)),
        plan_(std::move(plan)),
        stop_(stop),
        plain_(*model_, plan_),
        decoder_(plan_, config),
        cells_(plan_.cells) {}

  Status enqueue(ImageView<const Bgr> picture, std::vector<NetworkFace>& out) override {
    out.clear();
    if (!picture.data || picture.width != plan_.width || picture.height != plan_.height) {
      return {StatusCode::kInvalidArgument, "the network was planned for another picture size"};
    }
    return guarded("running the network", [&]() -> Status {
      if (!plain_.run(picture, cells_, stop_)) return cancelled();
      return decoder_.decode(cells_, out, stop_) ? Status() : cancelled();
    });
  }

  std::span<const NetworkCell> cells() const override { return cells_; }

 private:
  const std::shared_ptr<const NetworkModel> model_;
  const NetworkPlan plan_;
  const StopFlag* const stop_;
  PlainForward plain_;
  Decoder decoder_;
  std::vector<NetworkCell> cells_;
};

}  // namespace

Result<std::unique_ptr<FaceNetwork>> FaceNetwork::create(Backend backend,
                                                         std::shared_ptr<const NetworkModel> model,
                                                         const NetworkConfig& config, int width,
                                                         int height, const StopFlag* stop) {
  using Made = Result<std::unique_ptr<FaceNetwork>>;
  if (backend != Backend::kCpu) {
    return Status(StatusCode::kUnsupported, "this create() makes networks for the CPU only");
  }
  return guarded("planning the network", [&]() -> Made {
    CUFACE_TRY(simd::status());
    if (!model) return Status(StatusCode::kInvalidArgument, "a network needs a model");
    CUFACE_TRY(validate(*model));
    CUFACE_TRY(validate(config));
    CUFACE_TAKE(plan, plan_network(*model, width, height));
    return std::unique_ptr<FaceNetwork>(
        std::make_unique<CpuFaceNetwork>(std::move(model), std::move(plan), config, stop));
  });
}

}  // namespace cuface
