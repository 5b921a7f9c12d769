#include "kernels/detect/verifying_detector.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "kernels/common/lanes.h"
#include "kernels/common/try.h"
#include "kernels/detect/boxes.h"
#include "kernels/detect/search_angles.h"
#include "kernels/detect/searcher.h"
#include "kernels/detect/verify.h"

namespace cuface {

PatchShape patch_shape(int window_width, int window_height, const DetectConfig& config, int width,
                       int height) {
  // The largest window and how far it may lie from the middle, with a pixel for rounding.
  const auto room = [](int face) {
    return static_cast<int>(std::ceil(face * (verify::kGrowth + 2 * verify::kReach))) + 1;
  };
  PatchShape shape;
  shape.face_width = window_width * 3 / 2;
  shape.face_height = window_height * 3 / 2;
  shape.width = room(shape.face_width);
  shape.height = room(shape.face_height);
  shape.smallest = std::max({window_width * config.detect_scale, config.min_size, 1});
  shape.largest = config.max_size > 0 ? config.max_size : std::max(width, height);
  return shape;
}

DetectConfig patch_search(const PatchShape& shape, const DetectConfig& config) {
  const auto [less, more] = std::minmax(shape.face_width, shape.face_height);
  DetectConfig search;
  search.scale_factor = config.scale_factor;
  search.min_neighbors = turned_neighbors(config.min_neighbors);
  search.min_size = static_cast<int>(std::floor(less / verify::kGrowth));
  search.max_size = static_cast<int>(std::ceil(more * verify::kGrowth));
  search.step = 1;
  return search;
}

namespace {

/// What join_angles() reads and writes: "at angle 0" is what the search has found.
struct VerifiedLists {
  const DetectResult& searched;
  const std::vector<Detection>& verified;
  const std::vector<Roll>& verified_rolls;
  DetectResult& out;
  std::vector<int>& list_of;
  const StopFlag* stop;

  const Detection& at(int list, int place) const {
    return (list == 0 ? searched.faces : verified)[static_cast<std::size_t>(place)];
  }
  /// None once the search is stopped, which ends the join.
  int count(int list) const {
    if (is_raised(stop)) return 0;
    return static_cast<int>((list == 0 ? searched.faces : verified).size());
  }
  int neighbors(int list, int place) const { return at(list, place).neighbors; }
  Box box(int list, int place) const { return as_box(at(list, place).box); }
  int kept_angle(int k) const { return list_of[static_cast<std::size_t>(k)]; }
  Box kept_box(int k) const { return as_box(out.faces[static_cast<std::size_t>(k)].box); }
  void keep(int, int list, int place) {
    const auto i = static_cast<std::size_t>(place);
    out.faces.push_back(at(list, place));
    list_of.push_back(list);
    const auto& rolls = list == 0 ? searched.rolls : verified_rolls;
    out.rolls.push_back(rolls.empty() ? Roll{} : rolls[i]);
  }
};

class VerifyingDetector final : public Detector {
 public:
  Status plan(const std::shared_ptr<const CascadeModel>& model, const DetectConfig& config,
              int width, int height, const std::shared_ptr<SharedSearch>& shared) {
    stop_ = shared->stop();
    DetectConfig whole = config;
    whole.verify = false;
    shape_ = patch_shape(model->window_width, model->window_height, config, width, height);
    search_ = patch_search(shape_, config);
    SearchPlan patches = plan_search(search_, shape_.atlas_width(), shape_.atlas_height());
    patches.shared = shared;
    CUFACE_TRY(take(make_detector(model, whole, width, height, shared), detector_));
    model_ = model;
    width_ = width;
    height_ = height;
    max_faces_ = config.max_faces;
    atlas_ = Image<std::uint8_t>(shape_.atlas_width(), shape_.atlas_height());
    searcher_ = make_pyramid_searcher(*model_, patches);
    if (is_raised(stop_)) return cancelled();
    windows_.reserve(kMaxRawWindows);
    scratch_.reserve(kMaxRawWindows);
    return {};
  }

