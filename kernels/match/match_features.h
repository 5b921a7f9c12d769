// Matching the descriptors of two pictures' features, be they bytes or floats.
#pragma once

#include "kernels/match/match.h"

namespace cuface {

inline BinarySet binary_set(const BinaryFeatures& features) {
  return {features.descriptors.data(), static_cast<int>(features.keypoints.size()), kBinaryBytes,
          features.signs.data()};
}

/// `each`: of a descriptor, which a picture without keypoints does not tell.
inline FloatSet float_set(const Features& features, int each) {
  return {features.floats.data(), static_cast<int>(features.keypoints.size()), each,
          features.signs.data()};
}

/// As Matcher::run(). `floats` of a descriptor, the same in both; 0: bytes.
inline Status match_features(Matcher& matcher, const Features& query, const Features& train,
                             int floats, std::vector<Match>& out, const StopFlag* stop = nullptr) {
  if (floats == 0) return matcher.run(binary_set(query), binary_set(train), out, stop);
  return matcher.run(float_set(query, floats), float_set(train, floats), out, stop);
}

}  // namespace cuface
