// Our own file, and forests in it: what goes in comes out, and no damaged or hostile file gets
// through.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <limits>
#include <random>
#include <utility>

#include "models/box_map.h"
#include "models/forest_file.h"
#include "models/models.h"
#include "models/xxh64.h"
#include "tests/data.h"
#include "tests/models/synthetic_forest.h"
#include "tests/models/temporary.h"

namespace cuface {
namespace {

using nlohmann::json;
using test::TemporaryFolder;

template <typename T>
bool same(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

void expect_same(const ForestModel& a, const ForestModel& b) {
  EXPECT_EQ(a.landmarks, b.landmarks);
  EXPECT_EQ(a.stages, b.stages);
  EXPECT_EQ(a.trees, b.trees);
  EXPECT_EQ(a.depth, b.depth);
  EXPECT_EQ(a.pool, b.pool);
  EXPECT_EQ(a.box_maps, b.box_maps);
  EXPECT_TRUE(same(a.mean_shape, b.mean_shape));
  EXPECT_TRUE(same(a.anchors, b.anchors));
  EXPECT_TRUE(same(a.deltas, b.deltas));
  EXPECT_TRUE(same(a.splits, b.splits));
  EXPECT_TRUE(same(a.leaves, b.leaves));
  EXPECT_TRUE(same(a.compact_leaves, b.compact_leaves));
  EXPECT_TRUE(same(a.leaf_scales, b.leaf_scales));
  EXPECT_TRUE(same(a.leaf_spreads, b.leaf_spreads));
}

std::shared_ptr<const FileBytes> open(const std::string& path) {
  const auto file = ModelFile::open(path);
  EXPECT_TRUE(file.ok()) << file.status().message();
  const auto bytes = file.value().read(std::size_t{1} << 30);
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  return bytes.ok() ? bytes.value() : nullptr;
}

TEST(Xxh64, GivesThePublishedValues) {
  const auto hash = [](const std::string& text, std::uint64_t seed = 0) {
    return xxh64(test::as_bytes(text), seed);
  };
  EXPECT_EQ(hash(""), 0xef46db3751d8e999u);
  EXPECT_EQ(hash("a"), 0xd24ec4f1a98c6e5bu);
  EXPECT_EQ(hash("abc"), 0x44bc2cf5ad770999u);
  EXPECT_EQ(hash("Nobody inspects the spammish repetition"), 0xfbcea83c8a378bf1u);
  EXPECT_EQ(hash("xxhash", 20141025), 0xb559b98d844e0635u);
}

TEST(Xxh64, IsTheSameWhateverThePieces) {
  std::vector<std::uint8_t> bytes(1000);
  std::mt19937 random(1);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  const std::uint64_t whole = xxh64(bytes, 5);
  for (std::size_t size = 1; size <= 70; ++size) {
    Xxh64 hash(5);
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      hash.add(std::span<const std::uint8_t>(bytes).subspan(at, std::min(size, bytes.size() - at)));
    }
    EXPECT_EQ(hash.value(), whole) << "in pieces of " << size;
  }
}

TEST(ModelFile, ComesInPiecesInOrder) {
  const TemporaryFolder folder;
  std::string content;
  for (int i = 0; i < 200000; ++i) content += std::to_string(i);
  test::write_file(folder / "large", content);
  const auto file = ModelFile::open(folder / "large");
  ASSERT_TRUE(file.ok());
  std::string seen;
  int pieces = 0;
  const auto bytes = file.value().read(content.size(), [&](std::span<const std::uint8_t> piece) {
    seen.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    ++pieces;
  });
  ASSERT_TRUE(bytes.ok());
  EXPECT_GT(pieces, 2);
  EXPECT_TRUE(seen == content);
  EXPECT_TRUE(std::ranges::equal(bytes.value()->bytes(), test::as_bytes(content)));
}

class ForestFile : public testing::Test {
 protected:
  TemporaryFolder folder;
  std::string path = folder / "model.cuface";
  const Provenance source{"small.dat", std::string(64, 'a'), "A licence."};
  std::shared_ptr<const ForestModel> model = test::synthetic_forest(7, 2, 5, 3, 6, 1);

  void SetUp() override { ASSERT_TRUE(write_forest_file(*model, source, path).ok()); }

