// From picture files to windows: the grey is ours whoever decodes, the crops are OpenCV's.
#include <gtest/gtest.h>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <random>

#include "models/train/crop.h"
#include "models/train/picture.h"
#include "models/train/samples.h"
#include "tests/models/temporary.h"
#include "tests/train/exif.h"

namespace cuface::train {
namespace {

using test::TemporaryFolder;
using test::write_file;

cv::Mat drawn(int width, int height, int type = CV_8UC1) {
  cv::Mat picture(height, width, type);
  cv::RNG random(7);
  random.fill(picture, cv::RNG::UNIFORM, 0, 256);
  cv::blur(picture, picture, {5, 5});
  for (int i = 0; i < 20; ++i) {
    cv::circle(picture, {random.uniform(0, width), random.uniform(0, height)},
               random.uniform(5, height / 4 + 6),
               {random.uniform(0., 255.), random.uniform(0., 255.), random.uniform(0., 255.),
                random.uniform(0., 255.)},
               random.uniform(1, 9));
  }
  return picture;
}

cv::Mat as_mat(const Image<std::uint8_t>& image) {
  const ImageView<const std::uint8_t> v = image.view();
  return cv::Mat(v.height, v.width, CV_8UC1, const_cast<std::uint8_t*>(v.data),
                 static_cast<std::size_t>(v.stride))
      .clone();
}

/// Grey by the contract's formula, of blue, green and red; transparency over black.
cv::Mat grey_of(const cv::Mat& bgr) {
  cv::Mat out(bgr.size(), CV_8UC1);
  for (int y = 0; y < bgr.rows; ++y) {
    for (int x = 0; x < bgr.cols; ++x) {
      const std::uint8_t* p = bgr.ptr(y) + x * bgr.channels();
      int c[3];
      for (int i = 0; i < 3; ++i) c[i] = bgr.channels() == 4 ? (p[i] * p[3] + 127) / 255 : p[i];
      out.at<std::uint8_t>(y, x) =
          static_cast<std::uint8_t>((9798 * c[2] + 19235 * c[1] + 3735 * c[0] + 16384) >> 15);
    }
  }
  return out;
}

TEST(TrainPictures, GreyIsTheContractsInEveryFormat) {
  const TemporaryFolder folder;
  const cv::Mat grey = drawn(61, 47), colour = drawn(61, 47, CV_8UC3),
                alpha = drawn(61, 47, CV_8UC4);
  const struct {
    const char* name;
    const cv::Mat& pixels;
  } kFiles[] = {
      {"g.pgm", grey}, {"g.png", grey}, {"c.ppm", colour}, {"c.png", colour}, {"a.png", alpha}};
  for (const auto& file : kFiles) {
    SCOPED_TRACE(file.name);
    cv::imwrite(folder / file.name, file.pixels);
    const auto loaded = load_picture(folder / file.name);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    const cv::Mat want = file.pixels.channels() == 1 ? file.pixels : grey_of(file.pixels);
    EXPECT_EQ(cv::norm(as_mat(loaded.value().grey), want, cv::NORM_INF), 0);
    EXPECT_FALSE(loaded.value().turned);
  }
  // Two files, one picture.
  EXPECT_EQ(hash_of(load_picture(folder / "g.pgm").value().grey.view()),
            hash_of(load_picture(folder / "g.png").value().grey.view()));
}

#ifdef CUFACE_PIXBUF
TEST(TrainPictures, JpegAsOpenCvDecodesIt) {
  const TemporaryFolder folder;
  cv::imwrite(folder / "c.jpg", drawn(200, 150, CV_8UC3));
  const auto loaded = load_picture(folder / "c.jpg");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const cv::Mat want = grey_of(cv::imread(folder / "c.jpg", cv::IMREAD_COLOR));
  EXPECT_LE(cv::norm(as_mat(loaded.value().grey), want, cv::NORM_INF), 2);
}

TEST(TrainPictures, AnExifRotationIsIgnoredAndTold) {
  const TemporaryFolder folder;
  cv::imwrite(folder / "c.jpg", drawn(64, 48));
  write_file(folder / "turned.jpg", turned_by_exif(test::read_file(folder / "c.jpg")));
  const auto loaded = load_picture(folder / "turned.jpg");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_TRUE(loaded.value().turned);
  EXPECT_EQ(loaded.value().grey.width(), 64);
  const auto samples = load_samples(folder.path(), {{24, 24}, false, false, false, 1});
  ASSERT_TRUE(samples.ok());
  EXPECT_EQ(samples.value().windows.count(), 1u);  // the same pixels twice
  EXPECT_EQ(samples.value().notes.size(), 2u);
}
#endif

TEST(TrainPictures, WhatIsNoPictureIsRefused) {
  const TemporaryFolder folder;
  cv::imwrite(folder / "good.png", drawn(64, 48));
  const std::string png = test::read_file(folder / "good.png");
  const struct {
    const char* name;
    std::string content;
    const char* says;
  } kBad[] = {
      {"a.png", "no picture at all", ""},
      {"a.png", png.substr(0, png.size() / 2), ""},
      {"a.pgm", "P5 10 10 255\nabc", "ends before its last row"},
      {"a.pgm", "P5 10 10 65535\nabc", "only 255 is read"},
      {"a.pgm", "P5 10 ten 255\n", "a damaged PGM"},
      {"a.pgm", "P5 99999999999 99999999999 255\n", "which gives the same samples"},
      {"a.pgm", "P5 18446744073709551615 2 255\n", "which gives the same samples"},
  };
  for (const auto& bad : kBad) {
    write_file(folder / bad.name, bad.content);
    const auto loaded = load_picture(folder / bad.name);
    ASSERT_FALSE(loaded.ok()) << bad.content;
    EXPECT_EQ(loaded.status().message().rfind(folder / bad.name, 0), 0u);
    EXPECT_NE(loaded.status().message().find(bad.says), std::string::npos)
        << loaded.status().message();
  }
  // A head that asks for 10^10 pixels: refused before anything is allocated.
  std::string huge = png;
  for (const std::size_t at : {16u, 20u}) huge.replace(at, 4, std::string("\0\1\x86\xa0", 4));
  write_file(folder / "huge.png", huge);
  EXPECT_FALSE(load_picture(folder / "huge.png").ok());
}

TEST(TrainSamples, CropsAreOpenCvs) {
  const cv::Mat picture = drawn(320, 240);
  std::mt19937 random(3);
  for (int i = 0; i < 50; ++i) {
    const int w = 24 + static_cast<int>(random() % 200), h = 24 + static_cast<int>(random() % 200);
    const Rect rect{static_cast<int>(random() % static_cast<unsigned>(320 - w + 1)),
                    static_cast<int>(random() % static_cast<unsigned>(240 - h + 1)), w, h};
    const auto window = crop({picture.data, 320, 240, 320}, rect, {24, 20});
    cv::Mat want;
    cv::resize(picture(cv::Rect(rect.x, rect.y, rect.w, rect.h)), want, {24, 20}, 0, 0,
               cv::INTER_LINEAR_EXACT);
    ASSERT_EQ(std::vector(want.begin<std::uint8_t>(), want.end<std::uint8_t>()), window);
  }
}

// A huge picture and what is cut out of it give the same bytes.
TEST(TrainSamples, TheCropOfAHugePictureGivesTheSameBytes) {
  const TemporaryFolder folder;
  cv::Mat huge(9000, 12000, CV_8UC1, cv::Scalar(90));
  drawn(300, 200).copyTo(huge(cv::Rect(11000, 8000, 300, 200)));
  cv::imwrite(folder / "huge.pgm", huge);
  cv::imwrite(folder / "part.pgm", huge(cv::Rect(10990, 7990, 400, 300)));
  write_file(folder / "huge.txt", "huge.pgm 1 11010 8020 120 110\n");
  write_file(folder / "part.txt", "part.pgm 1 20 30 120 110\n");
  const SampleOptions options{{24, 24}, false, false, false, 1};
  const auto whole = load_samples(folder / "huge.txt", options);
  const auto part = load_samples(folder / "part.txt", options);
  ASSERT_TRUE(whole.ok() && part.ok());
  EXPECT_TRUE(std::ranges::equal(whole.value().windows.pixels(), part.value().windows.pixels()));
}

TEST(TrainSamples, EyesComeToTheirPlace) {
  // Two dark eyes, 60 pixels apart, turned by 20 degrees.
  cv::Mat picture(300, 300, CV_8UC1, cv::Scalar(200));
  const double turn = 20 * CV_PI / 180;
  const Point left{150 - 30 * static_cast<float>(std::cos(turn)),
                   140 - 30 * static_cast<float>(std::sin(turn))};
  const Point right{300 - left.x, 280 - left.y};
  for (const Point& eye : {left, right}) {
    cv::circle(picture, cv::Point(cvRound(eye.x), cvRound(eye.y)), 6, cv::Scalar(0), cv::FILLED);
  }
  // dlib's five points: the right eye's two corners, the left's, the nose.
  const auto part = [](Point p) { return LabelledPart{"", p}; };
  const std::vector<LabelledPart> parts = {part({right.x + 6, right.y}),
                                           part({right.x - 6, right.y}), part({left.x - 6, left.y}),
                                           part({left.x + 6, left.y}), part({150, 170})};
  Point found_left, found_right;
  ASSERT_TRUE(find_eyes(parts, found_left, found_right));
  EXPECT_NEAR(found_left.x, left.x, 0.01);
  EXPECT_NEAR(found_right.y, right.y, 0.01);
  const std::vector<std::uint8_t> window =
      crop_aligned({picture.data, 300, 300, 300}, found_left, found_right, {48, 48});
  ASSERT_EQ(window.size(), 48u * 48);
  // The darkest pixel of each half lies at 38 % of the height, 29 % from its side.
  const auto darkest = [&](int from) {
    int best = 0, at = 0;
    for (int i = 0; i < 48 * 48; ++i) {
      const int x = i % 48;
      if (x >= from && x < from + 24 && 255 - window[static_cast<std::size_t>(i)] > best) {
        best = 255 - window[static_cast<std::size_t>(i)], at = i;
      }
    }
    return cv::Point(at % 48, at / 48);
  };
  EXPECT_NEAR(darkest(0).x, 0.29 * 48, 2);
  EXPECT_NEAR(darkest(0).y, 0.38 * 48, 2);
  EXPECT_NEAR(darkest(24).x, 0.71 * 48, 2);
  EXPECT_NEAR(darkest(24).y, 0.38 * 48, 2);
  // A face smaller than the window, and one at the picture's edge.
  EXPECT_TRUE(
      crop_aligned({picture.data, 300, 300, 300}, {100, 100}, {115, 100}, {48, 48}).empty());
  EXPECT_TRUE(crop_aligned({picture.data, 300, 300, 300}, {5, 100}, {65, 100}, {48, 48}).empty());
  EXPECT_FALSE(find_eyes(std::span(parts).first(4), found_left, found_right));
}

TEST(TrainSamples, BadLabelsStopOrAreLeftOut) {
  const TemporaryFolder folder;
  cv::imwrite(folder / "a.png", drawn(100, 80));
  write_file(folder / "b.png", "no picture");
  const struct {
    const char* line;
    const char* says;
  } kBad[] = {{"a.png 1 90 10 24 24", "list.txt:2: the box 90,10 24x24 leaves the picture"},
              {"a.png 1 -1 10 24 24", "leaves the picture"},
              {"a.png 1 1e30 10 24 24", "leaves the picture"},
              {"a.png 1 10 10 20 20", "list.txt:2: the box has 20x20 pixels, less than the window"},
              {"b.png 1 10 10 24 24", "list.txt:2: "},
              {"c.png 1 10 10 24 24", "c.png"}};
  SampleOptions options{{24, 24}, false, false, false, 2};
  for (const auto& bad : kBad) {
    write_file(folder / "list.txt", std::string("a.png 1 1 2 30 40\n") + bad.line + "\n");
    options.skip_bad = false;
    const auto stopped = load_samples(folder / "list.txt", options);
    ASSERT_FALSE(stopped.ok()) << bad.line;
    EXPECT_NE(stopped.status().message().find(bad.says), std::string::npos)
        << stopped.status().message();
    options.skip_bad = true;
    const auto skipped = load_samples(folder / "list.txt", options);
    ASSERT_TRUE(skipped.ok()) << skipped.status().message();
    EXPECT_EQ(skipped.value().windows.count(), 1u);
    ASSERT_EQ(skipped.value().notes.size(), 1u);
    EXPECT_EQ(skipped.value().notes[0].rfind("left out: ", 0), 0u);
  }
}

TEST(TrainSamples, EachWindowOnceInTheListsOrder) {
  const TemporaryFolder folder;
  cv::imwrite(folder / "a.png", drawn(100, 80));
  cv::imwrite(folder / "b.png", drawn(90, 90));
  write_file(folder / "list.txt",
             "b.png 1 1 2 30 40\na.png 2 5 5 24 24 9 9 24 24\nb.png 1 1 2 30 40\n");
  std::vector<std::uint8_t> first;
  for (const int threads : {1, 4}) {
    const auto samples =
        load_samples(folder / "list.txt", {{24, 24}, false, false, false, threads});
    ASSERT_TRUE(samples.ok());
    EXPECT_EQ(samples.value().windows.count(), 3u);
    EXPECT_EQ(samples.value().where[0], (folder / "list.txt") + ":1");
    EXPECT_EQ(samples.value().notes.size(), 1u);
    const auto pixels = samples.value().windows.pixels();
    if (first.empty()) first.assign(pixels.begin(), pixels.end());
    EXPECT_TRUE(std::ranges::equal(first, pixels));
  }
  const auto both = load_samples(folder / "list.txt", {{24, 24}, false, false, true, 1});
  ASSERT_EQ(both.value().windows.count(), 6u);
  const auto a = both.value().windows.at(0), b = both.value().windows.at(1);
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i], b[i / 24 * 24 + 23 - i % 24]);
}

