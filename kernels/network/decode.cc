#include "kernels/network/decode.h"

#include <algorithm>
#include <cmath>

#include "kernels/network/rules.h"

namespace cuface::network {
namespace {

/// Candidates between two looks at a flag: each is compared with up to 5,000 faces.
constexpr std::size_t kCandidatesPerLook = 64;
constexpr std::size_t kCellsPerLook = 65536;

}  // namespace

Survivors::Survivors(int most) {
  const auto count = static_cast<std::size_t>(most);
  boxes_.reserve(count);
  blocks_.resize((count + kBlock - 1) / kBlock);
}

void Survivors::push(const Rect& box) {
  const std::size_t i = boxes_.size() % kBlock;
  Block& block = blocks_[boxes_.size() / kBlock];
  block.left[i] = static_cast<float>(box.x);
  block.top[i] = static_cast<float>(box.y);
  block.right[i] = static_cast<float>(box.x + box.w);
  block.bottom[i] = static_cast<float>(box.y + box.h);
  block.area[i] = static_cast<float>(box.w) * static_cast<float>(box.h);
  boxes_.push_back(box);
}

bool Survivors::suppress(const Rect& box, float threshold) const {
  if (threshold >= 1) return false;
  // A share of the union below which floats prove that suppresses() is false; their error is less
  // than 2^-20 of it. No two boxes of a pixel and more share less than the least one.
  constexpr float kLeast = 1e-15f;
  const float share = std::max(threshold * (1 - 1e-5f), kLeast);
  const auto left = static_cast<float>(box.x), right = static_cast<float>(box.x + box.w);
  const auto top = static_cast<float>(box.y), bottom = static_cast<float>(box.y + box.h);
  const float area = static_cast<float>(box.w) * static_cast<float>(box.h);
  for (std::size_t first = 0; first < boxes_.size(); first += kBlock) {
    const Block& b = blocks_[first / kBlock];
    // Of all places of the block: what lies behind the last box may only be a needless suspect.
    int suspects = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const float w = std::max(std::min(b.right[i], right) - std::max(b.left[i], left), 0.0f);
      const float h = std::max(std::min(b.bottom[i], bottom) - std::max(b.top[i], top), 0.0f);
      const float common = w * h;
      suspects |= common >= share * (b.area[i] + area - common) ? 1 : 0;
    }
    if (suspects == 0) continue;
    const std::size_t last = std::min(first + kBlock, boxes_.size());
    for (std::size_t i = first; i < last; ++i) {
      if (suppresses(boxes_[i], box, threshold)) return true;
    }
  }
  return false;
}

Decoder::Decoder(const NetworkPlan& plan, const NetworkConfig& config)
    : plan_(plan), config_(config), survivors_(config.max_faces) {
  keys_.reserve(plan.cells);
}

NetworkFace Decoder::face_at(std::span<const NetworkCell> cells, std::uint64_t key) const {
  const auto index = static_cast<std::size_t>(key & 0xffffffffu);
  std::size_t g = plan_.grids.size() - 1;
  while (plan_.grids[g].first > index) --g;
  const NetworkGrid& grid = plan_.grids[g];
  const int at = static_cast<int>(index - grid.first);
  return face_of(cells[index], grid.stride, at / grid.columns, at % grid.columns,
                 score_of(cells[index]));
}

bool Decoder::decode(std::span<const NetworkCell> cells, std::vector<NetworkFace>& out,
                     const StopFlag* stop) {
  out.clear();
  keys_.clear();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i % kCellsPerLook == 0 && is_raised(stop)) return false;
    // The other factor is at most 1: most cells are told by this one.
    if (std::sqrt(sigmoid(cells[i].classes)) < config_.score_threshold) continue;
    const float score = score_of(cells[i]);
    if (score < config_.score_threshold) continue;
    keys_.push_back(order_key(score, static_cast<std::uint32_t>(i)));
  }
  if (keys_.size() > static_cast<std::size_t>(kMaxNetworkCandidates)) {
    std::nth_element(keys_.begin(), keys_.begin() + kMaxNetworkCandidates, keys_.end());
    keys_.resize(static_cast<std::size_t>(kMaxNetworkCandidates));
  }
  std::sort(keys_.begin(), keys_.end());
  survivors_.clear();
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (survivors_.size() == static_cast<std::size_t>(config_.max_faces)) break;
    if (i % kCandidatesPerLook == 0 && is_raised(stop)) {
      out.clear();
      return false;
    }
    const NetworkFace face = face_at(cells, keys_[i]);
    const Rect box = truncated(face.box);
    if (survivors_.suppress(box, config_.nms_threshold)) continue;
    survivors_.push(box);
    out.push_back(face);
  }
  return true;
}

}  // namespace cuface::network
