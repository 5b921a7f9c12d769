#include "kernels/shape/cuda/device_model.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "kernels/common/cuda/tables.h"
#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "kernels/shape/steps.h"
#include "kernels/texture/integer_patch.h"

namespace cuface::cuda {
namespace {

std::size_t size_of(int n) { return static_cast<std::size_t>(n); }

/// A block's rows as lanes take them.
void add_words(const texture::PatchTable& table, std::size_t block, const PatchSteps& steps,
               std::vector<PatchWords>& out) {
  for (int step = 0; step < steps.count(); ++step) {
    for (const PatchByte byte : {kUpper, kLower}) {
      for (int lane = 0; lane < kWarp; ++lane) {
        PatchWords& to = out.emplace_back();
        for (int i = 0; i < 4; ++i) {
          const int row = lane / 4 + i % 2 * 8;
          const int word = step * PatchSteps::kWords + i / 2 * 4 + lane % 4;
          for (int k = 0; k < PatchSteps::kNumbers; ++k) {
            const int x = steps.x(word) + k, y = steps.y(word);
            if (x >= steps.side || y >= steps.side) continue;
            const int n = table.number(block, row, y * steps.side + x);
            const int half = byte == kUpper ? upper_byte(n) : lower_byte(n);
            to.words[i] |= static_cast<std::uint32_t>(half & 255) << 8 * k;
          }
        }
      }
    }
  }
}

}  // namespace

Result<std::shared_ptr<const DeviceShape>> DeviceShape::create(const ShapeModel& model) {
  return guarded("uploading the shape model", [&] { return make(model); });
}

Result<std::shared_ptr<const DeviceShape>> DeviceShape::make(const ShapeModel& model) {
  CUFACE_TRY(validate(model));
  const auto made = std::make_shared<DeviceShape>();
  ShapeTables& t = made->tables_;
  // Arguments of kernels are compared byte by byte.
  std::memset(static_cast<void*>(&t), 0, sizeof t);
  t.size = model.size;
  t.start_scale = model.start_scale;
  t.window = model.window;
  t.rest = model.rest;
  t.patch.side = model.patch.side;
  t.patch.reach = model.patch.reach;
  t.patch.step = model.patch.step;
  t.patch.gradient = model.patch.gradient;
  t.patch.is_bilinear = model.patch.is_bilinear;
  t.patch.q = model.patch.q;
  t.patch.likelihood = model.patch.likelihood;
  t.hat = model.hat;
  t.line = model.line;
  t.levels = model.levels;
  t.iterations = model.iterations;
  t.refits = model.refits;
  t.pyramid = model.pyramid;
  t.confidence = model.confidence;
  t.score_parts = model.score_parts;
  CUFACE_TRY(made->upload_shape(model));
  CUFACE_TRY(made->upload_profiles(model));
  if (made->has(ProfileKind::kHat)) CUFACE_TRY(made->upload_hats(model));
  return std::shared_ptr<const DeviceShape>(made);
}

Status DeviceShape::upload_shape(const ShapeModel& model) {
  std::vector<double> limits, grams, moments;
  std::vector<ShapePoint> means, parts;
  ShapeTables& t = tables_;
  for (int level = 0; level < model.levels; ++level) {
    const shape::LevelNumbers numbers(model, level);
    means.insert(means.end(), numbers.mean.begin(), numbers.mean.end());
    limits.insert(limits.end(), numbers.limits.begin(), numbers.limits.end());
    parts.insert(parts.end(), numbers.parts.begin(), numbers.parts.end());
    grams.insert(grams.end(), numbers.gram.begin(), numbers.gram.end());
    moments.insert(moments.end(), numbers.moments.begin(), numbers.moments.end());
    t.centres[level] = numbers.centre;
    t.mean_squares[level] = numbers.mean_square;
  }
  const auto mean = [&](int point, std::size_t axis) {
    return model.mean_shape[2 * size_of(point) + axis];
  };
  const auto reach = [&](std::size_t axis) {
    return (mean(model.size_left, axis) + mean(model.size_right, axis)) / 2 -
           mean(model.size_below, axis);
  };
  size_across_ = reach(0);
  size_down_ = reach(1);
  CUFACE_TRY(take(upload(model.mean_shape), mean_shape_));
  CUFACE_TRY(take(upload(means), means_));
  CUFACE_TRY(take(upload(limits), limits_));
  CUFACE_TRY(take(upload(parts), parts_));
  CUFACE_TRY(take(upload(grams), grams_));
  CUFACE_TRY(take(upload(moments), moments_));
  CUFACE_TRY(take(upload(model.refit_limits), refit_limits_));
  CUFACE_TRY(take(upload(model.eigenvectors), eigenvectors_));
  CUFACE_TRY(take(upload(model.weights), weights_));
  CUFACE_TRY(take(upload(model.neighbours), neighbours_));
  CUFACE_TRY(take(upload(model.rules), rules_));
  CUFACE_TRY(take(upload(model.moves), moves_));
  CUFACE_TRY(take(upload(model.usual_costs), usual_costs_));
  t.usual_costs = usual_costs_.data();
  t.costs = static_cast<std::int32_t>(model.usual_costs.size());
  if (model.confidence.is_known()) {
    std::vector<double> scores = shape::score_matrix(model.score_parts, model.mean_shape);
    scores.insert(scores.end(), model.score_offsets.begin(), model.score_offsets.end());
    scores.resize(size_of(model.points * (model.points + 2)));
    CUFACE_TRY(take(upload(scores), scores_));
  }
  t.scores = scores_.data();
  t.mean_shape = mean_shape_.data();
  t.means = means_.data();
  t.limits = limits_.data();
  t.parts = parts_.data();
  t.grams = grams_.data();
  t.moments = moments_.data();
  t.refit_limits = refit_limits_.data();
  t.neighbours = neighbours_.data();
  t.constraint = shape::constraint_tables(model);
  t.constraint.eigenvectors = eigenvectors_.data();
  t.constraint.weights = weights_.data();
  t.constraint.rule = rules_.data();
  t.constraint.moves = moves_.data();
  return {};
}

Status DeviceShape::upload_profiles(const ShapeModel& model) {
  std::vector<std::uint32_t> patches;
  for (const ShapeProfile& p : model.profiles)
    if (p.kind == ProfileKind::kPatch) patches.push_back(p.first_number);
  const texture::PatchTable table(model.patch, model.numbers, patches);
  std::vector<PatchWords> words;
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    add_words(table, i, PatchSteps{model.patch.side}, words);
  std::vector<float> numbers;
  std::vector<double> lines;
  std::vector<DeviceProfile> profiles;
  const std::size_t hat = 1 + size_of(model.hat.size());
  const std::size_t line = size_of(model.line.length) * (1 + size_of(model.line.length));
  for (const ShapeProfile& p : model.profiles) {
    DeviceProfile to{p.kind, 0, 0, 0, 0};
    has_[static_cast<std::size_t>(p.kind)] = true;
    const auto from = model.numbers.begin() + static_cast<std::ptrdiff_t>(p.first_number);
    if (p.kind == ProfileKind::kPatch) {
      const texture::PatchTable::Model& m = table.model(p.first_number);
      to = {p.kind, static_cast<std::uint32_t>(m.first_block), m.blocks, m.edge, m.base};
      has_edges_ |= m.edge > 0;
      tables_.most_blocks = std::max(tables_.most_blocks, m.blocks);
    } else if (p.kind == ProfileKind::kHat) {
      to.first = static_cast<std::uint32_t>(numbers.size());
      for (std::size_t i = 0; i < hat; ++i)
        numbers.push_back(static_cast<float>(from[static_cast<std::ptrdiff_t>(i)]));
    } else {
      to.first = static_cast<std::uint32_t>(lines.size());
      lines.insert(lines.end(), from, from + static_cast<std::ptrdiff_t>(line));
    }
    profiles.push_back(to);
  }
  CUFACE_TRY(take(upload(profiles), profiles_));
  CUFACE_TRY(take(upload(numbers), numbers_));
  CUFACE_TRY(take(upload(lines), lines_));
  CUFACE_TRY(take(upload(words), patch_words_));
  CUFACE_TRY(take(upload(table.rows), patch_rows_));
  tables_.profiles = profiles_.data();
  tables_.numbers = numbers_.data();
  tables_.lines = lines_.data();
  tables_.patch_words = patch_words_.data();
  tables_.patch_rows = patch_rows_.data();
  return {};
}

Status DeviceShape::upload_hats(const ShapeModel& model) {
  std::vector<texture::HatTaps> rows, columns;
  const double decay = texture::hat_decay(model.hat);
  for (int level = 0; level < model.levels; ++level) {
    // A level without descriptors may have no patch either.
    const int patch = std::max(3, model.hat.patch_at(level));
    tables_.patches[level] = patch;
    for (const auto& taps : texture::hat_taps(patch, model.hat.rows, decay)) rows.push_back(taps);
    for (const auto& taps : texture::hat_taps(patch, model.hat.columns, decay))
      columns.push_back(taps);
  }
  CUFACE_TRY(take(upload(texture::hat_gradients(model.hat.bins)), gradients_));
  CUFACE_TRY(take(upload(rows), rows_));
  CUFACE_TRY(take(upload(columns), columns_));
  tables_.gradients = gradients_.data();
  tables_.rows = rows_.data();
  tables_.columns = columns_.data();
  return {};
}

}  // namespace cuface::cuda
