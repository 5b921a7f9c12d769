// The loop over stages: the same bytes with any threads and after any interruption, from a
// checkpoint; and files that OpenCV and our detector agree about.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <map>
#include <opencv2/objdetect.hpp>
#include <set>
#include <thread>

#include "kernels/detect/detect.h"
#include "models/cascade_writer.h"
#include "models/models.h"
#include "models/provenance.h"
#include "models/train/cascade_progress.h"
#include "models/train/stop_signals.h"
#include "tests/kernels/pictures.h"
#include "tests/train/drawn_training.h"

namespace cuface::train {
namespace {

class TrainCascade : public CascadeTest {
 protected:
  /// Goes on from the file, to the end.
  std::string resumed(const std::string& path, int threads = 2) const {
    const auto checkpoint = Checkpoint::read(path);
    EXPECT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    auto job = read_cascade_job(checkpoint.value());
    EXPECT_TRUE(job.ok()) << job.status().message();
    const auto end = train(job.value(), threads);
    EXPECT_TRUE(end.ok() && end.value() == CascadeEnd::kAllStages) << end.status().message();
    return bytes(job.value());
  }

  /// The bytes of an undisturbed run, and its steps.
  const std::string& undisturbed() {
    if (undisturbed_.empty()) {
      CascadeJob job = new_job();
      const auto end =
          train(job, 2, [&](const CascadeState&, CascadeStep step) { steps_.push_back(step); });
      EXPECT_TRUE(end.ok() && end.value() == CascadeEnd::kAllStages) << end.status().message();
      undisturbed_ = bytes(job);
    }
    return undisturbed_;
  }
  /// Steps to interrupt at: the first of each kind, the last one of each, and one in the middle.
  std::set<std::size_t> chosen_steps() {
    undisturbed();
    std::set<std::size_t> chosen{steps_.size() / 2};
    for (const CascadeStep kind :
         {CascadeStep::kMining, CascadeStep::kMined, CascadeStep::kBoosting, CascadeStep::kStage}) {
      const auto first = std::find(steps_.begin(), steps_.end(), kind);
      const auto last = std::find(steps_.rbegin(), steps_.rend(), kind);
      chosen.insert(static_cast<std::size_t>(first - steps_.begin()));
      chosen.insert(static_cast<std::size_t>(steps_.rend() - last) - 1);
    }
    return chosen;
  }

