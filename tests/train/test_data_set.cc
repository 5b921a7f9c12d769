// Data sets: what is alike stays together, whole photographs stay on one side, and nothing is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <random>
#include <set>

#include "kernels/common/random.h"
#include "models/train/data_set.h"
#include "models/train/picture.h"
#include "models/train/split.h"
#include "tests/mat_view.h"
#include "tests/models/temporary.h"

namespace cuface::train {
namespace {

using test::TemporaryFolder;
using test::view_of;
using test::write_file;

/// A picture unlike those of other numbers: coarse blocks under noise.
cv::Mat drawn(int number, int width = 96, int height = 80) {
  cv::Mat coarse(5, 6, CV_8UC1), picture, noise(height, width, CV_8UC1);
  cv::RNG random(static_cast<std::uint64_t>(number) + 1);
  random.fill(coarse, cv::RNG::UNIFORM, 20, 236);
  random.fill(noise, cv::RNG::UNIFORM, 0, 20);
  cv::resize(coarse, picture, {width, height}, 0, 0, cv::INTER_CUBIC);
  return picture + noise;
}

SplitPicture split_picture(const cv::Mat& m, std::size_t samples = 1) {
  return {hash_of(view_of(m)), sketch_of(view_of(m)), samples};
}

TEST(TrainSplit, ASketchIsOpenCvsMeansOfAreas) {
  int compared = 0;
  for (const auto& [width, height] : {std::pair(96, 80), std::pair(320, 16), std::pair(16, 160)}) {
    const cv::Mat picture = drawn(compared, width, height);
    cv::Mat want;
    cv::resize(picture, want, {16, 16}, 0, 0, cv::INTER_AREA);
    const PictureSketch sketch = sketch_of(view_of(picture));
    for (int i = 0; i < 256; ++i, ++compared) {
      EXPECT_NEAR(sketch.means[static_cast<std::size_t>(i)], want.data[i], 1);
    }
  }
  EXPECT_EQ(compared, 3 * 256);
  // Any size; of fewer pixels than parts each counts for several.
  const cv::Mat dot(1, 1, CV_8UC1, cv::Scalar(77)), line(3, 1000, CV_8UC1, cv::Scalar(5));
  EXPECT_EQ(sketch_of(view_of(dot)).means[255], 77);
  EXPECT_EQ(sketch_of(view_of(line)).means[255], 5);
}

TEST(TrainSplit, ScaledAndCompressedPicturesAreNearAndOthersAreNot) {
  int far = 0;
  for (int i = 0; i < 30; ++i) {
    const cv::Mat picture = drawn(i, 240, 200);
    const PictureSketch sketch = sketch_of(view_of(picture));
    cv::Mat half, odd;
    cv::resize(picture, half, {120, 100}, 0, 0, cv::INTER_AREA);
    cv::resize(picture, odd, {211, 173}, 0, 0, cv::INTER_LINEAR);
    std::vector<std::uint8_t> jpeg;
    cv::imencode(".jpg", picture, jpeg, {cv::IMWRITE_JPEG_QUALITY, 20});
    for (const cv::Mat& other : {half, odd, cv::imdecode(jpeg, cv::IMREAD_GRAYSCALE)}) {
      EXPECT_NE(hash_of(view_of(other)), hash_of(view_of(picture)));
      EXPECT_LE(sketch_distance(sketch, sketch_of(view_of(other))), kNearDuplicate);
    }
    for (int k = 0; k < i; ++k) {
      far += sketch_distance(sketch, sketch_of(view_of(drawn(k, 240, 200)))) > 2 * kNearDuplicate;
    }
  }
  EXPECT_EQ(far, 30 * 29 / 2);
}

// Beside a search of all pairs, again and again until nothing changes.
TEST(TrainSplit, GroupsAreTheClosureOfAllPairs) {
  std::mt19937 random(38);
  std::size_t smaller = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<SplitPicture> pictures;
    for (int i = 0; i < 60; ++i) {
      SplitPicture p;
      p.hash = random() % 50;
      // Steps of 5 levels: neighbours are near, those two steps away are not.
      p.sketch.means.fill(static_cast<std::uint8_t>(random() % 40 * 5));
      pictures.push_back(p);
    }
    for (SplitPicture& p : pictures) {  // one hash, one picture
      for (const SplitPicture& q : pictures) {
        if (p.hash == q.hash) p.sketch = q.sketch;
      }
    }
    std::vector<std::size_t> want(pictures.size());
    std::iota(want.begin(), want.end(), std::size_t{0});
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < want.size(); ++i) {
        for (std::size_t k = 0; k < want.size(); ++k) {
          const bool near =
              pictures[i].hash == pictures[k].hash ||
              std::abs(pictures[i].sketch.means[0] - pictures[k].sketch.means[0]) <= 6;
          if (near && want[k] < want[i]) want[i] = want[k], changed = true;
        }
      }
    }
    const std::vector<std::size_t> got = groups_of(pictures);
    for (std::size_t i = 0; i < want.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) ASSERT_EQ(got[i] == got[k], want[i] == want[k]);
    }
    const std::size_t groups = *std::max_element(got.begin(), got.end()) + 1;
    EXPECT_EQ(groups, std::set(want.begin(), want.end()).size());
    smaller += groups < pictures.size();
  }
  EXPECT_EQ(smaller, 20u);
  EXPECT_TRUE(groups_of({}).empty());
}

