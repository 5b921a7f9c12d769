// The cascade loader: OpenCV's 17 Haar files in full, and files that are broken in every way.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <opencv2/core.hpp>
#include <random>
#include <sstream>

#include "models/cascade_xml.h"
#include "models/xml_tree.h"
#include "tests/kernels/pictures.h"

namespace cuface {
namespace {

using Parsed = Result<std::shared_ptr<const CascadeModel>>;

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Parsed load(const std::string& path) { return parse_cascade_xml(file_text(path), path); }

// Everything in the model, number by number, as OpenCV's own storage reader sees the file.
void compare_with_storage(const CascadeModel& m, const std::string& path) {
  const cv::FileStorage storage(path, cv::FileStorage::READ);
  const cv::FileNode root = storage.getFirstTopLevelNode();
  const bool old = !root["size"].empty();
  std::size_t stage = 0, tree = 0, node = 0, leaf = 0, feature = 0;
  const auto expect_feature = [&](const cv::FileNode& f) {
    ASSERT_LT(feature, m.features.size());
    const HaarFeature& ours = m.features[feature++];
    EXPECT_EQ(ours.tilted, static_cast<int>(f["tilted"]) != 0);
    ASSERT_EQ(static_cast<std::size_t>(ours.rect_count), f["rects"].size());
    for (int r = 0; r < ours.rect_count; ++r) {
      const cv::FileNode rect = f["rects"][r];
      const HaarRect& o = ours.rects[r];
      EXPECT_EQ((cv::Vec4i{o.x, o.y, o.w, o.h}),
                (cv::Vec4i{static_cast<int>(rect[0]), static_cast<int>(rect[1]),
                           static_cast<int>(rect[2]), static_cast<int>(rect[3])}));
      EXPECT_EQ(o.weight, static_cast<float>(rect[4]));
    }
  };
  for (const cv::FileNode& s : root["stages"]) {
    ASSERT_LT(stage, m.stages.size());
    EXPECT_EQ(m.stages[stage].threshold,
              static_cast<float>(s[old ? "stage_threshold" : "stageThreshold"]));
    const cv::FileNode trees = s[old ? "trees" : "weakClassifiers"];
    EXPECT_EQ(static_cast<std::size_t>(m.stages[stage].first_tree), tree);
    EXPECT_EQ(static_cast<std::size_t>(m.stages[stage].tree_count), trees.size());
    for (const cv::FileNode& t : trees) {
      ASSERT_LT(tree, m.trees.size());
      EXPECT_EQ(static_cast<std::size_t>(m.trees[tree].first_node), node);
      EXPECT_EQ(static_cast<std::size_t>(m.trees[tree].first_leaf), leaf);
      if (old) {
        ASSERT_EQ(t.size(), 1u);
        const cv::FileNode n = t[0];
        expect_feature(n["feature"]);
        ASSERT_LT(leaf + 1, m.leaves.size());
        EXPECT_EQ(m.nodes[node].threshold, static_cast<float>(n["threshold"]));
        EXPECT_EQ(m.nodes[node].feature, static_cast<int>(node));
        EXPECT_EQ(m.nodes[node].left, 0);
        EXPECT_EQ(m.nodes[node].right, -1);
        EXPECT_EQ(m.leaves[leaf], static_cast<float>(n["left_val"]));
        EXPECT_EQ(m.leaves[leaf + 1], static_cast<float>(n["right_val"]));
        ++node;
        leaf += 2;
      } else {
        const cv::FileNode nodes = t["internalNodes"];
        for (int i = 0; i < static_cast<int>(nodes.size()); i += 4, ++node) {
          ASSERT_LT(node, m.nodes.size());
          EXPECT_EQ(m.nodes[node].left, static_cast<int>(nodes[i]));
          EXPECT_EQ(m.nodes[node].right, static_cast<int>(nodes[i + 1]));
          EXPECT_EQ(m.nodes[node].feature, static_cast<int>(nodes[i + 2]));
          EXPECT_EQ(m.nodes[node].threshold, static_cast<float>(nodes[i + 3]));
        }
        for (const cv::FileNode& value : t["leafValues"]) {
          ASSERT_LT(leaf, m.leaves.size());
          EXPECT_EQ(m.leaves[leaf++], static_cast<float>(value));
        }
      }
      ++tree;
    }
    ++stage;
  }
  for (const cv::FileNode& f : root["features"]) expect_feature(f);
  EXPECT_EQ(stage, m.stages.size());
  EXPECT_EQ(tree, m.trees.size());
  EXPECT_EQ(node, m.nodes.size());
  EXPECT_EQ(leaf, m.leaves.size());
  EXPECT_EQ(feature, m.features.size());
}

TEST(CascadeXml, ReadsEveryNumberOfDebiansFiles) {
  CUFACE_NEEDS_CASCADES();
  const std::vector<std::string> paths = test::haar_cascades();
  EXPECT_EQ(paths.size(), 17u);
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const Parsed parsed = load(path);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(parsed.value()->name, std::filesystem::path(path).stem().string());
    compare_with_storage(*parsed.value(), path);
  }
}

// The published counts [S0.14, S0.19] and the windows that are not square.
TEST(CascadeXml, CountsAreThePublishedOnes) {
  CUFACE_NEEDS_CASCADES();
  const auto model = [](const char* name) {
    const Parsed parsed = load(test::cascade_path(name));
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    return parsed.value();
  };
  const auto rects = [](const CascadeModel& m) {
    int n = 0;
    for (const HaarFeature& f : m.features) n += f.rect_count;
    return n;
  };
  const auto standard = model("frontalface_default"), alt = model("frontalface_alt");
  EXPECT_EQ(standard->stages.size(), 25u);
  EXPECT_EQ(standard->trees.size(), 2913u);
  EXPECT_EQ(rects(*standard), 6383);
  EXPECT_EQ(alt->stages.size(), 22u);
  EXPECT_EQ(alt->trees.size(), 2135u);
  EXPECT_EQ(rects(*alt), 4630);
  EXPECT_FALSE(alt->has_tilted());
  const auto alt2 = model("frontalface_alt2");
  EXPECT_EQ(alt2->trees.size(), 1047u);
  EXPECT_EQ(alt2->nodes.size(), 2094u);
  EXPECT_EQ(model("frontalface_alt_tree")->stages.size(), 47u);
  EXPECT_TRUE(model("smile")->has_tilted());
  const auto plate = model("licence_plate_rus_16stages");
  EXPECT_EQ(plate->window_width, 64);
  EXPECT_EQ(plate->window_height, 16);
}

// A cascade as small as they come, with a place for each thing that can go wrong.
struct Small {
  std::string stage_type = "BOOST", feature_type = "HAAR", height = "20", width = "24";
  std::string stage_threshold = "-0.5", nodes = "0 -1 0 0.25", leaves = "-1. 1.5";
  std::string rects = "<_>2 3 8 4 -1.</_><_>2 3 4 4 2.</_>", tilted = "<tilted>0</tilted>";