  std::string undisturbed_;
  std::vector<CascadeStep> steps_;
};

TEST_F(TrainCascade, SameBytesWithAnyThreads) {
  for (const int threads : {1, 5}) {
    CascadeJob job = new_job();
    ASSERT_TRUE(train(job, threads).ok());
    EXPECT_EQ(bytes(job), undisturbed()) << threads << " threads";
  }
  EXPECT_GE(steps_.size(), 40u) << "too small a training to be interrupted";
}

TEST_F(TrainCascade, SettingsDecideAboutTheBytes) {
  CascadeJob job = new_job();
  job.settings.seed = 39;
  ASSERT_TRUE(train(job).ok());
  std::string other = bytes(job);
  EXPECT_NE(other.substr(other.find("<opencv_storage>")),
            undisturbed().substr(undisturbed().find("<opencv_storage>")));
}

// Whoever is killed leaves the last checkpoint that was written, here one of every third step.
TEST_F(TrainCascade, AfterKillNineItGoesOnToTheSameBytes) {
  for (const std::size_t at : chosen_steps()) {
    SCOPED_TRACE("killed at step " + std::to_string(at));
    std::filesystem::remove(checkpoint_);
    const pid_t child = ::fork();
    if (child == 0) {
      CascadeJob job = new_job();
      std::size_t step = 0;
      const auto backgrounds = drawing_.open();
      CascadeRun run;
      run.threads = 2;
      run.watch = [&](const CascadeState& state, CascadeStep) {
        if (step % 3 == 0) {
          job.state = state;
          if (!write_cascade_checkpoint(checkpoint_, job).ok()) std::_Exit(3);
        }
        if (step++ == at) ::raise(SIGKILL);
      };
      CascadeState state(job.settings.size);
      (void)train_cascade(job.settings, bank_, positives_, *backgrounds, run, state);
      std::_Exit(4);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    EXPECT_EQ(resumed(checkpoint_, at % 2 ? 1 : 3), undisturbed());
  }
}

TEST_F(TrainCascade, AfterAStopItGoesOnToTheSameBytes) {
  for (const std::size_t at : chosen_steps()) {
    SCOPED_TRACE("stopped at step " + std::to_string(at));
    CascadeJob job = new_job();
    StopFlag stop;
    std::size_t step = 0;
    const auto end = train(
        job, 2,
        [&](const CascadeState&, CascadeStep) {
          if (step++ == at) stop.raise();
        },
        &stop);
    if (end.ok()) {
      EXPECT_GE(at + 2, steps_.size()) << "only the last tree and stage are too late to stop at";
    } else {
      EXPECT_EQ(end.status().code(), StatusCode::kCancelled);
    }
    ASSERT_TRUE(write_cascade_checkpoint(checkpoint_, job).ok());
    EXPECT_EQ(resumed(checkpoint_), undisturbed());
  }
}

/// Tests that run in the background may have it ignored.
void heed(int signal) { ::signal(signal, SIG_DFL); }

TEST_F(TrainCascade, CtrlCRaisesTheFlag) {
  heed(SIGINT);
  StopFlag stop;
  {
    const StopSignals signals(stop);
    ::kill(::getpid(), SIGINT);
    const auto begin = std::chrono::steady_clock::now();
    while (!stop.raised() && std::chrono::steady_clock::now() - begin < std::chrono::seconds(10))
      std::this_thread::yield();
  }
  EXPECT_TRUE(stop.raised());
}

// As nohup has it.
TEST_F(TrainCascade, AnIgnoredSignalStaysSo) {
  for (const bool ignored : {true, false}) {
    ::signal(SIGHUP, ignored ? SIG_IGN : SIG_DFL);
    StopFlag stop;
    const StopSignals signals(stop);
    sigset_t blocked;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    EXPECT_EQ(::sigismember(&blocked, SIGHUP), ignored ? 0 : 1);
  }
}

// A second one does not wait.
TEST_F(TrainCascade, ASecondCtrlCEndsTheProcess) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    heed(SIGTERM);
    heed(SIGINT);
    StopFlag stop;
    const StopSignals signals(stop);
    ::kill(::getpid(), SIGTERM);
    while (!stop.raised()) std::this_thread::yield();
    ::kill(::getpid(), SIGINT);
    while (true) ::pause();
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGINT);
}

TEST_F(TrainCascade, MoreStagesLaterAreThoseOfOneRun) {
  CascadeJob job = new_job();
  job.settings.stages = 3;
  ASSERT_TRUE(train(job).ok());
  ASSERT_TRUE(write_cascade_checkpoint(checkpoint_, job).ok());
  auto read = read_cascade_job(Checkpoint::read(checkpoint_).value());
  ASSERT_TRUE(read.ok()) << read.status().message();
  read.value().settings.stages = drawn_settings().stages;
  ASSERT_TRUE(train(read.value()).ok());
  EXPECT_EQ(bytes(read.value()), undisturbed());
}

// Without generated backgrounds too few are found; with more of them later, the bytes are those of
// a run that had them from the beginning.
TEST_F(TrainCascade, WantOfNegativesIsAnEndThatMoreBackgroundsUndo) {
  for (int i = 0; i < 6; ++i) {
    cv::imwrite(drawing_.negatives() + "/" + std::to_string(i) + ".png",
                drawn_background(15, 15, static_cast<std::uint32_t>(i) * 1000));
  }
  CascadeJob whole = new_job(), starved = new_job();
  whole.settings.stages = starved.settings.stages = 3;
  whole.settings.generated = 3000;
  starved.settings.generated = 0;
  whole.settings.negatives = starved.settings.negatives = 50;
  ASSERT_TRUE(train(whole).ok());
  const auto end = train(starved);
  ASSERT_TRUE(end.ok()) << end.status().message();
  ASSERT_EQ(end.value(), CascadeEnd::kTooFewNegatives);
  ASSERT_GE(starved.state.stages.size(), 1u);
  EXPECT_LT(starved.state.negatives.count(), starved.settings.negatives);
  ASSERT_TRUE(write_cascade_checkpoint(checkpoint_, starved).ok());
  auto read = read_cascade_job(Checkpoint::read(checkpoint_).value());
  ASSERT_TRUE(read.ok()) << read.status().message();
  read.value().settings.generated = 3000;
  const auto again = train(read.value());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again.value(), CascadeEnd::kAllStages);
  EXPECT_EQ(bytes(read.value()), bytes(whole));
}

TEST_F(TrainCascade, BadSamplesAreNamed) {
  const auto backgrounds = drawing_.open();
  const auto says = [&](const WindowList& positives, std::size_t negatives = 100) {
    CascadeSettings settings = drawn_settings();
    settings.negatives = negatives;
    CascadeState state(settings.size);
    const auto end = train_cascade(settings, bank_, positives, *backgrounds, {}, state);
    EXPECT_EQ(end.status().code(), StatusCode::kInvalidArgument);
    return end.status().message();
  };
  EXPECT_NE(says(drawn_positives(1)).find("1 positive samples are too few: 10 are needed"),
            std::string::npos);
  EXPECT_NE(says(positives_, kMostTrainingSamples - 1).find("lower --negatives-per-stage"),
            std::string::npos);
  WindowList among = drawn_positives();
  CascadeState state(kDrawnSize);
  MiningPosition position;
  Miner miner(bank_, *backgrounds, positives_, {38, 10, 0, 1});
  ASSERT_TRUE(miner.gather({}, position, state.negatives, {}, nullptr).ok());
  among.add(state.negatives.at(3));
  EXPECT_NE(says(among).find("is the positive sample 100, pixel for pixel"), std::string::npos);
}

