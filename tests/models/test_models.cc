// Loading by path: dlib's format under damage, one object a file, default files.
#include <dlib/image_processing/shape_predictor.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <random>
#include <thread>

#include "models/dlib_dat.h"
#include "models/forest_file.h"
#include "models/models.h"
#include "tests/models/synthetic_forest.h"
#include "tests/models/temporary.h"

namespace cuface {
namespace {

using test::Environment;
using test::TemporaryFolder;

Status parse(const std::string& bytes) {
  return parse_dlib_dat(test::as_bytes(bytes), "model.dat").status();
}

/// dlib's integer: control byte, then the magnitude.
std::string integer(long long value) {
  std::string text;
  unsigned long long magnitude = static_cast<unsigned long long>(value < 0 ? -value : value);
  do {
    text += static_cast<char>(magnitude & 0xff);
    magnitude >>= 8;
  } while (magnitude != 0);
  const char control = static_cast<char>(text.size() | (value < 0 ? 0x80 : 0));
  return control + text;
}

TEST(DlibDat, TablesAreWhatDlibWrote) {
  const dlib::shape_predictor predictor = test::synthetic_predictor(9, 3, 4, 3, 11, 5);
  const auto model = test::synthetic_forest(9, 3, 4, 3, 11, 5);
  EXPECT_EQ(model->name, "synthetic");
  EXPECT_EQ(predictor.num_parts(), 9u);
  EXPECT_EQ(predictor.num_features(), static_cast<unsigned long>(3 * 4 * model->leaves_per_tree()));
  // The generator's own numbers, drawn again in its order.
  std::mt19937 random(5);
  std::uniform_real_distribution<float> unit(0, 1);
  for (const float value : model->mean_shape) EXPECT_EQ(value, unit(random));
}

TEST(DlibDat, EveryTruncationIsAnErrorThatSaysWhere) {
  const std::string good = test::synthetic_dat(5, 2, 3, 2, 4, 1);
  ASSERT_TRUE(parse(good).ok());
  for (std::size_t size = 0; size < good.size(); ++size) {
    const Status status = parse(good.substr(0, size));
    ASSERT_EQ(status.code(), StatusCode::kCorrupt) << size;
    ASSERT_EQ(status.message().rfind("model.dat: ", 0), 0u);
    ASSERT_NE(status.message().find("at byte"), std::string::npos) << status.message();
  }
  EXPECT_EQ(parse(good + '\1').code(), StatusCode::kCorrupt);
}

TEST(DlibDat, FlippedBitsNeverGiveAnInvalidModel) {
  const std::string good = test::synthetic_dat(5, 2, 3, 2, 4, 2);
  std::mt19937 random(3);
  int refused = 0, tried = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (random() % 8)));
    const auto model = parse_dlib_dat(test::as_bytes(bad), "model.dat");
    ++tried;
    refused += !model.ok();
    // The format has no checksum, so another number may pass; another structure may not.
    ASSERT_TRUE(!model.ok() || validate(*model.value()).ok());
  }
  EXPECT_GT(tried, 1900);
  EXPECT_GT(refused, tried / 8);
}

TEST(DlibDat, HostileSizesAllocateNothing) {
  const std::string version = integer(1);
  const std::string shape =
      integer(-4) + integer(-1) + std::string("\1\1\1\0\1\1\1\0\1\1\1\0\1\1\1\0", 16);
  const long long huge = 1LL << 62;
  for (const std::string& bad : {
           integer(2), version + integer(-huge) + integer(-1), version + integer(huge) + integer(1),
           version + integer(-3) + integer(-1),                     // odd
           version + integer(-4) + integer(-2),                     // two columns
           version + shape + integer(huge),                         // cascades
           version + shape + integer(0),                            //
           version + shape + integer(1) + integer(huge),            // trees
           version + shape + integer(1) + integer(1) + integer(2),  // splits of a tree not full
           version + shape + integer(1) + integer(1) + integer(huge),
           version + shape + integer(1000) + integer(100000) + integer(4095),  // leaves of 26 TB
           version + shape + integer(1) + integer(1) + integer(1) + integer(-1),
           std::string("\x01\x01\x0f", 3),  // a number of 15 bytes
           std::string("\x01\x01\x31", 3),  // old ASCII numbers
       }) {
    EXPECT_EQ(parse(bad + std::string(64, '\1')).code(), StatusCode::kCorrupt);
  }
}

TEST(DlibDat, NumbersThatAreNotFiniteAreRefused) {
  // dlib writes infinity and NaN as exponents from 32000.
  for (const double bad : {INFINITY, -INFINITY, NAN}) {
    dlib::matrix<float, 0, 1> mean(4), leaf(4);
    mean = 0.5f;
    leaf = 0.0f;
    leaf(1) = static_cast<float>(bad);
    dlib::impl::regression_tree tree;
    tree.splits = {{0, 0, 0.5f}};
    tree.leaf_values = {leaf, leaf};
    std::ostringstream out;
    serialize(dlib::shape_predictor(mean, {{tree}}, {{{0.1f, 0.1f}}}), out);
    EXPECT_EQ(parse(out.str()).code(), StatusCode::kCorrupt);
  }
}