TEST(TrainSplit, TheTestHasItsShareWhateverTheOrder) {
  std::vector<SplitPicture> pictures;
  std::size_t samples = 0;
  for (int i = 0; i < 100; ++i) {
    pictures.push_back(split_picture(drawn(i), 1 + static_cast<std::size_t>(i) % 4));
    samples += pictures.back().samples;
  }
  for (const double share : {0.0, 0.1, 0.25, 0.5, 0.9}) {
    const std::vector<std::uint8_t> chosen = choose_test(pictures, share, 7);
    std::set<std::uint64_t> test;
    std::size_t taken = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (!chosen[i]) continue;
      test.insert(pictures[i].hash);
      taken += pictures[i].samples;
    }
    EXPECT_LE(static_cast<double>(taken), share * static_cast<double>(samples));
    EXPECT_GT(static_cast<double>(taken), share * static_cast<double>(samples) - 4);
    std::vector<SplitPicture> other = pictures;
    std::shuffle(other.begin(), other.end(), std::mt19937(3));
    const std::vector<std::uint8_t> again = choose_test(other, share, 7);
    for (std::size_t i = 0; i < other.size(); ++i) {
      EXPECT_EQ(again[i] != 0, test.contains(other[i].hash));
    }
  }
  EXPECT_NE(choose_test(pictures, 0.5, 7), choose_test(pictures, 0.5, 8));
}

/// Forty labelled pictures, some of them alike, and as many backgrounds.
class TrainDataSet : public testing::Test {
 protected:
  static constexpr int kPictures = 40;
  TemporaryFolder folder;
  DataOptions options;

  void SetUp() override {
    std::filesystem::create_directory(folder / "bg");
    std::string list;
    for (int i = 0; i < kPictures; ++i) {
      const std::string name = "p" + std::to_string(i) + ".png";
      cv::imwrite(folder / name, drawn(i));
      list += name + " 2 5 6 30 28 40 30 26 26\n";
      cv::imwrite(folder / ("bg/b" + std::to_string(i) + ".png"), drawn(1000 + i));
    }
    // The same pixels in another format, and the picture a little larger.
    cv::imwrite(folder / "same.pgm", drawn(0));
    cv::Mat larger;
    cv::resize(drawn(1), larger, {130, 107});
    cv::imwrite(folder / "near.png", larger);
    list += "same.pgm 1 20 20 40 40\nnear.png 1 9 9 60 60\n";
    write_file(folder / "list.txt", list);
    options.positives = folder / "list.txt";
    options.negatives = folder / "bg";
    options.samples.size = {24, 20};
    options.samples.threads = 2;
    options.test = 0.25;
  }

