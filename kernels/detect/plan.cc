// What a configuration means for a picture of one size: checked, and in pixels of the search.
#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/detect/search_angles.h"
#include "kernels/detect/searcher.h"

namespace cuface {
namespace {

constexpr long long kMaxWindowModePixels = 1LL << 24;

Status invalid(const std::string& what) { return {StatusCode::kInvalidArgument, what}; }

LevelQuery query_of(const CascadeModel& model, const SearchPlan& plan) {
  return {model.window_width, model.window_height, plan.width,   plan.height,
          plan.scale_factor,  plan.min_size,       plan.max_size};
}

}  // namespace

Status validate_search(const DetectConfig& c, int width, int height) {
  if (!(c.scale_factor >= 1.001 && std::isfinite(c.scale_factor))) {
    return invalid("scale_factor must be 1.001 or more");
  }
  if (c.min_neighbors < 0) return invalid("min_neighbors must be 0 or more");
  if (c.min_size < 0 || c.max_size < 0) return invalid("min_size and max_size must be 0 or more");
  if (c.max_faces < 1) return invalid("max_faces must be 1 or more");
  if (c.step < 0 || c.step > 2) return invalid("step must be 0, 1 or 2");
  if (c.detect_scale < 1) return invalid("detect_scale must be 1 or more");
  if (c.threads < 0) return invalid("threads must be 0 or more");
  if (c.roll < 0 || c.roll > kMaxRoll) return invalid("roll must be 0 to 90 degrees");
  if (width < 1 || height < 1) return invalid("a picture has at least one pixel");
  if (width > kMaxPictureSide || height > kMaxPictureSide) {
    return {StatusCode::kUnsupported, "pictures of more than " + std::to_string(kMaxPictureSide) +
                                          " pixels a side are not searched"};
  }
  const long long pixels =
      static_cast<long long>(width / c.detect_scale) * (height / c.detect_scale);
  if (c.scale_mode == ScaleMode::kWindow && pixels > kMaxWindowModePixels) {
    return {
        StatusCode::kUnsupported,
        "kWindow searches pictures of at most 2^24 pixels: the norm of a window must fit 64 bits"};
  }
  return {};
}

SearchPlan plan_search(const DetectConfig& c, int width, int height) {
  SearchPlan plan;
  plan.width = std::max(width / c.detect_scale, 1);
  plan.height = std::max(height / c.detect_scale, 1);
  plan.step = c.step;
  plan.threads = c.threads;
  plan.scale_factor = c.scale_factor;
  // The limits hold for the full picture: a window of min_size or more there is kept.
  plan.min_size = c.min_size / c.detect_scale + (c.min_size % c.detect_scale != 0);
  plan.max_size = c.max_size > 0 ? std::max(c.max_size / c.detect_scale, 1) : 0;
  return plan;
}

std::vector<Level> plan_levels(const CascadeModel& model, const SearchPlan& plan) {
  const LevelQuery query = query_of(model, plan);
  return pyramid_levels(query, search_scales(query), plan.step);
}

std::vector<ScaledWindows> plan_scaled_windows(const CascadeModel& model, const SearchPlan& plan) {
  const LevelQuery query = query_of(model, plan);
  std::vector<ScaledWindows> windows;
  for (const float scale : search_scales(query))
    windows.push_back(scaled_windows(query, scale, plan.step));
  return windows;
}

long long count_windows(const std::vector<ScaledWindows>& windows) {
  long long count = 0;
  for (const ScaledWindows& scale : windows) count += scale.count();
  return count;
}

}  // namespace cuface
