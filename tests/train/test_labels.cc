// Lists of labels: every format says the same, and what is wrong is refused with its line.
#include <gtest/gtest.h>

#include <random>

#include "models/train/labels.h"
#include "tests/fewer.h"
#include "tests/models/bad_file.h"
#include "tests/models/temporary.h"

namespace cuface::train {
namespace {

using test::TemporaryFolder;
using test::write_file;

const std::string kInfo =
    "# a comment\nfaces/a b.png 2 10 20 30 40 50 60 24.5 24\n\nfaces/c.png 1 1 2 30 31\n";
const std::string kCsv =
    "path,x,y,w,h\n\"faces/a b.png\",10,20,30,40\nfaces/a b.png, 50, 60, 24.5, 24\n"
    "faces/c.png,1,2,30,31\r\n";
const std::string kCorners =
    "filename,width,height,class,xmin,ymin,xmax,ymax\nfaces/a b.png,640,480,face,10,20,40,60\n"
    "faces/a b.png,640,480,face,50,60,74.5,84\nfaces/c.png,640,480,face,1,2,31,33\n";
const std::string kCoco =
    R"({"info": {"a": [[[[[1]]]]]}, "images": [{"id": 7, "file_name": "faces/a b.png"},
 {"id": 3, "file_name": "faces/c.png"}], "annotations": [
 {"image_id": 3, "bbox": [1, 2, 30, 31], "segmentation": [[1, 2, 3]]},
 {"image_id": 7, "bbox": [10, 20, 30, 40]}, {"image_id": 7, "bbox": [0, 0, 9, 9], "iscrowd": 1},
 {"image_id": 7, "bbox": [50, 60, 24.5, 24]}]})";
const std::string kPlain =
    R"([{"file": "faces/a b.png", "boxes": [[10, 20, 30, 40], [50, 60, 24.5, 24]]},
 {"file": "faces/c.png", "boxes": [[1, 2, 30, 31]]}])";
const std::string kImglab = R"(<?xml version='1.0' encoding='UTF-8'?>
<?xml-stylesheet type='text/xsl' href='image_metadata_stylesheet.xsl'?>
<dataset><name>n</name><images>
  <image file='faces/a b.png' width='640' height='480'>
    <box top='20' left='10' width='30' height='40'/>
    <box top='1' left='1' width='3' height='4' ignore='1'/>
    <box top='60' left='50' width='24.5' height='24'><label>face</label></box>
  </image>
  <image file='faces/c.png'><box top='2' left='1' width='30' height='31'>
    <part name='nose' x='5' y='6'/><part name='chin' x='7.5' y='8'/></box></image>
</images></dataset>
)";

struct Spelling {
  const char* name;
  const std::string& text;
};
const Spelling kSpellings[] = {{"list.txt", kInfo},       {"list.csv", kCsv},
                               {"corners.csv", kCorners}, {"coco.json", kCoco},
                               {"plain.json", kPlain},    {"imglab.xml", kImglab}};

TEST(TrainLabels, AllFormatsSayTheSame) {
  const TemporaryFolder folder;
  int boxes = 0;
  for (const Spelling& spelling : kSpellings) {
    SCOPED_TRACE(spelling.name);
    write_file(folder / spelling.name, spelling.text);
    const auto labels = read_labels(folder / spelling.name);
    ASSERT_TRUE(labels.ok()) << labels.status().message();
    const std::vector<LabelledPicture>& p = labels.value();
    ASSERT_EQ(p.size(), 2u);
    EXPECT_EQ(p[0].path, folder / "faces/a b.png");
    EXPECT_EQ(p[1].path, folder / "faces/c.png");
    ASSERT_EQ(p[0].objects.size(), 2u);
    ASSERT_EQ(p[1].objects.size(), 1u);
    EXPECT_EQ(p[0].objects[0].box, (Box{10, 20, 30, 40}));
    EXPECT_EQ(p[0].objects[1].box, (Box{50, 60, 24.5f, 24}));
    EXPECT_EQ(p[1].objects[0].box, (Box{1, 2, 30, 31}));
    EXPECT_EQ(p[1].objects[0].where.rfind(folder / spelling.name, 0), 0u);
    boxes += 3;
  }
  EXPECT_EQ(boxes, 18);
}