  DataSet made() const {
    auto data = make_data_set(options);
    EXPECT_TRUE(data.ok()) << data.status().message();
    return data.value();
  }
  std::string error() const {
    const auto data = make_data_set(options);
    EXPECT_FALSE(data.ok());
    return data.status().message();
  }
  static std::set<std::string> lines_of(const DataSide& side) {
    return {side.positives.where.begin(), side.positives.where.end()};
  }
  static bool same(const NamedWindows& a, const NamedWindows& b) {
    return a.where == b.where && std::ranges::equal(a.windows.pixels(), b.windows.pixels());
  }
  static bool same(const DataSet& a, const DataSet& b) {
    return same(a.train.positives, b.train.positives) && same(a.test.positives, b.test.positives) &&
           same(a.train.negatives, b.train.negatives) && same(a.test.negatives, b.test.negatives);
  }
};

TEST_F(TrainDataSet, PhotographsAndTheirCopiesStayOnOneSide) {
  const std::string list = folder / "list.txt:";
  int tests = 0;
  for (options.seed = 1; options.seed <= 12; ++options.seed) {
    const DataSet data = made();
    const std::set<std::string> train = lines_of(data.train), test = lines_of(data.test);
    EXPECT_EQ(train.size() + test.size(), static_cast<std::size_t>(kPictures + 2));
    EXPECT_EQ(data.train.positives.where.size() + data.test.positives.where.size(),
              static_cast<std::size_t>(2 * kPictures + 2));
    EXPECT_LE(data.test.positives.where.size(), 20u);
    EXPECT_GE(data.test.positives.where.size(), 18u);
    for (const std::string& where : test) EXPECT_FALSE(train.contains(where));
    EXPECT_EQ(test.contains(list + "1"), test.contains(list + "41"));
    EXPECT_EQ(test.contains(list + "2"), test.contains(list + "42"));
    tests += test.contains(list + "1") + test.contains(list + "2");
    EXPECT_EQ(data.test.backgrounds.size(), 10u);
    EXPECT_EQ(data.train.negatives.where.size(), 4 * data.train.backgrounds.size());
  }
  EXPECT_GT(tests, 0);
}

TEST_F(TrainDataSet, ThreadsChangeNothingAndSeedsDo) {
  const DataSet first = made();
  options.samples.threads = 1;
  EXPECT_TRUE(same(first, made()));
  EXPECT_EQ(first.hash, made().hash);
  options.seed = 2;
  EXPECT_FALSE(same(first, made()));
  EXPECT_EQ(first.hash, made().hash);
  cv::imwrite(folder / "p7.png", drawn(777));
  EXPECT_NE(first.hash, made().hash);
}

TEST_F(TrainDataSet, NegativesAreTheQuartersOfWholePictures) {
  options.test = 0;
  const DataSet data = made();
  EXPECT_TRUE(data.test.negatives.where.empty());
  std::size_t compared = 0;
  for (const std::string& path : data.train.backgrounds) {
    cv::Mat scaled;
    cv::resize(cv::imread(path, cv::IMREAD_GRAYSCALE), scaled, {48, 40}, 0, 0,
               cv::INTER_LINEAR_EXACT);
    for (int i = 0; i < 4; ++i, ++compared) {
      const cv::Mat want = scaled(cv::Rect(i % 2 * 24, i / 2 * 20, 24, 20)).clone();
      ASSERT_TRUE(std::ranges::equal(data.train.negatives.windows.at(compared),
                                     std::span(want.data, 24 * 20)));
    }
  }
  EXPECT_EQ(compared, 4u * kPictures);
}