  std::string xml() const {
    return "<?xml version=\"1.0\"?>\n<opencv_storage>\n<cascade "
           "type_id=\"opencv-cascade-classifier\">"
           "<stageType>" +
           stage_type + "</stageType><featureType>" + feature_type + "</featureType>\n<height>" +
           height + "</height><width>" + width +
           "</width><stageNum>1</stageNum>\n<stages><_><maxWeakCount>1</maxWeakCount>"
           "<stageThreshold>" +
           stage_threshold +
           "</stageThreshold>\n<weakClassifiers><_>"
           "<internalNodes>" +
           nodes + "</internalNodes>\n<leafValues>" + leaves +
           "</leafValues></_></weakClassifiers></_></stages>\n<features><_><rects>" + rects +
           "</rects>" + tilted + "</_></features>\n</cascade>\n</opencv_storage>\n";
  }
};

Parsed parse(const std::string& text) { return parse_cascade_xml(text, "some/small.xml"); }

TEST(CascadeXml, ReadsTheSmallFile) {
  const Parsed parsed = parse(Small{}.xml());
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const CascadeModel& m = *parsed.value();
  EXPECT_EQ(m.name, "small");
  EXPECT_EQ(m.window_width, 24);
  EXPECT_EQ(m.window_height, 20);
  EXPECT_EQ(m.leaves, (std::vector<float>{-1.0f, 1.5f}));
  EXPECT_EQ(m.features[0].rects[1].w, 4);
}

TEST(CascadeXml, AcceptsTreesOfSeveralNodes) {
  Small small;
  small.nodes = "2 1 0 -0.5 0 -1 0 0.25\n -2 -3 0 1e-3";
  small.leaves = "1 2 3 4";
  EXPECT_TRUE(parse(small.xml()).ok());
}

struct Broken {
  const char* what;
  std::function<void(Small&)> change;
  const char* message;  ///< a part of the expected message
};

TEST(CascadeXml, RefusesBrokenContent) {
  const Broken cases[] = {
      {"LBP", [](Small& s) { s.feature_type = "LBP"; }, "LBP"},
      {"no boost", [](Small& s) { s.stage_type = "FOREST"; }, "FOREST"},
      {"zero window", [](Small& s) { s.width = "0"; }, "window is 0x20"},
      {"negative window", [](Small& s) { s.height = "-20"; }, "window is 24x-20"},
      {"huge window", [](Small& s) { s.width = "2000000000"; }, "window"},
      {"window over int", [](Small& s) { s.width = "99999999999999999999"; }, "<width>"},
      {"two widths", [](Small& s) { s.width = "24 24"; }, "<width>"},
      {"empty number", [](Small& s) { s.width = ""; }, "<width>"},
      {"no number", [](Small& s) { s.stage_threshold = "much"; }, "<stageThreshold>"},
      {"infinite", [](Small& s) { s.stage_threshold = "inf"; }, "<stageThreshold>"},
      {"nan", [](Small& s) { s.leaves = "nan 1"; }, "<leafValues>"},
      {"over float", [](Small& s) { s.leaves = "1e39 1"; }, "<leafValues>"},
      {"over double", [](Small& s) { s.leaves = "1e999 1"; }, "<leafValues>"},
      {"decimal comma", [](Small& s) { s.leaves = "1,5 1"; }, "<leafValues>"},
      {"no leaves", [](Small& s) { s.leaves = " "; }, "0 leaves for 1 nodes"},
      {"too many leaves", [](Small& s) { s.leaves = "1 2 3"; }, "3 leaves for 1 nodes"},
      {"no nodes", [](Small& s) { s.nodes = " "; }, "tree 0"},
      {"half a node", [](Small& s) { s.nodes = "0 -1 0"; }, "<internalNodes>"},
      {"feature too large", [](Small& s) { s.nodes = "0 -1 1 0.5"; }, "feature 1 of 1"},
      {"feature negative", [](Small& s) { s.nodes = "0 -1 -1 0.5"; }, "feature -1"},
      {"child is itself",
       [](Small& s) {
         s.nodes = "1 1 0 0 0 1 0 0";
         s.leaves = "1 2 3";
       },
       "node 1 has the child 1"},
      {"child is earlier",
       [](Small& s) {
         s.nodes = "1 2 0 0 2 0 0 0 1 -1 0 0";
         s.leaves = "1 2 3 4";
       },
       "node 2 has the child 1"},
      {"child too large", [](Small& s) { s.nodes = "1 -1 0 0.5"; }, "has the child 1"},
      {"leaf too large", [](Small& s) { s.nodes = "0 -2 0 0.5"; }, "has the child -2"},
      {"leaf of no int", [](Small& s) { s.nodes = "-2147483648 0 0 0.5"; }, "has the child"},
      {"one rectangle", [](Small& s) { s.rects = "<_>0 0 4 4 1.</_>"; }, "1 rectangles"},
      {"no rectangle", [](Small& s) { s.rects = ""; }, "0 rectangles"},
      {"four rectangles",
       [](Small& s) {
         for (int i = 0; i < 2; ++i) s.rects += "<_>0 0 4 4 1.</_>";
       },
       "more than 3"},
      {"short rectangle", [](Small& s) { s.rects += "<_>0 0 4 4</_>"; }, "x, y, width, height"},
      {"long rectangle", [](Small& s) { s.rects += "<_>0 0 4 4 1 1</_>"; }, "x, y, width, height"},
      {"outside right", [](Small& s) { s.rects += "<_>20 0 5 4 1.</_>"; }, "leaves the window"},
      {"outside left", [](Small& s) { s.rects += "<_>-1 0 5 4 1.</_>"; }, "leaves the window"},
      {"outside below", [](Small& s) { s.rects += "<_>0 17 5 4 1.</_>"; }, "leaves the window"},
      {"overflowing", [](Small& s) { s.rects += "<_>2147483647 0 2147483647 4 1.</_>"; },
       "leaves the window"},
      {"empty rectangle", [](Small& s) { s.rects += "<_>0 0 0 4 1.</_>"; }, "leaves the window"},
      {"huge weight", [](Small& s) { s.rects += "<_>0 0 1 4 1e30</_>"; }, "weight"},
      {"tilted outside left", [](Small& s) { s.tilted = "<tilted>1</tilted>"; },
       "leaves the window"},
      {"tilted is no number", [](Small& s) { s.tilted = "<tilted>yes</tilted>"; }, "<tilted>"},
  };
  for (const Broken& c : cases) {
    Small small;
    c.change(small);
    const Parsed parsed = parse(small.xml());
    ASSERT_FALSE(parsed.ok()) << c.what;
    const std::string message = parsed.status().message();
    EXPECT_NE(message.find(c.message), std::string::npos) << c.what << ": " << message;
    EXPECT_EQ(message.rfind("some/small.xml:", 0), 0u) << c.what << ": " << message;
  }
}

TEST(CascadeXml, RefusesWhatIsNoCascade) {
  const char* texts[] = {
      "",
      "\n",
      "not xml at all",
      "%YAML:1.0\n---\ncascade:\n",
      "<opencv_storage/>",
      "<opencv_storage></opencv_storage>",
      "<html><body/></html>",
      "<opencv_storage><thing/></opencv_storage>",
      "<opencv_storage><cascade><stageType>BOOST</stageType></cascade></opencv_storage>",
      "<opencv_storage><c><size>20 20</size></c></opencv_storage>",
      "<opencv_storage><c><size>20 20</size><stages></stages></c></opencv_storage>",
      "<opencv_storage><cascade>",
      "<opencv_storage></cascade>",
      "\xff\xfe<\0o\0",
      "<a>&bomb;</a>",
      "<!DOCTYPE a [<!ENTITY b \"bbbb\">]><opencv_storage><c>&b;</c></opencv_storage>",
  };
  for (const char* text : texts) {
    const Parsed parsed = parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code(), StatusCode::kCorrupt) << text;
    EXPECT_EQ(parsed.status().message().rfind("some/small.xml:", 0), 0u)
        << parsed.status().message();
  }
  EXPECT_FALSE(parse(std::string("<opencv\0storage/>", 17)).ok());
}

