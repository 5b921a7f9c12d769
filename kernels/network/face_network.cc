// The network on the CPU: the choice between the plain and the vector version, and decoding.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/common/guarded.h"
#include "kernels/common/simd.h"
#include "kernels/common/try.h"
#include "kernels/common/workers.h"
#include "kernels/network/cpu/integer_program.h"
#include "kernels/network/cpu/program.h"
#include "kernels/network/decode.h"
#include "kernels/network/integer_reference.h"
#include "kernels/network/integers.h"
#include "kernels/network/network.h"
#include "kernels/network/reference.h"

namespace cuface {
namespace {

using namespace network;

/// Rows of the picture that one thread takes at once, and pixels that several take.
constexpr int kRowsOfOneThread = 16;
constexpr int kPixelsTogether = 1 << 16;
/// Multiply-adds of a step that is shared, and between two looks at a flag.
constexpr std::size_t kWorkToShare = 1 << 21;
constexpr std::size_t kWorkPerLook = 1 << 24;
/// Pixels that are worth a thread of their own.
constexpr std::size_t kPixelsOfAThread = 160 * 1024;

class CpuFaceNetwork final : public FaceNetwork {
 public:
  /// `integers`: of the model, for that precision.
  CpuFaceNetwork(std::shared_ptr<const NetworkModel> model, std::optional<IntegerModel> integers,
                 NetworkPlan plan, const NetworkConfig& config, const StopFlag* stop)
      : model_(std::move(model)),
        integers_(std::move(integers)),
        plan_(std::move(plan)),
        stop_(stop),
        decoder_(plan_, config),
        cells_(plan_.cells) {
    const int threads = threads_for(config.threads);
    const int rows = threads > 1 ? rows_together() : kRowsOfOneThread;
    const bool vectors = simd::vectors() && Program::takes(*model_);
    if (integers_) {
      if (vectors) integer_program_.emplace(*model_, *integers_, plan_, rows);
      if (vectors && !integer_program_->allocate(cells_.data())) integer_program_.reset();
      if (!integer_program_) plain_integers_.emplace(*model_, *integers_, plan_);
    } else {
      if (vectors) program_.emplace(*model_, plan_, rows);
      if (vectors && !program_->allocate(cells_.data())) program_.reset();
      if (!program_) plain_.emplace(*model_, plan_);
    }
    if ((program_ || integer_program_) && threads > 1) workers_.emplace(threads);
  }

  Status enqueue(ImageView<const Bgr> picture, std::vector<NetworkFace>& out) override {
    out.clear();
    if (!picture.data || picture.width != plan_.width || picture.height != plan_.height) {
      return {StatusCode::kInvalidArgument, "the network was planned for another picture size"};
    }
    return guarded("running the network", [&]() -> Status {
      if (!run(picture)) return cancelled();
      return decoder_.decode(cells_, out, stop_) ? Status() : cancelled();
    });
  }

  std::span<const NetworkCell> cells() const override { return cells_; }

 private:
  bool run(ImageView<const Bgr> picture) {
    if (plain_) return plain_->run(picture, cells_, stop_);
    if (plain_integers_) return plain_integers_->run(picture, cells_, stop_);
    std::size_t work = kWorkPerLook;  // since the last look at the flag
    for (const Step& step : program_ ? program_->steps() : integer_program_->steps()) {
      const std::size_t all = step.work * static_cast<std::size_t>(step.rows);
      if ((work += all) > kWorkPerLook) {
        if (is_raised(stop_)) return false;
        work = 0;
      }
      const auto row = [&](int i, int) {
        if (program_) return make_row(*program_, step.node, step.first + i, picture);
        make_integer_row(*integer_program_, step.node, step.first + i, picture);
      };
      if (workers_ && all >= kWorkToShare) {
        workers_->run(step.rows, row);
      } else {
        for (int i = 0; i < step.rows; ++i) row(i, 0);
      }
    }
    return true;
  }

  int rows_together() const {
    return std::max(kPixelsTogether / plan_.padded_width, kRowsOfOneThread);
  }
  int threads_for(int asked) const {
    if (asked > 0) return std::min(asked, plan_.padded_height);
    const std::size_t pixels = static_cast<std::size_t>(plan_.padded_width) *
                               static_cast<std::size_t>(plan_.padded_height);
    const std::size_t useful = std::max<std::size_t>(pixels / kPixelsOfAThread, 1);
    return static_cast<int>(std::min(useful, static_cast<std::size_t>(Workers::processors())));
  }

  const std::shared_ptr<const NetworkModel> model_;
  const std::optional<IntegerModel> integers_;
  const NetworkPlan plan_;
  const StopFlag* const stop_;
  // One of them.
  std::optional<Program> program_;
  std::optional<PlainForward> plain_;
  std::optional<IntegerProgram> integer_program_;
  std::optional<PlainIntegers> plain_integers_;
  std::optional<Workers> workers_;  // of several threads
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
    std::optional<IntegerModel> integers;
    if (config.precision == NetworkPrecision::kInt16) {
      integers = in_integers(*model, stop);
      if (!integers) return cancelled();
    }
    return std::unique_ptr<FaceNetwork>(std::make_unique<CpuFaceNetwork>(
        std::move(model), std::move(integers), std::move(plan), config, stop));
  });
}

}  // namespace cuface
