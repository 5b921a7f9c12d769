#include "models/dlib_dat_writer.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/common/try.h"
#include "models/output_file.h"

namespace cuface {
namespace {

/// Integers and floats as models/dlib_dat.cc reads them, in dlib's own spelling of each.
class Writer {
 public:
  void integer(std::int64_t value) {
    std::uint64_t magnitude = static_cast<std::uint64_t>(value < 0 ? -value : value);
    const std::size_t control = bytes_.size();
    bytes_ += '\0';
    do {
      bytes_ += static_cast<char>(magnitude & 0xff);
      magnitude >>= 8;
    } while (magnitude != 0);
    const std::size_t length = bytes_.size() - control - 1;
    bytes_[control] = static_cast<char>(length | (value < 0 ? 0x80 : 0));
  }
  void count(std::size_t value) { integer(static_cast<std::int64_t>(value)); }

  /// Mantissa and exponent, without the mantissa's low bytes that are 0.
  void number(float value) {
    constexpr int kDigits = std::numeric_limits<float>::digits;
    int exponent = 0;
    auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), kDigits));
    exponent -= kDigits;
    for (int i = 0; i < 8 && mantissa % 256 == 0; ++i) {
      mantissa /= 256;
      exponent += 8;
    }
    integer(mantissa);
    integer(exponent);
  }

  void column(std::span<const float> values) {
    integer(-static_cast<std::int64_t>(values.size()));
    integer(-1);
    for (const float value : values) number(value);
  }

  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace

std::string dlib_dat_bytes(const ForestModel& m) {
  if (m.is_compact()) return {};
  const auto size = [](int value) { return static_cast<std::size_t>(value); };
  const std::size_t splits = size(m.splits_per_tree()), values = size(m.leaf_size());
  Writer out;
  out.integer(1);  // the format's version
  out.column(m.mean_shape);
  out.integer(m.stages);
  std::size_t tree = 0;
  for (int stage = 0; stage < m.stages; ++stage) {
    out.integer(m.trees);
    for (int i = 0; i < m.trees; ++i, ++tree) {
      out.count(splits);
      for (const ForestSplit& split : m.splits.subspan(tree * splits, splits)) {
        out.integer(split.a);
        out.integer(split.b);
        out.number(split.threshold);
      }
      out.count(splits + 1);
      for (std::size_t leaf = 0; leaf <= splits; ++leaf)
        out.column(m.leaves.subspan((tree * (splits + 1) + leaf) * values, values));
    }
  }
  out.integer(m.stages);
  for (std::size_t i = 0; i < m.anchors.size(); ++i) {
    if (i % size(m.pool) == 0) out.integer(m.pool);
    out.integer(m.anchors[i]);
  }
  out.integer(m.stages);
  for (std::size_t i = 0; i < m.deltas.size(); ++i) {
    if (i % (2 * size(m.pool)) == 0) out.integer(m.pool);
    out.number(m.deltas[i]);
  }
  return out.take();
}

Status write_dlib_dat(const ForestModel& model, const std::string& path) {
  CUFACE_TRY(validate(model));
  if (model.is_compact())
    return {StatusCode::kUnsupported, path + ": dlib's format has no compact leaves"};
  const std::string bytes = dlib_dat_bytes(model);
  return replace_file(path, {std::as_bytes(std::span(bytes))});
}

}  // namespace cuface
