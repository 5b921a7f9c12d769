// Detection on CUDA and on the CPU side by side: pictures, and what a search left compared.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/activity/activity.h"
#include "kernels/detect/cuda/detector.h"
#include "kernels/detect/searcher.h"
#include "models/models.h"
#include "tests/data.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/random_cascade.h"

namespace cuface::test {

using Model = std::shared_ptr<const CascadeModel>;

inline Model shared(CascadeModel model) {
  EXPECT_TRUE(validate(model).ok()) << validate(model).message();
  return std::make_shared<const CascadeModel>(std::move(model));
}

/// The cascades that are installed, by name; none where there are none.
inline std::vector<Model> real_cascades() {
  std::map<std::string, Model> found;
  for (const std::string& folder : {model_dir(), kCascadeDir}) {
    if (!std::filesystem::is_directory(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".xml" || found.count(entry.path().stem())) continue;
      const auto model = load_cascade(entry.path());
      EXPECT_TRUE(model.ok()) << model.status().message();
      if (model.ok()) found[entry.path().stem()] = model.value();
    }
  }
  std::vector<Model> models;
  for (const auto& [name, model] : found) models.push_back(model);
  return models;
}

/// Only the first `stages` stages.
inline Model cut(const Model& model, std::size_t stages) {
  CascadeModel part = *model;
  part.stages.resize(std::min(stages, part.stages.size()));
  const HaarStage& last = part.stages.back();
  part.trees.resize(static_cast<std::size_t>(last.first_tree + last.tree_count));
  const HaarTree& tree = part.trees.back();
  part.nodes.resize(static_cast<std::size_t>(tree.first_node + tree.node_count));
  part.leaves.resize(static_cast<std::size_t>(tree.first_leaf + tree.leaf_count));
  return shared(std::move(part));
}

template <typename T>
std::vector<T> download(const T* device, std::size_t count) {
  std::vector<T> out(count);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << cudaGetErrorString(cudaGetLastError());
  if (count == 0) return out;
  EXPECT_EQ(cudaMemcpy(out.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
  return out;
}

/// A picture with rows of `stride` bytes and `lead` bytes in front; the rest is noise, so that
/// reading beside the picture shows.
struct Picture {
  std::vector<std::uint8_t> bytes;
  int width = 0, height = 0, stride = 0, lead = 0;

  ImageView<const std::uint8_t> at(const std::uint8_t* base) const {
    return {base + lead, width, height, stride};
  }
  ImageView<const std::uint8_t> view() const { return at(bytes.data()); }
};

inline Picture padded(const std::vector<std::uint8_t>& pixels, int width, int height, int lead = 0,
                      int padding = 0) {
  Picture p{{}, width, height, width + padding, lead};
  p.bytes = smooth_pixels(p.stride, height + 1, 0, 77);
  for (int y = 0; y < height; ++y)
    std::copy_n(pixels.begin() + y * width, width, p.bytes.begin() + lead + y * p.stride);
  return p;
}

inline Picture smooth(int width, int height, int radius, unsigned seed, int lead = 0,
                      int padding = 0) {
  return padded(smooth_pixels(width, height, radius, seed), width, height, lead, padding);
}

inline Picture flat(int width, int height, std::uint8_t value) {
  return padded(std::vector<std::uint8_t>(static_cast<std::size_t>(width * height), value), width,
                height);
}

/// The middle of a natural picture, in place: its rows are far apart.
inline Picture part_of(const GrayPicture& whole, int width, int height) {
  Picture p{whole.pixels, std::min(width, whole.width), std::min(height, whole.height), whole.width,
            0};
  p.lead = (whole.height - p.height) / 2 * whole.width + (whole.width - p.width) / 2;
  return p;
}

inline auto values(const Rect& r) { return std::array{r.x, r.y, r.w, r.h}; }
inline bool less(const Rect& a, const Rect& b) { return values(a) < values(b); }

inline std::vector<Rect> sorted(std::vector<Rect> boxes) {
  std::sort(boxes.begin(), boxes.end(), less);
  return boxes;
}

/// One configuration on the device and on the CPU; what it compared.
class Pair {
 public:
  Pair(Model model, const DetectConfig& config, int width, int height)
      : out_(cuda::device_faces_bytes(0), kCanary),
        band_memory_(sizeof(SearchRegion), 0),
        followed_memory_(sizeof(cuda::FollowedFaces), 0) {
    auto gpu = cuda::Detector::create(model, config, width, height);
    EXPECT_TRUE(gpu.ok()) << gpu.status().message();
    if (gpu.ok()) gpu_ = std::move(gpu.value());
    cpu_ = std::move(Detector::create(Backend::kCpu, model, config, width, height).value());
    plan_ = plan_search(config, width, height);
    searcher_ = make_searcher(config.scale_mode, *model, plan_);
    model_ = model;
    config_ = config;
    if (config.active_parts) activity_.emplace(plan_.width, plan_.height, width, height);
  }

  Status enqueue(ImageView<const std::uint8_t> luma, const std::int32_t* run = nullptr) {
    return enqueue(luma, run, stream_);
  }
  /// Of whom both are told from now on, with DetectConfig::verify or active_parts; at most
  /// kMaxFaces.
  void follow(std::vector<Followed> followed) {
    std::vector<std::uint8_t> bytes(sizeof(cuda::FollowedFaces), kCanary);
    auto* faces = reinterpret_cast<cuda::FollowedFaces*>(bytes.data());
    faces->count = static_cast<std::int32_t>(followed.size());
    std::copy(followed.begin(), followed.end(), faces->faces);
    followed_memory_.set(bytes);
    followed_ = std::move(followed);
  }
  /// What of the pictures both search from now on.
  void search_band(const SearchRegion& band) {
    band_ = band;
    std::vector<std::uint8_t> bytes(sizeof band);
    std::memcpy(bytes.data(), &band, sizeof band);
    band_memory_.set(bytes);
    out_.set(std::vector<std::uint8_t>(out_.size(), kCanary));
  }
  /// The kernels of a search.
  cuda::LaunchList launches(ImageView<const std::uint8_t> luma, const std::int32_t* run = nullptr,
                            bool ifs = true) {
    cuda::LaunchList list;
    const cuda::Launcher launch(list);
    EXPECT_TRUE(enqueue(luma, run, ifs ? launch : launch.without_ifs()).ok());
    return list;
  }
  void check(const Picture& picture) {
    GuardedBytes in(picture.bytes);
    if (!several()) fill(gpu_->raw_windows(), kMaxRawWindows);
    ASSERT_TRUE(enqueue(picture.at(in.data())).ok());
    EXPECT_EQ(in.get(), picture.bytes) << "the picture was written to";
    compare(picture);
    if (several()) return;  // other searches have used the same memory
    const auto raw = download(gpu_->raw_windows(), kMaxRawWindows);
    const auto* end = reinterpret_cast<const std::uint8_t*>(raw.data() + raw.size());
    const auto* behind = reinterpret_cast<const std::uint8_t*>(
        raw.data() + std::min<std::size_t>(download(gpu_->counts(), 1)[0].raw, raw.size()));
    EXPECT_EQ(std::count(behind, end, kCanary), end - behind) << "behind the last raw window";
  }
  /// Canaries in memory that the search is to fill.
  template <typename T>
  static void fill(const T* device, std::size_t count) {
    EXPECT_EQ(cudaMemset(const_cast<T*>(device), kCanary, count * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  /// What the last search left against what the CPU finds in `picture`.
  void compare(const Picture& picture) {
    DetectResult expected;
    ASSERT_TRUE(cpu_->enqueue(picture.view(), expected, band_, followed_).ok());
    compare_raw(picture);
    const std::vector<std::uint8_t> bytes = out_.get();
    cuda::DeviceFaces got;
    std::memcpy(static_cast<void*>(&got), bytes.data(), sizeof got);
    EXPECT_EQ(got.searched, !band_.is_part());
    EXPECT_EQ(got.part, band_.is_part() ? band_ : SearchRegion{});
    EXPECT_EQ(got.overflow, expected.overflow);
    EXPECT_EQ(got.landmarks_per_face, 0);
    ASSERT_EQ(got.count, static_cast<int>(expected.faces.size()));
    for (int i = 0; i < got.count; ++i) {
      const Face& f = got.faces[i];
      const Detection& e = expected.faces[static_cast<std::size_t>(i)];
      EXPECT_EQ(f.box, (Box{static_cast<float>(e.box.x), static_cast<float>(e.box.y),
                            static_cast<float>(e.box.w), static_cast<float>(e.box.h)}))
          << "face " << i;
      EXPECT_EQ(f.neighbors, e.neighbors);
      EXPECT_EQ(f.confidence, detection_confidence(e.neighbors));
      EXPECT_EQ(f.origin, Origin::kDetected);
      EXPECT_EQ(f.age, 0);
      EXPECT_EQ(f.id, 0u);
      EXPECT_EQ(f.roll,
                expected.rolls.empty() ? Roll{} : expected.rolls[static_cast<std::size_t>(i)]);
      turned += f.roll.sin != 0;
    }
    // Nothing else of the header, and no face behind the last, is touched, but for those found that
    // gave way to one verified.
    EXPECT_EQ(got.frame, 0xA5A5A5A5A5A5A5A5u);
    EXPECT_EQ(static_cast<std::uint32_t>(got.lost), 0xA5A5A5A5u);
    EXPECT_EQ(static_cast<std::uint32_t>(got.search_wanted.count), 0xA5A5A5A5u);
    const auto behind = bytes.begin() + offsetof(cuda::DeviceFaces, faces) +
                        static_cast<std::ptrdiff_t>(sizeof(Face)) * got.count;
    if (!config_.verify) {
      EXPECT_EQ(std::count(behind, bytes.end(), kCanary), bytes.end() - behind);
    }
    faces_compared += got.count;
  }

  cuda::DeviceFaces* faces() { return reinterpret_cast<cuda::DeviceFaces*>(out_.data()); }
  GuardedBytes& out() { return out_; }
  cuda::Detector& gpu() { return *gpu_; }
  const Stream& stream() const { return stream_; }

  static inline long raw_compared = 0, faces_compared = 0, listed = 0, exact = 0, turned = 0;
  static inline long cells_on = 0, cells_off = 0;  ///< of maps compared
  static inline long unchanged = 0;                ///< searches for which nothing has moved
  static void restart() {
    raw_compared = faces_compared = listed = exact = turned = cells_on = cells_off = unchanged = 0;
  }

 private:
  Status enqueue(ImageView<const std::uint8_t> luma, const std::int32_t* run,
                 cuda::Launcher launch) {
    return gpu_->enqueue(
        luma, run, faces(), launch,
        band_.count > 0 ? reinterpret_cast<const SearchRegion*>(band_memory_.data()) : nullptr,
        config_.verify || config_.active_parts
            ? reinterpret_cast<const cuda::FollowedFaces*>(followed_memory_.data())
            : nullptr);
  }
  /// Whether more than one search shares the scratch.
  bool several() const { return config_.roll > 0 || config_.verify; }
  /// The map of a search of active parts; null for others.
  const ActivityMap* compare_map(const Picture& picture) {
    if (!activity_) return nullptr;
    if (!band_.active_only) {
      if (!band_.is_part()) activity_->take(picture.view());
      return nullptr;
    }
    const ActivityMap* expected = &activity_->look(picture.view(), followed_, band_);
    const cuda::Activity::State got = download(gpu_->activity().state(), 1)[0];
    const CellGrid& grid = activity_->grid();
    for (int row = 0; row < grid.rows; ++row) {
      EXPECT_EQ(got.changed[row], activity_->changed()[static_cast<std::size_t>(row)]) << row;
      for (int size = 0; size < kSizeClasses; ++size) {
        EXPECT_EQ(got.map.cells[size][row], expected->cells[size][row])
            << "class " << size << " row " << row;
        const int on = std::popcount(got.map.cells[size][row]);
        cells_on += on;
        cells_off += grid.columns - on;
      }
    }
    return expected;
  }
  void compare_raw(const Picture& picture) {
    // The searched picture, or what was found in it, is not at hand.
    if (config_.detect_scale != 1) return;
    const ActivityMap* map = compare_map(picture);
    if (several()) return;
    std::vector<Rect> expected;
    const bool idle = map && band_.only_if_changed() && activity_->changed_cells() == 0;
    unchanged += idle;
    const bool fits = idle || searcher_->search(picture.view(), band_, map, expected);
    const cuda::SearchCounts counts = download(gpu_->counts(), 1)[0];
    listed += counts.listed;
    exact += counts.exact;
    if (!fits) {
      EXPECT_GT(counts.raw, static_cast<std::uint32_t>(kMaxRawWindows));
      return;
    }
    ASSERT_EQ(counts.raw, expected.size());
    EXPECT_EQ(sorted(download(gpu_->raw_windows(), counts.raw)), sorted(expected));
    raw_compared += static_cast<long>(expected.size());
  }

  Model model_;
  DetectConfig config_;
  SearchPlan plan_;
  Stream stream_;
  GuardedBytes out_, band_memory_, followed_memory_;
  SearchRegion band_;
  std::vector<Followed> followed_;
  std::unique_ptr<cuda::Detector> gpu_;
  std::unique_ptr<Detector> cpu_;
  std::unique_ptr<Searcher> searcher_;
  std::optional<Activity> activity_;
};

}  // namespace cuface::test
