#include "models/dlib_dat.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <vector>

#include "models/box_map.h"
#include "models/confidence_json.h"

namespace cuface {
namespace {

static_assert(std::endian::native == std::endian::little, "integers are copied as they lie");

/// Shortest encoding of a float: two integers of a control byte and one byte each.
constexpr std::size_t kLeastFloatBytes = 4;

/// 2^exponent where that is a normal float.
float power_of_two(std::int64_t exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

/// mantissa * 2^exponent as dlib rounds it: the mantissa to float first, then scaled once.
float compose_float(std::int64_t mantissa, std::int64_t exponent) {
  const float value = static_cast<float>(mantissa);
  if (exponent >= -126 && exponent <= 127) return value * power_of_two(exponent);
  // dlib's marks for infinities and NaN; validate() refuses the result.
  if (exponent >= 32000) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(value, static_cast<int>(exponent));
}

/// Reads dlib's integers (a control byte: sign and length, then that many bytes, little end first)
/// and floats (mantissa, exponent). After the first failure everything reads 0 and `failure()` says
/// what happened where.
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::int64_t integer() {
    if (position_ >= bytes_.size()) return fail("the file ends");
    const std::uint8_t control = bytes_[position_];
    const std::size_t length = control & 0x0f;
    if ((control & 0x70) != 0 || length < 1 || length > 8) return fail("no number");
    if (bytes_.size() - position_ - 1 < length) return fail("the file ends");
    std::uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + position_ + 1, length);
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return fail("a number too large");
    }
    position_ += 1 + length;
    return control & 0x80 ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
  }

  /// An integer that must lie in [low, high]; `what` names it.
  std::int64_t integer(std::int64_t low, std::int64_t high, const char* what) {
    const std::size_t start = position_;
    const std::int64_t value = integer();
    if (failed_) return 0;
    if (value < low || value > high) {
      position_ = start;
      return fail(what);
    }
    return value;
  }

  float number() {
    float value = 0;
    if (quick_number(value)) return value;
    const std::int64_t mantissa = integer();
    const std::int64_t exponent = integer();
    return failed_ ? 0.0f : compose_float(mantissa, exponent);
  }

  void numbers(float* out, std::size_t count) {
    for (std::size_t i = 0; i < count && !failed_; ++i) out[i] = number();
  }

  /// Whether `count` numbers can still follow; asked before memory for them is taken.
  bool may_hold(std::size_t count) const {
    return count <= (bytes_.size() - position_) / kLeastFloatBytes;
  }

  std::int64_t fail(const char* what) {
    if (!failed_) {
      failed_ = true;
      what_ = what;
      where_ = position_;
      position_ = bytes_.size();
    }
    return 0;
  }

  bool failed() const { return failed_; }
  bool at_end() const { return position_ == bytes_.size(); }
  std::string failure() const { return what_ + " at byte " + std::to_string(where_); }

 private:
  /// The way nearly all numbers take: far from the end, mantissa of up to 7 bytes, exponent of one.
  bool quick_number(float& out) {
    if (bytes_.size() - position_ < 16) return false;
    const std::uint8_t* p = bytes_.data() + position_;
    const unsigned length = p[0] & 0x0f;
    if ((p[0] & 0x70) != 0 || length < 1 || length > 7) return false;
    const std::uint8_t* q = p + 1 + length;
    if ((q[0] & 0x7f) != 1) return false;
    std::uint64_t value = 0;
    std::memcpy(&value, p + 1, sizeof value);
    const auto magnitude =
        static_cast<std::int64_t>(value & ((std::uint64_t{1} << (8 * length)) - 1));
    const std::int64_t exponent = q[0] & 0x80 ? -std::int64_t{q[1]} : std::int64_t{q[1]};
    out = compose_float(p[0] & 0x80 ? -magnitude : magnitude, exponent);
    position_ += 1 + length + 2;
    return true;
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t position_ = 0;
  bool failed_ = false;
  std::string what_;
  std::size_t where_ = 0;
};

/// What the spans of the decoded model point into.
struct Tables {
  std::vector<float> mean_shape, deltas, leaves;
  std::vector<std::uint32_t> anchors;
  std::vector<ForestSplit> splits;
};

/// A column vector's length; dlib writes the sizes of a matrix negated.
std::int64_t read_column(Reader& in, std::int64_t low, std::int64_t high, const char* what) {
  const std::int64_t rows = in.integer(-high, -low, what);
  in.integer(-1, -1, "a matrix of more than one column");
  return -rows;
}

void read_mean_shape(Reader& in, ForestModel& m, Tables& t) {
  const std::int64_t rows = read_column(in, 2, 2 * kMaxLandmarks, "an unusable mean shape");
  if (rows % 2 != 0) in.fail("a mean shape without pairs of coordinates");
  if (in.failed()) return;
  m.landmarks = static_cast<int>(rows / 2);
  t.mean_shape.resize(static_cast<std::size_t>(rows));
  in.numbers(t.mean_shape.data(), t.mean_shape.size());
}

/// The first tree of all says how deep they are; then there is room to be made for all of them.
void plan_trees(Reader& in, std::int64_t splits, ForestModel& m, Tables& t) {
  if (!std::has_single_bit(static_cast<std::uint64_t>(splits) + 1)) {
    in.fail("a tree that is not full");
    return;
  }
  m.depth = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(splits)));
  const std::size_t trees = static_cast<std::size_t>(m.stages) * static_cast<std::size_t>(m.trees);
  const std::size_t leaves = trees * static_cast<std::size_t>(m.leaves_per_tree());
  if (leaves > kMaxForestLeaves) {
    in.fail("more leaves than a model may have");
    return;
  }
  const std::size_t leaf_floats = leaves * static_cast<std::size_t>(m.leaf_size());
  if (!in.may_hold(leaf_floats)) {
    in.fail("fewer bytes than the leaves of all trees need");
    return;
  }
  // Addresses only: pages come as trees are read, so a claim that is not kept costs nothing.
  t.splits.reserve(trees * static_cast<std::size_t>(splits));
  t.leaves.reserve(leaf_floats);
}

