#include "kernels/shape/search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/common/guarded.h"
#include "kernels/common/simd.h"
#include "kernels/common/try.h"
#include "kernels/texture/float_hat.h"
#include "kernels/texture/integer_patch.h"

namespace cuface {
namespace shape {
namespace {

std::size_t size_of(int n) { return static_cast<std::size_t>(n); }

bool has(const ShapeModel& model, ProfileKind kind) {
  return std::ranges::any_of(model.profiles,
                             [kind](const ShapeProfile& p) { return p.kind == kind; });
}

std::unique_ptr<HatCosts> hat_costs(const ShapeModel& model, ShapeArithmetic arithmetic) {
  if (!has(model, ProfileKind::kHat)) return nullptr;
  if (arithmetic == ShapeArithmetic::kFloat)
    return std::make_unique<FloatHat>(model.hat, model.numbers);
  return std::make_unique<HatReference>(model.hat, model.numbers);
}

/// What HAT descriptors remember would be each thread's own: two need as long as one does.
int useful_threads(const ShapeModel& model, int threads) {
  if (!has(model, ProfileKind::kPatch) || has(model, ProfileKind::kHat)) return 1;
  return std::clamp(threads, 1, model.points);
}

}  // namespace

std::vector<std::unique_ptr<PatchMatcher>> patch_matchers(const ShapeModel& model,
                                                          ShapeArithmetic arithmetic, int count) {
  std::vector<std::unique_ptr<PatchMatcher>> out;
  std::vector<std::uint32_t> first_numbers;
  for (const ShapeProfile& p : model.profiles)
    if (p.kind == ProfileKind::kPatch) first_numbers.push_back(p.first_number);
  if (first_numbers.empty()) return out;
  std::shared_ptr<const texture::PatchTable> table;
  if (arithmetic == ShapeArithmetic::kFloat)
    table = std::make_shared<texture::PatchTable>(model.patch, model.numbers, first_numbers);
  for (int i = 0; i < count; ++i) {
    if (table)
      out.push_back(std::make_unique<IntegerPatch>(model.patch, table));
    else
      out.push_back(std::make_unique<PatchReference>(model.patch, model.numbers));
  }
  return out;
}

FaceSearch::FaceSearch(const ShapeModel& model, ShapeArithmetic arithmetic, int threads)
    : model_(model),
      workers_(useful_threads(model, threads)),
      costs_(hat_costs(model, arithmetic)),
      patches_(patch_matchers(model, arithmetic, workers_.count())),
      constraint_(model),
      before_(size_of(model.points)),
      level_before_(size_of(model.points)),
      matches_(size_of(model.points)),
      found_costs_(size_of(model.points)) {}

double FaceSearch::factor(std::span<const ShapePoint> start) const {
  return model_.size / shape_size(model_, start);
}

Status FaceSearch::set_picture(ImageView<const std::uint8_t> part, double factor) {
  return pyramid_.make(part, factor, model_.levels, model_.pyramid);
}

void FaceSearch::start_level(int level) {
  level_ = level;
  constraint_.start_level(level);
  const auto on_level =
      model_.profiles.subspan(size_of(level * model_.points), size_of(model_.points));
  const ImageView<const std::uint8_t> picture = pyramid_.level(level);
  bool has_hats = false, has_patches = false, has_edges = false;
  for (const ShapeProfile& p : on_level) {
    has_hats |= p.kind == ProfileKind::kHat;
    has_patches |= p.kind == ProfileKind::kPatch;
    has_edges |= p.kind == ProfileKind::kPatch && model_.numbers[p.first_number + 1] > 0;
  }
  if (has_hats) costs_->set_picture(picture, model_.hat.patch_at(level));
  const int strongest = has_edges ? texture::strongest_sobel_square({picture}) : 0;
  for (const auto& patches : patches_)
    if (has_patches) patches->set_picture(picture, strongest);
}

TextureMatch FaceSearch::suggest(std::span<const ShapePoint> shape, int i, ShapePoint& to,
                                 int worker) {
  const ShapePoint& from = shape[size_of(i)];
  const ShapeProfile& profile = model_.profile(level_, i);
  TextureMatch match;
  if (profile.kind == ProfileKind::kLine) {
    const ShapeNeighbours& near = model_.neighbours[size_of(i)];
    const ShapePoint step =
        whisker_step(shape[size_of(near.previous)], from, shape[size_of(near.next)]);
    const double* const numbers = model_.numbers.data() + profile.first_number;
    match = match_line(pyramid_.level(level_), from, step, model_.line, numbers,
                       numbers + model_.line.length);
    to = {from.x + match.dx * step.x, from.y + match.dx * step.y};
    return match;
  }
  if (profile.kind == ProfileKind::kHat) {
    match = match_hat(from, model_.hat,
                      [&](int x, int y) { return costs_->cost(x, y, profile.first_number); });
  } else {
    match = patches_[size_of(worker)]->match(from, profile.first_number);
  }
  to = {from.x + match.dx, from.y + match.dy};
  return match;
}

void FaceSearch::suggest(std::span<ShapePoint> points, std::span<TextureMatch> matches) {
  std::copy(points.begin(), points.end(), before_.begin());
  workers_.run(model_.points, [&](int i, int worker) {
    const TextureMatch match = suggest(before_, i, points[size_of(i)], worker);
    if (!matches.empty()) matches[size_of(i)] = match;
  });
}

bool FaceSearch::is_at_rest(std::span<const ShapePoint> points,
                            std::span<const ShapePoint> before) const {
  const auto near = [&](double a, double b) { return std::abs(a - b) <= model_.rest; };
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!near(points[i].x, before[i].x) || !near(points[i].y, before[i].y)) return false;
  }
  return true;
}

