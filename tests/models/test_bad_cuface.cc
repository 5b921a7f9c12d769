// Our own format, damaged, forged and hostile.
#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/cascade_file.h"
#include "models/forest_file.h"
#include "models/network_file.h"
#include "tests/data.h"
#include "tests/kernels/networks.h"
#include "tests/models/bad_cascade.h"
#include "tests/models/bad_file.h"
#include "tests/models/mend_checksums.h"
#include "tests/models/synthetic_forest.h"

namespace cuface::test {
namespace {

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

std::string network_file(const NetworkModel& model) {
  const TemporaryFolder folder;
  EXPECT_TRUE(write_network_file(model, {"small.onnx", "", ""}, folder / "n").ok());
  return read_file(folder / "n");
}

template <typename Model>
void feed_own(Feeder<Model>& feeder, const std::string& good) {
  ASSERT_TRUE(feeder.feed(good, "good"));
  (void)feeder.take();
  const int cuts = feeder.feed_truncations(good, "truncated");
  EXPECT_EQ(feeder.take().refused, cuts);
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

TEST(BadCuface, Network) {
  Feeder<NetworkModel> feeder(load_network, "bad.cuface");
  feed_own(feeder, network_file(*random_yunet(36, 2)));
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
  Feeder<NetworkModel> networks(load_network, "bad.cuface");
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
    EXPECT_FALSE(networks.feed(own_file(text, std::string(64, '\0')), name)) << name;
  }
  EXPECT_EQ(forests.take().refused, static_cast<int>(std::size(texts)));
  EXPECT_EQ(cascades.take().refused, static_cast<int>(std::size(texts)));
  EXPECT_EQ(networks.take().refused, static_cast<int>(std::size(texts)));

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

/// The file with this for a member of its header; checksums right.
std::string with_member(const std::string& file, const std::string& name,
                        const std::string& value) {
  std::uint32_t size = 0;
  std::memcpy(&size, file.data() + 12, sizeof size);
  nlohmann::json header = nlohmann::json::parse(file.substr(40, size));
  header.erase(name);
  std::string text = header.dump();
  text.insert(1, "\"" + name + "\":" + value + ",");
  return own_file(text, file.substr(40 + size));
}

TEST(BadCuface, LandmarkSchemes) {
  Feeder<ForestModel> feeder(load_forest, "bad.cuface");
  const std::string good = forest_file();
  const auto feed = [&](const std::string& scheme) {
    return feeder.feed(with_member(good, "scheme", scheme), scheme.substr(0, 60));
  };
  EXPECT_TRUE(feed("{}")) << "nothing is known";
  EXPECT_TRUE(
      feed(R"({"eyes":[36,42,6],"low":{"point":8,"is":"nose"},"mouth":[48,20],"jaw":[0,17],)"
           R"("size":[36,45,66],"curves":[[0,67,1],[3,3,0]]})"));
  const std::string bad[] = {"null",
                             "[]",
                             "7",
                             "\"68\"",
                             R"({"ears":[1,2]})",
                             R"({"eyes":[36,42]})",
                             R"({"eyes":[36,42,6,7]})",
                             R"({"eyes":{"left":36}})",
                             R"({"eyes":[36,-1,6]})",
                             R"({"eyes":[36,63,6]})",
                             R"({"eyes":[36,42.5,6]})",
                             R"({"eyes":[36,18446744073709551615,6]})",
                             R"({"eyes":[0,0,65535]})",
                             R"({"low":8})",
                             R"({"low":{"point":8}})",
                             R"({"low":{"point":68,"is":"chin"}})",
                             R"({"low":{"point":8,"is":"ear"}})",
                             R"({"low":{"point":8,"is":"chin","more":1}})",
                             R"({"mouth":[60,9]})",
                             R"({"jaw":[68,1]})",
                             R"({"size":[1,2,400]})",
                             R"({"curves":7})",
                             R"({"curves":[[0,68,0]]})",
                             R"({"curves":[[5,4,0]]})",
                             R"({"curves":[[0,5,2]]})",
                             R"({"curves":[[0,5]]})",
                             "{\"curves\":[" + repeated("[0,1,0],", 8 * 32) + "[0,1,0]]}",
                             "{\"curves\":[" + repeated("[0,67,1],", 9 * 8) + "[0,1,0]]}",
                             "{\"curves\":[" + repeated("[0,1,0],", 50'000) + "[0,1,0]]}",
                             "{\"" + repeated("e", 50'000) + "\":1}"};
  for (const std::string& scheme : bad) EXPECT_FALSE(feed(scheme)) << scheme.substr(0, 60);
  EXPECT_EQ(feeder.take().refused, static_cast<int>(std::size(bad)));
}

TEST(BadCuface, TrainingRecords) {
  Feeder<CascadeModel> feeder(load_cascade, "bad.cuface");
  const std::string good = cascade_file(some_cascade());
  const auto feed = [&](const std::string& record) {
    return feeder.feed(with_member(good, "source", "{\"training\":" + record + "}"), record);
  };
  EXPECT_TRUE(feed("[]"));
  EXPECT_TRUE(feed(R"([["seed","1"]])"));
  EXPECT_TRUE(feeder.feed(with_member(good, "source", "{}"), "none"));
  EXPECT_TRUE(feeder.feed(with_member(good, "source", "7"), "no source"));
  (void)feeder.take();
  const std::string bad[] = {"7",
                             R"([["seed",1]])",
                             R"([["seed","\u001b[2J"]])",
                             "[" + repeated(R"(["a","b"],)", 5'000) + R"(["a","b"]])",
                             "[[\"a\",\"" + repeated("v", 60'000) + "\"]]",
                             repeated("[", 20'000) + repeated("]", 20'000)};
  for (const std::string& record : bad) EXPECT_FALSE(feed(record)) << record;
  EXPECT_EQ(feeder.take().refused, static_cast<int>(std::size(bad)));
}

TEST(BadCuface, BoxMaps) {
  Feeder<ForestModel> feeder(load_forest, "bad.cuface");
  const std::string good = forest_file();
  const auto feed = [&](const std::string& map) {
    return feeder.feed(
        with_member(good, "box_maps", "{\"haarcascade_frontalface_alt\":" + map + "}"), map);
  };
  EXPECT_TRUE(feed(R"({"scale":0.95,"shift_x":0,"shift_y":0.025})"));
  EXPECT_TRUE(feed(R"({"scale":100,"shift_x":-100,"shift_y":100})"));
  (void)feeder.take();
  const char* const bad[] = {// JSON has no NaN: it is written as null.
                             R"({"scale":null,"shift_x":0,"shift_y":0})",
                             R"({"scale":1,"shift_x":null,"shift_y":0})",
                             R"({"scale":1,"shift_x":0,"shift_y":null})",
                             R"({"scale":1,"shift_x":"nan","shift_y":0})",
                             R"({"scale":1,"shift_x":0})",
                             R"({"scale":1,"shift_x":0,"shift_y":NaN})",
                             R"({"scale":1,"shift_x":0,"shift_y":1e39})",
                             R"({"scale":1,"shift_x":0,"shift_y":-1e308})",
                             R"({"scale":1,"shift_x":1e999,"shift_y":0})",
                             R"({"scale":1e30,"shift_x":0,"shift_y":0})",
                             R"({"scale":1e-30,"shift_x":0,"shift_y":0})",
                             R"({"scale":-1,"shift_x":0,"shift_y":0})",
                             R"({"scale":1,"shift_x":101,"shift_y":0})",
                             R"([1,0,0])",
                             "null"};
  for (const char* const map : bad) EXPECT_FALSE(feed(map)) << map;
  EXPECT_FALSE(feeder.feed(with_member(good, "box_maps", "[]"), "maps that are no object"));
  EXPECT_FALSE(feeder.feed(with_member(good, "box_maps", "null"), "null maps"));
  EXPECT_EQ(feeder.take().refused, static_cast<int>(std::size(bad)) + 2);
}

/// A network and its weights, which may be changed.
struct OwnNetwork : NetworkModel {
  explicit OwnNetwork(const NetworkModel& from)
      : NetworkModel(from), values(from.weights.begin(), from.weights.end()) {
    weights = values;
  }
  std::vector<float> values;
};

TEST(BadCuface, HostileNetworks) {
  Feeder<NetworkModel> networks(load_network, "bad.cuface");
  const auto good = random_yunet(36, 2);
  const int last = static_cast<int>(good->layers.size());
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = HUGE_VALF;
  const std::pair<const char*, std::function<void(OwnNetwork&)>> changes[] = {
      {"nan weight", [&](OwnNetwork& m) { m.values[3] = nan; }},
      {"infinite bias", [&](OwnNetwork& m) { m.values.back() = -inf; }},
      {"values beyond all bounds", [](OwnNetwork& m) { m.values[3] = 3e38f; }},
      {"an unknown kind", [](OwnNetwork& m) { m.layers[3].op = static_cast<NetworkOp>(99); }},
      {"a tensor that nothing makes", [&](OwnNetwork& m) { m.layers[3].input = last + 1; }},
      {"a tensor that comes later", [&](OwnNetwork& m) { m.layers[3].input = last; }},
      {"its own tensor", [](OwnNetwork& m) { m.layers[3].input = 4; }},
      {"a tensor before the first", [](OwnNetwork& m) { m.layers[3].input = -1; }},
      {"a tensor far away", [](OwnNetwork& m) { m.layers[3].input = 2'000'000'000; }},
      {"no channels", [](OwnNetwork& m) { m.layers[1].channels = 0; }},
      {"channels without end", [](OwnNetwork& m) { m.layers[1].channels = 2'000'000'000; }},
      {"weights far away", [](OwnNetwork& m) { m.layers[1].first_weight = 0xffffffff; }},
      {"weights that end too soon", [](OwnNetwork& m) { m.weights = m.weights.subspan(1); }},
      {"no weights", [](OwnNetwork& m) { m.weights = {}; }},
      {"no layers", [](OwnNetwork& m) { m.layers.clear(); }},
      {"no heads", [](OwnNetwork& m) { m.heads.clear(); }},
      {"heads of one stride", [](OwnNetwork& m) { m.heads[1] = m.heads[0]; }},
      {"heads in another order", [](OwnNetwork& m) { std::swap(m.heads[1], m.heads[0]); }},
      {"a head of the picture", [](OwnNetwork& m) { m.heads[0].classes = 0; }},
      {"a head of nothing", [&](OwnNetwork& m) { m.heads[2].points = last + 1; }},
      {"a head of other channels", [](OwnNetwork& m) { m.heads[0].boxes = m.heads[0].points; }},
      {"too many heads", [](OwnNetwork& m) { m.heads.resize(kMaxNetworkHeads + 1, m.heads[0]); }},
      {"too many layers",
       [](OwnNetwork& m) { m.layers.resize(kMaxNetworkLayers + 1, m.layers.back()); }},
      {"many thousand layers", [](OwnNetwork& m) { m.layers.resize(200'000, m.layers.back()); }},
      {"too many weights",
       [](OwnNetwork& m) {
         m.values.resize(kMaxNetworkWeights + 1);
         m.weights = m.values;
       }},
      {"a file over its limit",
       [](OwnNetwork& m) {
         m.values.resize(std::size_t{2} << 20);
         m.weights = m.values;
       }},
  };
  for (const auto& [name, change] : changes) {
    OwnNetwork model(*good);
    change(model);
    EXPECT_FALSE(networks.feed(network_file(model), name)) << name;
  }
  EXPECT_EQ(networks.take().refused, static_cast<int>(std::size(changes)));
  EXPECT_TRUE(networks.feed(network_file(*good), "good"));
}

}  // namespace
}  // namespace cuface::test