TEST(DlibDat, TinyAndHugeFloatsAreDlibs) {
  dlib::matrix<float, 0, 1> mean(4), leaf(4);
  mean = 0, 0, 1, 1;
  leaf = std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max(),
  -std::numeric_limits<float>::min(), 1e-42f;
  dlib::impl::regression_tree tree;
  tree.splits = {{0, 0, -0.0f}};
  tree.leaf_values = {leaf, leaf};
  std::ostringstream out;
  serialize(dlib::shape_predictor(mean, {{tree}}, {{{0.1f, 0.1f}}}), out);
  const std::string bytes = out.str();
  const auto model = parse_dlib_dat(test::as_bytes(bytes), "model.dat");
  ASSERT_TRUE(model.ok()) << model.status().message();
  for (long i = 0; i < 4; ++i) {
    EXPECT_EQ(model.value()->leaves[static_cast<std::size_t>(i)], leaf(i)) << i;
  }
}

TEST(DlibDat, TreesOfDifferentSizesAreRefused) {
  dlib::matrix<float, 0, 1> mean(4), leaf(4);
  mean = 0, 0, 1, 1;
  leaf = 0.0f;
  dlib::impl::regression_tree flat, deep;
  flat.splits = {{0, 0, 1}};
  flat.leaf_values = {leaf, leaf};
  deep.splits = {{0, 0, 1}, {0, 0, 1}, {0, 0, 1}};
  deep.leaf_values = {leaf, leaf, leaf, leaf};
  using Forests = std::vector<std::vector<dlib::impl::regression_tree>>;
  using Pixels = std::vector<std::vector<dlib::vector<float, 2>>>;
  for (const auto& [forests, pixels] : std::vector<std::pair<Forests, Pixels>>{
           {{{flat, deep}}, {{{0, 0}}}},
           {{{flat}, {flat, flat}}, {{{0, 0}}, {{0, 0}}}},
           {{{flat}, {flat}}, {{{0, 0}}, {{0, 0}, {1, 1}}}},
       }) {
    std::ostringstream out;
    serialize(dlib::shape_predictor(mean, forests, pixels), out);
    EXPECT_EQ(parse(out.str()).code(), StatusCode::kCorrupt);
  }
}

TEST(LoadForest, NamesTheFileAndTheReason) {
  const TemporaryFolder folder;
  test::write_file(folder / "empty.dat", "");
  test::write_file(folder / "text.dat", "hello, this is not a model");
  ASSERT_EQ(::mkfifo((folder / "pipe.dat").c_str(), 0600), 0);
  std::filesystem::create_symlink("loop.dat", folder / "loop.dat");
  for (const auto& [name, code] :
       std::vector<std::pair<std::string, StatusCode>>{{"missing.dat", StatusCode::kNotFound},
                                                       {"empty.dat", StatusCode::kCorrupt},
                                                       {"text.dat", StatusCode::kCorrupt},
                                                       {"pipe.dat", StatusCode::kIo},
                                                       {"loop.dat", StatusCode::kIo},
                                                       {"", StatusCode::kIo},
                                                       {"text.dat/below", StatusCode::kNotFound}}) {
    for (const Status& status :
         {load_forest(folder / name).status(), load_cascade(folder / name).status()}) {
      EXPECT_EQ(status.code(), code) << name << ": " << status.message();
      EXPECT_EQ(status.message().rfind(folder / name, 0), 0u) << status.message();
      EXPECT_GT(status.message().size(), (folder / name).size() + 10);
    }
  }
}

TEST(LoadForest, RefusesASparseGiantWithoutReadingIt) {
  const TemporaryFolder folder;
  test::write_file(folder / "giant.dat", std::string("\1\1\x81\x88\x81\1", 6));
  std::filesystem::resize_file(folder / "giant.dat", std::uintmax_t{1} << 40);
  EXPECT_EQ(load_forest(folder / "giant.dat").status().code(), StatusCode::kUnsupported);
}

TEST(LoadForest, OneObjectWhileSomebodyHoldsIt) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.dat";
  test::write_file(path, test::synthetic_dat(5, 2, 3, 2, 4, 1));
  const auto first = load_forest(path);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(load_forest(path).value(), first.value());
  // Other names of the same file.
  std::filesystem::create_hard_link(path, folder / "b.dat");
  std::filesystem::create_symlink(path, folder / "c.dat");
  EXPECT_EQ(load_forest(folder / "b.dat").value(), first.value());
  EXPECT_EQ(load_forest(folder / "c.dat").value(), first.value());
  // An equal file elsewhere is another file.
  std::filesystem::copy_file(path, folder / "d.dat");
  EXPECT_NE(load_forest(folder / "d.dat").value(), first.value());
}

TEST(LoadForest, ManyThreadsGetOneObject) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.dat";
  test::write_file(path, test::synthetic_dat(20, 5, 40, 4, 50, 1));
  std::vector<std::shared_ptr<const ForestModel>> models(16);
  {
    std::vector<std::jthread> threads;
    for (auto& model : models) threads.emplace_back([&] { model = load_forest(path).value(); });
  }
  for (const auto& model : models) EXPECT_EQ(model, models[0]);
}

