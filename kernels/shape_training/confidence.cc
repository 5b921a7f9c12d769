#include "kernels/shape_training/confidence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/shape_training/face_on_level.h"

namespace cuface::shape {
namespace {

constexpr double kGood = 0.1;

/// In parts of the box.
struct Hard {
  double right = 0, down = 0, scale = 1;
  double left = 0, top = 0, end = 0, bottom = 0;  ///< what is covered
};
constexpr Hard kHard[] = {
    {},
    {0.15, 0},
    {-0.15, 0},
    {0, -0.15},
    {0, 0.15},
    {0.2, 0.12},
    {-0.2, -0.12},
    {0, 0, 0.75},
    {0, 0, 1.35},
    {0.12, -0.12, 1.2},
    {0, 0, 1, 0.1, 0.2, 0.5, 0.5},
    {0, 0, 1, 0.5, 0.2, 0.9, 0.5},
    {0, 0, 1, 0.3, 0.4, 0.7, 0.75},
    {0, 0, 1, 0.2, 0.65, 0.8, 1},
    {0, 0, 1, 0.5, -0.1, 1.2, 1.2},
};

Box moved(const Box& box, const Hard& hard) {
  const auto w = static_cast<double>(box.w), h = static_cast<double>(box.h);
  const double x = static_cast<double>(box.x) + hard.right * w + w * (1 - hard.scale) / 2;
  const double y = static_cast<double>(box.y) + hard.down * h + h * (1 - hard.scale) / 2;
  return {static_cast<float>(x), static_cast<float>(y), static_cast<float>(w * hard.scale),
          static_cast<float>(h * hard.scale)};
}

/// A copy of a part of a picture, with what is covered in grey.
Image<std::uint8_t> covered(ImageView<const std::uint8_t> picture, const Rect& part, const Box& box,
                            const Hard& hard) {
  Image<std::uint8_t> out(part.w, part.h);
  const auto at = [](double from, double side, double share) {
    return static_cast<int>(std::lrint(from + share * side));
  };
  const auto x = static_cast<double>(box.x), y = static_cast<double>(box.y);
  const auto w = static_cast<double>(box.w), h = static_cast<double>(box.h);
  const int left = at(x, w, hard.left) - part.x, right = at(x, w, hard.end) - part.x;
  const int top = at(y, h, hard.top) - part.y, bottom = at(y, h, hard.bottom) - part.y;
  for (int v = 0; v < part.h; ++v) {
    std::uint8_t* const row = out.view().row(v);
    std::copy_n(picture.row(part.y + v) + part.x, part.w, row);
    if (v >= top && v < bottom)
      for (int u = std::max(left, 0); u < std::min(right, part.w); ++u) row[u] = 128;
  }
  return out;
}

bool covers(const Hard& hard, const Box& box, const ShapePoint& p) {
  const double x = (p.x - static_cast<double>(box.x)) / static_cast<double>(box.w);
  const double y = (p.y - static_cast<double>(box.y)) / static_cast<double>(box.h);
  return x >= hard.left && x < hard.end && y >= hard.top && y < hard.bottom;
}

/// Of plain faces: each landmark's and the shape's cost in the middle, and from there to the third
/// quarter.
std::vector<UsualCost> usual_costs(std::span<const SearchedFace> faces) {
  constexpr double kLeast = 1e-6;
  std::vector<UsualCost> out;
  for (std::size_t i = 0; !faces.empty() && i < faces[0].costs.size(); ++i) {
    std::vector<double> costs;
    for (const SearchedFace& face : faces)
      if (face.is_plain) costs.push_back(face.costs[i]);
    std::ranges::sort(costs);
    // Where all faces are alike, any other costs a lot.
    const auto cost = [&](std::size_t at) {
      return std::clamp(costs[at], -kMaxShapeNumber, kMaxShapeNumber);
    };
    const double middle = cost(costs.size() / 2);
    out.push_back(
        {middle, std::clamp(cost(3 * costs.size() / 4) - middle, kLeast, kMaxShapeNumber)});
  }
  return out;
}

/// [faces][landmarks], without offsets.
std::vector<double> scores_of(std::span<const SearchedFace> faces, std::span<const UsualCost> usual,
                              const ScoreParts& parts, std::span<const double> mean_shape) {
  const std::vector<double> matrix = score_matrix(parts, mean_shape);
  std::vector<double> out, by(usual.size());
  const auto costs = static_cast<int>(usual.size()), points = costs - 1;
  for (const SearchedFace& face : faces) {
    for (std::size_t i = 0; i < by.size(); ++i) by[i] = unusual(face.costs[i], usual[i], parts);
    for (int i = 0; i < points; ++i)
      out.push_back(score_of_costs(matrix.data(), by.data(), costs, points, i, 0));
  }
  return out;
}

bool is_good(const SearchedFace& face, std::size_t i) { return face.off[i] <= kGood; }

ConfidenceTable table_of(std::span<const SearchedFace> faces, std::span<const double> scores) {
  constexpr int kFirst = -8, kSteps = kMostConfidenceSteps;
  // Half a good and half a bad point each to begin with.
  std::vector<double> good(kSteps, 0.5), all(kSteps, 1.0);
  const std::size_t landmarks = scores.size() / faces.size();
  for (std::size_t k = 0; k < scores.size(); ++k) {
    const double within = std::clamp(scores[k] - kFirst, 0.0, kSteps - 1.0);
    const double step = std::floor(within), to_next = within - step;
    const auto at = static_cast<std::size_t>(step);
    const double share = is_good(faces[k / landmarks], k % landmarks) ? 1 : 0;
    all[at] += 1 - to_next;
    good[at] += (1 - to_next) * share;
    if (!(to_next > 0)) continue;
    all[at + 1] += to_next;
    good[at + 1] += to_next * share;
  }
  // Neighbours are pooled until none has a larger share than the one before.
  struct Pool {
    double good, all;
    int steps;
    double share() const { return good / all; }
  };
  std::vector<Pool> pools;
  for (std::size_t i = 0; i < good.size(); ++i) {
    pools.push_back({good[i], all[i], 1});
    while (pools.size() > 1 && pools.back().share() > pools[pools.size() - 2].share()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back() = {pools.back().good + last.good, pools.back().all + last.all,
                      pools.back().steps + last.steps};
    }
  }
  ConfidenceTable out{kFirst, kSteps, {}};
  int step = 0;
  for (const Pool& pool : pools)
    for (int i = 0; i < pool.steps; ++i) out.at[step++] = static_cast<float>(pool.share());
  return out;
}

/// Some points are off more often than others at equal costs, as those of the jaw: each score is
/// moved to where the point's mean confidence is its share of good ones.
std::vector<double> move_scores(std::span<const SearchedFace> faces, std::span<double> scores) {
  constexpr double kMost = 16;
  constexpr int kRounds = 2;  // a third changes nothing
  const auto count = static_cast<double>(faces.size());
  std::vector<double> offsets(scores.size() / faces.size());
  for (int round = 0; round < kRounds; ++round) {
    const ConfidenceTable table = table_of(faces, scores);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const auto good = static_cast<double>(
          std::ranges::count_if(faces, [i](const SearchedFace& face) { return is_good(face, i); }));
      const double share = (good + 0.5) / (count + 1);
      double low = -kMost, high = kMost;
      for (int halving = 0; halving < 16; ++halving) {
        const double by = (low + high) / 2;
        double sum = 0;
        for (std::size_t k = i; k < scores.size(); k += offsets.size())
          sum += static_cast<double>(confidence_of_logarithm(table, scores[k] + by));
        (sum > share * count ? low : high) = by;
      }
      const double by = (low + high) / 2;
      offsets[i] += by;
      for (std::size_t k = i; k < scores.size(); k += offsets.size()) scores[k] += by;
    }
  }
  return offsets;
}

/// How far confidences are from 1 of good points and 0 of bad and covered ones, squared and added
/// up: Brier's score, least where they tell these best.
double squares_of(std::span<const SearchedFace> faces, std::span<const double> scores,
                  const ConfidenceTable& table) {
  const std::size_t landmarks = scores.size() / faces.size();
  double sum = 0;
  for (std::size_t k = 0; k < scores.size(); ++k) {
    const SearchedFace& face = faces[k / landmarks];
    const std::size_t i = k % landmarks;
    const bool is_covered = !face.covered.empty() && face.covered[i];
    const double off = static_cast<double>(confidence_of_logarithm(table, scores[k])) -
                       (is_good(face, i) && !is_covered ? 1 : 0);
    sum += off * off;
  }
  return sum;
}

/// Among which the calibration chooses. Parts add up to 5, so that scores fit the table's steps.
std::vector<ScoreParts> choices() {
  std::vector<ScoreParts> out;
  for (const double reach : {0.25, 0.5, 1.0})
    for (const double own : {0.0, 1.0})
      for (const double face : {0.0, 1.0, 2.0, 3.0, 4.0})
        for (const double shape : {0.0, 1.0, 2.0})
          for (const auto& [least, most] : {std::pair{-3.0, 10.0}, std::pair{-1.0, 4.0}})
            if (const double around = 5 - own - face - shape; around >= 0)
              out.push_back({own, around, face, reach, shape, least, most});
  return out;
}

}  // namespace