  Status load(const std::string& content) const {
    const std::string damaged = folder / "damaged.cuface";
    test::write_file(damaged, content);
    const auto result = load_forest(damaged);
    if (!result.ok()) {
      EXPECT_EQ(result.status().message().rfind(damaged, 0), 0u) << result.status().message();
    }
    return result.status();
  }
};

TEST_F(ForestFile, ComesBackAsItWas) {
  const auto loaded = load_forest(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  expect_same(*model, *loaded.value());
  EXPECT_EQ(loaded.value()->box_maps, dlib_box_maps());
  EXPECT_EQ(loaded.value()->name, "small") << "box maps go by the original's name";
  const auto container = Container::open(open(path));
  ASSERT_TRUE(container.ok());
  EXPECT_EQ(container.value().provenance().file, source.file);
  EXPECT_EQ(container.value().provenance().sha256, source.sha256);
  EXPECT_EQ(container.value().provenance().licence, source.licence);
}

TEST_F(ForestFile, HoldsACompactModelToo) {
  const auto compact = compact_forest(*model);
  ASSERT_TRUE(write_forest_file(*compact, source, path).ok());
  const auto loaded = load_forest(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_TRUE(loaded.value()->is_compact());
  expect_same(*compact, *loaded.value());
}

TEST_F(ForestFile, HoldsTheSpreadsOfLeaves) {
  // Of the last stage; words of two of them that would be no finite float.
  std::vector<std::uint16_t> spreads(std::size_t{5} * 8 * 7);
  for (std::size_t i = 0; i < spreads.size(); ++i)
    spreads[i] = static_cast<std::uint16_t>(0x7f80 + i * 97);
  ForestModel spread = *model;
  spread.leaf_spreads = spreads;
  for (const bool compact : {false, true}) {
    const auto written = compact ? *compact_forest(spread) : spread;
    ASSERT_TRUE(write_forest_file(written, source, path).ok());
    const auto loaded = load_forest(path);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    expect_same(written, *loaded.value());
    EXPECT_EQ(loaded.value()->leaf_spreads.size(), spreads.size());
  }
  spread.leaf_spreads = spread.leaf_spreads.first(spreads.size() - 7);
  ASSERT_TRUE(write_forest_file(spread, source, path).ok());
  const Status status = load_forest(path).status();
  EXPECT_EQ(status.code(), StatusCode::kCorrupt);
  EXPECT_NE(status.message().find("leaf_spreads has 273 values"), std::string::npos)
      << status.message();
}

TEST_F(ForestFile, LeavesThatAreNotFiniteAreNamedInAnyPiece) {
  // 1.3 MB: some pieces of what is read at once.
  const auto large = test::synthetic_forest(68, 2, 75, 4, 50, 2);
  const auto read_finite = [&](const ForestModel& m) {
    EXPECT_TRUE(write_forest_file(m, source, path).ok());
    const auto file = ModelFile::open(path);
    auto container = Container::read(file.value(), 1 << 24);
    EXPECT_TRUE(container.ok());
    return container.value().all_finite();
  };
  EXPECT_TRUE(read_finite(*large)) << "then nobody looks at the leaves again";
  std::vector<float> leaves(large->leaves.begin(), large->leaves.end());
  const std::size_t tree = std::size_t{16} * 136;
  for (const std::size_t at : {std::size_t{0}, leaves.size() / 2 + 1, leaves.size() - 1}) {
    for (const float value : {std::numeric_limits<float>::quiet_NaN(), HUGE_VALF, -HUGE_VALF}) {
      const float before = std::exchange(leaves[at], value);
      ForestModel bad = *large;
      bad.leaves = leaves;
      EXPECT_FALSE(read_finite(bad));
      const std::string message = load_forest(path).status().message();
      const std::string expected = "a leaf of tree " + std::to_string(at / tree % 75) +
                                   " of stage " + std::to_string(at / tree / 75) + " is not finite";
      EXPECT_NE(message.find(expected), std::string::npos) << message << ", not " << expected;
      leaves[at] = before;
    }
  }
}

TEST_F(ForestFile, TablesLieAlignedInTheFileBytes) {
  const auto loaded = load_forest(path);
  ASSERT_TRUE(loaded.ok());
  const ForestModel& m = *loaded.value();
  for (const void* table :
       {static_cast<const void*>(m.mean_shape.data()), static_cast<const void*>(m.leaves.data()),
        static_cast<const void*>(m.splits.data())}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(table) % 64, 0u);
  }
}

TEST_F(ForestFile, WritingTwiceGivesTheSameBytes) {
  const std::string first = test::read_file(path);
  ASSERT_TRUE(write_forest_file(*model, source, path).ok());
  EXPECT_EQ(test::read_file(path), first);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1)
      << "a temporary file was left";
}

TEST_F(ForestFile, EveryFlippedBitIsFound) {
  const std::string good = test::read_file(path);
  std::mt19937 random(1);
  std::size_t tried = 0;
  // All of the header, then a sample of the rest.
  for (std::size_t i = 0; i < good.size(); i += i < 1024 ? 1 : 1 + random() % 40) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (random() % 8)));
    EXPECT_FALSE(load(bad).ok()) << "byte " << i;
    ++tried;
  }
  EXPECT_GT(tried, 1200u);
}

