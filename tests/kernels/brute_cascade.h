// A cascade evaluated by its definition, one window after another, on OpenCV's integrals: the
// independent implementation where OpenCV's detector cannot be asked (hand-made models, forced
// steps, scaled windows). Written from the contract, not from the code under test.
#pragma once

#include <cmath>
#include <functional>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "kernels/cascade/cascade.h"

namespace cuface::test {

/// A feature's rectangles with their weights, in pixels of the picture that is searched.
struct BruteFeature {
  bool tilted = false;
  std::vector<HaarRect> rects;
};

inline std::vector<BruteFeature> plain_features(const CascadeModel& model) {
  std::vector<BruteFeature> out;
  for (const HaarFeature& f : model.features) {
    out.push_back({f.tilted, {f.rects, f.rects + f.rect_count}});
  }
  return out;
}

/// [S0.15]: edges of upright rectangles rounded; position and sides of tilted ones
/// rounded, sides cut where they leave the window; then the first weight makes the weighted areas
/// sum to 0.
inline std::vector<BruteFeature> scaled_features(const CascadeModel& model, float scale) {
  const auto round = [&](int v) { return cvRound(static_cast<float>(v) * scale); };
  const int width = round(model.window_width), height = round(model.window_height);
  std::vector<BruteFeature> out = plain_features(model);
  for (BruteFeature& f : out) {
    float weighted = 0;
    for (HaarRect& r : f.rects) {
      if (f.tilted) {
        r = {round(r.x), round(r.y), round(r.w), round(r.h), r.weight};
        while (r.x + r.w > width || r.y + r.w > height) --r.w;
        while (r.x - r.h < 0 || r.y + r.w + r.h > height) --r.h;
      } else {
        const int right = round(r.x + r.w), bottom = round(r.y + r.h);
        r.x = round(r.x);
        r.y = round(r.y);
        r.w = right - r.x;
        r.h = bottom - r.y;
      }
      if (&r != &f.rects[0]) weighted += r.weight * static_cast<float>(r.w * r.h);
    }
    const int area = f.rects[0].w * f.rects[0].h;
    f.rects[0].weight = area > 0 ? -weighted / static_cast<float>(area) : 0;
  }
  return out;
}

class BruteCascade {
 public:
  BruteCascade(const CascadeModel& model, const cv::Mat& picture) : model_(model) {
    cv::integral(picture, sum_, squared_, tilted_, CV_32S, CV_64F);
  }

  /// 1/sqrt of the norm over a rectangle; 0 where it is flat.
  float inverse_norm(int x, int y, int w, int h) const {
    const double n = static_cast<double>(w) * h;
    const double s = box<int>(sum_, x, y, w, h), q = box<double>(squared_, x, y, w, h);
    const double nf = n * q - s * s;
    return nf > 0 ? static_cast<float>(1 / std::sqrt(nf)) : 0.0f;
  }

  /// Stages passed by the window at (x,y).
  std::size_t stages_passed(const std::vector<BruteFeature>& features, int x, int y,
                            float norm) const {
    std::size_t passed = 0;
    for (const HaarStage& stage : model_.stages) {
      double sum = 0;
      for (int t = stage.first_tree; t < stage.first_tree + stage.tree_count; ++t) {
        sum += leaf(model_.trees[static_cast<std::size_t>(t)], features, x, y, norm);
      }
      if (sum < static_cast<double>(stage.threshold - 1e-5f)) break;
      ++passed;
    }
    return passed;
  }

  /// The windows of a level that OpenCV's search would find with this step, of those that are
  /// `looked_at`.
  std::vector<RawWindow> search(
      int columns, int rows, int step, int level,
      const std::function<bool(int, int)>& looked_at = [](int, int) { return true; }) const {
    const std::vector<BruteFeature> features = plain_features(model_);
    const int w = model_.window_width - 2, h = model_.window_height - 2;
    std::vector<RawWindow> out;
    for (int y = 0; y < rows; y += step) {
      for (int x = 0; x < columns; x += step) {
        if (!looked_at(x, y)) continue;
        const float norm = inverse_norm(x + 1, y + 1, w, h);
        if (norm == 0 || !(static_cast<double>(w) * h * static_cast<double>(norm) < 0.1)) continue;
        const std::size_t passed = stages_passed(features, x, y, norm);
        if (passed == model_.stages.size()) out.push_back({level, x, y});
        if (passed == 0) x += step;
      }
    }
    return out;
  }

 private:
  template <typename T>
  static double box(const cv::Mat& m, int x, int y, int w, int h) {
    return static_cast<double>(m.at<T>(y, x) - m.at<T>(y, x + w) - m.at<T>(y + h, x) +
                               m.at<T>(y + h, x + w));
  }

  float rect_sum(const HaarRect& r, bool tilted, int x, int y) const {
    const int left = x + r.x, top = y + r.y;
    if (!tilted) return static_cast<float>(box<int>(sum_, left, top, r.w, r.h));
    const auto t = [&](int dx, int dy) { return tilted_.at<int>(top + dy, left + dx); };
    return static_cast<float>(t(0, 0) - t(-r.h, r.h) - t(r.w, r.w) + t(r.w - r.h, r.w + r.h));
  }

  double leaf(const HaarTree& tree, const std::vector<BruteFeature>& features, int x, int y,
              float norm) const {
    int at = 0;
    for (;;) {
      const HaarNode& node = model_.nodes[static_cast<std::size_t>(tree.first_node + at)];
      const BruteFeature& f = features[static_cast<std::size_t>(node.feature)];
      float value = f.rects[0].weight * rect_sum(f.rects[0], f.tilted, x, y);
      for (std::size_t r = 1; r < f.rects.size(); ++r) {
        value += f.rects[r].weight * rect_sum(f.rects[r], f.tilted, x, y);
      }
      at = value * norm < node.threshold ? node.left : node.right;
      if (at <= 0) {
        return static_cast<double>(model_.leaves[static_cast<std::size_t>(tree.first_leaf - at)]);
      }
    }
  }

  const CascadeModel& model_;
  cv::Mat sum_, squared_, tilted_;
};

}  // namespace cuface::test