std::vector<SearchedFace> search_hard(FaceSearch& search, const ShapeModel& model,
                                      const ShapeFaces& faces, std::size_t face) {
  const std::vector<ShapePoint> truth = points_of(faces, face);
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  const ShapePoint &a = truth[at(model.size_left)], &b = truth[at(model.size_right)];
  const double unit = std::hypot(a.x - b.x, a.y - b.y);
  const ImageView<const std::uint8_t> picture = faces.pictures[faces.picture_of[face]];
  std::vector<SearchedFace> out;
  std::vector<ShapePoint> points(truth.size());
  for (const Hard& hard : kHard) {
    const Box box = moved(faces.boxes[face], hard);
    const Rect part = start_in_window(model, box, picture.width, picture.height, points);
    if (!(unit > 0) || part.w <= 0 || part.h <= 0) continue;
    const Image<std::uint8_t> copy = covered(picture, part, faces.boxes[face], hard);
    if (!search.run(copy.view(), points).ok()) continue;
    SearchedFace found{&hard == kHard, {}, {}, {}};
    for (std::size_t i = 0; i < points.size(); ++i) {
      found.costs.push_back(search.matches()[i].cost);
      found.off.push_back(
          std::hypot(points[i].x + part.x - truth[i].x, points[i].y + part.y - truth[i].y) / unit);
      found.covered.push_back(covers(hard, faces.boxes[face], truth[i]));
    }
    found.costs.push_back(search.shape_cost());
    out.push_back(std::move(found));
  }
  return out;
}

Calibration calibrate(std::span<const SearchedFace> faces, std::span<const double> mean_shape) {
  Calibration best;
  if (std::ranges::none_of(faces, [](const SearchedFace& face) { return face.is_plain; }))
    return best;
  best.usual = usual_costs(faces);
  double least = std::numeric_limits<double>::infinity();
  for (const ScoreParts& parts : choices()) {
    std::vector<double> scores = scores_of(faces, best.usual, parts, mean_shape);
    std::vector<double> offsets = move_scores(faces, scores);
    const ConfidenceTable table = table_of(faces, scores);
    const double squares = squares_of(faces, scores, table);
    if (!(squares < least)) continue;
    least = squares;
    best = {std::move(best.usual), std::move(offsets), parts, table};
  }
  if (!(best.parts.shape > 0)) best.usual.pop_back();
  return best;
}

}  // namespace cuface::shape
