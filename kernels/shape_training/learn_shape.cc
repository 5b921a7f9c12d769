#include "kernels/shape_training/learn_shape.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "kernels/common/workers.h"
#include "kernels/faces/landmark_scheme.h"
#include "kernels/shape_training/face_on_level.h"
#include "kernels/shape_training/hats.h"
#include "kernels/shape_training/mean_shape.h"
#include "kernels/shape_training/patches.h"
#include "kernels/shape_training/regression.h"
#include "kernels/shape_training/weights.h"

namespace cuface {
namespace {

using shape::FaceOnLevel;
using shape::neighbours_of;
using shape::points_of;
using shape::Texture;

std::size_t size_of(int n) { return static_cast<std::size_t>(n); }

Status invalid(std::string why) { return {StatusCode::kInvalidArgument, std::move(why)}; }

/// What a model's spans point into.
struct Tables : shape::MeanShapeTables {
  LearntTextures textures;
};

class Training {
 public:
  Training(const ShapeFaces& faces, const ShapeOptions& options, const ShapeRun& run)
      : faces_(faces),
        options_(options),
        run_(run),
        landmarks_(size_of(faces.landmarks)),
        is_patch_(options.profiles == ProfileKind::kPatch),
        is_hat_(options.profiles == ProfileKind::kHat),
        size_(size_of(is_patch_ ? options.patch.size()
                      : is_hat_ ? options.hat.size()
                                : options.line.length)),
        workers_(run.threads > 0 ? run.threads : Workers::processors()) {}

  Result<std::shared_ptr<const ShapeModel>> work(LearntTextures begun) {
    CUFACE_TRY(find_whole_faces());
    auto model = std::make_shared<ShapeModel>();
    auto tables = std::make_shared<Tables>();
    CUFACE_TRY(shape::make_shape(faces_, whole_, options_, *model, *tables));
    tables->weights.assign(landmarks_, 1);
    tables->neighbours = neighbours_of(faces_.landmarks);
    const std::size_t done = begun.profiles.size() / landmarks_;
    CUFACE_TRY(check_begun(begun, done));
    CUFACE_TRY(check_model_work(options_, faces_.landmarks, faces_.boxes.size(), begun));
    tables->textures = std::move(begun);
    for (int level = static_cast<int>(done); level < options_.levels; ++level) {
      CUFACE_TRY(learn_level(*model, level, tables->textures));
      CUFACE_TRY(check_model_size(options_, faces_.landmarks, tables->textures.numbers.size(),
                                  options_.levels - level - 1));
      CUFACE_TRY(
          check_model_work(options_, faces_.landmarks, faces_.boxes.size(), tables->textures));
      if (run_.watch) run_.watch(tables->textures);
    }
    show(*tables, *model);
    if (options_.weigh) {
      const auto all = [this](std::size_t count, const auto& task) { return each(count, task); };
      CUFACE_TRY(take(shape::point_weights(faces_, *model, options_.inside, workers_.count(), all),
                      tables->weights));
      shape::turn_modes(tables->weights, tables->eigenvalues, tables->eigenvectors);
      show(*tables, *model);
    }
    model->scheme = known_scheme(mean_points(*model));
    model->storage = tables;
    CUFACE_TRY(validate(*model));
    return std::shared_ptr<const ShapeModel>(std::move(model));
  }

 private:
  Status find_whole_faces() {
    for (std::size_t face = 0; face < faces_.boxes.size(); ++face) {
      const auto present = faces_.present.subspan(face * landmarks_, landmarks_);
      if (std::ranges::all_of(present, [](std::uint8_t p) { return p != 0; }))
        whole_.push_back(face);
    }
    if (whole_.size() < shape::kFewestWholeFaces)
      return invalid("a shape is learnt from 3 faces with all landmarks or more, and " +
                     std::to_string(whole_.size()) + " of " + std::to_string(faces_.boxes.size()) +
                     " have all");
    return {};
  }

