// The requirements for a set of descriptors, on both processors.
#pragma once

#include <string>
#include <type_traits>

#include "kernels/common/status.h"
#include "kernels/match/match.h"

namespace cuface::match {

template <typename T>
Status validate_set(const DescriptorSet<T>& set, const MatchConfig& config) {
  const auto invalid = [](const std::string& what) {
    return Status(StatusCode::kInvalidArgument, what);
  };
  if (set.count < 0 || set.count > kMostKeypoints)
    return invalid("a set has 0 to " + std::to_string(kMostKeypoints) + " descriptors");
  if (set.count == 0) return {};
  if (!set.data) return invalid("a set has no descriptors");
  if (std::is_same_v<T, float> ? set.size != 64 && set.size != 36 : set.size != kBinaryBytes)
    return invalid("no descriptor has " + std::to_string(set.size) + " values");
  if (config.sign_check && !set.signs) return invalid("sign-check needs the signs of keypoints");
  return {};
}

}  // namespace cuface::match