TEST(TrainSamples, VecFiles) {
  const TemporaryFolder folder;
  // As opencv_createsamples writes it: count, pixels, two words, then a byte and words of 16 bits.
  std::string vec("\2\0\0\0\6\0\0\0\0\0\0\0", 12);
  for (int window = 0; window < 2; ++window) {
    vec += '\0';
    for (int i = 0; i < 6; ++i) vec += std::string{static_cast<char>(200 + 10 * window + i), '\0'};
  }
  write_file(folder / "a.vec", vec);
  const auto read = read_vec(folder / "a.vec", {3, 2});
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read.value().count(), 2u);
  EXPECT_EQ(read.value().at(1)[5], 215);
  ASSERT_TRUE(write_vec(read.value(), folder / "b.vec").ok());
  EXPECT_EQ(test::read_file(folder / "b.vec"), vec);
  EXPECT_NE(read_vec(folder / "a.vec", {24, 24}).status().message().find("give their size"),
            std::string::npos);
  for (std::size_t cut = 0; cut < vec.size(); ++cut) {
    write_file(folder / "c.vec", vec.substr(0, cut));
    EXPECT_FALSE(read_vec(folder / "c.vec", {3, 2}).ok()) << cut;
  }
  vec[14] = 1;
  write_file(folder / "c.vec", vec);
  EXPECT_NE(read_vec(folder / "c.vec", {3, 2}).status().message().find("not between 0 and 255"),
            std::string::npos);
}

}  // namespace
}  // namespace cuface::train
