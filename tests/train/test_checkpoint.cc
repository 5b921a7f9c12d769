// The frame of a checkpoint: it comes back as it was, or is refused with what to do, and the old
// one stays when a new one cannot be written.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>

#include "models/train/checkpoint.h"
#include "tests/models/bad_file.h"
#include "tests/models/mend_checksums.h"
#include "tests/models/temporary.h"

namespace cuface::train {
namespace {

using test::read_file;
using test::TemporaryFolder;
using test::write_file;

class TrainCheckpoint : public testing::Test {
 protected:
  Status write(const std::string& training = "cascade", std::size_t pixels = 1000) {
    pixels_.resize(pixels, 7);
    return write_checkpoint(path_, training, {{"seed", 38}, {"positives", "faces.vec"}},
                            {block_of("leaves", std::span<const float>(leaves_)),
                             block_of("pixels", std::span<const std::uint8_t>(pixels_))});
  }
  /// What reading says of these bytes.
  Status read(const std::string& bytes) {
    write_file(path_, bytes);
    return Checkpoint::read(path_).status();
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "face.checkpoint";
  const std::vector<float> leaves_ = {0.5f, -1.25f, 3};
  std::vector<std::uint8_t> pixels_;
};

void expect_refused(const Status& status, StatusCode code, const std::string& path,
                    const std::string& says) {
  EXPECT_EQ(status.code(), code) << status.message();
  EXPECT_EQ(status.message().rfind(path, 0), 0u) << status.message();
  EXPECT_NE(status.message().find(says), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("train from the beginning"), std::string::npos)
      << status.message();
}

TEST_F(TrainCheckpoint, ComesBackAsItWas) {
  ASSERT_TRUE(write().ok());
  const auto read = Checkpoint::read(path_);
  ASSERT_TRUE(read.ok()) << read.status().message();
  const Checkpoint& checkpoint = read.value();
  EXPECT_EQ(checkpoint.training(), "cascade");
  EXPECT_EQ(checkpoint.head().at("seed"), 38);
  EXPECT_TRUE(std::ranges::equal(checkpoint.record<float>("leaves"), leaves_));
  EXPECT_TRUE(std::ranges::equal(checkpoint.record<std::uint8_t>("pixels"), pixels_));
  EXPECT_TRUE(checkpoint.record<float>("trees").empty());
  EXPECT_TRUE(checkpoint.record<double>("leaves").empty()) << "12 bytes are no whole doubles";
  EXPECT_TRUE(checkpoint.expect("cascade").ok());
  expect_refused(checkpoint.expect("forest"), StatusCode::kInvalidArgument, path_,
                 "a checkpoint of the training \"cascade\", not of \"forest\"");
}

TEST_F(TrainCheckpoint, OfAnotherVersionIsRefused) {
  ASSERT_TRUE(write().ok());
  std::string bytes = read_file(path_);
  bytes[8] = 3;
  test::mend_checksums(bytes);
  expect_refused(read(bytes), StatusCode::kUnsupported, path_,
                 "version 3 of the checkpoint format; this program reads version 4. Resume with "
                 "the cuface-train that wrote it");
}

TEST_F(TrainCheckpoint, CutOrDamagedOrAnotherFileIsRefused) {
  ASSERT_TRUE(write().ok());
  const std::string good = read_file(path_);
  for (std::size_t size = 1; size < good.size(); size += size < 300 ? 1 : 37) {
    expect_refused(read(good.substr(0, size)), StatusCode::kCorrupt, path_, "not a usable");
  }
  expect_refused(read(good + "x"), StatusCode::kCorrupt, path_, "cut or added to");
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string damaged = good;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    EXPECT_FALSE(read(damaged).ok()) << "byte " << i;
  }
  std::string model = good;
  model.replace(0, 8,
                "\x89"
                "CUFACE\n");
  expect_refused(read(model), StatusCode::kCorrupt, path_, "does not start as one");
  expect_refused(read("P5 24 24 255\n"), StatusCode::kCorrupt, path_, "does not start as one");
  EXPECT_EQ(read("").code(), StatusCode::kCorrupt);
  EXPECT_EQ(Checkpoint::read(folder_ / "none").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Checkpoint::read(folder_.path()).status().code(), StatusCode::kIo);
}

// Checksums that are right say nothing about who made them.
TEST_F(TrainCheckpoint, HostileHeadsAreRefusedOrHarmless) {
  ASSERT_TRUE(write().ok());
  const std::string good = read_file(path_);
  const auto forged = [&](std::string json) {
    json.resize((40 + json.size() + 63) / 64 * 64 - 40, ' ');
    std::string bytes = good.substr(0, 40);
    const auto size = static_cast<std::uint32_t>(json.size());
    std::memcpy(bytes.data() + 12, &size, sizeof size);
    const std::uint64_t data = 64;
    std::memcpy(bytes.data() + 16, &data, sizeof data);
    bytes += json + std::string(64, 'x');
    test::mend_checksums(bytes);
    return read(bytes);
  };
  EXPECT_TRUE(forged(R"({"blocks":{"leaves":[0,64]}})").ok());
  for (const std::string& json :
       {std::string("[]"), std::string("{\"seed\":"), std::string("{}"),
        std::string(R"({"blocks":{"leaves":[0,65]}})"),
        std::string(R"({"blocks":{"leaves":[64,18446744073709551615]}})"),
        std::string(R"({"blocks":{"leaves":[1,4]}})"), test::repeated("[", 60'000),
        test::repeated("{\"a\":", 60'000), test::repeated("[", 1'000'000)}) {
    expect_refused(forged(json), StatusCode::kCorrupt, path_, "not a usable checkpoint");
  }
  std::mt19937 random(38);
  int loaded = 0;
  for (int i = 0; i < 500; ++i) {
    std::string bytes = good;
    bytes[random() % 300] = static_cast<char>(random());
    test::mend_checksums(bytes);
    write_file(path_, bytes);
    const auto read = Checkpoint::read(path_);
    loaded += read.ok();
    if (!read.ok()) continue;
    (void)read.value().expect("cascade");
    EXPECT_LE(read.value().record<std::uint8_t>("pixels").size(), bytes.size());
  }
  EXPECT_GT(loaded, 50);
}

TEST_F(TrainCheckpoint, AHeadThatIsTooLargeIsRefused) {
  const Status status = write_checkpoint(path_, "cascade", {{"a", std::string(1 << 16, 'a')}}, {});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

/// Writes a large checkpoint where no file may have more than 10,000 bytes; 0 where that works.
int write_with_a_full_disk(const std::string& path, bool killed) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, killed ? SIG_DFL : SIG_IGN);
    const rlimit none{0, 0}, small{10'000, 10'000};
    ::setrlimit(RLIMIT_CORE, &none);
    ::setrlimit(RLIMIT_FSIZE, &small);
    const std::vector<std::uint8_t> pixels(100'000);
    const Status status = write_checkpoint(
        path, "cascade", {}, {block_of("pixels", std::span<const std::uint8_t>(pixels))});
    std::_Exit(status.ok()                                                    ? 0
               : status.message().rfind(path + ": cannot be written", 0) == 0 ? 3
                                                                              : 4);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST_F(TrainCheckpoint, AFullDiskKeepsTheOldOne) {
  ASSERT_TRUE(write().ok());
  const std::string old = read_file(path_);
  const int failed = write_with_a_full_disk(path_, false);
  ASSERT_TRUE(WIFEXITED(failed));
  EXPECT_EQ(WEXITSTATUS(failed), 3);
  EXPECT_EQ(read_file(path_), old);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(TrainCheckpoint, WhoDiesWhileWritingKeepsTheOldOne) {
  ASSERT_TRUE(write().ok());
  const std::string old = read_file(path_);
  const int died = write_with_a_full_disk(path_, true);
  ASSERT_TRUE(WIFSIGNALED(died));
  EXPECT_EQ(WTERMSIG(died), SIGXFSZ);
  EXPECT_EQ(read_file(path_), old);
  ASSERT_TRUE(write("cascade", 20).ok()) << "what the dead one left behind is in nobody's way";
  EXPECT_NE(read_file(path_), old);
}

}  // namespace
}  // namespace cuface::train
