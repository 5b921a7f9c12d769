// Every loader, through the call the elements use, fed with damaged and hostile files: cut at every
// hundredth, 2,000 random flips, and files made to hurt. What is refused says where; what loads is
// used on a picture.
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "models/cascade_file.h"
#include "models/forest_file.h"
#include "models/xml_tree.h"
#include "tests/data.h"
#include "tests/models/bad_file.h"
#include "tests/models/mend_checksums.h"
#include "tests/models/synthetic_forest.h"

namespace cuface::test {
namespace {

constexpr int kFlips = 2000;
const auto kNoMend = [](std::string&) {};

// ---- OpenCV's XML ----

TEST(BadCascadeXml, Truncations) {
  if (!std::filesystem::is_directory(kCascadeDir)) GTEST_SKIP() << "no opencv-data";
  Feeder<CascadeModel> feeder(load_cascade, "bad.xml");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kCascadeDir)) {
    if (entry.file_size() > 1'000'000) continue;  // same layout, same paths
    feeder.feed_truncations(read_file(entry.path()), entry.path().filename());
    ++files;
  }
  EXPECT_GE(files, 14);
  EXPECT_EQ(feeder.take().refused, files * 100);
}

TEST(BadCascadeXml, Flips) {
  if (!std::filesystem::is_directory(kCascadeDir)) GTEST_SKIP() << "no opencv-data";
  Feeder<CascadeModel> feeder(load_cascade, "bad.xml");
  // The old and the new layout.
  for (const char* name : {"licence_plate_rus_16stages", "russian_plate_number"}) {
    feeder.feed_flips(read_file(cascade_path(name)), name, kFlips, kNoMend);
    const Fed fed = feeder.take();
    EXPECT_GT(fed.refused, kFlips / 20) << name;
    EXPECT_GT(fed.loaded, kFlips / 20) << name;
  }
}

/// A cascade whose parts can be replaced.
std::string xml(const std::string& nodes, const std::string& leaves, const std::string& rects,
                const std::string& threshold = "0.5", const std::string& sides = "24",
                const std::string& trees_after = "") {
  return "<?xml version=\"1.0\"?>\n<opencv_storage><cascade>\n<stageType>BOOST</stageType>"
         "<featureType>HAAR</featureType><height>" +
         sides + "</height>\n<width>" + sides + "</width>\n<stages><_><stageThreshold>" +
         threshold + "</stageThreshold>\n<weakClassifiers><_><internalNodes>" + nodes +
         "</internalNodes>\n<leafValues>" + leaves + "</leafValues></_>" + trees_after +
         "</weakClassifiers></_></stages>\n<features><_><rects>" + rects +
         "</rects></_></features></cascade></opencv_storage>\n";
}

const std::string kNodes = "0 -1 0 1.6", kLeaves = "0. 1.",
                  kRects = "<_>0 0 24 24 -1.</_><_>6 6 12 12 4.</_>";

