#include "kernels/boost/cpu/orders.h"

#include <algorithm>

#include "kernels/boost/keys.h"

namespace cuface::boost {
namespace {

constexpr int kDigits = 4, kDigitBits = 8, kDigitValues = 1 << kDigitBits;

unsigned digit_of(std::uint64_t key, int digit) {
  return static_cast<unsigned>(key >> (32 + digit * kDigitBits)) & (kDigitValues - 1);
}

}  // namespace

OrderMaker::OrderMaker(const FeatureBank& bank, const SampleValues& values)
    : bank_(bank),
      values_(values),
      of_feature_(values.padded()),
      keys_(values.count()),
      other_(values.count()) {}

// A radix sort from the lowest digit on. It is stable, so that samples of equal values stay in
// order.
void OrderMaker::sort() {
  std::uint32_t counts[kDigits][kDigitValues] = {};
  for (const std::uint64_t key : keys_)
    for (int digit = 0; digit < kDigits; ++digit) ++counts[digit][digit_of(key, digit)];
  for (int digit = 0; digit < kDigits; ++digit) {
    std::uint32_t* next = counts[digit];
    if (next[digit_of(keys_[0], digit)] == keys_.size()) continue;
    std::uint32_t before = 0;
    for (int value = 0; value < kDigitValues; ++value) {
      const std::uint32_t count = next[value];
      next[value] = before;
      before += count;
    }
    for (const std::uint64_t key : keys_) other_[next[digit_of(key, digit)]++] = key;
    keys_.swap(other_);
  }
}

template <typename Id>
void OrderMaker::make(std::size_t first, const GroupOrder<Id>& order) {
  const std::size_t count = keys_.size();
  std::fill_n(order.apart, count, std::uint16_t{0});
  for (std::size_t f = 0; f < kGroup; ++f) {
    values_.of(bank_.at(std::min(first + f, bank_.count() - 1)), of_feature_.data());
    for (std::size_t i = 0; i < count; ++i)
      keys_[i] = std::uint64_t{key_of(of_feature_[i])} << 32 | i;
    sort();
    for (std::size_t i = 0; i < count; ++i) {
      order.ids[i * kGroup + f] = static_cast<Id>(keys_[i]);
      if (i + 1 == count) break;
      const bool apart = are_apart(static_cast<std::uint32_t>(keys_[i] >> 32),
                                   static_cast<std::uint32_t>(keys_[i + 1] >> 32));
      order.apart[i] =
          static_cast<std::uint16_t>(order.apart[i] | static_cast<unsigned>(apart) << f);
    }
  }
}

template void OrderMaker::make(std::size_t, const GroupOrder<std::uint16_t>&);
template void OrderMaker::make(std::size_t, const GroupOrder<std::uint32_t>&);

}  // namespace cuface::boost
