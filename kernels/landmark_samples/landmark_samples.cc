#include "kernels/landmark_samples/landmark_samples.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "kernels/common/guarded.h"
#include "kernels/common/lanes.h"
#include "kernels/common/try.h"
#include "kernels/landmark_samples/spread.h"
#include "kernels/landmark_samples/starts.h"
#include "kernels/landmarks/regression.h"

namespace cuface {
namespace {

/// Digit for digit mirrored at the point: the Halton sequence, which fills [0, 1) evenly whatever
/// its length.
double radical_inverse(int i, int base) {
  double part = 1, sum = 0;
  for (; i > 0; i /= base) {
    part /= base;
    sum += part * (i % base);
  }
  return sum;
}

float between_minus_one_and_one(int i, int base) {
  return static_cast<float>(2 * radical_inverse(i, base) - 1);
}

/// Of the look that best_look() believes.
double least_disagreement(const forest::StartScratch& scratch) {
  double least = std::numeric_limits<double>::infinity();
  for (const double of : scratch.disagreement)
    if (of >= 0) least = std::min(least, of);
  return least;
}

}  // namespace

Result<SampleMaps> make_sample_maps(const BoxMap& map, int samples) {
  if (samples < 1 || samples > kMaxSamples) {
    return Status(
        StatusCode::kInvalidArgument,
        "samples must be 1 to " + std::to_string(kMaxSamples) + ", not " + std::to_string(samples));
  }
  SampleMaps maps;
  maps.count = samples;
  const int middle = samples % 2;
  if (middle) maps.map[0] = map;
  for (int k = middle; k < samples; ++k) {
    const int pair = (k - middle) / 2 + 1;
    const float sign = (k - middle) % 2 ? -1.0f : 1.0f;
    const float shift = sign * kSampleShift * map.scale;
    maps.map[k] = {map.scale * (1 + sign * kSampleScale * between_minus_one_and_one(pair, 5)),
                   map.shift_x + shift * between_minus_one_and_one(pair, 2),
                   map.shift_y + shift * between_minus_one_and_one(pair, 3), map.square};
  }
  return maps;
}

SampleMaps make_start_maps(const BoxMap& map) {
  static_assert(kStarts * kStartSamples <= kMaxSamples);
  struct Place {
    float scale, right, down;
  };
  constexpr Place kPlaces[kStarts] = {{0, 0, 0}, {0, 0, -1}, {0, 0, 1}, {0, -1, 0},
                                      {0, 1, 0}, {-1, 0, 0}, {1, 0, 0}};
  SampleMaps all;
  all.count = 0;
  const float shift = kStartShift * map.scale;
  for (const Place& place : kPlaces) {
    const BoxMap look{map.scale * (1 + kStartScale * place.scale),
                      map.shift_x + shift * place.right, map.shift_y + shift * place.down,
                      map.square};
    const SampleMaps samples = make_sample_maps(look, kStartSamples).value();
    for (int k = 0; k < samples.count; ++k) all.map[all.count++] = samples.map[k];
  }
  return all;
}

Result<std::unique_ptr<SampledLandmarker>> SampledLandmarker::create(
    Backend backend, const std::shared_ptr<const ForestModel>& model, int iterations,
    const StopFlag* stop) {
  using Made = Result<std::unique_ptr<SampledLandmarker>>;
  return guarded("planning landmarks", [&]() -> Made {
    CUFACE_TAKE(landmarker, Landmarker::create(backend, model, iterations, stop));
    return std::unique_ptr<SampledLandmarker>(
        new SampledLandmarker(std::move(landmarker), mean_points(*model), model->confidence, stop));
  });
}

SampledLandmarker::SampledLandmarker(std::unique_ptr<Landmarker> landmarker,
                                     std::vector<Point> mean, const ConfidenceTable& table,
                                     const StopFlag* stop)
    : stop_(stop),
      table_(table),
      landmarker_(std::move(landmarker)),
      mean_(std::move(mean)),
      landmarks_(mean_.size()) {}
SampledLandmarker::~SampledLandmarker() = default;

Status SampledLandmarker::search_starts(ImageView<const std::uint8_t> luma,
                                        std::span<const Box> boxes, const BoxMap& map,
                                        std::span<const Roll> rolls,
                                        std::span<const std::uint8_t> twice) {
  looks_.assign(boxes.size(), {});
  boxes_.clear();
  rolls_.clear();
  looked_at_.clear();
  const SampleMaps maps = make_start_maps(map);
  const auto rows = static_cast<std::size_t>(maps.count);
  for (std::size_t i = 0; i < twice.size(); ++i) {
    if (!twice[i]) continue;
    const Roll roll = rolls.empty() ? Roll{} : rolls[i];
    for (std::size_t k = 0; k < rows; ++k) boxes_.push_back(maps.map[k].apply(boxes[i], roll));
    if (!std::all_of(boxes_.end() - maps.count, boxes_.end(), forest::is_usable)) {
      boxes_.resize(boxes_.size() - rows);
      continue;
    }
    rolls_.insert(rolls_.end(), rows, roll);
    looked_at_.push_back(i);
  }
  if (boxes_.empty()) return {};
  points_.resize(boxes_.size() * landmarks_);
  CUFACE_TRY(landmarker_->enqueue(luma, boxes_, points_, rolls_));
  if (!start_scratch_) start_scratch_ = std::make_unique<forest::StartScratch>();
  const Point* found = points_.data();
  for (const std::size_t i : looked_at_) {
    if (is_raised(stop_)) return cancelled();
    const auto at = [&](int row, int landmark) {
      return found[static_cast<std::size_t>(row) * landmarks_ + static_cast<std::size_t>(landmark)];
    };
    bool any = false;
    FirstLook look;
    forest::best_look(SerialLanes{}, *start_scratch_, mean_, at, any, look.head);
    look.disagreement =
        least_disagreement(*start_scratch_) / static_cast<double>(landmarks_ * kStartSamples);
    if (any) looks_[i] = look;
    found += rows * landmarks_;
  }
  return {};
}

Result<std::optional<FirstLook>> SampledLandmarker::look(ImageView<const std::uint8_t> luma,
                                                         const Box& box, const BoxMap& map,
                                                         Roll roll) {
  using Looked = Result<std::optional<FirstLook>>;
  return guarded("looking for a head", [&]() -> Looked {
    constexpr std::uint8_t kYes = 1;
    CUFACE_TRY(search_starts(luma, {&box, 1}, map, {&roll, 1}, {&kYes, 1}));
    return looks_[0];
  });
}

Status SampledLandmarker::enqueue(ImageView<const std::uint8_t> luma, std::span<const Box> boxes,
                                  const BoxMap& map, int samples, std::span<Point> out,
                                  std::span<const Roll> rolls, std::span<const std::uint8_t> twice,
                                  std::span<float> confidences) {
  return guarded("finding landmarks",
                 [&] { return find(luma, boxes, map, samples, out, rolls, twice, confidences); });
}

Status SampledLandmarker::find(ImageView<const std::uint8_t> luma, std::span<const Box> boxes,
                               const BoxMap& map, int samples, std::span<Point> out,
                               std::span<const Roll> rolls, std::span<const std::uint8_t> twice,
                               std::span<float> confidences) {
  CUFACE_TAKE(maps, make_sample_maps(map, samples));
  CUFACE_TAKE(head_maps, make_sample_maps({}, samples));
  if (out.size() != boxes.size() * landmarks_) {
    return {StatusCode::kInvalidArgument, "landmarks need room for every point of every face"};
  }
  if (!rolls.empty() && rolls.size() != boxes.size()) {
    return {StatusCode::kInvalidArgument, "landmarks need the roll of every face, or of none"};
  }
  if (!twice.empty() && twice.size() != boxes.size()) {
    return {StatusCode::kInvalidArgument,
            "landmarks need to know of every face, or of none, "
            "whether to look twice"};
  }
  if (!confidences.empty() && (confidences.size() != out.size() || !has_confidences(samples))) {
    return {StatusCode::kInvalidArgument, "landmarks have a confidence for every point, or none"};
  }
  CUFACE_TRY(search_starts(luma, boxes, map, rolls, twice));
  boxes_.clear();
  rolls_.clear();
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const forest::HeadBox* head = looks_[i] ? &looks_[i]->head : nullptr;
    const Roll roll = head ? head->roll : rolls.empty() ? Roll{} : rolls[i];
    for (int k = 0; k < samples; ++k) {
      boxes_.push_back(head ? head_maps.map[k].apply(head->box, roll)
                            : maps.map[k].apply(boxes[i], roll));
      rolls_.push_back(roll);
    }
  }
  if (samples == 1) return landmarker_->enqueue(luma, boxes_, out, rolls_);

  points_.resize(boxes_.size() * landmarks_);
  CUFACE_TRY(landmarker_->enqueue(luma, boxes_, points_, rolls_));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t face = i / landmarks_, landmark = i % landmarks_;
    const Point* first =
        points_.data() + face * static_cast<std::size_t>(samples) * landmarks_ + landmark;
    out[i] = mean_of_samples(
        samples, [&](int k) { return first[static_cast<std::size_t>(k) * landmarks_]; });
    if (confidences.empty()) continue;
    const auto side = static_cast<double>(boxes_[face * static_cast<std::size_t>(samples)].w);
    confidences[i] = forest::spread_of_samples(samples, out[i], side, [&](int k) {
      return first[static_cast<std::size_t>(k) * landmarks_];
    });
  }
  for (std::size_t first = 0; first < confidences.size(); first += landmarks_) {
    const double mean =
        forest::mean_spread(confidences.data() + first, static_cast<int>(landmarks_));
    for (float& of : confidences.subspan(first, landmarks_))
      of = forest::confidence_of_spread(table_, of, mean);
  }
  return {};
}

}  // namespace cuface