TEST_F(TrainDataSet, WhatIsWrittenReadsBack) {
  const std::string out = folder / "deep/out";
  options.samples.mirror = true;
  const DataSet data = made();
  ASSERT_TRUE(write_data_set(data, options, out, true).ok());
  const std::pair<const char*, const NamedWindows*> files[] = {
      {"/train", &data.train.positives},
      {"/test", &data.test.positives},
      {"/train-negatives", &data.train.negatives},
      {"/test-negatives", &data.test.negatives}};
  for (const auto& [name, windows] : files) {
    const auto read = read_vec(out + name + ".vec", options.samples.size);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_TRUE(std::ranges::equal(read.value().pixels(), windows->windows.pixels()));
    EXPECT_GT(read.value().count(), 10u);
    for (std::size_t i = 0; i < read.value().count(); ++i) {
      const cv::Mat png =
          cv::imread(cv::format("%s%s/%06zu.png", out.c_str(), name, i), cv::IMREAD_UNCHANGED);
      ASSERT_EQ(png.type(), CV_8UC1);
      ASSERT_TRUE(std::ranges::equal(read.value().at(i), std::span(png.data, png.total())));
    }
  }
  const auto json = nlohmann::json::parse(test::read_file(out + "/data.json"));
  EXPECT_EQ(json["train"]["positives"].size(), data.train.positives.where.size());
  EXPECT_EQ(json["test"]["negatives"].size(), data.test.negatives.where.size());
  EXPECT_EQ(json["pixels"].get<std::string>().size(), 16u);
  const std::string list = test::read_file(out + "/test-backgrounds.txt");
  EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), 10);
  EXPECT_EQ(write_data_set(data, options, out, true).code(), StatusCode::kInvalidArgument);
  // Nothing where there is none.
  options.test = 0, options.negatives.clear();
  ASSERT_TRUE(write_data_set(made(), options, folder / "all", false).ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "all/test.vec"));
  EXPECT_FALSE(std::filesystem::exists(folder / "all/train-negatives.vec"));
  EXPECT_FALSE(std::filesystem::exists(folder / "all/train"));
  EXPECT_TRUE(std::filesystem::exists(folder / "all/train.vec"));
  write_file(folder / "file", "");
  EXPECT_EQ(write_data_set(data, options, folder / "file", false).code(), StatusCode::kIo);
}

TEST_F(TrainDataSet, BadOnesAreToldAndNothingElseIsLost) {
  const DataSet good = made();
  std::string list = test::read_file(folder / "list.txt");
  const auto lines = static_cast<int>(std::count(list.begin(), list.end(), '\n'));
  for (int i = 0; i < 15; ++i) list += "p3.png 1 90 10 24 24\n";
  write_file(folder / "broken.png", "no picture");
  list += "broken.png 1 1 1 24 24\nmissing.png 1 1 1 24 24\n";
  write_file(folder / "list.txt", list);
  write_file(folder / "bg/broken.png", "no picture");
  cv::imwrite(folder / "bg/small.png", drawn(2000, 30, 30));
  EXPECT_NE(error().find("list.txt:" + std::to_string(lines + 1)), std::string::npos) << error();
  options.samples.skip_bad = true;
  options.samples.most_notes = 1000;
  const DataSet data = made();
  EXPECT_TRUE(same(good, data));
  for (int line = lines + 1; line <= lines + 17; ++line) {
    const std::string place = folder / ("list.txt:" + std::to_string(line) + ":");
    EXPECT_TRUE(std::ranges::any_of(data.notes, [&](const std::string& note) {
      return note.find(place) != std::string::npos;
    })) << line;
  }
  for (const char* name : {"bg/broken.png", "bg/small.png"}) {
    EXPECT_TRUE(std::ranges::any_of(data.notes, [&](const std::string& note) {
      return note.find(folder / name) != std::string::npos;
    })) << name;
  }
}

TEST_F(TrainDataSet, WhatCannotBeSplitOrIsOnBothSidesIsToldOf) {
  cv::imwrite(folder / "bg/positive.pgm", drawn(5));
  EXPECT_NE(error().find("positive.pgm"), std::string::npos) << error();
  std::filesystem::remove(folder / "bg/positive.pgm");
  cv::Mat near;
  cv::resize(drawn(5), near, {150, 140});
  cv::imwrite(folder / "bg/near.png", near);
  const DataSet data = made();
  EXPECT_TRUE(std::ranges::any_of(data.notes, [](const std::string& note) {
    return note.find("near.png: this background looks like") != std::string::npos &&
           note.find("list.txt:6") != std::string::npos;
  }));
  options.test = 0.001;
  EXPECT_NE(error().find("cannot be split"), std::string::npos) << error();
  for (const double share : {-0.1, 1.0, std::nan("")}) {
    options.test = share;
    EXPECT_NE(error().find("--test"), std::string::npos) << error();
  }
  options.test = 0.25;
  options.positives = folder / "a.vec";
  EXPECT_NE(error().find(".vec"), std::string::npos) << error();
}

}  // namespace
}  // namespace cuface::train