TEST(LoadForest, NewContentIsANewModelAndTheOldStaysGood) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.dat";
  test::write_file(path, test::synthetic_dat(5, 2, 3, 2, 4, 1));
  const auto before = load_forest(path);
  ASSERT_TRUE(before.ok());
  // Replaced by renaming, as every tool here does.
  test::write_file(folder / "new", test::synthetic_dat(6, 2, 3, 2, 4, 1));
  std::filesystem::rename(folder / "new", path);
  const auto after = load_forest(path);
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(before.value()->landmarks, 5);
  EXPECT_EQ(after.value()->landmarks, 6);
  EXPECT_TRUE(validate(*before.value()).ok());
  // A touched file is read again; a broken one is reported though a good one is still held.
  std::filesystem::last_write_time(
      path, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));
  EXPECT_NE(load_forest(path).value(), after.value());
  test::write_file(folder / "bad", "nothing");
  std::filesystem::rename(folder / "bad", path);
  EXPECT_FALSE(load_forest(path).ok());
}

// Another program cuts or overwrites the file in place, or removes it: who uses the model sees
// nothing of it, and lives.
TEST(LoadForest, WhatHappensToTheFileLaterChangesNothing) {
  const TemporaryFolder folder;
  const auto bytes_of = [](const ForestModel& m) {
    std::string bytes(reinterpret_cast<const char*>(m.leaves.data()), m.leaves.size_bytes());
    return bytes.append(reinterpret_cast<const char*>(m.splits.data()), m.splits.size_bytes());
  };
  const std::string path = folder / "a.cuface";
  const auto original = test::synthetic_forest(20, 5, 40, 4, 50, 1);
  ASSERT_TRUE(write_forest_file(*original, {}, path).ok());
  const auto used = load_forest(path);
  ASSERT_TRUE(used.ok()) << used.status().message();
  const std::string before = bytes_of(*used.value());
  EXPECT_GT(before.size(), 500'000u);
  std::fstream(path) << std::string(before.size(), '\xff');
  EXPECT_EQ(bytes_of(*used.value()), before) << "overwritten";
  EXPECT_FALSE(load_forest(path).ok());
  std::filesystem::resize_file(path, 100);
  EXPECT_EQ(bytes_of(*used.value()), before) << "cut";
  EXPECT_FALSE(load_forest(path).ok());
  std::filesystem::remove(path);
  EXPECT_EQ(bytes_of(*used.value()), before) << "removed";
  EXPECT_EQ(load_forest(path).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(validate(*used.value()).ok());
}

class Defaults : public testing::Test {
 protected:
  static constexpr const char* kDat = "shape_predictor_68_face_landmarks.dat";
  static constexpr const char* kOurs = "shape_predictor_68_face_landmarks.cuface";
  TemporaryFolder folder;
  std::string chosen = folder / "chosen", cache = folder / "cache", home = folder / "home";
  Environment path_variable{"CUFACE_MODEL_PATH", chosen.c_str()};
  Environment cache_variable{"XDG_CACHE_HOME", cache.c_str()};
  Environment home_variable{"HOME", home.c_str()};

  void SetUp() override {
    std::filesystem::create_directories(chosen);
    std::filesystem::create_directories(cache + "/gst-cuface");
    std::filesystem::create_directories(home + "/.cache/gst-cuface");
  }
};

TEST_F(Defaults, FoldersAreSearchedInOrderAndOursComesFirst) {
  test::write_file(home + "/.cache/gst-cuface/" + kDat, "x");
  {
    const Environment none("XDG_CACHE_HOME", nullptr);
    EXPECT_EQ(find_default_forest().value(), home + "/.cache/gst-cuface/" + kDat);
  }
  test::write_file(cache + "/gst-cuface/" + kDat, "x");
  EXPECT_EQ(find_default_forest().value(), cache + "/gst-cuface/" + kDat);
  test::write_file(cache + "/gst-cuface/" + kOurs, "x");
  EXPECT_EQ(find_default_forest().value(), cache + "/gst-cuface/" + kOurs);
  test::write_file(chosen + "/" + kDat, "x");
  EXPECT_EQ(find_default_forest().value(), chosen + "/" + kDat);
  test::write_file(chosen + "/haarcascade_frontalface_alt.xml", "x");
  EXPECT_EQ(find_default_cascade().value(), chosen + "/haarcascade_frontalface_alt.xml");
}

TEST_F(Defaults, NothingFoundNamesTheFoldersAndTheCommand) {
  const auto found = find_default_forest();
  if (found.ok()) GTEST_SKIP() << "a model is installed: " << found.value();
  EXPECT_EQ(found.status().code(), StatusCode::kNotFound);
  for (const std::string& part : {chosen, cache + "/gst-cuface", std::string("models/fetch")}) {
    EXPECT_NE(found.status().message().find(part), std::string::npos) << found.status().message();
  }
}

}  // namespace
}  // namespace cuface
