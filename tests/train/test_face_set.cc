// Labelled faces for forests: which point is which, boxes, mirrors, and what is refused.
#include <gtest/gtest.h>

#include <opencv2/imgcodecs.hpp>

#include "kernels/faces/landmark_scheme.h"
#include "models/train/face_set.h"
#include "models/train/heads.h"
#include "models/train/picture.h"
#include "tests/models/temporary.h"
#include "tests/train/exif.h"

namespace cuface::train {
namespace {

using test::TemporaryFolder;
using test::write_file;

class TrainFaces : public testing::Test {
 protected:
  void SetUp() override {
    cv::Mat picture(60, 80, CV_8UC1);
    for (int y = 0; y < picture.rows; ++y)
      for (int x = 0; x < picture.cols; ++x)
        picture.at<std::uint8_t>(y, x) = static_cast<std::uint8_t>(3 * x + y);
    cv::imwrite(folder / "a.png", picture);
    cv::imwrite(folder / "b.png", picture.t());
  }
  Result<FaceSet> load(const std::string& text, const FaceOptions& options = {},
                       const char* name = "l.csv") {
    write_file(folder / name, text);
    return load_faces(folder / name, options);
  }

  const TemporaryFolder folder;
};

const std::string kHead = "path,x,y,w,h,x0,y0,x1,y1,x2,y2\n";

TEST_F(TrainFaces, NumberedAndNamedPoints) {
  const auto csv = load(kHead + "a.png,10,20,30,40,11,21,12,22,13,23\nb.png,1,2,3,4,5,6,,,7,8\n");
  ASSERT_TRUE(csv.ok()) << csv.status().message();
  const FaceSet& set = csv.value();
  EXPECT_EQ(set.landmarks, 3);
  EXPECT_EQ(set.picture_of, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(set.boxes[0], (Box{10, 20, 30, 40}));
  EXPECT_EQ(set.points[2], (Point{13, 23}));
  EXPECT_EQ(set.points[5], (Point{7, 8}));
  EXPECT_EQ(set.present, (std::vector<std::uint8_t>{1, 1, 1, 1, 0, 1}));
  EXPECT_EQ(set.weights, (std::vector<std::uint8_t>{1, 1}));
  EXPECT_EQ(set.where[1], folder / "l.csv:3");
  EXPECT_EQ(set.pictures[1].width(), 60);
  // dlib numbers names in their order, unless they are numbers.
  const auto named = load(
      "<dataset><images><image file='a.png'><box top='1' left='2' width='30' height='40'>\n"
      "<part name='nose' x='5' y='6'/><part name='chin' x='7' y='8'/></box></image></images>"
      "</dataset>",
      {}, "l.xml");
  ASSERT_TRUE(named.ok()) << named.status().message();
  EXPECT_EQ(named.value().points, (std::vector<Point>{{7, 8}, {5, 6}}));
  const auto numbered = load(
      "<dataset><images><image file='a.png'><box top='1' left='2' width='30' height='40'>\n"
      "<part name='02' x='5' y='6'/><part name='10' x='7' y='8'/></box></image></images>"
      "</dataset>",
      {}, "l.xml");
  EXPECT_NE(numbered.status().message().find("no face has point 0, 1, 3"), std::string::npos)
      << numbered.status().message();
}

TEST_F(TrainFaces, AMirrorTurnsPicturesBoxesAndPoints) {
  write_file(folder / "table", "1 0\n2  # the nose\n");
  FaceOptions options;
  options.mirror = true;
  EXPECT_NE(load(kHead + "a.png,10,20,30,40,11,21,12,22,13,23\n", options)
                .status()
                .message()
                .find("which of 3 points mirror which is not known"),
            std::string::npos);
  options.mirror_table = folder / "table";
  const auto loaded = load(kHead + "a.png,10,20,30,40,11,21,12,22,13,23\n", options);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const FaceSet& set = loaded.value();
  ASSERT_EQ(set.boxes.size(), 2u);
  EXPECT_EQ(set.picture_of[1], 1u);
  EXPECT_EQ(set.boxes[1], (Box{40, 20, 30, 40}));
  EXPECT_EQ(set.points[3], (Point{67, 22}));
  EXPECT_EQ(set.points[4], (Point{68, 21}));
  EXPECT_EQ(set.points[5], (Point{66, 23}));
  for (int x = 0; x < 80; ++x)
    ASSERT_EQ(set.pictures[0].view().at(x, 7), set.pictures[1].view().at(79 - x, 7));
  EXPECT_EQ(mirror_table("", 68).value()[0], 16);
}

TEST_F(TrainFaces, BoxesOfPointsAlone) {
  std::string text = "path", row = "a.png";
  const auto points = points_of(random_head({}, 0));
  for (int i = 0; i < 68; ++i) {
    const Point p = points[static_cast<std::size_t>(i)];
    text += ",x" + std::to_string(i) + ",y" + std::to_string(i);
    row += "," + std::to_string(p.x / 4) + "," + std::to_string(p.y / 4);
  }
  const auto loaded = load(text + "\n" + row + "\n");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded.value().boxes[0], box_of_landmarks(loaded.value().points));
  EXPECT_NE(
      load("path,x0,y0,x1,y1\na.png,1,2,3,4\n").status().message().find("l.csv:2: it has no box"),
      std::string::npos);
}

TEST_F(TrainFaces, GroupsHaveWeights) {
  FaceOptions options;
  options.weights = {{"glasses", 7}};
  const std::string text =
      "path,x,y,w,h,x0,y0,group\na.png,1,2,30,40,5,6,glasses\n"
      "b.png,1,2,30,40,5,6,\n";
  EXPECT_EQ(load(text, options).value().weights, (std::vector<std::uint8_t>{7, 1}));
  options.weights = {{"beards", 7}};
  EXPECT_NE(load(text, options).status().message().find("no face is of the group \"beards\""),
            std::string::npos);
  const auto xml = load(
      "<dataset><images><image file='a.png'><box top='1' left='2' width='30' height='40'>\n"
      "<label> beards </label><part name='0' x='5' y='6'/></box></image></images></dataset>",
      options, "l.xml");
  ASSERT_TRUE(xml.ok()) << xml.status().message();
  EXPECT_EQ(xml.value().weights, (std::vector<std::uint8_t>{7}));
}

TEST_F(TrainFaces, WhatIsWrongIsNamedOrLeftOut) {
  write_file(folder / "c.png", "no picture");
  const std::string good = "a.png,10,20,30,40,11,21,12,22,13,23\n";
  const struct {
    const char* row;
    const char* says;
  } kWrong[] = {
      {"a.png,100,20,30,40,11,21,12,22,13,23\n", ":3: its box lies outside of the picture"},
      {"a.png,10,20,1,40,11,21,12,22,13,23\n", ":3: its box is no larger than a pixel"},
      {"a.png,10,20,30,40,11,21,99999,22,13,23\n", ":3: point 1 is far away from its box"},
      {"a.png,10,20,30,40,,,,,,\n", ":3: a face without points"},
      {"c.png,10,20,30,40,11,21,12,22,13,23\n", ":3: "},
      {"none.png,10,20,30,40,11,21,12,22,13,23\n", ":3: "},
  };
  for (const auto& wrong : kWrong) {
    const auto loaded = load(kHead + good + wrong.row);
    ASSERT_FALSE(loaded.ok()) << wrong.row;
    EXPECT_EQ(loaded.status().message().find((folder / "l.csv") + wrong.says), 0u)
        << loaded.status().message();
    FaceOptions skip;
    skip.skip_bad = true;
    const auto rest = load(kHead + good + wrong.row, skip);
    ASSERT_TRUE(rest.ok()) << rest.status().message();
    EXPECT_EQ(rest.value().boxes.size(), 1u);
    ASSERT_EQ(rest.value().notes.size(), 1u);
    EXPECT_EQ(rest.value().notes[0].find("left out: "), 0u);
  }
  FaceOptions two;
  two.points = 2;
  EXPECT_NE(
      load(kHead + good, two).status().message().find("l.csv:2: point 2, but there are 2 points"),
      std::string::npos);
  FaceOptions four;
  four.points = 4;
  EXPECT_NE(load(kHead + good, four).status().message().find("no face has point 3"),
            std::string::npos);
  EXPECT_NE(load_faces(folder.path(), {}).status().message().find("without .pts files"),
            std::string::npos);
  EXPECT_NE(load("path,x,y,w,h\na.png,1,2,3,4\n").status().message().find("no face in it has"),
            std::string::npos);
}

#ifdef CUFACE_PIXBUF
// Points are of the picture as it lies in the file, as dlib has it.
TEST_F(TrainFaces, AnExifRotationIsIgnoredAndTold) {
  cv::imwrite(folder / "c.jpg", cv::imread(folder / "a.png", cv::IMREAD_GRAYSCALE));
  write_file(folder / "c.jpg", turned_by_exif(test::read_file(folder / "c.jpg")));
  const auto loaded = load(kHead + "c.jpg,10,20,30,40,11,21,12,22,13,23\n");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded.value().pictures[0].width(), 80);
  EXPECT_EQ(loaded.value().points[2], (Point{13, 23}));
  ASSERT_EQ(loaded.value().notes.size(), 1u);
  EXPECT_NE(loaded.value().notes[0].find("1 pictures have an EXIF tag"), std::string::npos);
}
#endif

TEST_F(TrainFaces, BoxesOfThePipelineAreTheLabels) {
  FaceOptions options;
  options.detector = kPipelineBoxes;
  const auto loaded = load(kHead + "a.png,10,20,30,40,11,21,12,22,13,23\n", options);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded.value().boxes[0], (Box{10, 20, 30, 40}));
}