  /// What a checkpoint has of a training.
  Status check_begun(const LearntTextures& begun, std::size_t done) const {
    const auto fits = [&](const ShapeProfile& p) {
      return p.kind == options_.profiles && p.first_number < begun.numbers.size();
    };
    if (begun.profiles.size() != done * landmarks_ || done > size_of(options_.levels) ||
        !std::ranges::all_of(begun.profiles, fits) ||
        begun.refit_limits.size() != (options_.refits > 0 && done > 0 ? landmarks_ : 0))
      return invalid("what was begun does not fit this training");
    return {};
  }

  /// What one face gives to one level: samples of all landmarks, and the edge's intensity there.
  struct OfFace {
    bool is_there = false;
    std::vector<float> samples, edges;
  };

  OfFace sample(const ShapeModel& model, std::size_t face, int level) const {
    OfFace out;
    FaceOnLevel on_level;
    if (!on_level.make(faces_, face, model, level)) return out;
    out.is_there = true;
    out.samples.resize(landmarks_ * size_);
    out.edges.resize(landmarks_);
    const ImageView<const std::uint8_t> picture = on_level.picture();
    const std::span<const ShapePoint> points = on_level.points();
    PatchReference patches(options_.patch, {});
    patches.set_picture(picture,
                        options_.edge > 0 ? texture::strongest_sobel_square({picture}) : 0);
    const std::vector<ShapeNeighbours> near = neighbours_of(faces_.landmarks);
    std::vector<double> values(size_);
    for (std::size_t i = 0; i < landmarks_; ++i) {
      if (!faces_.present[face * landmarks_ + i]) continue;
      if (is_patch_) {
        patches.patch(points[i], 0, 0, values);
        out.edges[i] = static_cast<float>(options_.edge > 0 ? patches.edge(points[i], 0, 0) : 0);
      } else {
        const ShapePoint step = whisker_step(points[size_of(near[i].previous)], points[i],
                                             points[size_of(near[i].next)]);
        line_gradients(picture, points[i], step, -options_.line.length / 2, values);
        scale_line(values);
      }
      std::ranges::transform(values, out.samples.begin() + static_cast<std::ptrdiff_t>(i * size_),
                             [](double v) { return static_cast<float>(v); });
    }
    return out;
  }

  /// Calls task(i, worker) for each, until the training is stopped.
  template <typename Task>
  Status each(std::size_t count, const Task& task) {
    std::vector<Status> status(count);
    workers_.run(static_cast<int>(count), [&](int i, int worker) {
      if (is_raised(run_.stop)) return;
      status[size_of(i)] = guarded("learning textures", [&]() -> Status {
        task(size_of(i), size_of(worker));
        return {};
      });
    });
    if (is_raised(run_.stop)) return cancelled();
    for (const Status& s : status) CUFACE_TRY(s);
    return {};
  }

  /// What is learnt of one landmark on one level, and from how many faces.
  struct Learnt {
    Texture texture;
    double limit = 0;
    std::size_t faces = 0;
  };

  Status learn_level(const ShapeModel& model, int level, LearntTextures& to) {
    const int side = is_patch_ ? options_.patch.side
                     : is_hat_ ? options_.hat.patch_at(level)
                               : options_.line.length;
    const auto used = shape::used_landmarks(faces_, model, level, side, options_.inside);
    std::vector<Learnt> learnt(landmarks_);
    CUFACE_TRY(is_hat_ ? learn_hats(model, level, used, learnt)
                       : learn_samples(model, level, used, learnt));
    for (std::size_t i = 0; i < landmarks_; ++i) {
      const Texture& texture = learnt[i].texture;
      if (learnt[i].faces < 2) return few_faces(model, level, i);
      if (learnt[i].faces < ShapeOptions::kFewestSamples && run_.note)
        run_.note("level " + std::to_string(level) + ", landmark " + std::to_string(i) +
                  ": learnt from " + std::to_string(learnt[i].faces) + " faces only");
      to.profiles.push_back({options_.profiles, static_cast<std::uint32_t>(to.numbers.size())});
      if (is_patch_)
        to.numbers.insert(to.numbers.end(), {static_cast<double>(texture.rows), edge_of(i)});
      to.numbers.insert(to.numbers.end(), texture.mean.begin(), texture.mean.end());
      to.numbers.insert(to.numbers.end(), texture.matrix.begin(), texture.matrix.end());
      to.numbers.insert(to.numbers.end(), texture.likelihood.begin(), texture.likelihood.end());
      if (level == 0 && options_.refits > 0) to.refit_limits.push_back(learnt[i].limit);
    }
    return {};
  }