TEST_F(ForestFile, EveryTruncationIsFound) {
  const std::string good = test::read_file(path);
  for (std::size_t size = 0; size < good.size(); size += size < 1024 ? 1 : 37) {
    EXPECT_EQ(load(good.substr(0, size)).code(), StatusCode::kCorrupt) << size;
  }
  EXPECT_EQ(load(good + '\0').code(), StatusCode::kCorrupt);
}

TEST_F(ForestFile, AnotherVersionIsNamed) {
  std::string newer = test::read_file(path);
  newer[8] = 2;
  const Status status = load(newer);
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_NE(status.message().find("version 2"), std::string::npos);
}

/// A hostile file has right checksums: written by the writer, with a wrong header or wrong blocks.
TEST_F(ForestFile, WhatTheHeaderClaimsIsChecked) {
  const json good = {{"landmarks", 7}, {"cascades", 2}, {"trees", 5}, {"depth", 3}, {"pool", 6}};
  const std::vector<Block> blocks = {
      block_of("mean_shape", model->mean_shape), block_of("anchors", model->anchors),
      block_of("deltas", model->deltas), block_of("splits", model->splits),
      block_of("leaves", model->leaves)};
  const auto status_of = [&](const json& header, const std::vector<Block>& content) {
    EXPECT_TRUE(write_container(path, "forest", header, source, content).ok());
    return load_forest(path).status();
  };
  ASSERT_TRUE(status_of(good, blocks).ok());

  std::size_t tried = 0;
  for (const char* key : {"landmarks", "cascades", "trees", "depth", "pool"}) {
    for (const json& value :
         {json(0), json(-1), json(8), json(1 << 30), json(4294967301), json(18446744073709551615u),
          json(2.5), json("7"), json(nullptr), json::array({7}), json::object(), json(true)}) {
      json bad = good;
      bad[key] = value;
      EXPECT_EQ(status_of(bad, blocks).code(), StatusCode::kCorrupt) << bad.dump();
      ++tried;
    }
    json missing = good;
    missing.erase(key);
    EXPECT_EQ(status_of(missing, blocks).code(), StatusCode::kCorrupt) << key;
  }
  EXPECT_EQ(tried, 60u);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    std::vector<Block> content = blocks;
    content.erase(content.begin() + static_cast<long>(i));
    EXPECT_EQ(status_of(good, content).code(), StatusCode::kCorrupt) << blocks[i].name;
    content = blocks;
    content[i].bytes = content[i].bytes.first(content[i].bytes.size() - 1);
    EXPECT_EQ(status_of(good, content).code(), StatusCode::kCorrupt) << blocks[i].name;
    content[i].bytes = content[i].bytes.first(content[i].bytes.size() - 3);
    EXPECT_EQ(status_of(good, content).code(), StatusCode::kCorrupt) << blocks[i].name;
    const std::vector<std::uint8_t> ones(blocks[i].bytes.size(), 0xff);  // NaN and huge indices
    content = blocks;
    content[i].bytes = ones;
    EXPECT_EQ(status_of(good, content).code(), StatusCode::kCorrupt) << blocks[i].name;
  }
  for (const json& maps : {json{{"x", 3}}, json{{"x", {{"scale", "big"}}}},
                           json{{"x", {{"scale", -1.0}}}}, json{{"x", {{"scale", 1e300}}}}}) {
    json bad = good;
    bad["box_maps"] = maps;
    EXPECT_EQ(status_of(bad, blocks).code(), StatusCode::kCorrupt) << maps.dump();
  }
  EXPECT_TRUE(write_container(path, "poem", good, source, blocks).ok());
  EXPECT_EQ(load_forest(path).status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(load_cascade(path).status().code(), StatusCode::kCorrupt);
}

