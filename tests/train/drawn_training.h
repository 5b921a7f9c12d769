// A small training on drawn windows: what tests of the loop, its checkpoints and the program share.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <opencv2/imgcodecs.hpp>
#include <string>

#include "models/cascade_writer.h"
#include "models/provenance.h"
#include "models/train/cascade_job.h"
#include "tests/kernels/boost_samples.h"
#include "tests/models/temporary.h"

namespace cuface::train {

inline constexpr WindowSize kDrawnSize{12, 12};

inline WindowList drawn_positives(std::uint32_t count = 100) {
  WindowList windows(kDrawnSize);
  for (std::uint32_t i = 0; i < count; ++i) windows.add(test::drawn_window(12, true, i));
  return windows;
}

/// A background of drawn windows side by side.
inline cv::Mat drawn_background(int width, int height, std::uint32_t index) {
  cv::Mat out(height, width, CV_8U);
  for (int y = 0; y < height; y += 12) {
    for (int x = 0; x < width; x += 12) {
      const auto window = test::drawn_window(12, false, index++ + 10'000);
      const cv::Mat tile(12, 12, CV_8U, const_cast<std::uint8_t*>(window.data()));
      const cv::Rect place(x, y, std::min(12, width - x), std::min(12, height - y));
      tile(cv::Rect(0, 0, place.width, place.height)).copyTo(out(place));
    }
  }
  return out;
}

/// Folders and files of it, as the program takes them.
class DrawnTraining {
 public:
  explicit DrawnTraining(int backgrounds = 6) {
    EXPECT_TRUE(write_vec(drawn_positives(), positives()).ok());
    std::filesystem::create_directory(negatives());
    for (int i = 0; i < backgrounds; ++i) {
      cv::imwrite(negatives() + "/" + std::to_string(i) + ".png",
                  drawn_background(160, 120, static_cast<std::uint32_t>(i) * 1000));
    }
  }
  std::string positives() const { return folder_ / "positives.vec"; }
  std::string negatives() const { return folder_ / "negatives"; }
  std::string operator/(const std::string& name) const { return folder_ / name; }

  std::unique_ptr<Backgrounds> open() const {
    auto opened = Backgrounds::open(negatives(), {kDrawnSize, false, 2, 1 << 20}, {});
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return std::move(opened.value());
  }

 private:
  const test::TemporaryFolder folder_;
};

/// A few stages of a few trees, which search the backgrounds in the end.
inline CascadeSettings drawn_settings() {
  CascadeSettings settings;
  settings.size = kDrawnSize;
  settings.stages = 6;
  settings.negatives = 100;
  settings.generated = 40;
  settings.seed = 38;
  settings.boost.min_hit_rate = 0.97f;
  settings.boost.max_false_alarm = 0.6f;
  return settings;
}

/// Trains it in memory.
class CascadeTest : public testing::Test {
 protected:
  using Watch = std::function<void(const CascadeState&, CascadeStep)>;

  CascadeJob new_job() const {
    CascadeJob job;
    job.settings = drawn_settings();
    job.inputs.positives = drawing_.positives();
    job.inputs.negatives = drawing_.negatives();
    job.output = drawing_ / "face.xml";
    job.state = CascadeState(job.settings.size);
    return job;
  }
  Result<CascadeEnd> train(CascadeJob& job, int threads = 2, const Watch& watch = {},
                           const StopFlag* stop = nullptr) const {
    const auto backgrounds = drawing_.open();
    CascadeRun run;
    run.threads = threads;
    run.watch = watch;
    run.stop = stop;
    return train_cascade(job.settings, bank_, positives_, *backgrounds, run, job.state);
  }
  /// What would be written.
  std::string bytes(const CascadeJob& job) const {
    const auto model = make_cascade(bank_, job.state.stages);
    EXPECT_TRUE(model.ok()) << model.status().message();
    return cascade_xml(model.value(), trained_provenance(job.output, training_record(job)));
  }

  const DrawnTraining drawing_;
  const FeatureBank bank_ = FeatureBank::create(12, 12, FeatureMode::kBasic).value();
  const WindowList positives_ = drawn_positives();
  const std::string checkpoint_ = drawing_ / "face.checkpoint";
};

}  // namespace cuface::train