TEST_F(TrainCascade, AllNegativesEqualIsWantOfNegatives) {
  for (int i = 0; i < 6; ++i) {
    cv::Mat two(12, 12, CV_8U, cv::Scalar(0));
    two.colRange(0, 6).setTo(255);
    cv::imwrite(drawing_.negatives() + "/" + std::to_string(i) + ".png", two);
  }
  CascadeJob job = new_job();
  job.settings.generated = 0;
  const auto end = train(job);
  ASSERT_TRUE(end.ok()) << end.status().message();
  EXPECT_EQ(end.value(), CascadeEnd::kTooFewNegatives);
  EXPECT_TRUE(job.state.stages.empty());
  EXPECT_EQ(job.state.negatives.count(), 1u);
}

// A stage of which a third passes leaves for the next one a third of what it found.
TEST_F(TrainCascade, WantOfNegativesIsForetold) {
  CascadeSettings settings = drawn_settings();
  settings.stages = 20;
  settings.negatives = 1000;
  settings.generated = 0;
  CascadeState state(settings.size);
  BoostedStage stage;
  stage.false_alarm = 0.5f;
  StageRecord record;
  record.mining.pictures = 10;
  record.mining.passed = 800;  // 80 of a picture, so 40 at the next stage, then 20, 10, 5
  for (int i = 0; i < 5; ++i) {
    state.stages.push_back(stage);
    state.records.push_back(record);
  }
  EXPECT_EQ(starving_stage(state, settings, 50), 0) << "too early to tell";
  state.stages.push_back(stage);
  state.records.push_back(record);
  // 50 pictures looked at 4 times: 8000, 4000, 2000 ...
  EXPECT_EQ(starving_stage(state, settings, 50), 11);
  settings.stages = 10;
  EXPECT_EQ(starving_stage(state, settings, 50), 0);
}

using Found = std::map<std::tuple<int, int, int, int>, int>;

// The shipped files, read by their readers: OpenCV and our detector find the same, and that is
// what was drawn.
TEST_F(TrainCascade, OpenCvAndOurDetectorFindTheSameFaces) {
  CascadeJob job = new_job();
  ASSERT_TRUE(train(job).ok());
  const auto trained = make_cascade(bank_, job.state.stages);
  ASSERT_TRUE(trained.ok());
  cv::Mat picture(240, 320, CV_8U);
  cv::Mat(drawn_background(320, 240, 5'000'000)).copyTo(picture);
  constexpr int kFaces = 20;
  for (int i = 0; i < kFaces; ++i) {
    const auto window = test::drawn_window(12, true, 1000 + static_cast<std::uint32_t>(i));
    cv::Mat face(12, 12, CV_8U, const_cast<std::uint8_t*>(window.data()));
    const int side = 24 + 2 * (i % 5);
    cv::resize(face, face, {side, side}, 0, 0, cv::INTER_LINEAR_EXACT);
    face.copyTo(picture(cv::Rect(10 + 60 * (i % 5), 10 + 55 * (i / 5), side, side)));
  }
  DetectConfig config;
  config.min_neighbors = 0;
  config.max_faces = 100'000;
  Found found[3];
  for (const char* name : {"face.xml", "face.cuface"}) {
    const std::string path = drawing_ / name;
    ASSERT_TRUE(
        write_cascade(path, trained.value(), trained_provenance(path, training_record(job))).ok());
    const auto model = load_cascade(path);
    ASSERT_TRUE(model.ok()) << model.status().message();
    auto detector = Detector::create(Backend::kCpu, model.value(), config, 320, 240);
    ASSERT_TRUE(detector.ok()) << detector.status().message();
    DetectResult result;
    ASSERT_TRUE(detector.value()->enqueue(test::view_of(picture), result).ok());
    for (const Detection& d : result.faces)
      ++found[name[5] == 'x' ? 0 : 1][{d.box.x, d.box.y, d.box.w, d.box.h}];
  }
  cv::CascadeClassifier classifier(drawing_ / "face.xml");
  ASSERT_FALSE(classifier.empty());
  std::vector<cv::Rect> rects;
  classifier.detectMultiScale(picture, rects, 1.1, 0);
  for (const cv::Rect& r : rects) ++found[2][{r.x, r.y, r.width, r.height}];
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0], found[2]);
  int faces = 0;
  for (int i = 0; i < kFaces; ++i) {
    const int side = 24 + 2 * (i % 5);
    const cv::Rect face(10 + 60 * (i % 5), 10 + 55 * (i / 5), side, side);
    faces += std::any_of(rects.begin(), rects.end(), [&](const cv::Rect& r) {
      return 2 * (r & face).area() > (r | face).area();
    });
  }
  EXPECT_GE(faces, kFaces * 3 / 4);
}

}  // namespace
}  // namespace cuface::train