TEST(TrainLabels, PartsAreKept) {
  const TemporaryFolder folder;
  write_file(folder / "a.xml", kImglab);
  write_file(folder / "a.csv", "path,x0,y0,x1,y1\nc.png,5,6,7.5,8\n");
  write_file(folder / "a.json",
             R"({"images": [{"id": 1, "file_name": "c.png"}], "annotations": [{"image_id": 1,
 "bbox": [1, 2, 3, 4], "keypoints": [5, 6, 2, 9, 9, 0, 7.5, 8, 1]}]})");
  const auto xml = read_labels(folder / "a.xml"), csv = read_labels(folder / "a.csv"),
             json = read_labels(folder / "a.json");
  ASSERT_TRUE(xml.ok() && csv.ok() && json.ok());
  const auto expect_parts = [](const LabelledObject& object, const char* a, const char* b) {
    ASSERT_EQ(object.parts.size(), 2u);
    EXPECT_EQ(object.parts[0].name, a);
    EXPECT_EQ(object.parts[1].name, b);
    EXPECT_EQ(object.parts[0].at, (Point{5, 6}));
    EXPECT_EQ(object.parts[1].at, (Point{7.5f, 8}));
  };
  expect_parts(xml.value()[1].objects[0], "nose", "chin");
  expect_parts(csv.value()[0].objects[0], "0", "1");
  EXPECT_EQ(csv.value()[0].objects[0].box, (Box{5, 6, 2.5f, 2}));  // around the points
  expect_parts(json.value()[0].objects[0], "0", "2");
}

// iBUG counts the first pixel's centre as 1.
TEST(TrainLabels, PointsOfAFolder) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "sub");
  for (const char* name : {"b.png", "a.JPG", "sub/a.png", "none.png"}) {
    write_file(folder / name, "x");
  }
  write_file(folder / "b.pts", "version: 1\nn_points:  2\n{\n6 7\n8.5\t9\n}\n");
  write_file(folder / "a.pts", "version: 1\r\nn_points: 2\r\n{\r\n1 1\r\n3.25 4\r\n}\r\n");
  write_file(folder / "sub/a.pts", "n_points: 2\n{\n1 1\n2 2\n\n}");
  const auto labels = read_labels(folder.path());
  ASSERT_TRUE(labels.ok()) << labels.status().message();
  const std::vector<LabelledPicture>& p = labels.value();
  ASSERT_EQ(p.size(), 3u);
  EXPECT_EQ(p[0].path, folder / "a.JPG");
  EXPECT_EQ(p[1].path, folder / "b.png");
  EXPECT_EQ(p[2].path, folder / "sub/a.png");
  ASSERT_EQ(p[1].objects.size(), 1u);
  const LabelledObject& object = p[1].objects[0];
  EXPECT_EQ(object.where, folder / "b.pts");
  ASSERT_EQ(object.parts.size(), 2u);
  EXPECT_EQ(object.parts[1].name, "1");
  EXPECT_EQ(object.parts[0].at, (Point{5, 6}));
  EXPECT_EQ(object.parts[1].at, (Point{7.5f, 8}));
  EXPECT_EQ(object.box, (Box{5, 6, 2.5f, 2}));
  EXPECT_EQ(p[0].objects[0].parts[1].at, (Point{2.25f, 3}));
}

TEST(TrainLabels, WrongPointFilesAreNamed) {
  const struct {
    const char* text;
    const char* says;
  } kWrong[] = {
      {"n_points: 2\n{\n1 1\n}\n", ":4: 1 points end here, n_points says 2"},
      {"n_points: 1\n{\n1 1\n2 2\n}\n", ":4: more points than n_points says"},
      {"n_points: 2\n{\n1 1\n2 x\n}\n", ":4: x and y of a point are expected"},
      {"n_points: 2\n1 1\n2 2\n}\n", ":2: x and y of a point are expected"},
      {"n_points: 2\n{\n1 1\n2 nan\n}\n", ":4: x and y of a point are expected"},
      {"n_points: 2\n{\n1\n2\n}\n", ":3: x and y of a point are expected"},
      {"n_points: 0\n{\n}\n", ":1: n_points is not from 1 to 1024"},
      {"n_points: 99999\n{\n}\n", ":1: n_points is not from 1 to 1024"},
      {"n_points: 2\n{\n1 1\n2 2\n", ":4: the file ends before a line with }"},
      {"", ": the file is empty"},
      {"n_points: 2\n{\n1 1\n1 2\n}\n", ": all points lie on one line"},
      {"n_points: 3\n{\n1 1\n2 2\n3 3\n}\n", ": 3 points, but "},
  };
  const TemporaryFolder folder;
  write_file(folder / "a.png", "x");
  write_file(folder / "b.png", "x");
  write_file(folder / "a.pts", "n_points: 2\n{\n1 1\n2 2\n}\n");
  for (const auto& wrong : kWrong) {
    write_file(folder / "b.pts", wrong.text);
    const auto labels = read_labels(folder.path());
    ASSERT_FALSE(labels.ok()) << wrong.text;
    const std::string message = labels.status().message(), wanted = folder / "b.pts" + wrong.says;
    EXPECT_EQ(message.substr(0, wanted.size()), wanted);
  }
  write_file(folder / "b.pts", "n_points: 2\n{\n1 1\n2 2\n}\n");
  EXPECT_TRUE(read_labels(folder.path()).ok());
  std::filesystem::remove(folder / "b.png");
  EXPECT_NE(read_labels(folder.path()).status().message().find("b.pts: no picture of this name"),
            std::string::npos);
}