  Status few_faces(const ShapeModel& model, int level, std::size_t landmark) const {
    std::size_t refused = 0;
    FaceOnLevel on_level;
    for (std::size_t face = 0; face < faces_.boxes.size(); ++face)
      refused += !on_level.make(faces_, face, model, level);
    std::string why = "level " + std::to_string(level) + ", landmark " + std::to_string(landmark) +
                      " has no two faces to learn from";
    if (refused > 0)
      why += ": " + std::to_string(refused) + " of " + std::to_string(faces_.boxes.size()) +
             " faces are too large at --size, or too small after --levels";
    return invalid(why);
  }

  /// Of patches and lines.
  Status learn_samples(const ShapeModel& model, int level, std::span<const std::uint8_t> used,
                       std::vector<Learnt>& out) {
    std::vector<OfFace> samples(faces_.boxes.size());
    CUFACE_TRY(each(samples.size(), [&](std::size_t face, std::size_t) {
      samples[face] = sample(model, face, level);
    }));
    std::vector<std::vector<double>> likelihoods(landmarks_);
    if (is_patch_ && options_.pull > 0) {
      CUFACE_TRY(regress<shape::PatchSampler>(
          model, level, used, [&](std::size_t i, std::size_t, std::span<const double> numbers) {
            likelihoods[i].assign(numbers.begin() + 1, numbers.end());
          }));
    }
    return each(landmarks_, [&](std::size_t i, std::size_t) {
      learn(samples, i, used, likelihoods[i], out[i]);
    });
  }

  Status learn_hats(const ShapeModel& model, int level, std::span<const std::uint8_t> used,
                    std::vector<Learnt>& out) {
    return regress<shape::HatSampler>(
        model, level, used, [&](std::size_t i, std::size_t faces, std::span<const double> numbers) {
          out[i].faces = faces;
          // The likeliest place costs least.
          for (const double number : numbers) out[i].texture.matrix.push_back(-number);
        });
  }

  /// Regressions of likelihoods: take(landmark, faces that it was learnt from, intercept and
  /// coefficients). Samples are too many to be in memory all at once.
  template <typename Sampler, typename Take>
  Status regress(const ShapeModel& model, int level, std::span<const std::uint8_t> used,
                 const Take& take) {
    constexpr std::size_t kAtOnce = 64;  // faces
    const std::size_t count = faces_.boxes.size();
    const std::size_t each_has = shape::samples_of_landmark(options_);
    std::vector<shape::RidgeRegression> regressions(landmarks_, shape::RidgeRegression(size_));
    std::vector<Sampler> samplers(size_of(workers_.count()), Sampler(options_));
    std::vector<shape::DisplacedSamples> some(std::min(kAtOnce, count));
    for (std::size_t first = 0; first < count; first += kAtOnce) {
      const std::size_t left = std::min(kAtOnce, count - first);
      CUFACE_TRY(each(left, [&](std::size_t k, std::size_t worker) {
        some[k] = samplers[worker].sample(faces_, first + k, model, level);
      }));
      CUFACE_TRY(each(landmarks_, [&](std::size_t i, std::size_t) {
        for (std::size_t k = 0; k < left; ++k) {
          if (!used[(first + k) * landmarks_ + i] || some[k].targets.empty()) continue;
          const std::size_t at = i * each_has;
          regressions[i].add(std::span(some[k].textures).subspan(at * size_, each_has * size_),
                             std::span(some[k].targets).subspan(at, each_has));
        }
      }));
    }
    return each(landmarks_, [&](std::size_t i, std::size_t) {
      if (const std::size_t faces = regressions[i].count() / each_has; faces >= 2)
        take(i, faces, regressions[i].solve(options_.ridge));
    });
  }

