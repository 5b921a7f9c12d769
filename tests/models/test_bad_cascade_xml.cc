// OpenCV's XML, damaged and hostile.
#include <utility>

#include "models/xml_tree.h"
#include "tests/data.h"
#include "tests/models/bad_cascade.h"
#include "tests/models/bad_file.h"

namespace cuface::test {
namespace {

TEST(BadCascadeXml, Truncations) {
  CUFACE_NEEDS_CASCADES();
  Feeder<CascadeModel> feeder(load_cascade, "bad.xml");
  int files = 0, cuts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kCascadeDir)) {
    if (entry.file_size() > 1'000'000) continue;  // same layout, same paths
    cuts += feeder.feed_truncations(read_file(entry.path()), entry.path().filename());
    ++files;
  }
  EXPECT_GE(files, 14);
  EXPECT_EQ(feeder.take().refused, cuts);
}

TEST(BadCascadeXml, Flips) {
  CUFACE_NEEDS_CASCADES();
  Feeder<CascadeModel> feeder(load_cascade, "bad.xml");
  // The old and the new layout.
  for (const char* name : {"licence_plate_rus_16stages", "russian_plate_number"}) {
    feeder.feed_flips(read_file(cascade_path(name)), name, kFlips, kNoMend);
    const Fed fed = feeder.take();
    EXPECT_GT(fed.refused, kFlips / 20) << name;
    EXPECT_GT(fed.loaded, kFlips / 20) << name;
  }
}

