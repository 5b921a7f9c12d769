// Searches of a band of the picture: together they find what a search of the whole picture finds.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "kernels/detect/boxes.h"
#include "tests/fewer.h"
#include "tests/kernels/detections.h"
#include "tests/kernels/pictures.h"

namespace cuface {
namespace {

using Model = std::shared_ptr<const CascadeModel>;

/// One plan for many searches.
struct Search {
  Search(const Model& model, const DetectConfig& config, const cv::Mat& p) : picture(p) {
    auto made = Detector::create(Backend::kCpu, model, config, p.cols, p.rows);
    EXPECT_TRUE(made.ok()) << made.status().message();
    detector = std::move(made.value());
  }
  std::vector<Detection> of(const SearchRegion& band) {
    DetectResult found;
    EXPECT_TRUE(detector->enqueue(test::view_of(picture), found, band).ok());
    EXPECT_FALSE(found.overflow);
    return found.faces;
  }
  cv::Mat picture;
  std::unique_ptr<Detector> detector;
};

std::vector<Detection> sorted(std::vector<Detection> list) {
  const auto values = [](const Detection& d) {
    return std::tuple(d.box.x, d.box.y, d.box.w, d.box.h, d.neighbors);
  };
  std::sort(list.begin(), list.end(),
            [&](const Detection& a, const Detection& b) { return values(a) < values(b); });
  return list;
}

TEST(Bands, TheOneAroundABoxIsTheNarrowestItLiesWellInside) {
  std::mt19937 random(4);
  std::map<std::int32_t, int> counts;
  for (int i = 0; i < 5000; ++i) {
    const int height = 16 + static_cast<int>(random() % 2000);
    const auto side = static_cast<float>(random() % static_cast<unsigned>(height));
    const auto y = static_cast<float>(random() % static_cast<unsigned>(height)) - side / 2;
    const Box box{0, y, side, side};
    const float middle = y + side / 2, reach = side / 4;
    const SearchRegion band = band_around(box, height);
    ++counts[band.count];
    ASSERT_FALSE(band.active_only);
    ASSERT_TRUE(band.index >= 0 && band.index < band.count) << band.index << "/" << band.count;
    // By the borders of each count, as they are stated in region.h.
    const auto holds = [&](int count, int index) {
      const auto top = static_cast<float>(band_border(height, index, count));
      const auto bottom = static_cast<float>(band_border(height, index + 1, count));
      return (index == 0 || middle - reach >= top) &&
             (index == count - 1 || middle + reach < bottom);
    };
    ASSERT_TRUE(holds(band.count, band.index));
    for (const std::int32_t narrower : {16, 12, 8, 6, 4, 3, 2}) {
      if (narrower <= band.count) break;
      for (int index = 0; index < narrower; ++index) ASSERT_FALSE(holds(narrower, index));
    }
  }
  for (const std::int32_t count : {16, 12, 8, 6, 4, 3, 2, 1}) EXPECT_GT(counts[count], 20) << count;
  EXPECT_EQ(counts.size(), 8u);
}

TEST(Bands, EveryBoxIsInExactlyOne) {
  std::mt19937 random(3);
  int boxes = 0;
  for (const int height : {1, 15, 100, 719, 720, 16384})
    for (const std::int32_t count : {1, 2, 3, 10, 16})
      for (int i = 0; i < 200; ++i, ++boxes) {
        std::uniform_real_distribution<float> place(-0.5f * static_cast<float>(height),
                                                    1.5f * static_cast<float>(height));
        const Box box{0, place(random), 20, std::abs(place(random))};
        int in = 0, near = 0;
        for (std::int32_t index = 0; index < count; ++index) {
          in += is_in({index, count}, box, height, 0);
          near += is_in({index, count}, box, height, 0.1f);
        }
        ASSERT_EQ(in, 1) << height << " " << count << " " << box.y;
        ASSERT_GE(near, 1);
      }
  EXPECT_EQ(boxes, 6000);
}

// Ungrouped, so that each window counts: those of a band are those of the whole picture that belong
// to it, and no window belongs to none.
TEST(Bands, HaveTheWindowsOfTheWholePicture) {
  CUFACE_NEEDS_CASCADES();
  const Model model = test::cascade_of(test::cascade_path("frontalface_alt"));
  std::size_t windows = 0;
  for (const int detect_scale : {1, 2})
    for (const int threads : {1, 3}) {
      DetectConfig config;
      config.min_neighbors = 0;
      config.max_faces = kMaxRawWindows;
      config.detect_scale = detect_scale;
      config.threads = threads;
      for (unsigned seed = 1; seed < 4; ++seed) {
        Search search(model, config, test::drawn_faces(640, 360 + static_cast<int>(seed), seed));
        const int height = search.picture.rows / detect_scale;
        const std::vector<Detection> whole = search.of(kWholePicture);
        for (const std::int32_t count : {2, 7, 10, 16})
          for (std::int32_t index = 0; index < count; ++index) {
            const SearchRegion band = {index, count};
            const std::vector<Detection> part = search.of(band);
            windows += part.size();
            if (detect_scale > 1) continue;  // boxes are of the full picture
            std::vector<Detection> expected;
            for (const Detection& d : whole)
              if (belongs(band, d.box, height)) expected.push_back(d);
            ASSERT_EQ(sorted(part), sorted(expected)) << index << " of " << count;
          }
      }
    }
  EXPECT_GT(windows, test::fewer(1000u));
}

// Grouped: a face has all its windows in the band that it is in.
TEST(Bands, HaveTheFacesOfTheWholePicture) {
  CUFACE_NEEDS_CASCADES();
  const Model model = test::cascade_of(test::cascade_path("frontalface_alt"));
  std::size_t faces = 0;
  for (const double scale_factor : {1.1, 1.3}) {
    DetectConfig config;
    config.scale_factor = scale_factor;
    config.min_neighbors = 1;
    for (unsigned seed = 1; seed < 8; ++seed) {
      Search search(model, config, test::drawn_faces(640, 480, seed));
      const std::vector<Detection> whole = search.of(kWholePicture);
      constexpr std::int32_t kCount = 10;
      std::vector<std::vector<Detection>> parts;
      for (std::int32_t index = 0; index < kCount; ++index)
        parts.push_back(search.of({index, kCount}));
      for (const Detection& d : whole)
        for (std::int32_t index = 0; index < kCount; ++index) {
          if (!is_in({index, kCount}, as_box(d.box), search.picture.rows, 0)) continue;
          const auto& part = parts[static_cast<std::size_t>(index)];
          EXPECT_NE(std::find(part.begin(), part.end(), d), part.end())
              << d.box.x << "," << d.box.y << " " << d.box.w << " seed " << seed;
          ++faces;
        }
    }
  }
  EXPECT_GT(faces, 20u);
}

TEST(Bands, OfPicturesTooLowForThem) {
  CUFACE_NEEDS_CASCADES();
  const Model model = test::cascade_of(test::cascade_path("frontalface_alt"));
  for (const int height : {1, 19, 20, 21, 30}) {
    Search search(model, {}, test::smooth_noise(100, height, 3, 5));
    for (std::int32_t index = 0; index < 16; ++index)
      EXPECT_LE(search.of({index, 16}).size(), search.of(kWholePicture).size());
  }
}

TEST(Bands, OnlyWhereTheyAreOfUse) {
  DetectConfig config;
  EXPECT_TRUE(can_search_bands(config));
  config.roll = 20;
  EXPECT_FALSE(can_search_bands(config));
  config.roll = 0;
  config.scale_mode = ScaleMode::kWindow;
  EXPECT_FALSE(can_search_bands(config));
  config.scale_mode = ScaleMode::kPyramid;
  config.grouping = Grouping::kOverlap;
  EXPECT_FALSE(can_search_bands(config));
}

}  // namespace
}  // namespace cuface