void FaceSearch::constrain(std::span<ShapePoint> points) {
  std::ranges::transform(matches_, found_costs_.begin(), &TextureMatch::cost);
  constraint_.run(points, found_costs_);
}

Status FaceSearch::refit(std::span<ShapePoint> points, const StopFlag* stop) {
  for (int round = 0; round < model_.refits; ++round) {
    if (is_raised(stop)) return cancelled();
    std::copy(points.begin(), points.end(), before_.begin());
    int bad = 0;
    for (int i = 0; i < model_.points; ++i) {
      TextureMatch& match = matches_[size_of(i)];
      if (!(match.cost > model_.refit_limits[size_of(i)])) continue;
      match = suggest(before_, i, points[size_of(i)]);
      ++bad;
    }
    if (bad == 0) break;
    refitted_ += bad;
    constrain(points);
  }
  return {};
}

Status FaceSearch::run(ImageView<const std::uint8_t> part, std::span<ShapePoint> points,
                       const StopFlag* stop) {
  if (!(shape_size(model_, points) > 1)) {
    return {StatusCode::kInvalidArgument, "shape: a start of less than a pixel"};
  }
  const double scale = factor(points), back = 1 / scale;
  CUFACE_TRY(set_picture(part, scale));
  iterations_ = refitted_ = 0;
  const double coarsest = std::ldexp(1.0, 1 - model_.levels);
  for (ShapePoint& p : points) p = {p.x * scale * coarsest, p.y * scale * coarsest};
  for (int level = model_.levels - 1; level >= 0; --level) {
    start_level(level);
    for (int i = 0; i < model_.iterations; ++i) {
      if (is_raised(stop)) return cancelled();
      std::copy(points.begin(), points.end(), level_before_.begin());
      suggest(points, matches_);
      constrain(points);
      ++iterations_;
      if (model_.rest > 0 && is_at_rest(points, level_before_)) break;
    }
    if (level == 0) CUFACE_TRY(refit(points, stop));
    const double finer = level > 0 ? 2 : back;
    for (ShapePoint& p : points) p = {p.x * finer, p.y * finer};
  }
  return {};
}

}  // namespace shape

namespace {

class CpuShapeSearcher final : public ShapeSearcher {
 public:
  CpuShapeSearcher(std::shared_ptr<const ShapeModel> model, ShapeArithmetic arithmetic,
                   const StopFlag* stop, int threads)
      : model_(std::move(model)),
        stop_(stop),
        search_(*model_, arithmetic, threads),
        points_(static_cast<std::size_t>(model_->points)),
        unusual_(model_->usual_costs.size()) {
    if (has_confidences()) scores_ = shape::score_matrix(model_->score_parts, model_->mean_shape);
  }