TEST(BadCascadeXml, Hostile) {
  Feeder<CascadeModel> feeder(load_cascade, "bad.xml");
  ASSERT_TRUE(feeder.feed(xml(kNodes, kLeaves, kRects), "good"));
  const std::string huge = "9223372036854775808", open = "<opencv_storage><cascade>";
  constexpr std::size_t kFull = XmlTree::kMaxBytes - 1000;
  std::string bomb = "<!DOCTYPE b [<!ENTITY l0 \"ha\">";
  for (int i = 1; i < 30; ++i) {
    const std::string n = std::to_string(i), before = "&l" + std::to_string(i - 1) + ";";
    bomb += "<!ENTITY l" + n + " \"" + before + before + "\">";
  }
  const std::pair<const char*, std::string> files[] = {
      {"entity bomb", bomb + "]><opencv_storage><cascade>&l29;</cascade></opencv_storage>"},
      {"entity that reads a file",
       "<!DOCTYPE b [<!ENTITY f SYSTEM \"file:///etc/passwd\">]><opencv_storage>&f;"
       "</opencv_storage>"},
      {"depth bomb", repeated("<a>", kFull)},
      {"deep inside", open + repeated("<_>", 100'000)},
      {"width bomb", open + repeated("<a/>", kFull)},
      {"most elements, with text", open + repeated("<a>xxxxxxxxxxxxxxxxxxxxxxxxxxxx</a>", kFull)},
      {"attribute bomb", "<opencv_storage " + repeated("a='b' ", kFull) + "/>"},
      {"long attribute", "<opencv_storage a='" + repeated("x", kFull) + "'/>"},
      {"long name", "<" + repeated("n", kFull) + "/>"},
      {"long name twice", "<opencv_storage><" + repeated("n", kFull) + "/></opencv_storage>"},
      {"long text", open + repeated("x", kFull)},
      {"long type", "<opencv_storage><c><stageType>" + repeated("\xc3\xa4", kFull) +
                        "</stageType></c></opencv_storage>"},
      {"long comment", "<!-- " + repeated("- ", kFull)},
      {"blanks", repeated(" ", kFull)},
      {"angles", repeated("<", kFull)},
      {"ampersands", open + repeated("&amp;", kFull)},
      {"references", open + repeated("&#65;", kFull)},
      {"zero bytes", std::string(kFull, '\0')},
      {"all ones", std::string(kFull, '\xff')},
      {"over the limit", repeated("<a>", XmlTree::kMaxBytes + 1)},
      {"many nodes", xml(repeated("1 0 0 1 ", kFull), kLeaves, kRects)},
      {"many leaves", xml(kNodes, repeated("1 ", kFull), kRects)},
      {"long number", xml("0 -1 0 " + repeated("1", 5'000'000), kLeaves, kRects)},
      {"long fraction that is over", xml("0 -1 0 1e" + repeated("9", 5'000'000), kLeaves, kRects)},
      {"window of 2^63", xml(kNodes, kLeaves, kRects, "0.5", huge)},
      {"window of -2^63", xml(kNodes, kLeaves, kRects, "0.5", "-" + huge)},
      {"window of 2^31-1", xml(kNodes, kLeaves, kRects, "0.5", "2147483647")},
      {"window of 0", xml(kNodes, kLeaves, kRects, "0.5", "0")},
      {"feature 2^63", xml("0 -1 " + huge + " 1", kLeaves, kRects)},
      {"feature 2^31-1", xml("0 -1 2147483647 1", kLeaves, kRects)},
      {"child 2^63", xml(huge + " -1 0 1", kLeaves, kRects)},
      {"node cycle", xml("1 2 0 1 2 0 0 1 1 0 0 1", "1 2 3 4", kRects)},
      {"node is its own child", xml("0 -1 0 1 1 1 0 1", "1 2 3", kRects)},
      {"nan node threshold", xml("0 -1 0 nan", kLeaves, kRects)},
      {"infinite node threshold", xml("0 -1 0 inf", kLeaves, kRects)},
      {"node threshold over float", xml("0 -1 0 1e39", kLeaves, kRects)},
      {"nan stage threshold", xml(kNodes, kLeaves, kRects, "nan")},
      {"infinite stage threshold", xml(kNodes, kLeaves, kRects, "-infinity")},
      {"nan leaf", xml(kNodes, "nan 1", kRects)},
      {"infinite leaf", xml(kNodes, "0 1e999", kRects)},
      {"nan weight", xml(kNodes, kLeaves, "<_>0 0 9 9 nan</_><_>6 6 12 12 4.</_>")},
      {"huge weight", xml(kNodes, kLeaves, "<_>0 0 9 9 1e30</_><_>6 6 12 12 4.</_>")},
      {"feature right of the window", xml(kNodes, kLeaves, "<_>20 0 9 9 1</_><_>6 6 9 9 4.</_>")},
      {"feature left of it", xml(kNodes, kLeaves, "<_>-1 0 9 9 1</_><_>6 6 9 9 4.</_>")},
      {"feature that overflows",
       xml(kNodes, kLeaves, "<_>2147483647 1 2147483647 9 1</_><_>6 6 9 9 4.</_>")},
      {"feature of a negative size", xml(kNodes, kLeaves, "<_>9 9 -9 -9 1</_><_>6 6 9 9 4.</_>")},
      {"no trees",
       "<opencv_storage><c><stageType>BOOST</stageType><featureType>HAAR</featureType>"
       "<height>24</height><width>24</width><stages><_><stageThreshold>0"
       "</stageThreshold><weakClassifiers></weakClassifiers></_></stages>"
       "<features/></c></opencv_storage>"},
      {"no stages",
       "<opencv_storage><c><stageType>BOOST</stageType><featureType>HAAR</featureType>"
       "<height>24</height><width>24</width><stages/><features/></c>"
       "</opencv_storage>"},
      {"a tree without nodes", xml("", "", kRects)},
      {"UTF-16", std::string("\xff\xfe<\0o\0p\0", 8)},
  };
  for (const auto& [name, content] : files) EXPECT_FALSE(feeder.feed(content, name)) << name;
  EXPECT_EQ(feeder.take().refused, static_cast<int>(std::size(files)));
  // As much as a file may hold, and valid: loaded, and still used fast.
  std::string many;
  for (int i = 0; i < 20'000; ++i) {
    many += "<_><internalNodes>0 -1 0 1.6</internalNodes><leafValues>0. 1e38</leafValues></_>";
  }
  EXPECT_TRUE(feeder.feed(xml(kNodes, kLeaves, kRects, "-3e38", "24", many), "many trees"));
  EXPECT_TRUE(feeder.feed(xml("0 -1 0 -3.4e38", "-3.4e38 3.4e38", kRects, "3.4e38"), "extremes"));
}

}  // namespace
}  // namespace cuface::test