  Status find(ImageView<const std::uint8_t> luma, DetectResult& out, const SearchRegion& band,
              std::span<const Followed> followed) override {
    if (followed.empty() || band.only_new()) return detector_->enqueue(luma, out, band, followed);
    out.clear();
    CUFACE_TRY(detector_->enqueue(luma, searched_, band, followed));
    out.cells = searched_.cells;
    out.changed_cells = searched_.changed_cells;
    if (is_unchanged(out, band)) return {};
    choose(followed, band);
    verified_.clear();
    rolls_.clear();
    if (!patches_.empty() && !searched_.overflow) verify(luma);
    list_of_.clear();
    VerifiedLists lists{searched_, verified_, rolls_, out, list_of_, stop_};
    join_angles(SerialLanes{}, lists, 2, max_faces_, join_);
    if (is_raised(stop_)) {
      out.clear();
      return cancelled();
    }
    out.overflow = searched_.overflow;
    return {};
  }

  long long windows() const override { return detector_->windows(); }

 private:
  void choose(std::span<const Followed> followed, const SearchRegion& band) {
    patches_.clear();
    for (const Followed& face : followed) {
      if (patches_.size() == kMostVerified) return;
      if (!can_verify(face, shape_, band, width_, height_)) continue;
      const bool found = std::ranges::any_of(searched_.faces, [&](const Detection& d) {
        return intersection_over_union(as_box(d.box), face.box) >= verify::kSameFace;
      });
      if (!found) patches_.push_back(patch_of(face, shape_));
    }
  }

  /// Fills whole rows of patches and returns where they end.
  int fill_atlas(ImageView<const std::uint8_t> luma) {
    const int n = static_cast<int>(patches_.size());
    const int bottom = (n + kPatchColumns - 1) / kPatchColumns * shape_.height;
    const ImageView<std::uint8_t> atlas = atlas_.view();
    for (int y = 0; y < atlas.height; ++y) std::fill_n(atlas.row(y), atlas.width, kOutside);
    for (int i = 0; i < n; ++i) {
      const Patch& patch = patches_[static_cast<std::size_t>(i)];
      for (int v = 0; v < shape_.height; ++v) {
        std::uint8_t* out =
            atlas.row(i / kPatchColumns * shape_.height + v) + i % kPatchColumns * shape_.width;
        for (int u = 0; u < shape_.width; ++u) out[u] = patch_sample(luma, shape_, patch, u, v);
      }
    }
    return bottom;
  }

  void verify(ImageView<const std::uint8_t> luma) {
    const int bottom = fill_atlas(luma);
    windows_.clear();
    if (!searcher_->search_above(std::as_const(atlas_).view(), bottom, windows_)) return;
    if (!group(windows_, search_.grouping, search_.min_neighbors, scratch_, found_, stop_)) return;
    std::erase_if(found_, [&](Detection& d) {
      return !clip(d.box, shape_.atlas_width(), shape_.atlas_height());
    });
    if (found_.size() > static_cast<std::size_t>(search_.max_faces))
      found_.resize(static_cast<std::size_t>(search_.max_faces));
    bool done[kMostVerified] = {};
    for (Detection d : found_) {
      const int i = patch_at(d.box, shape_);
      if (i >= static_cast<int>(patches_.size()) || done[i]) continue;
      const Patch& patch = patches_[static_cast<std::size_t>(i)];
      if (!from_patch(shape_, patch, i, width_, height_, d.box)) continue;
      done[i] = true;
      verified_.push_back(d);
      rolls_.push_back(patch.roll);
    }
  }

  const StopFlag* stop_ = nullptr;
  std::shared_ptr<const CascadeModel> model_;
  std::unique_ptr<Detector> detector_;
  int width_ = 0, height_ = 0, max_faces_ = 0;
  PatchShape shape_;
  DetectConfig search_;  ///< of the atlas
  Image<std::uint8_t> atlas_;
  std::unique_ptr<Searcher> searcher_;
  std::vector<Rect> windows_;
  GroupScratch scratch_;
  DetectResult searched_;
  std::vector<Patch> patches_;
  std::vector<Detection> found_, verified_;  ///< in the atlas; in the picture
  std::vector<Roll> rolls_;                  ///< of those verified
  std::vector<int> list_of_;                 ///< of the faces that are kept
  JoinScratch join_;
};

}  // namespace

Result<std::unique_ptr<Detector>> make_verifying_detector(
    const std::shared_ptr<const CascadeModel>& model, const DetectConfig& config, int width,
    int height, const std::shared_ptr<SharedSearch>& shared) {
  auto detector = std::make_unique<VerifyingDetector>();
  CUFACE_TRY(detector->plan(model, config, width, height, shared));
  return std::unique_ptr<Detector>(std::move(detector));
}

}  // namespace cuface