std::string repeated(const std::string& text, std::size_t bytes) {
  std::string out;
  out.reserve(bytes + text.size());
  while (out.size() < bytes) out += text;
  return out;
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

// ---- dlib's .dat ----

/// Small, but built like the 68-point model.
std::string dat_68() { return synthetic_dat(68, 3, 12, 4, 50, 68); }

TEST(BadDat, Truncations) {
  Feeder<ForestModel> feeder(load_forest, "bad.dat");
  const std::string good = dat_68();
  ASSERT_TRUE(feeder.feed(good, "good"));
  feeder.feed_truncations(good, "68 points");
  EXPECT_EQ(feeder.take().refused, 100);
}

TEST(BadDat, Flips) {
  Feeder<ForestModel> feeder(load_forest, "bad.dat");
  feeder.feed_flips(dat_68(), "68 points", kFlips, kNoMend);
  feeder.feed_flips(synthetic_dat(1, 1, 1, 1, 1, 1), "smallest", kFlips, kNoMend);
  const Fed fed = feeder.take();
  // The format has no checksum: another float may pass, another structure may not.
  EXPECT_GT(fed.refused, kFlips / 4);
  EXPECT_GT(fed.loaded, kFlips / 4);
}

// A real file takes long: 20 flips of the small one, or $CUFACE_FLIPS of it and 50 of the large
// one.
TEST(BadDat, FetchedModels) {
  Feeder<ForestModel> feeder(load_forest, "bad.dat");
  const auto path = [](int points) {
    return model_dir() + "/shape_predictor_" + std::to_string(points) + "_face_landmarks.dat";
  };
  if (!std::filesystem::exists(path(68))) GTEST_SKIP() << "run models/fetch --models";
  std::map<int, int> flips = {{5, 20}};
  if (const char* full = std::getenv("CUFACE_FLIPS")) flips = {{5, std::atoi(full)}, {68, 50}};
  for (const auto& [points, count] : flips) {
    const std::string good = read_file(path(points)), name = std::to_string(points) + " points";
    feeder.feed_truncations(good, name);
    feeder.feed_flips(good, name, count, kNoMend);
    const Fed fed = feeder.take();
    EXPECT_GE(fed.refused, 100);
    EXPECT_EQ(fed.refused + fed.loaded, 100 + count);
  }
}

/// dlib's integer: a control byte (sign and length), then the magnitude, little end first.
std::string integer(std::uint64_t magnitude, bool negative = false, int bytes = 0) {
  std::string text;
  for (; magnitude != 0 || static_cast<int>(text.size()) < std::max(bytes, 1); magnitude >>= 8) {
    text += static_cast<char>(magnitude & 0xff);
  }
  return static_cast<char>(text.size() | (negative ? 0x80 : 0)) + text;
}

TEST(BadDat, Hostile) {
  Feeder<ForestModel> feeder(load_forest, "bad.dat");
  const std::string zero = integer(0) + integer(0);  // a float
  const std::string infinity = integer(0) + integer(32000), nan = integer(0) + integer(32002);
  const auto column = [](std::uint64_t rows) { return integer(rows, true) + integer(1, true); };
  const auto model = [&](const std::string& cascades, const std::string& trees,
                         const std::string& splits, const std::string& split,
                         const std::string& leaf, const std::string& anchor,
                         const std::string& delta) {
    return integer(1) + column(4) + repeated(zero, 4 * zero.size()) + cascades + trees + splits +
           split + integer(2) + column(4) + leaf + column(4) + leaf + integer(1) + integer(1) +
           anchor + integer(1) + integer(1) + delta;
  };
  const std::string one = integer(1), leaf = repeated(zero, 4 * zero.size());
  const std::string split = integer(0) + integer(0) + zero, delta = zero + zero;
  ASSERT_TRUE(feeder.feed(model(one, one, one, split, leaf, integer(0), delta), "good"));
  (void)feeder.take();
  const std::string padding(std::size_t{8} << 20, '\1');
  std::vector<std::pair<std::string, std::string>> files = {
      {"threshold infinite",
       model(one, one, one, integer(0) + integer(0) + infinity, leaf, integer(0), delta)},
      {"threshold nan",
       model(one, one, one, integer(0) + integer(0) + nan, leaf, integer(0), delta)},
      {"threshold over float",
       model(one, one, one, integer(0) + integer(0) + integer(1) + integer(200), leaf, integer(0),
             delta)},
      {"leaf infinite",
       model(one, one, one, split, infinity + zero + zero + zero, integer(0), delta)},
      {"delta nan", model(one, one, one, split, leaf, integer(0), zero + nan)},
      {"split of a pixel too many",
       model(one, one, one, one + integer(0) + zero, leaf, integer(0), delta)},
      {"anchor of a landmark too many", model(one, one, one, split, leaf, integer(2), delta)},
      {"anchor negative", model(one, one, one, split, leaf, integer(1, true), delta)},
      {"no cascades", model(integer(0), one, one, split, leaf, integer(0), delta)},
      {"no trees", model(one, integer(0), one, split, leaf, integer(0), delta)},
      {"no splits", model(one, one, integer(0), split, leaf, integer(0), delta)},
      {"mean of no landmarks", integer(1) + column(0)},
      {"mean with two columns", integer(1) + integer(4, true) + integer(2, true)},
      // As many trees as the bytes behind them could just hold, and no more.
      {"a claim the file could keep",
       integer(1) + column(4) + leaf + integer(100) + integer(2500) + integer(1) + padding},
      {"the deepest trees",
       integer(1) + column(2) + zero + zero + integer(10) + integer(20) + integer(4095) + padding},
      {"numbers of 8 bytes", integer(1) + repeated("\x88\xff\xff\xff\xff\xff\xff\xff\xff", 1000)},
      {"numbers of 15 bytes", integer(1) + integer(4, true) + repeated("\x0f", 1000)},
      {"one number and nothing", std::string("\1\1\x81\x88\x81\1", 6)},
      {"only ones", std::string("\1\1\x82") + repeated("\1", std::size_t{8} << 20)},
  };
  for (const std::uint64_t size :
       {std::uint64_t{1} << 31, std::uint64_t{1} << 32, (std::uint64_t{1} << 62) + 1,
        (std::uint64_t{1} << 63) - 1, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    const std::string claim = integer(size), n = std::to_string(size);
    files.insert(files.end(),
                 {{"rows " + n, integer(1) + integer(size, true) + integer(1, true) + padding},
                  {"columns " + n, integer(1) + integer(4, true) + integer(size, true) + padding},
                  {"cascades " + n, model(claim, one, one, split, leaf, integer(0), delta)},
                  {"trees " + n, model(one, claim, one, split, leaf, integer(0), delta)},
                  {"splits " + n, model(one, one, claim, split, leaf, integer(0), delta)},
                  {"split index " + n,
                   model(one, one, one, claim + integer(0) + zero, leaf, integer(0), delta)},
                  {"anchor " + n, model(one, one, one, split, leaf, claim, delta)},
                  {"exponent " + n,
                   model(one, one, one, split, leaf, integer(0), integer(1) + claim + zero)}});
  }
  for (const auto& [name, content] : files) EXPECT_FALSE(feeder.feed(content, name)) << name;
  EXPECT_EQ(feeder.take().refused, static_cast<int>(files.size()));
  // Shapes that overflow to infinity, and then to NaN, on the way.
  const std::string largest = integer(0xffffff) + integer(104);
  EXPECT_TRUE(feeder.feed(model(one, one, one, split, repeated(largest, 4 * largest.size()),
                                integer(0), largest + largest),
                          "largest floats"));
}

// ---- our own format ----

std::string forest_file() {
  const TemporaryFolder folder;
  const auto model = synthetic_forest(68, 3, 12, 4, 50, 68);
  EXPECT_TRUE(write_forest_file(*model, {"small.dat", "", ""}, folder / "f").ok());
  return read_file(folder / "f");
}

std::string cascade_file(const CascadeModel& model) {
  const TemporaryFolder folder;
  EXPECT_TRUE(write_cascade_file(model, {"small.xml", "", ""}, folder / "c").ok());
  return read_file(folder / "c");
}

CascadeModel some_cascade() {
  const TemporaryFolder folder;
  write_file(folder / "c.xml", xml("1 -2 0 1.6 0 -1 1 0.5", "0. 1. 0.5",
                                   kRects + "</rects></_><_><rects>" + kRects, "0.5", "24",
                                   "<_><internalNodes>0 -1 0 1.6</internalNodes>"
                                   "<leafValues>0. 1.</leafValues></_>"));
  const auto model = load_cascade(folder / "c.xml");
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *model.value();
}

template <typename Model>
void feed_own(Feeder<Model>& feeder, const std::string& good) {
  ASSERT_TRUE(feeder.feed(good, "good"));
  (void)feeder.take();
  feeder.feed_truncations(good, "truncated");
  EXPECT_EQ(feeder.take().refused, 100);
  feeder.feed_flips(good, "damaged", kFlips, kNoMend);
  const Fed damaged = feeder.take();
  EXPECT_LE(damaged.loaded, kFlips / 100) << "only what changed nothing may load";
  feeder.feed_flips(good, "forged", kFlips, mend_checksums);
  const Fed forged = feeder.take();
  EXPECT_GT(forged.refused, kFlips / 20);
  EXPECT_GT(forged.loaded, kFlips / 20);
}

TEST(BadCuface, Forest) {
  Feeder<ForestModel> feeder(load_forest, "bad.cuface");
  feed_own(feeder, forest_file());
}

TEST(BadCuface, Cascade) {
  Feeder<CascadeModel> feeder(load_cascade, "bad.cuface");
  feed_own(feeder, cascade_file(some_cascade()));
}

/// A file of our format with this header text and data, checksums right.
std::string own_file(std::string json, const std::string& data) {
  json.resize((40 + json.size() + 63) / 64 * 64 - 40, ' ');
  std::string bytes(
      "\x89"
      "CUFACE\n\1\0\0\0",
      12);
  const auto size = static_cast<std::uint32_t>(json.size());
  const std::uint64_t data_size = data.size();
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes.append(reinterpret_cast<const char*>(&data_size), sizeof data_size);
  bytes.append(16, '\0');
  bytes += json + data;
  mend_checksums(bytes);
  return bytes;
}

TEST(BadCuface, Hostile) {
  Feeder<ForestModel> forests(load_forest, "bad.cuface");
  Feeder<CascadeModel> cascades(load_cascade, "bad.cuface");
  const std::string start = "{\"kind\":\"forest\",\"blocks\":{",
                    sizes = R"(,"landmarks":1,"cascades":1,)"
                            R"("trees":1,"depth":1,"pool":1})";
  const std::pair<const char*, std::string> texts[] = {
      {"depth bomb", repeated("[", 60'000)},
      {"objects in objects", repeated("{\"a\":", 60'000)},
      {"deep and closed", "{\"blocks\":" + repeated("[", 30'000) + repeated("]", 30'000) + "}"},
      {"width bomb", "{\"blocks\":{},\"a\":[" + repeated("[],", 60'000) + "0]}"},
      {"header over its limit", repeated("[", 1'000'000)},
      {"long kind", R"({"blocks":{},"kind":")" + repeated("k", 60'000) + "\"}"},
      {"long block name", start + "\"" + repeated("n", 60'000) + "\":7}}"},
      {"no UTF-8", "{\"kind\":\"\xff\xfe\",\"blocks\":{}}"},
      {"block of 2^63", start + "\"leaves\":[0,9223372036854775808]}" + sizes},
      {"block of 2^64-1", start + "\"leaves\":[64,18446744073709551615]}" + sizes},
      {"block that wraps", start + "\"leaves\":[18446744073709551552,128]}" + sizes},
      {"block of a float size", start + "\"leaves\":[0,1e300]}" + sizes},
      {"sizes of 2^63", start + R"(},"landmarks":9223372036854775808,"cascades":1,"trees":1,)"
                                R"("depth":1,"pool":1})"},
      {"depth of 2^31-1", start + R"(},"landmarks":1,"cascades":1,"trees":1,"depth":2147483647,)"
                                  R"("pool":1})"},
      {"no blocks", start + "}" + sizes},
      {"all sizes 0", start + R"(},"landmarks":0,"cascades":0,"trees":0,"depth":0,"pool":0})"},
      {"all sizes the largest", start + R"(},"landmarks":256,"cascades":1000,"trees":100000,)"
                                        R"("depth":12,"pool":100000})"},
  };
  for (const auto& [name, text] : texts) {
    EXPECT_FALSE(forests.feed(own_file(text, std::string(64, '\0')), name)) << name;
    EXPECT_FALSE(cascades.feed(own_file(text, std::string(64, '\0')), name)) << name;
  }
  EXPECT_EQ(forests.take().refused, static_cast<int>(std::size(texts)));
  EXPECT_EQ(cascades.take().refused, static_cast<int>(std::size(texts)));

  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = HUGE_VALF;
  const std::pair<const char*, std::function<void(CascadeModel&)>> changes[] = {
      {"a node of no tree, of a feature far away",
       [](CascadeModel& m) {
         m.nodes.push_back({2'000'000'000, 0, 0, -1});
       }},
      {"a tree of no stage", [](CascadeModel& m) { m.stages[0].tree_count = 1; }},
      {"a leaf of no tree", [](CascadeModel& m) { m.leaves.push_back(nanf("")); }},
      {"the same tree in two stages", [](CascadeModel& m) { m.stages.push_back(m.stages[0]); }},
      {"the same nodes in two trees", [](CascadeModel& m) { m.trees[1].first_node = 0; }},
      {"the same leaves in two trees", [](CascadeModel& m) { m.trees[1].first_leaf = 0; }},
      {"a stage of no trees", [](CascadeModel& m) { m.stages[0].tree_count = 0; }},
      {"trees from -1", [](CascadeModel& m) { m.stages[0].first_tree = -1; }},
      {"nan stage", [&](CascadeModel& m) { m.stages[0].threshold = nan; }},
      {"infinite stage", [&](CascadeModel& m) { m.stages[0].threshold = -inf; }},
      {"nan node", [&](CascadeModel& m) { m.nodes[0].threshold = nan; }},
      {"infinite node", [&](CascadeModel& m) { m.nodes[0].threshold = inf; }},
      {"nan leaf", [&](CascadeModel& m) { m.leaves[1] = nan; }},
      {"nan weight", [&](CascadeModel& m) { m.features[1].rects[1].weight = nan; }},
      {"outside the window", [](CascadeModel& m) { m.features[1].rects[1].x = 20; }},
      {"above the window", [](CascadeModel& m) { m.features[1].rects[1].y = -1; }},
      {"tilted out of it", [](CascadeModel& m) { m.features[1].tilted = true; }},
      {"cycle", [](CascadeModel& m) { m.nodes[1].left = 1; }},
      {"backwards", [](CascadeModel& m) { m.nodes[1].left = 0, m.nodes[0].left = 0; }},
  };
  int refused = 0;
  for (const auto& [name, change] : changes) {
    CascadeModel model = some_cascade();
    change(model);
    const bool loaded = cascades.feed(cascade_file(model), name);
    // 0 is leaf 0 to a node, not the node it is: such trees are well-formed.
    EXPECT_EQ(loaded, std::string(name) == "backwards") << name;
    refused += !loaded;
  }
  EXPECT_EQ(refused, static_cast<int>(std::size(changes)) - 1);
}

}  // namespace
}  // namespace cuface::test