TEST(TrainLabels, PointsThatAreNotThere) {
  const TemporaryFolder folder;
  write_file(folder / "a.csv", "path,x0,y0,x1,y1,x2,y2\nc.png,5,6,,,7.5,8\n");
  write_file(folder / "a.json",
             R"({"images": [{"id": 1, "file_name": "c.png"}], "annotations": [{"image_id": 1,
 "keypoints": [5, 6, 2, 9, 9, 0, 7.5, 8, 1]}]})");
  for (const char* name : {"a.csv", "a.json"}) {
    const auto labels = read_labels(folder / name);
    ASSERT_TRUE(labels.ok()) << labels.status().message();
    const LabelledObject& object = labels.value()[0].objects[0];
    ASSERT_EQ(object.parts.size(), 2u);
    EXPECT_EQ(object.parts[1].name, "2");
    EXPECT_EQ(object.box, (Box{5, 6, 2.5f, 2}));  // around the points
  }
  write_file(folder / "a.csv", "path,x0,y0,x1,y1\nc.png,5,6,,7\n");
  EXPECT_FALSE(read_labels(folder / "a.csv").ok());
}

TEST(TrainLabels, WrongLinesAreNamed) {
  const struct {
    const char* name;
    std::string text;
    const char* says;
  } kWrong[] = {
      {"a.txt", "a.png 1 1 2 3 4\nb.png 2 1 2 3 4\n", "a.txt:2: a line is"},
      {"a.txt", "a.png\n", "a.txt:1: a line is"},
      {"a.txt", "a.png 1 1 2 3 x\n", "a.txt:1: a box has something else"},
      {"a.txt", "a.png 1 1 2 3 nan\n", "a.txt:1: a box has something else"},
      {"a.txt", "a.png 1 1 2 0 4\n", "a.txt:1: a box without a width"},
      {"a.txt", "a.png 0\n", "it names no box, in 1 pictures"},
      {"a.txt", std::string("a\0b", 3), "it holds binary data"},
      {"a.csv", "path,x,y\na.png,1,2\n", "a.csv:1: the head has to name"},
      {"a.csv", "path,x,y,w,h\na.png,1,2,3\n", "a.csv:2: 4 fields, the head has 5"},
      {"a.csv", "path,x,y,w,h\n\"a.png,1,2,3,4\n", "a.csv:2: a quote is not closed"},
      {"a.csv", "path,x,y,w,h\na.png,1,2,,4\n", "a.csv:2: a box or a point is no number"},
      {"a.csv", "path,x,y,w,h\n,1,2,3,4\n", "a.csv:2: no path of a picture: it is empty"},
      {"a.json", "[\n{\"file\": \"a.png\",\n \"boxes\": [[1,2,3,4}]", "a.json:3: no readable JSON"},
      {"a.json", R"([{"file": "a.png", "boxes": [[1, 2, 3]]}])", "a.json: entry 0: a box is not"},
      {"a.json", R"([{"boxes": [[1, 2, 3, 4]]}])", "a.json: entry 0: {"},
      {"a.json", R"({"images": 1, "annotations": []})", "a.json: neither COCO's"},
      {"a.json", R"({"images": [], "annotations": [{"image_id": 5, "bbox": [1, 2, 3, 4]}]})",
       "a.json: annotation 0: its image_id 5 is no image's"},
      {"a.json", "[[[[[[[[[[[[1]]]]]]]]]]]]", "a.json: nested more than 8 deep"},
      {"a.xml",
       "<dataset><images><image file='a.png'>\n<box top='1' left='2' width='3'/></image>"
       "</images></dataset>",
       "a.xml:2: <box> needs the numbers"},
      {"a.xml", "<dataset>\n<images><image/></images></dataset>", "a.xml:2: <image> names no file"},
      {"a.xml", "<opencv_storage/>", "a.xml:1: no list of dlib's imglab"},
      {"a.xml", "<dataset><images>\n<image>", "a.xml:2: not a readable XML file"},
  };
  const TemporaryFolder folder;
  for (const auto& wrong : kWrong) {
    write_file(folder / wrong.name, wrong.text);
    const auto labels = read_labels(folder / wrong.name);
    ASSERT_FALSE(labels.ok()) << wrong.text;
    const std::string message = labels.status().message();
    EXPECT_EQ(message.rfind(folder / wrong.name, 0), 0u) << message;
    EXPECT_NE(message.find(wrong.says), std::string::npos)
        << wrong.says << " is not in " << message;
  }
  EXPECT_EQ(read_labels(folder / "missing.csv").status().code(), StatusCode::kNotFound);
}

