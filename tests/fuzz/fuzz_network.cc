// libFuzzer: networks in our own format, by path as the element loads them, and networks built from
// choices, most of them valid, so that the bytes go into what a frame makes of them.
#include <string>

#include "models/container.h"
#include "models/models.h"
#include "tests/fuzz/file.h"
#include "tests/fuzz/frame.h"

namespace cuface::test {
namespace {

struct BuiltNetwork : NetworkModel {
  std::vector<float> values;
};

float number(FuzzedDataProvider& from) {
  return from.ConsumeIntegralInRange(0, 63) == 0
             ? from.ConsumeFloatingPointInRange(-3.4e38f, 3.4e38f)
             : static_cast<float>(from.ConsumeIntegral<std::int8_t>()) / 64;
}

class Builder {
 public:
  explicit Builder(FuzzedDataProvider& from) : from_(from) {}

  std::shared_ptr<const NetworkModel> build() {
    const int channels = pick(from_, {2, 1, 3, 5, 8, 17, 33});
    add({NetworkOp::kPictureConvolution, 0, 0, channels, from_.ConsumeBool()}, 27, 1);
    const int layers = from_.ConsumeIntegralInRange(0, 16);
    for (int i = 0; i < layers; ++i) add_layer();
    for (int depth = 0; depth <= kMaxNetworkDepth; ++depth) add_head(depth);
    std::vector<float> some(from_.ConsumeIntegralInRange<std::size_t>(1, 24));
    for (float& value : some) value = number(from_);
    model_->values.resize(used_);
    for (std::size_t i = 0; i < used_; ++i) model_->values[i] = some[i * 7 % some.size()];
    model_->weights = model_->values;
    return model_;
  }

 private:
  const NetworkLayer& layer(int tensor) const {
    return model_->layers[static_cast<std::size_t>(tensor) - 1];
  }
  int last() const { return static_cast<int>(model_->layers.size()); }

  int add(NetworkLayer made, int taps, int depth) {
    made.first_weight = used_;
    used_ += static_cast<std::size_t>(made.channels) * static_cast<std::size_t>(taps + 1);
    model_->layers.push_back(made);
    depths_.push_back(depth);
    return last();
  }

  void add_layer() {
    const int input = from_.ConsumeIntegralInRange(std::max(1, last() - 3), last());
    const int channels = layer(input).channels, depth = depths_[static_cast<std::size_t>(input)];
    switch (from_.ConsumeIntegralInRange(0, 4)) {
      case 0:
        add({NetworkOp::kPointwise, input, 0, pick(from_, {2, 1, 4, 7, 16, 31}),
             from_.ConsumeBool()},
            channels, depth);
        break;
      case 1:
        add({NetworkOp::kDepthwise, input, 0, channels, from_.ConsumeBool()}, 9, depth);
        break;
      case 2:
        if (depth < kMaxNetworkDepth) {
          add({NetworkOp::kMaxPool, input, 0, channels}, -1, depth + 1);
        }
        break;
      default:
        for (int other = 1; other <= last(); ++other) {
          if (depths_[static_cast<std::size_t>(other)] == depth - 1 &&
              layer(other).channels == channels) {
            add({NetworkOp::kUpsampleAdd, input, other, channels}, -1, depth - 1);
            break;
          }
        }
    }
  }

  void add_head(int depth) {
    for (int tensor = last(); tensor > 0 && model_->heads.size() < kMaxNetworkHeads; --tensor) {
      if (depths_[static_cast<std::size_t>(tensor)] != depth) continue;
      const auto part = [&](int channels) {
        return add({NetworkOp::kPointwise, tensor, 0, channels}, layer(tensor).channels, depth);
      };
      NetworkHead head;
      head.classes = part(1);
      head.objects = part(1);
      head.boxes = part(4);
      head.points = part(2 * kNetworkPoints);
      model_->heads.push_back(head);
      return;
    }
  }

  FuzzedDataProvider& from_;
  const std::shared_ptr<BuiltNetwork> model_ = std::make_shared<BuiltNetwork>();
  std::vector<int> depths_ = {0};  // by tensor
  std::size_t used_ = 0;           // weights
};

}  // namespace
}  // namespace cuface::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cuface;
  FuzzedDataProvider choices(data, size);
  if (Container::looks_like({data, size})) {
    const test::MendedFile file(data, size);
    const auto loaded = load_network(file.path());
    if (!loaded.ok()) return 0;
    const auto kind = model_kind(file.path());
    test::require(kind.ok() && kind.value() == ModelKind::kNetwork);
    test::look(loaded.value(), choices);
    return 0;
  }
  const auto built = test::Builder(choices).build();
  if (validate(*built).ok()) test::look(built, choices);
  return 0;
}
