#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/boost/cpu/scan.cc"
#include "kernels/boost/cpu/scan.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "kernels/common/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::boost::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::CappedTag<std::int32_t, kGroup>;
using Floats = hn::RebindToFloat<Words>;
using VW = hn::Vec<Words>;
using VF = hn::Vec<Floats>;

constexpr std::size_t kLanes = hn::MaxLanes(Words());
constexpr std::size_t kParts = kGroup / kLanes;
constexpr std::uint16_t kAllApart = 0xffff;

template <typename Id>
HWY_INLINE VW samples_at(const Id* ids) {
  const hn::Rebind<Id, Words> narrow;
  if constexpr (sizeof(Id) == 2)
    return hn::PromoteTo(Words(), hn::LoadU(narrow, ids));
  else
    return hn::BitCast(Words(), hn::LoadU(narrow, ids));
}

/// For the features of a part: which of them may be split here.
template <class D>
HWY_INLINE hn::Mask<D> is_apart(D d, std::uint16_t apart, std::size_t part) {
  const auto bits = static_cast<std::uint16_t>(apart >> (part * kLanes));
  return hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&bits));
}

/// The least and the largest response on the left of a place where a feature may be split.
template <typename Id>
void extremes_of_group(const GroupOrder<Id>& order, const NodeSamples& node, std::int32_t* least,
                       std::int32_t* most) {
  const Words d;
  VW sum[kParts], low[kParts], high[kParts];
  for (std::size_t part = 0; part < kParts; ++part) {
    sum[part] = hn::Zero(d);
    low[part] = hn::Set(d, std::numeric_limits<std::int32_t>::max());
    high[part] = hn::Set(d, std::numeric_limits<std::int32_t>::min());
  }
  const std::int32_t* responses = node.responses.data();
  const std::size_t count = node.responses.size();
  for (std::size_t place = 0; place < count; ++place) {
    const std::uint16_t apart = order.apart[place];
    const Id* ids = order.ids + place * kGroup;
    for (std::size_t part = 0; part < kParts; ++part) {
      const VW sample = samples_at(ids + part * kLanes);
      sum[part] = hn::Add(sum[part], hn::GatherIndex(d, responses, sample));
    }
    if (HWY_LIKELY(apart == kAllApart)) {
      for (std::size_t part = 0; part < kParts; ++part) {
        low[part] = hn::Min(low[part], sum[part]);
        high[part] = hn::Max(high[part], sum[part]);
      }
    } else {
      for (std::size_t part = 0; part < kParts; ++part) {
        const auto here = is_apart(d, apart, part);
        low[part] = hn::IfThenElse(here, hn::Min(low[part], sum[part]), low[part]);
        high[part] = hn::IfThenElse(here, hn::Max(high[part], sum[part]), high[part]);
      }
    }
  }
  for (std::size_t part = 0; part < kParts; ++part) {
    hn::StoreU(low[part], d, least + part * kLanes);
    hn::StoreU(high[part], d, most + part * kLanes);
  }
}

/// The qualities of all but discrete boosting, where they are `least` or more; below it they may be
/// any that is lower than they are. kWeights: the weights are not those of the responses.
template <bool kWeights, typename Id>
void squares_of_group(const GroupOrder<Id>& order, const NodeSamples& node, float least,
                      float* qualities) {
  const Words d;
  const Floats f;
  VW weight[kParts], response[kParts];
  VF best[kParts];
  for (std::size_t part = 0; part < kParts; ++part) {
    weight[part] = response[part] = hn::Zero(d);
    best[part] = hn::Set(f, -1.0f);
  }
  const VW all_weight = hn::Set(d, node.all.weight), all_response = hn::Set(d, node.all.response);
  // A quotient that is not below `least` has a dividend that is not below this times the divisor:
  // both products and the quotient are rounded by less than 2^-23 of themselves.
  const VF bound = hn::Set(f, least * (1 - 0x1p-20f));
  const std::size_t count = node.responses.size();
  for (std::size_t place = 0; place < count; ++place) {
    const Id* ids = order.ids + place * kGroup;
    for (std::size_t part = 0; part < kParts; ++part) {
      const VW sample = samples_at(ids + part * kLanes);
      const VW of_sample = hn::GatherIndex(d, node.responses.data(), sample);
      const VW its_weight =
          kWeights ? hn::GatherIndex(d, node.weights.data(), sample) : hn::Abs(of_sample);
      response[part] = hn::Add(response[part], of_sample);
      weight[part] = hn::Add(weight[part], its_weight);
      // squares_explained(), operation by operation.
      const VF left = hn::ConvertTo(f, weight[part]);
      const VF right = hn::ConvertTo(f, hn::Sub(all_weight, weight[part]));
      const VF low = hn::ConvertTo(f, response[part]);
      const VF high = hn::ConvertTo(f, hn::Sub(all_response, response[part]));
      const VF dividend =
          hn::Add(hn::Mul(hn::Mul(low, low), right), hn::Mul(hn::Mul(high, high), left));
      const VF divisor = hn::Mul(left, right);
      const auto worth = hn::Ge(dividend, hn::Mul(bound, divisor));
      if (HWY_LIKELY(hn::AllFalse(f, worth))) continue;
      const VF quality = hn::Div(dividend, divisor);
      const auto better =
          hn::And(hn::Gt(quality, best[part]), is_apart(f, order.apart[place], part));
      best[part] = hn::IfThenElse(better, quality, best[part]);
    }
  }
  for (std::size_t part = 0; part < kParts; ++part)
    hn::StoreU(best[part], f, qualities + part * kLanes);
}