TEST(TrainLabels, FoldersByNameWithPicturesOnly) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "sub");
  EXPECT_NE(read_labels(folder.path()).status().message().find("no picture in this folder"),
            std::string::npos);
  for (const char* name : {"b.PNG", "a.jpg", "notes.txt", "sub/a.pgm", "c.jpg~"}) {
    write_file(folder / name, "x");
  }
  const auto labels = read_labels(folder.path());
  ASSERT_TRUE(labels.ok());
  ASSERT_EQ(labels.value().size(), 3u);
  EXPECT_EQ(labels.value()[0].path, folder / "a.jpg");
  EXPECT_EQ(labels.value()[1].path, folder / "b.PNG");
  EXPECT_EQ(labels.value()[2].path, folder / "sub/a.pgm");
  EXPECT_TRUE(labels.value()[0].whole);
  write_file(folder / "list.txt", "sub/a.pgm\n\n# none\na.jpg\n");
  const auto list = read_picture_list(folder / "list.txt");
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list.value().size(), 2u);
  EXPECT_EQ(list.value()[0].path, folder / "sub/a.pgm");
  EXPECT_EQ(list.value()[1].path, folder / "a.jpg");
  EXPECT_EQ(list.value()[1].where, folder / "list.txt:4");
}

// Cut and flipped files are refused with a message that names them, or read; both in bounds.
TEST(TrainLabels, HostileListsAreCheap) {
  const TemporaryFolder folder;
  std::mt19937_64 random(38);
  int fed = 0, refused = 0;
  const auto feed = [&](const std::string& name, const std::string& text) {
    write_file(folder / name, text);
    const test::Cost cost;
    const auto labels = read_labels(folder / name);
    EXPECT_LT(cost.seconds(), test::kMostSeconds * test::slowness()) << name;
    EXPECT_LT(cost.bytes(), test::kMostBytes + 60 * text.size()) << name;
    ++fed;
    if (labels.ok()) return;
    ++refused;
    EXPECT_EQ(labels.status().message().rfind(folder / name, 0), 0u) << labels.status().message();
    EXPECT_LT(labels.status().message().size(), folder.path().size() + 300);
  };
  for (const Spelling& spelling : kSpellings) {
    for (std::size_t cut = 0; cut < spelling.text.size(); cut += 3) {
      feed(spelling.name, spelling.text.substr(0, cut));
    }
    for (int i = 0; i < test::fewer(300); ++i) {
      std::string bad = spelling.text;
      for (int n = 0; n < 3; ++n) bad[random() % bad.size()] = static_cast<char>(random());
      feed(spelling.name, bad);
    }
  }
  const std::string pts = "version: 1\nn_points:  2\n{\n6 7\n8.5\t9\n}\n";
  const TemporaryFolder points;
  write_file(points / "a.png", "x");
  for (int i = 0; i < test::fewer(300); ++i) {
    std::string bad = pts;
    for (int n = 0; n < 2; ++n) bad[random() % bad.size()] = static_cast<char>(random());
    write_file(points / "a.pts", bad);
    const auto labels = read_labels(points.path());
    ++fed;
    if (labels.ok()) continue;
    ++refused;
    EXPECT_EQ(labels.status().message().rfind(points / "a.pts", 0), 0u);
  }
  constexpr std::size_t kMany = 2 << 20;
  feed("deep.json", std::string(kMany, '['));
  feed("wide.json", "[" + test::repeated("{},", kMany));
  feed("wide.xml", "<dataset><images>" + test::repeated("<image/>", kMany));
  feed("deep.xml", test::repeated("<dataset>", kMany));
  feed("wide.csv", test::repeated("x0,", kMany));
  feed("line.txt", "a.png " + test::repeated("1 ", kMany));
  EXPECT_GE(fed, 1500);
  EXPECT_GE(refused, fed / 4);
}

}  // namespace
}  // namespace cuface::train
