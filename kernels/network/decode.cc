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

Decoder::Decoder(const NetworkPlan& plan, const NetworkConfig& config)
    : plan_(plan), config_(config) {
  keys_.reserve(plan.cells);
  kept_.reserve(static_cast<std::size_t>(config.max_faces));
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
  kept_.clear();
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (kept_.size() == static_cast<std::size_t>(config_.max_faces)) break;
    if (i % kCandidatesPerLook == 0 && is_raised(stop)) {
      out.clear();
      return false;
    }
    const NetworkFace face = face_at(cells, keys_[i]);
    const Rect box = truncated(face.box);
    const bool is_suppressed = std::any_of(kept_.begin(), kept_.end(), [&](const Rect& better) {
      return suppresses(better, box, config_.nms_threshold);
    });
    if (is_suppressed) continue;
    kept_.push_back(box);
    out.push_back(face);
  }
  return true;
}

}  // namespace cuface::network
