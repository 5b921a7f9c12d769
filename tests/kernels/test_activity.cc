// The map of active parts against OpenCV's sums. Searches by a map: test_active_search.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "kernels/activity/activity.h"
#include "kernels/detect/detect.h"
#include "tests/kernels/pictures.h"

namespace cuface {
namespace {

int below(std::mt19937& random, int n) {
  return static_cast<int>(random() % static_cast<unsigned>(n));
}

/// What is on, cell after cell, as CV_8U: 255 or 0.
cv::Mat cells_of(const std::uint64_t* rows, const CellGrid& grid) {
  cv::Mat out(grid.rows, grid.columns, CV_8U);
  for (int r = 0; r < grid.rows; ++r)
    for (int c = 0; c < grid.columns; ++c) out.at<std::uint8_t>(r, c) = rows[r] >> c & 1 ? 255 : 0;
  return out;
}
bool same(const cv::Mat& a, const cv::Mat& b) { return cv::countNonZero(a != b) == 0; }

/// Means of blocks by an integral; their cell by the published formula.
struct Reference {
  Reference(int width, int height) : grid(cell_grid(width, height)) {}

  cv::Mat means(const cv::Mat& picture) const {
    cv::Mat sums, out(picture.rows / 4, picture.cols / 4, CV_8U);
    cv::integral(picture, sums, CV_32S);
    for (int y = 0; y < out.rows; ++y)
      for (int x = 0; x < out.cols; ++x) {
        const auto s = [&](int dx, int dy) { return sums.at<int>(4 * y + dy, 4 * x + dx); };
        out.at<std::uint8_t>(y, x) =
            static_cast<std::uint8_t>((s(4, 4) - s(0, 4) - s(4, 0) + s(0, 0) + 8) >> 4);
      }
    return out;
  }
  cv::Mat look(const cv::Mat& picture) {
    const cv::Mat now = means(picture);
    cv::Mat changed(grid.rows, grid.columns, CV_8U, cv::Scalar(0));
    if (then.empty()) {
      changed = 255;
      then = now;
      return changed;
    }
    cv::Mat apart;
    cv::absdiff(now, then, apart);
    apart = apart > kTolerance;
    std::map<std::pair<int, int>, std::pair<int, int>> counts;
    const auto cell = [&](int x, int y) {
      return std::pair((4 * y + 2) * grid.rows / picture.rows,
                       (4 * x + 2) * grid.columns / picture.cols);
    };
    for (int y = 0; y < now.rows; ++y)
      for (int x = 0; x < now.cols; ++x) {
        auto& [differ, blocks] = counts[cell(x, y)];
        differ += apart.at<std::uint8_t>(y, x) != 0;
        ++blocks;
      }
    for (const auto& [at, count] : counts)
      if (static_cast<double>(count.first) / count.second > 0.01)
        changed.at<std::uint8_t>(at.first, at.second) = 255;
    for (int y = 0; y < now.rows; ++y)
      for (int x = 0; x < now.cols; ++x)
        if (changed.at<std::uint8_t>(cell(x, y).first, cell(x, y).second))
          then.at<std::uint8_t>(y, x) = now.at<std::uint8_t>(y, x);
    return changed;
  }
  /// The least side of a class above, by floats.
  static double above(int size_class) {
    return std::floor(16 * std::pow(2.0, (size_class + 1) / 2.0) + 1e-9);
  }
  cv::Mat active(const cv::Mat& changed, int size_class) const {
    const double side = above(size_class);
    const auto reach = [&](int pixels, int cells) {
      const double away = std::floor(side / 4 / (static_cast<double>(pixels) / cells) + 0.5);
      return std::min(static_cast<int>(away), cells);
    };
    const int across = reach(grid.width, grid.columns), down = reach(grid.height, grid.rows);
    cv::Mat out;
    cv::dilate(changed, out,
               cv::getStructuringElement(cv::MORPH_RECT, {2 * across + 1, 2 * down + 1}));
    return out;
  }
  const CellGrid grid;
  cv::Mat then;
};

TEST(Activity, ClassesOfSizesAreHalfOctaves) {
  for (int c = 0; c < kSizeClasses; ++c) {
    const int least = least_side(c);
    EXPECT_NEAR(least, 16 * std::pow(2.0, c / 2.0), 1 + least * 1e-4);
    EXPECT_EQ(size_class_of(least), c);
    if (c > 0) {
      EXPECT_EQ(size_class_of(least - 1), c - 1);
    }
  }
  EXPECT_EQ(size_class_of(0), 0);
  EXPECT_EQ(size_class_of(kMaxPictureSide), kSizeClasses - 1);
}

TEST(Activity, EqualsTheDefinition) {
  int cells = 0, on = 0, off = 0;
  for (const auto& [width, height] :
       {std::pair(640, 360), {1283, 717}, {97, 61}, {31, 300}, {2200, 90}}) {
    std::mt19937 random(static_cast<unsigned>(width));
    cv::Mat picture = test::smooth_noise(width, height, 9, 3);
    Activity activity(width, height, width, height);
    Reference reference(width, height);
    for (int round = 0; round < 12; ++round) {
      const ActivityMap& map = activity.look(test::view_of(picture), {});
      const cv::Mat changed = reference.look(picture);
      ASSERT_TRUE(same(cells_of(activity.changed().data(), reference.grid), changed)) << round;
      ASSERT_EQ(activity.changed_cells(), cv::countNonZero(changed));
      ASSERT_EQ(activity.cells(), changed.rows * changed.cols);
      for (int size = 0; size < kSizeClasses; ++size) {
        const cv::Mat expected = reference.active(changed, size);
        ASSERT_TRUE(same(cells_of(map.cells[size], reference.grid), expected))
            << width << "x" << height << " round " << round << " class " << size;
      }
      cells += changed.rows * changed.cols;
      on += cv::countNonZero(changed);
      off += changed.rows * changed.cols - cv::countNonZero(changed);
      // A few places change, some so slowly that it takes rounds to see it.
      for (int i = 0; i < 4; ++i) {
        const cv::Rect where(below(random, width), below(random, height), 1 + below(random, 60),
                             1 + below(random, 60));
        picture(where & cv::Rect(0, 0, width, height)) += cv::Scalar(below(random, 9));
      }
      picture(cv::Rect(0, 0, width / 3, height / 3)) += cv::Scalar(2);
      if (round == 5) {
        activity.take(test::view_of(picture));
        reference.then = reference.means(picture);
      }
    }
  }
  EXPECT_GT(on, cells / 50);
  EXPECT_GT(off, cells / 3);
}

TEST(Activity, IsNotOfACamerasNoise) {
  const cv::Mat still = test::drawn_faces(1280, 720, 4);
  Activity activity(1280, 720, 1280, 720);
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 2);
  int frames = 0;
  for (int frame = 0; frame < 10; ++frame, ++frames) {
    cv::Mat noisy = still.clone();
    for (int y = 0; y < noisy.rows; ++y)
      for (int x = 0; x < noisy.cols; ++x)
        noisy.at<std::uint8_t>(y, x) =
            cv::saturate_cast<std::uint8_t>(still.at<std::uint8_t>(y, x) + noise(random));
    if (frame == 0) {
      activity.take(test::view_of(noisy));
      continue;
    }
    activity.look(test::view_of(noisy), {});
    for (const std::uint64_t row : activity.changed()) ASSERT_EQ(row, 0u) << frame;
  }
  EXPECT_EQ(frames, 10);
}

TEST(Activity, IsAroundFollowedFaces) {
  std::mt19937 random(5);
  const int width = 640, height = 360, full_width = 1281, full_height = 721;
  cv::Mat picture(height, width, CV_8U, cv::Scalar(90));
  Activity activity(width, height, full_width, full_height);
  activity.take(test::view_of(picture));
  const ActivityMap without = activity.look(test::view_of(picture), {});
  int added = 0;
  for (int i = 0; i < 200; ++i) {
    const float side = static_cast<float>(10 + below(random, 700));
    const Box box{static_cast<float>(below(random, full_width)) - side / 2,
                  static_cast<float>(below(random, full_height)) - side / 2, side, side};
    const Followed face{box, {}};
    const ActivityMap& map = activity.look(test::view_of(picture), {&face, 1});
    const CellGrid grid = activity.grid();
    const int size = size_class_of(static_cast<int>(side) * width / full_width);
    for (int c = 0; c < kSizeClasses; ++c)
      for (int y = 0; y < full_height; y += 3)
        for (int x = 0; x < full_width; x += 3) {
          const int row = y * grid.rows / full_height, column = x * grid.columns / full_width;
          const bool on = map.cells[c][row] >> column & 1,
                     was = without.cells[c][row] >> column & 1;
          const float dx = static_cast<float>(x) - (box.x + side / 2);
          const float dy = static_cast<float>(y) - (box.y + side / 2);
          const bool inside =
              std::abs(dx) <= 0.375f * side - 1 && std::abs(dy) <= 0.375f * side - 1;
          const float far = 0.375f * side + 70;  // a cell more
          if (inside && std::abs(c - size) <= 1) {
            ASSERT_TRUE(on) << c << " " << x << "," << y;
          }
          if (!was && (std::abs(c - size) > 1 || std::abs(dx) > far || std::abs(dy) > far)) {
            ASSERT_FALSE(on) << c << " " << x << "," << y;
          }
          added += on && !was;
        }
  }
  EXPECT_GT(added, 10000);
}

// What has changed beside a followed face is its person's; what is further away or above is new.
TEST(Activity, NewIsWhatChangesAwayFromFollowedFaces) {
  const int width = 960, height = 544;
  const Followed face{{400, 200, 80, 80}, {}};
  int fresh = 0, own = 0;
  for (int y = 16; y < height; y += 32)
    for (int x = 16; x < width; x += 32) {
      cv::Mat picture(height, width, CV_8U, cv::Scalar(90));
      Activity activity(width, height, width, height);
      activity.take(test::view_of(picture));
      picture(cv::Rect(x - 8, y - 8, 16, 16)) = 200;
      const ActivityMap map = activity.look(test::view_of(picture), {&face, 1}, kNewParts);
      const bool is_new = activity.changed_cells() == 1;
      // 60 pixels to either side, 40 above, and a cell's width more or less.
      if (x < 400 - 60 - 32 || x > 480 + 60 + 32 || y < 200 - 40 - 32) {
        EXPECT_TRUE(is_new) << x << "," << y;
        EXPECT_EQ(map.cells[0][y / 32], std::uint64_t{1} << x / 32) << "nobody is looked for";
        ++fresh;
      }
      if (x > 400 - 60 && x < 480 + 60 && y > 200 - 40) {
        EXPECT_FALSE(is_new) << x << "," << y;
        for (const auto& rows : map.cells)
          for (const std::uint64_t row : rows) ASSERT_EQ(row, 0u);
        activity.look(test::view_of(picture), {&face, 1}, kChangedParts);
        EXPECT_EQ(activity.changed_cells(), 1) << "it has yet to be searched";
        ++own;
      }
    }
  EXPECT_GT(fresh, 200);
  EXPECT_GT(own, 40);
}

// Of three columns of cells, each 32 pixels wide. The face reaches to column 14.
TEST(Activity, TheWholePictureIsSearchedForWhatChangesNearerToAFollowedFace) {
  const int width = 960, height = 544;
  const Followed face{{400, 200, 80, 80}, {}};
  const auto fresh = [&](int first, bool no_parts) {
    cv::Mat picture(height, width, CV_8U, cv::Scalar(90));
    Activity activity(width, height, width, height, no_parts);
    activity.take(test::view_of(picture));
    picture(cv::Rect(32 * first, 32 * 8, 32 * 3, 32 * 2)) = 200;
    activity.look(test::view_of(picture), {&face, 1}, kNewParts);
    return activity.changed_cells();
  };
  EXPECT_EQ(fresh(17, false), 6);
  EXPECT_EQ(fresh(16, false), 4) << "within three quarters of a face";
  EXPECT_EQ(fresh(16, true), 6);
  EXPECT_EQ(fresh(15, true), 0) << "within a quarter; the rest is not large";
}

// Before a search of the whole picture, or none. A cell that has changed is one of these points.
TEST(Activity, LargeIsThreeCellsByTwo) {
  const auto large = [](int width, int height, const std::vector<cv::Point>& cells) {
    cv::Mat picture(32 * height, 32 * width, CV_8U, cv::Scalar(90));
    Activity activity(picture.cols, picture.rows, picture.cols, picture.rows, true);
    activity.take(test::view_of(picture));
    for (const cv::Point& cell : cells)
      picture(cv::Rect(32 * cell.x + 8, 32 * cell.y + 8, 16, 16)) = 200;
    const auto changed = [&](const SearchRegion& what) {
      activity.look(test::view_of(picture), {}, what);
      return activity.changed_cells();
    };
    const auto all = static_cast<std::int32_t>(cells.size());
    const std::int32_t count = changed(kNewParts);
    EXPECT_TRUE(count == 0 || count == all);
    EXPECT_EQ(changed(kChangedParts), all);
    EXPECT_EQ(changed(kChangedParts), all) << "nothing was searched";
    EXPECT_EQ(changed(kNewParts), count);
    activity.take(test::view_of(picture));
    EXPECT_EQ(changed(kChangedParts), 0);
    return count > 0;
  };
  EXPECT_TRUE(large(9, 6, {{3, 1}, {4, 1}, {5, 1}, {3, 2}, {4, 2}, {5, 2}}));
  EXPECT_TRUE(large(9, 6, {{6, 4}, {7, 4}, {8, 4}, {6, 5}, {7, 5}, {8, 5}, {0, 0}})) << "a corner";
  EXPECT_FALSE(large(9, 6, {{3, 1}, {4, 1}, {5, 1}, {3, 2}, {4, 2}}));
  EXPECT_FALSE(large(9, 6, {{3, 0}, {4, 0}, {3, 1}, {4, 1}, {3, 2}, {4, 2}, {3, 3}})) << "a rim";
  EXPECT_FALSE(large(9, 6, {{3, 5}, {4, 5}, {5, 5}, {6, 5}})) << "the last row";
  EXPECT_FALSE(large(9, 6, {{3, 2}, {4, 2}, {5, 2}, {4, 3}, {5, 3}, {6, 3}}));
  EXPECT_FALSE(large(9, 6, {}));
  EXPECT_TRUE(large(9, 1, {{3, 0}, {4, 0}, {5, 0}})) << "there is one row";
  EXPECT_FALSE(large(9, 1, {{3, 0}, {4, 0}}));
  EXPECT_TRUE(large(2, 6, {{0, 3}, {1, 3}, {0, 4}, {1, 4}})) << "there are two columns";
  EXPECT_FALSE(large(2, 6, {{0, 3}, {0, 4}, {1, 4}}));
  EXPECT_TRUE(large(1, 1, {{0, 0}}));
}

// In front of a body there is no smaller face; beside it and above there may be.
TEST(Activity, HasNoSmallerWindowsInFrontOfABody) {
  const int width = 960, height = 544;
  const Followed face{{400, 200, 80, 80}, {}};
  Activity activity(width, height, width, height);  // the first picture has changed everywhere
  const cv::Mat picture(height, width, CV_8U, cv::Scalar(90));
  const ActivityMap map = activity.look(test::view_of(picture), {&face, 1}, kChangedParts);
  const int size = size_class_of(80);
  int off = 0;
  for (int c = 0; c < kSizeClasses; ++c)
    for (int row = 0; row < 17; ++row)
      for (int column = 0; column < 30; ++column) {
        const bool on = map.cells[c][row] >> column & 1;
        const int x = 32 * column, y = 32 * row;  // the cell's corner
        const bool body = x >= 360 && x + 32 <= 520 && y >= 280;
        const bool box = x >= 400 && x + 32 <= 480 && y >= 200 && y + 32 <= 280;
        if (c >= size - 1 || !(body || box)) {
          EXPECT_TRUE(on) << c << " " << x << "," << y;
        } else {
          EXPECT_FALSE(on || (body && y < 280)) << c << " " << x << "," << y;
        }
        off += !on;
      }
  EXPECT_GT(off, 100);
}

TEST(Activity, HasNoSmallerWindowsInsideFollowedFaces) {
  std::mt19937 random(6);
  const int width = 960, height = 540;
  int off = 0;
  for (int i = 0; i < 60; ++i) {
    Activity activity(width, height, width, height);  // the first picture has changed everywhere
    cv::Mat picture(height, width, CV_8U, cv::Scalar(90));
    const float side = static_cast<float>(30 + below(random, 500));
    const Box box{static_cast<float>(below(random, width)) - side / 2,
                  static_cast<float>(below(random, height)) - side / 2, side, side};
    const Followed face{box, {}};
    const ActivityMap& map = activity.look(test::view_of(picture), {&face, 1});
    const CellGrid grid = activity.grid();
    const int size = size_class_of(static_cast<int>(side));
    cv::Mat pixels(grid.rows, grid.columns, CV_32S, cv::Scalar(0)), inside = pixels.clone();
    for (int y = 0; y < height; y += 3)
      for (int x = 0; x < width; x += 3) {
        const cv::Point cell(x * grid.columns / width, y * grid.rows / height);
        const auto fx = static_cast<float>(x), fy = static_cast<float>(y);
        inside.at<int>(cell) +=
            fx >= box.x && fx <= box.x + side && fy >= box.y && fy <= box.y + side;
        ++pixels.at<int>(cell);
      }
    for (int c = 0; c < kSizeClasses; ++c)
      for (int row = 0; row < grid.rows; ++row)
        for (int column = 0; column < grid.columns; ++column) {
          const cv::Point cell(column, row);
          const bool on = map.cells[c][row] >> column & 1;
          if (c >= size - 1 || inside.at<int>(cell) < pixels.at<int>(cell)) {
            ASSERT_TRUE(on) << "class " << c << " of " << size << " cell " << cell;
          }
          off += !on;
        }
  }
  EXPECT_GT(off, 1000);
}

}  // namespace
}  // namespace cuface