TEST(CascadeXml, RefusesBombsQuickly) {
  std::string deep, wide = "<opencv_storage>";
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  for (int i = 0; i < XmlTree::kMaxElements; ++i) wide += "<a/>";
  wide += "</opencv_storage>";
  EXPECT_NE(parse(deep).status().message().find("nested"), std::string::npos);
  EXPECT_NE(parse(wide).status().message().find("elements"), std::string::npos);
  const std::string large = "<a>" + std::string(XmlTree::kMaxBytes, ' ') + "</a>";
  EXPECT_NE(parse(large).status().message().find("larger"), std::string::npos);
}

// Whatever byte it ends at, a cut file is refused (only blanks may be missing at the end).
TEST(CascadeXml, RefusesEveryTruncation) {
  const std::string text = Small{}.xml();
  for (std::size_t n = 0; n + 2 < text.size(); ++n) {
    ASSERT_FALSE(parse(text.substr(0, n)).ok()) << n;
  }
}

TEST(CascadeXml, RefusesTruncationsOfRealFiles) {
  CUFACE_NEEDS_CASCADES();
  for (const char* name : {"licence_plate_rus_16stages", "russian_plate_number"}) {
    const std::string text = file_text(test::cascade_path(name));
    for (std::size_t n = 0; n + 20 < text.size(); n += 1009) {
      ASSERT_FALSE(parse(text.substr(0, n)).ok()) << name << " " << n;
    }
  }
}

// Random damage: never a crash; what is accepted is a valid model.
TEST(CascadeXml, SurvivesRandomDamage) {
  std::mt19937 random(12);
  const std::string text = Small{}.xml();
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = text;
    for (unsigned k = 0; k <= random() % 3; ++k) {
      const std::size_t at = random() % damaged.size();
      if (random() % 2) {
        damaged[at] = static_cast<char>("0123456789-. <>/eE&\n"[random() % 20]);
      } else {
        damaged.erase(at, 1 + random() % 4);
      }
    }
    const Parsed parsed = parse(damaged);
    if (parsed.ok()) {
      ++accepted;
      EXPECT_TRUE(validate(*parsed.value()).ok());
    } else {
      EXPECT_FALSE(parsed.status().message().empty());
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_LT(accepted, 19'000);
}

}  // namespace
}  // namespace cuface