TEST_F(TrainFaces, WrongMirrorTables) {
  for (const auto& [text, says] : {std::pair{"0 1\n", "2 numbers, but there are 3"},
                                   std::pair{"0 1 3\n", "table:1: numbers of points from 0 to 2"},
                                   std::pair{"1 2\n0\n", "point 0 becomes 1, but 1 does not"},
                                   std::pair{"0 1 x\n", "table:1: numbers"}}) {
    write_file(folder / "table", text);
    const auto table = mirror_table(folder / "table", 3);
    ASSERT_FALSE(table.ok()) << text;
    EXPECT_NE(table.status().message().find(says), std::string::npos) << table.status().message();
  }
  EXPECT_EQ(mirror_table(folder / "none", 3).status().code(), StatusCode::kNotFound);
}

TEST_F(TrainFaces, TheHashTellsFacesApartAndThreadsDoNotCount) {
  const std::string text = kHead +
                           "a.png,10,20,30,40,11,21,12,22,13,23\n"
                           "b.png,1,2,3,4,5,6,,,7,8\n";
  FaceOptions options;
  options.threads = 1;
  const std::uint64_t hash = load(text, options).value().hash();
  options.threads = 5;
  EXPECT_EQ(load(text, options).value().hash(), hash);
  for (const char* other : {"a.png,10,20,30,41,11,21,12,22,13,23\nb.png,1,2,3,4,5,6,,,7,8\n",
                            "a.png,10,20,30,40,11,21,12,22,13,24\nb.png,1,2,3,4,5,6,,,7,8\n",
                            "b.png,10,20,30,40,11,21,12,22,13,23\nb.png,1,2,3,4,5,6,,,7,8\n"}) {
    EXPECT_NE(load(kHead + other).value().hash(), hash);
  }
}

}  // namespace
}  // namespace cuface::train
