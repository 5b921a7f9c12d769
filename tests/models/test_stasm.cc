// Stasm's sources as a model: which number goes where, and what is refused. The real archive is
// read where models/fetch has put it.
#include "models/shape_file.h"
#include "models/stasm_sources.h"
#include "tests/data.h"
#include "tests/fewer.h"
#include "tests/models/synthetic_stasm.h"
#include "tests/models/temporary.h"

namespace cuface::test {
namespace {

Result<std::shared_ptr<const ShapeModel>> parse(const std::string& tar) {
  return parse_stasm_sources({reinterpret_cast<const std::uint8_t*>(tar.data()), tar.size()},
                             "a/stasm.tar");
}

std::string refusal(const StasmFiles& files) {
  const auto model = parse(stasm_archive(files));
  EXPECT_FALSE(model.ok());
  EXPECT_EQ(model.status().message().rfind("a/stasm.tar: ", 0), 0u) << model.status().message();
  return model.ok() ? "" : model.status().message();
}

TEST(StasmSources, EveryNumberHasItsPlace) {
  const auto parsed = parse(stasm_archive(stasm_files()));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const ShapeModel& m = *parsed.value();
  EXPECT_EQ(m.name, "stasm");
  EXPECT_EQ(m.size, 100) << "not the comment's 7";
  EXPECT_EQ(m.hat.patch, 19);
  EXPECT_EQ(m.hat.patch_at(1), 13);
  EXPECT_EQ(m.start_scale, 0.95 / 200);
  EXPECT_EQ(m.modes, 20);
  EXPECT_EQ(m.mean_shape[2], -30);
  EXPECT_EQ(m.mean_shape[3], -37.5);
  EXPECT_EQ(m.eigenvalues[19], 981);
  EXPECT_EQ(m.weights[3], 0);
  EXPECT_EQ(m.neighbours[3].mirrored, 4);
  EXPECT_EQ(m.neighbours[3].previous, 2);
  EXPECT_EQ(m.neighbours[3].next, 9);
  EXPECT_EQ(m.neighbours[0].previous, 76);
  EXPECT_EQ(m.neighbours[0].mirrored, 0);
  EXPECT_EQ(m.size_below, 38);
  EXPECT_EQ(m.profile(1, 3).kind, ProfileKind::kHat);
  EXPECT_EQ(m.numbers[m.profile(1, 3).first_number], 3.25);
  EXPECT_EQ(m.profile(1, 4).kind, ProfileKind::kLine);
  ASSERT_EQ(m.rules.size(), 6u);
  EXPECT_EQ(m.rules[0].shift, 0.06);
  EXPECT_EQ(m.rules[3].limit, -2.4);
  EXPECT_EQ(m.moves[m.rules[5].first_move + 3].factor, 0.5);
}

TEST(StasmSources, SaveAndLoad) {
  const TemporaryFolder folder;
  const auto parsed = parse(stasm_archive(stasm_files()));
  ASSERT_TRUE(parsed.ok());
  ASSERT_TRUE(write_shape_file(*parsed.value(), {"stasm.tar", "12", "none"}, folder / "s").ok());
  EXPECT_GT(read_file(folder / "s").size(), 10'000u);
}

TEST(StasmSources, EveryMissingFileIsNamed) {
  const StasmFiles good = stasm_files();
  int missing = 0;
  for (const auto& [name, content] : good) {
    if (missing++ % (6 * every()) != 0) continue;
    StasmFiles files = good;
    files.erase(name);
    EXPECT_NE(refusal(files).find(name), std::string::npos) << name;
  }
  EXPECT_GT(missing, 160);
}

/// Of each small file every byte, of each large one some.
TEST(StasmSources, NoWordMayBeAnother) {
  const StasmFiles good = stasm_files();
  int changed = 0;
  for (const char* name : {"MOD_1/mh/yaw00_lev0_p01_classic.mh", "MOD_1/mh/yaw00_lev1_p00_hat.mh",
                           "MOD_1/initasm.cpp", "shape17.cpp"}) {
    const std::string& content = good.at(name);
    for (std::size_t at = content.find("namespace") == content.npos ? 0 : content.find("namespace");
         at < content.size(); at += static_cast<std::size_t>(13 * every()), ++changed) {
      if (content[at] == ' ') continue;
      StasmFiles files = good;
      files[name].replace(at, 1, content[at] == '?' ? "!" : "?");
      EXPECT_NE(refusal(files).find(name), std::string::npos) << content.substr(at, 30);
    }
  }
  EXPECT_GT(changed, 60 / every());
}

TEST(StasmSources, NumbersMustBeThereAndFinite) {
  const std::string name = "MOD_1/mh/yaw00_lev0_p01_classic.mh";
  for (const char* number : {"1e999", "nan", "inf", "1.5.2", "0x10", "", "1, 2", "- -1"}) {
    StasmFiles files = stasm_files();
    std::string& text = files[name];
    const std::size_t at = text.find("= {") + 3;
    text.replace(at, text.find(',', at) - at, number);
    EXPECT_NE(refusal(files).find(name), std::string::npos) << number;
  }
  StasmFiles files = stasm_files();
  files["asm.h"] += " static const int EYEMOUTH_DIST = 50;";
  EXPECT_NE(refusal(files).find("twice"), std::string::npos);
  files = stasm_files();
  files["misc.h"] = "static const double XJITTER = 1e300;";
  EXPECT_NE(refusal(files).find("out of range"), std::string::npos);
}

TEST(StasmSources, BrokenArchives) {
  const std::string good = stasm_archive(stasm_files());
  for (std::size_t size = 0; size + 1024 < good.size(); size += 1999 * 5) {
    EXPECT_FALSE(parse(good.substr(0, size)).ok()) << size;
  }
  std::string bad = good;
  bad[512 + 124] = '7';  // a size, and the checksum is wrong
  EXPECT_FALSE(parse(bad).ok());
  EXPECT_FALSE(parse(tar_entry("a/src/asm.h", "") + tar_entry("a/src/asm.h", "") + good).ok());
  std::string many;
  for (int i = 0; i < 10'001; ++i) many += tar_entry("a/" + std::to_string(i), "");
  EXPECT_NE(parse(many + std::string(1024, '\0')).status().message().find("too many"),
            std::string::npos);
}

TEST(StasmSources, TheFetchedModel) {
  const std::string path = model_dir() + "/PyStasm-0.3.1.tar";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << ": models/fetch --stasm";
  const auto model = parse(read_file(path));
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model.value()->points, 77);
  EXPECT_EQ(model.value()->levels, 4);
  EXPECT_EQ(model.value()->hat.size(), 160);
  const auto hats =
      std::ranges::count(model.value()->profiles, ProfileKind::kHat, &ShapeProfile::kind);
  EXPECT_EQ(hats, 183);
  EXPECT_EQ(model.value()->numbers.size(), 183u * 161 + 125 * 90);
}

}  // namespace
}  // namespace cuface::test