/// Rewrites the JSON header in place (same length) and mends the checksum.
std::string with_header(std::string bytes, const std::function<void(std::string&)>& change) {
  std::uint32_t size = 0;
  std::memcpy(&size, bytes.data() + 12, sizeof size);
  std::string text = bytes.substr(40, size);
  change(text);
  text.resize(size, ' ');
  bytes.replace(40, size, text);
  const std::uint64_t hash = xxh64(test::as_bytes(text), xxh64(test::as_bytes(bytes).first(32)));
  std::memcpy(bytes.data() + 32, &hash, sizeof hash);
  return bytes;
}

TEST_F(ForestFile, BlocksOutsideTheFileAreRefused) {
  const std::string good = test::read_file(path);
  ASSERT_TRUE(load(with_header(good, [](std::string&) {})).ok());
  for (const json& range :
       {json{0, 99999999}, json{1 << 30, 64}, json{1, 4}, json{-64, 4}, json{0},
        json{18446744073709551552u, 128}, json{64, 18446744073709551615u}, json{"0", 4}, json(7)}) {
    const Status status = load(with_header(good, [&](std::string& text) {
      json header = json::parse(text);
      header["blocks"]["anchors"] = range;
      header.erase("box_maps");  // room for longer numbers
      text = header.dump();
    }));
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << range.dump();
  }
  for (const char* text : {"", "[]", "{", "null", "{\"kind\":\"forest\"}", "{\"blocks\":[]}",
                           "{\"kind\":7,\"blocks\":{}}"}) {
    EXPECT_EQ(load(with_header(good, [&](std::string& t) { t = text; })).code(),
              StatusCode::kCorrupt)
        << text;
  }
  EXPECT_EQ(load(with_header(good, [&](std::string& t) { t.assign(t.size(), '['); })).code(),
            StatusCode::kCorrupt);
}

TEST_F(ForestFile, AWriteThatFailsLeavesTheOldFile) {
  const std::string before = test::read_file(path);
  EXPECT_EQ(write_forest_file(*model, source, folder / "no/such/folder.cuface").code(),
            StatusCode::kIo);
  // A folder cannot be replaced by a file.
  std::filesystem::create_directory(folder / "folder.cuface");
  EXPECT_EQ(write_forest_file(*model, source, folder / "folder.cuface").code(), StatusCode::kIo);
  EXPECT_EQ(test::read_file(path), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2);
}

// ---- needs the fetched model ----

TEST(RealModel, ConvertedIsTheSameModelAndLoadsAtOnce) {
  const std::string dat = test::model_dir() + "/shape_predictor_68_face_landmarks.dat";
  if (!std::filesystem::exists(dat)) GTEST_SKIP() << "no " << dat << ": run models/fetch --models";
  const auto milliseconds = [](auto&& call) {  // of CPU time: other programs do not count
    const std::clock_t start = std::clock();
    call();
    return 1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  Result<std::shared_ptr<const ForestModel>> original = Status();
  const double dat_ms = milliseconds([&] { original = load_forest(dat); });
  ASSERT_TRUE(original.ok()) << original.status().message();
  EXPECT_EQ(original.value()->landmarks, 68);

  const TemporaryFolder folder;
  const std::string path = folder / "68.cuface";
  ASSERT_TRUE(write_forest_file(*original.value(), {"68.dat", "", ""}, path).ok());
  Result<std::shared_ptr<const ForestModel>> ours = Status();
  double best_ms = 1e9;
  for (int i = 0; i < 5; ++i) {
    ours = Status();
    best_ms = std::min(best_ms, milliseconds([&] { ours = load_forest(path); }));
    ASSERT_TRUE(ours.ok()) << ours.status().message();
  }
  expect_same(*original.value(), *ours.value());
  std::printf("loaded: dlib's file in %.0f ms, ours in %.1f ms\n", dat_ms, best_ms);
  EXPECT_LT(dat_ms, 2000) << "the goal is 500 ms on a quiet machine";
  EXPECT_LT(best_ms, 150) << "the goal is 30 ms on a quiet machine";
}

}  // namespace
}  // namespace cuface
