// A job in a checkpoint: all of it comes back, and what is forged does no harm.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "tests/models/mend_checksums.h"
#include "tests/train/drawn_training.h"

namespace cuface::train {
namespace {

using test::read_file;
using test::write_file;

using TrainCascadeCheckpoint = CascadeTest;

// What is lost would be trained again, to the same bytes, so these do not show it.
TEST_F(TrainCascadeCheckpoint, ACheckpointHasAllThatWasTrained) {
  CascadeJob job = new_job();
  StopFlag stop;
  (void)train(
      job, 2,
      [&](const CascadeState& state, CascadeStep) {
        if (state.stages.size() == 2 && state.begun.trees.size() == 2) stop.raise();
      },
      &stop);
  const CascadeState& state = job.state;
  ASSERT_EQ(state.begun.trees.size(), 2u);
  EXPECT_LT(state.records[1].positives, 100u)
      << "a stage does not learn what the ones before missed";
  EXPECT_EQ(state.records[1].positives, std::lrintf(100 * state.stages[0].hit_rate));
  ASSERT_TRUE(write_cascade_checkpoint(checkpoint_, job).ok());
  const auto read = read_cascade_job(Checkpoint::read(checkpoint_).value());
  ASSERT_TRUE(read.ok()) << read.status().message();
  const CascadeState& back = read.value().state;
  EXPECT_EQ(read.value().settings, job.settings);
  ASSERT_EQ(back.stages.size(), 2u);
  ASSERT_EQ(back.begun.trees.size(), 2u);
  EXPECT_EQ(back.begun.trees[1].leaves, state.begun.trees[1].leaves);
  EXPECT_EQ(back.begun.trees[1].nodes[0].feature, state.begun.trees[1].nodes[0].feature);
  EXPECT_TRUE(std::ranges::equal(back.negatives.pixels(), state.negatives.pixels()));
  EXPECT_EQ(back.position.next_picture, state.position.next_picture);
  EXPECT_EQ(back.position.windows, state.position.windows);
  ASSERT_EQ(back.records.size(), 3u);
  EXPECT_EQ(back.records[2].mining_seconds, state.records[2].mining_seconds);
  EXPECT_EQ(back.records[1].positives, state.records[1].positives);
}

// Checksums made right by whoever means harm: refused, or it can be gone on from.
TEST_F(TrainCascadeCheckpoint, AForgedCheckpointIsRefusedOrHarmless) {
  CascadeJob job = new_job();
  job.settings.stages = 2;
  StopFlag stop;
  (void)train(
      job, 2,
      [&](const CascadeState& state, CascadeStep) {
        if (state.stages.size() == 1 && state.begun.trees.size() == 3) stop.raise();
      },
      &stop);
  ASSERT_EQ(job.state.begun.trees.size(), 3u);
  ASSERT_TRUE(write_cascade_checkpoint(checkpoint_, job).ok());
  const std::string good = read_file(checkpoint_);
  std::mt19937 random(38);
  int refused = 0, gone_on = 0;
  for (int i = 0; i < 200; ++i) {
    std::string bytes = good;
    // The records but for the negatives' pixels, of which any are as good.
    bytes[random() % (good.size() - 100 * 144)] = static_cast<char>(random());
    test::mend_checksums(bytes);
    write_file(checkpoint_, bytes);
    const auto read = Checkpoint::read(checkpoint_);
    auto forged = read.ok() ? read_cascade_job(read.value()) : Result<CascadeJob>(read.status());
    if (!forged.ok()) {
      EXPECT_EQ(forged.status().message().rfind(checkpoint_, 0), 0u) << forged.status().message();
      ++refused;
      continue;
    }
    if (forged.value().settings.size != kDrawnSize || i % 8 != 0) continue;
    StopFlag soon;
    (void)train(
        forged.value(), 1, [&](const CascadeState&, CascadeStep) { soon.raise(); }, &soon);
    ++gone_on;
  }
  EXPECT_GT(refused, 20);
  EXPECT_GT(gone_on, 5);
}

TEST_F(TrainCascadeCheckpoint, ACheckpointWithFeaturesOutsideOfTheWindowIsRefused) {
  CascadeJob job = new_job();
  job.settings.stages = 1;
  ASSERT_TRUE(train(job).ok());
  for (const int feature : {-1, static_cast<int>(bank_.count()), 1 << 30}) {
    job.state.stages[0].trees.back().nodes[0].feature = feature;
    ASSERT_TRUE(write_cascade_checkpoint(checkpoint_, job).ok());
    const auto read = read_cascade_job(Checkpoint::read(checkpoint_).value());
    EXPECT_NE(read.status().message().find("a feature that is not in the window"),
              std::string::npos);
  }
}

// A program that did not have an option trained as its default does.
TEST_F(TrainCascadeCheckpoint, AnOptionThatACheckpointLacksHasItsDefault) {
  CascadeJob job = new_job();
  job.settings.stages = 1;
  ASSERT_TRUE(train(job).ok());
  ASSERT_TRUE(write_cascade_checkpoint(checkpoint_, job).ok());
  const std::string good = read_file(checkpoint_);
  const auto with = [&](const std::string& text, std::string other) {
    std::string bytes = good;
    const std::size_t at = bytes.find(text);
    EXPECT_NE(at, std::string::npos) << text;
    other.resize(text.size(), ' ');
    if (at != std::string::npos) bytes.replace(at, text.size(), other);
    test::mend_checksums(bytes);
    write_file(checkpoint_, bytes);
    return read_cascade_job(Checkpoint::read(checkpoint_).value());
  };
  const auto lacking = with(R"(,"weights":"zero-mean")", "");
  ASSERT_TRUE(lacking.ok()) << lacking.status().message();
  EXPECT_EQ(lacking.value().settings, job.settings);
  const auto refused = [&](const std::string& text, const std::string& other,
                           const std::string& says) {
    const Status status = with(text, other).status();
    EXPECT_EQ(status.code(), StatusCode::kCorrupt);
    EXPECT_NE(status.message().find(says), std::string::npos) << status.message();
  };
  refused(R"("weights":"zero-mean")", R"("weights":"eat")", "its option --weights is \"eat\"");
  refused(R"("weights":"zero-mean")", R"("weights":3)", "its option --weights is \"\"");
  // Without inputs there is nothing to go on with.
  refused(R"("output":)", R"("OUTPUT":)", "its option --output is \"\"");
  refused(R"("settings":{)", R"("SETTINGS":{)", "it has no settings");
}

TEST_F(TrainCascadeCheckpoint, ACheckpointOfAnotherTrainingIsRefused) {
  ASSERT_TRUE(write_checkpoint(checkpoint_, "forest", {{"settings", 3}}, {}).ok());
  const auto job = read_cascade_job(Checkpoint::read(checkpoint_).value());
  EXPECT_EQ(job.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(job.status().message().find("of the training \"forest\", not of \"cascade\""),
            std::string::npos);
}

}  // namespace
}  // namespace cuface::train