void extremes_16(const GroupOrder<std::uint16_t>& order, const NodeSamples& node,
                 std::int32_t* least, std::int32_t* most) {
  extremes_of_group(order, node, least, most);
}
void extremes_32(const GroupOrder<std::uint32_t>& order, const NodeSamples& node,
                 std::int32_t* least, std::int32_t* most) {
  extremes_of_group(order, node, least, most);
}
void squares_16(const GroupOrder<std::uint16_t>& order, const NodeSamples& node, float least,
                float* qualities) {
  node.boosting == Boosting::kLogit ? squares_of_group<true>(order, node, least, qualities)
                                    : squares_of_group<false>(order, node, least, qualities);
}
void squares_32(const GroupOrder<std::uint32_t>& order, const NodeSamples& node, float least,
                float* qualities) {
  node.boosting == Boosting::kLogit ? squares_of_group<true>(order, node, least, qualities)
                                    : squares_of_group<false>(order, node, least, qualities);
}

}  // namespace cuface::boost::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::boost {
namespace {

HWY_EXPORT(extremes_16);
HWY_EXPORT(extremes_32);
HWY_EXPORT(squares_16);
HWY_EXPORT(squares_32);

void extremes(const GroupOrder<std::uint16_t>& order, const NodeSamples& node, std::int32_t* least,
              std::int32_t* most) {
  CUFACE_DISPATCH(extremes_16)(order, node, least, most);
}
void extremes(const GroupOrder<std::uint32_t>& order, const NodeSamples& node, std::int32_t* least,
              std::int32_t* most) {
  CUFACE_DISPATCH(extremes_32)(order, node, least, most);
}
void squares(const GroupOrder<std::uint16_t>& order, const NodeSamples& node, float least,
             float* qualities) {
  CUFACE_DISPATCH(squares_16)(order, node, least, qualities);
}
void squares(const GroupOrder<std::uint32_t>& order, const NodeSamples& node, float least,
             float* qualities) {
  CUFACE_DISPATCH(squares_32)(order, node, least, qualities);
}

}  // namespace

template <typename Id>
void scan_group(const GroupOrder<Id>& order, const NodeSamples& node, float least,
                float* qualities) {
  if (node.boosting != Boosting::kDiscrete) {
    squares(order, node, least, qualities);
    return;
  }
  std::int32_t low[kGroup], high[kGroup];
  extremes(order, node, low, high);
  for (std::size_t f = 0; f < kGroup; ++f) {
    // right_weight() grows towards both ends. Where nothing may be split both are as they began.
    qualities[f] = low[f] > high[f]
                       ? -1.0f
                       : static_cast<float>(std::max(right_weight(node.all, {0, low[f]}),
                                                     right_weight(node.all, {0, high[f]})));
  }
}

template void scan_group(const GroupOrder<std::uint16_t>&, const NodeSamples&, float, float*);
template void scan_group(const GroupOrder<std::uint32_t>&, const NodeSamples&, float, float*);

}  // namespace cuface::boost
#endif
