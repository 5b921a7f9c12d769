#include "models/train/split.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "kernels/common/random.h"

namespace cuface::train {
namespace {

int brightness(const PictureSketch& sketch) {
  return std::accumulate(sketch.means.begin(), sketch.means.end(), 0);
}

/// Disjoint sets of numbers; of each the least is its name.
class Groups {
 public:
  explicit Groups(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) {
    a = find(a), b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> parent_;
};

}  // namespace

PictureSketch sketch_of(ImageView<const std::uint8_t> picture) {
  constexpr int n = PictureSketch::kSide;
  PictureSketch sketch;
  // A picture of fewer pixels gives each of them to several parts.
  const auto edge = [](int i, int length) {
    return static_cast<int>(static_cast<std::int64_t>(i) * length / n);
  };
  for (int py = 0; py < n; ++py) {
    const int y0 = edge(py, picture.height), y1 = std::max(edge(py + 1, picture.height), y0 + 1);
    for (int px = 0; px < n; ++px) {
      const int x0 = edge(px, picture.width), x1 = std::max(edge(px + 1, picture.width), x0 + 1);
      std::uint64_t sum = 0;
      for (int y = y0; y < y1; ++y) {
        const std::uint8_t* row = picture.row(y);
        for (int x = x0; x < x1; ++x) sum += row[x];
      }
      const std::uint64_t count =
          static_cast<std::uint64_t>(y1 - y0) * static_cast<unsigned>(x1 - x0);
      sketch.means[static_cast<std::size_t>(py * n + px)] =
          static_cast<std::uint8_t>((sum + count / 2) / count);
    }
  }
  return sketch;
}

int sketch_distance(const PictureSketch& a, const PictureSketch& b) {
  int sum = 0;
  for (std::size_t i = 0; i < a.means.size(); ++i) sum += std::abs(a.means[i] - b.means[i]);
  return sum;
}

std::vector<std::size_t> groups_of(const std::vector<SplitPicture>& pictures) {
  Groups groups(pictures.size());
  // Sketches are no nearer than their sums, so only neighbours in brightness are compared.
  std::vector<std::pair<int, std::size_t>> order;
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    order.emplace_back(brightness(pictures[i].sketch), i);
  }
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const SplitPicture& a = pictures[order[i].second];
    for (std::size_t k = i + 1;
         k < order.size() && order[k].first - order[i].first <= kNearDuplicate; ++k) {
      const SplitPicture& b = pictures[order[k].second];
      if (a.hash == b.hash || sketch_distance(a.sketch, b.sketch) <= kNearDuplicate) {
        groups.join(order[i].second, order[k].second);
      }
    }
  }
  std::vector<std::size_t> numbers(pictures.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const std::size_t first = groups.find(i);
    numbers[i] = first == i ? next++ : numbers[first];
  }
  return numbers;
}

std::vector<std::uint8_t> choose_test(const std::vector<SplitPicture>& pictures, double share,
                                      std::uint64_t seed) {
  const std::vector<std::size_t> numbers = groups_of(pictures);
  struct Group {
    std::uint64_t hash = std::numeric_limits<std::uint64_t>::max(), draw = 0;
    std::size_t samples = 0, number = 0;
  };
  std::vector<Group> groups;
  std::size_t samples = 0;
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    if (numbers[i] == groups.size()) groups.push_back({.number = numbers[i]});
    Group& group = groups[numbers[i]];
    group.hash = std::min(group.hash, pictures[i].hash);
    group.samples += pictures[i].samples;
    samples += pictures[i].samples;
  }
  for (Group& group : groups) group.draw = random_at(seed, group.hash);
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return std::pair(a.draw, a.hash) < std::pair(b.draw, b.hash);
  });
  const double most = share * static_cast<double>(samples);
  std::vector<std::uint8_t> of_group(groups.size());
  std::size_t taken = 0;
  for (const Group& group : groups) {
    if (static_cast<double>(taken + group.samples) > most) continue;
    taken += group.samples;
    of_group[group.number] = 1;
  }
  std::vector<std::uint8_t> out;
  for (const std::size_t number : numbers) out.push_back(of_group[number]);
  return out;
}

}  // namespace cuface::train