  double edge_of(std::size_t i) const {
    const int n = static_cast<int>(i);
    const PointRange jaw = known_scheme(faces_.landmarks).jaw;
    const int first = options_.edge_first < 0 ? jaw.first : options_.edge_first;
    const int last = options_.edge_first < 0 ? jaw.first + jaw.count - 1 : options_.edge_last;
    return n >= first && n <= last ? options_.edge : 0;
  }

  void learn(const std::vector<OfFace>& faces, std::size_t i, std::span<const std::uint8_t> used,
             std::span<const double> likelihood, Learnt& out) const {
    std::vector<float> samples;
    std::vector<double> edges;
    for (std::size_t face = 0; face < faces.size(); ++face) {
      if (!used[face * landmarks_ + i] || !faces[face].is_there) continue;
      const auto from = faces[face].samples.begin() + static_cast<std::ptrdiff_t>(i * size_);
      samples.insert(samples.end(), from, from + static_cast<std::ptrdiff_t>(size_));
      edges.push_back(static_cast<double>(faces[face].edges[i]));
    }
    out.faces = edges.size();
    if (out.faces < 2) return;
    out.texture = is_patch_ ? shape::learn_patch(samples, size_, options_)
                            : shape::learn_line(samples, size_, options_.floor);
    if (is_patch_ && options_.pull > 0)
      shape::add_likelihood(likelihood, 2 * options_.pull, size_, out.texture);
    if (options_.refits > 0 && is_patch_) out.limit = limit_of(samples, edges, i, out.texture);
  }

  double limit_of(const std::vector<float>& samples, const std::vector<double>& edges,
                  std::size_t i, const Texture& texture) const {
    std::vector<double> costs;
    for (std::size_t s = 0; s < edges.size(); ++s) {
      const auto product = [&](const double* row) {
        double sum = 0;
        for (std::size_t k = 0; k < size_; ++k)
          sum += row[k] * (static_cast<double>(samples[s * size_ + k]) - texture.mean[k]);
        return sum;
      };
      double cost = 0;
      for (std::size_t r = 0; r < texture.rows; ++r) {
        const double along = product(texture.matrix.data() + r * size_);
        cost += along * along;
      }
      if (edge_of(i) > 0) cost *= edge_of(i) - edges[s];
      if (!texture.likelihood.empty())
        cost -= shape::patch_rule(options_).likelihood * product(texture.likelihood.data());
      costs.push_back(cost);
    }
    std::ranges::sort(costs);
    const auto last = static_cast<double>(costs.size() - 1);
    return costs[static_cast<std::size_t>(options_.refit_share * last)];
  }

  void show(const Tables& t, ShapeModel& model) const {
    model.mean_shape = t.mean_shape;
    model.eigenvalues = t.eigenvalues;
    model.eigenvectors = t.eigenvectors;
    model.weights = t.weights;
    model.neighbours = t.neighbours;
    model.profiles = t.textures.profiles;
    model.numbers = t.textures.numbers;
    model.refit_limits = t.textures.refit_limits;
  }

  const ShapeFaces& faces_;
  const ShapeOptions& options_;
  const ShapeRun& run_;
  const std::size_t landmarks_;
  const bool is_patch_, is_hat_;
  const std::size_t size_;  // of a sample
  Workers workers_;
  std::vector<std::size_t> whole_;
};

}  // namespace

Result<std::shared_ptr<const ShapeModel>> shape::learn_shape(const ShapeFaces& faces,
                                                             const ShapeOptions& options,
                                                             const ShapeRun& run,
                                                             LearntTextures begun) {
  return Training(faces, options, run).work(std::move(begun));
}

}  // namespace cuface