/// Makes a list longer and returns its new part.
template <typename T>
T* extend(std::vector<T>& list, int count) {
  const std::size_t size = list.size();
  list.resize(size + static_cast<std::size_t>(count));
  return list.data() + size;
}

void read_tree(Reader& in, const ForestModel& m, Tables& t) {
  constexpr std::int64_t kMax = kMaxForestPool - 1;
  ForestSplit* const splits = extend(t.splits, m.splits_per_tree());
  float* const leaves = extend(t.leaves, m.leaves_per_tree() * m.leaf_size());
  for (int i = 0; i < m.splits_per_tree(); ++i) {
    splits[i].a = static_cast<std::uint32_t>(in.integer(0, kMax, "a feature pixel out of range"));
    splits[i].b = static_cast<std::uint32_t>(in.integer(0, kMax, "a feature pixel out of range"));
    splits[i].threshold = in.number();
  }
  const std::int64_t count = m.leaves_per_tree();
  in.integer(count, count, "a tree with a wrong number of leaves");
  for (std::int64_t i = 0; i < count && !in.failed(); ++i) {
    read_column(in, m.leaf_size(), m.leaf_size(), "a leaf of another size than the mean shape");
    in.numbers(leaves + i * m.leaf_size(), static_cast<std::size_t>(m.leaf_size()));
  }
}

void read_forests(Reader& in, ForestModel& m, Tables& t) {
  m.stages = static_cast<int>(in.integer(1, kMaxForestStages, "an unusable number of cascades"));
  for (int stage = 0; stage < m.stages && !in.failed(); ++stage) {
    const std::int64_t trees = in.integer(1, kMaxForestTrees, "an unusable number of trees");
    if (stage == 0) m.trees = static_cast<int>(trees);
    if (trees != m.trees) in.fail("a cascade with more or fewer trees than the first");
    for (int tree = 0; tree < m.trees && !in.failed(); ++tree) {
      const std::int64_t splits =
          in.integer(1, (1 << kMaxForestDepth) - 1, "a tree with an unusable number of splits");
      const bool first = stage == 0 && tree == 0;
      if (first) plan_trees(in, splits, m, t);
      if (!first && splits != m.splits_per_tree())
        in.fail("a tree deeper or flatter than the first");
      if (in.failed()) return;
      read_tree(in, m, t);
    }
  }
}

/// Anchors and deltas have the same shape, [stages][pool] of something. Returns the pool's size,
/// which the first table defines.
template <typename ReadOne>
void read_pools(Reader& in, ForestModel& m, ReadOne read_one) {
  in.integer(m.stages, m.stages, "feature pixels for another number of cascades");
  for (int stage = 0; stage < m.stages && !in.failed(); ++stage) {
    const std::int64_t pool = in.integer(1, kMaxForestPool, "an unusable number of feature pixels");
    if (m.pool == 0) m.pool = static_cast<int>(pool);
    if (pool != m.pool) in.fail("a cascade with more or fewer feature pixels than the first");
    if (static_cast<std::size_t>(m.stages) * static_cast<std::size_t>(m.pool) > kMaxForestPixels)
      in.fail("more feature pixels than a model may have");
    for (int i = 0; i < m.pool && !in.failed(); ++i) read_one();
  }
}

}  // namespace

bool looks_like_dlib_dat(std::span<const std::uint8_t> bytes) {
  // Version 1, then a negated row count of one or two bytes.
  return bytes.size() >= 3 && bytes[0] == 1 && bytes[1] == 1 &&
         (bytes[2] == 0x81 || bytes[2] == 0x82);
}

Result<std::shared_ptr<const ForestModel>> parse_dlib_dat(std::span<const std::uint8_t> bytes,
                                                          const std::string& path) {
  auto tables = std::make_shared<Tables>();
  auto model = std::make_shared<ForestModel>();
  Reader in(bytes);
  in.integer(1, 1, "a version of dlib's format that is not 1");
  read_mean_shape(in, *model, *tables);
  read_forests(in, *model, *tables);
  read_pools(in, *model, [&] {
    tables->anchors.push_back(static_cast<std::uint32_t>(
        in.integer(0, model->landmarks - 1, "a feature pixel of a landmark that does not exist")));
  });
  read_pools(in, *model, [&] {
    tables->deltas.push_back(in.number());
    tables->deltas.push_back(in.number());
  });
  if (!in.failed() && !in.at_end()) in.fail("more bytes than the model has");
  if (in.failed()) {
    return Status(StatusCode::kCorrupt,
                  path + ": not a usable dlib shape predictor: " + in.failure());
  }
  model->name = std::filesystem::path(path).stem().string();
  model->mean_shape = tables->mean_shape;
  model->anchors = tables->anchors;
  model->deltas = tables->deltas;
  model->splits = tables->splits;
  model->leaves = tables->leaves;
  model->storage = std::move(tables);
  model->box_maps = dlib_box_maps();
  if (const Status status = validate(*model); !status.ok()) {
    return Status(status.code(), path + ": not a usable dlib shape predictor: " + status.message());
  }
  model->scheme = known_scheme(mean_points(*model));
  model->confidence = default_confidence(model->landmarks);
  return std::shared_ptr<const ForestModel>(std::move(model));
}

}  // namespace cuface