  Status enqueue(ImageView<const std::uint8_t> luma, std::span<const Box> boxes,
                 std::span<Point> out, std::span<const Point> starts,
                 std::span<float> confidences) override {
    const std::size_t count = points_.size();
    if (!luma.data || luma.width < 1 || luma.height < 1 || out.size() != boxes.size() * count ||
        (!starts.empty() && starts.size() != out.size()) ||
        (!confidences.empty() && (confidences.size() != out.size() || !has_confidences()))) {
      return {StatusCode::kInvalidArgument, "shape: an empty picture, or room for other points"};
    }
    for (const Box& b : boxes) {
      if (!shape::is_usable(b)) {
        return {StatusCode::kInvalidArgument, "shape: a box that is empty or not finite"};
      }
    }
    return guarded("searching for landmarks", [&]() -> Status {
      for (std::size_t i = 0; i < boxes.size(); ++i) {
        CUFACE_TRY(
            search(luma, boxes[i], out.subspan(i * count, count),
                   starts.empty() ? starts : starts.subspan(i * count, count),
                   confidences.empty() ? confidences : confidences.subspan(i * count, count)));
      }
      return {};
    });
  }

  bool has_confidences() const override { return model_->confidence.is_known(); }

 private:
  /// Of the last search.
  void tell_confidences(bool is_found, std::span<float> out) {
    std::ranges::fill(out, 0.0f);
    if (!is_found) return;
    for (std::size_t i = 0; i < unusual_.size(); ++i)
      unusual_[i] =
          shape::unusual(i < out.size() ? search_.matches()[i].cost : search_.shape_cost(),
                         model_->usual_costs[i], model_->score_parts);
    const std::span<const double> offsets = model_->score_offsets;
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = confidence_of_logarithm(
          model_->confidence,
          shape::score_of_costs(scores_.data(), unusual_.data(), static_cast<int>(unusual_.size()),
                                model_->points, static_cast<int>(i),
                                offsets.empty() ? 0 : offsets[i]));
  }

  Status search(ImageView<const std::uint8_t> luma, const Box& box, std::span<Point> out,
                std::span<const Point> start, std::span<float> confidences) {
    bool is_found = false;
    const Rect window = shape::window_of(model_->window, box, luma.width, luma.height);
    if (start.empty() || !std::ranges::all_of(start, shape::is_near))
      shape::start_shape(*model_, box, points_);
    else
      std::ranges::transform(start, points_.begin(), [](const Point& p) {
        return ShapePoint{static_cast<double>(p.x), static_cast<double>(p.y)};
      });
    for (ShapePoint& p : points_) p = {p.x - window.x, p.y - window.y};
    if (window.w > 0 && window.h > 0) {
      const ImageView<const std::uint8_t> part{luma.row(window.y) + window.x, window.w, window.h,
                                               luma.stride};
      const Status status = search_.run(part, points_, stop_);
      if (!status.ok() && status.code() != StatusCode::kInvalidArgument) return status;
      is_found = status.ok();
    }
    if (!confidences.empty()) tell_confidences(is_found, confidences);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = {static_cast<float>(points_[i].x + window.x),
                static_cast<float>(points_[i].y + window.y)};
    }
    return {};
  }

  const std::shared_ptr<const ShapeModel> model_;
  const StopFlag* const stop_;
  shape::FaceSearch search_;
  std::vector<ShapePoint> points_;
  std::vector<double> unusual_, scores_;  ///< as usual_costs, score_matrix()
};

}  // namespace

Result<std::unique_ptr<ShapeSearcher>> ShapeSearcher::create(
    Backend backend, std::shared_ptr<const ShapeModel> model, ShapeArithmetic arithmetic,
    const StopFlag* stop, int threads) {
  if (!model) return Status(StatusCode::kInvalidArgument, "shape: no model");
  if (backend == Backend::kCuda) {
    return Status(StatusCode::kUnsupported,
                  "shape models are searched for in device memory by cuda::ShapeSearcher");
  }
  CUFACE_TRY(simd::status());
  return guarded(
      "planning the search for landmarks", [&]() -> Result<std::unique_ptr<ShapeSearcher>> {
        CUFACE_TRY(validate(*model));
        return std::unique_ptr<ShapeSearcher>(
            std::make_unique<CpuShapeSearcher>(std::move(model), arithmetic, stop, threads));
      });
}

}  // namespace cuface
