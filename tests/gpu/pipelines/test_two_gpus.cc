// Two GPUs in one process: the same lines on each, work stays where it began, and what fails on one
// changes nothing on the other.
#include <cuda.h>
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/gpu/pipelines/hog.h"
#include "tests/gpu/pipelines/trace.h"
#include "tests/gpu/pipelines/two_gpus.h"
#include "tests/gpu/spin.h"

namespace cuface::test {
namespace {

/// Where the elements submit their work, while it lives.
class Submissions {
 public:
  Submissions() {
    trace::before_submission([this](const trace::Call& call, CUstream) {
      if (call.caller != trace::Caller::kElements) return;
      CUdevice device = -1;
      CUcontext context = nullptr;
      trace::driver<CUresult (*)(CUdevice*)>("cuCtxGetDevice")(&device);
      trace::driver<CUresult (*)(CUcontext*)>("cuCtxGetCurrent")(&context);
      const std::lock_guard lock(mutex_);
      ++count_[device];
      contexts_[device].insert(context);
    });
  }
  ~Submissions() { trace::before_submission({}); }
  Submissions(const Submissions&) = delete;
  Submissions& operator=(const Submissions&) = delete;

  long on(int device) { return count_[device]; }
  std::size_t contexts_on(int device) { return contexts_[device].size(); }

 private:
  std::mutex mutex_;
  std::map<int, long> count_;
  std::map<int, std::set<CUcontext>> contexts_;
};

class TwoGpusCuda : public TwoGpus {
 protected:
  /// The lines of the first GPU, which are those of the CPU (same_lines.sh).
  std::vector<std::string> alone() const {
    auto lines = lines_of_one_alone(first_);
    EXPECT_EQ(lines.size(), std::size_t{kPexelsFrames});
    EXPECT_GE(faces_in(lines), 400);
    return lines;
  }
  /// Two streams of the first GPU, of files 0 and 1.
  std::string two_on_first() const { return chain(0, first_) + chain(1, first_); }

  /// While two streams play on the first GPU, the other pipeline meets its fate: its end.
  Ending play_beside_two(Pipeline& other, int seconds = 60) const {
    Pipeline two(two_on_first());
    two.set_state(GST_STATE_PLAYING);
    const Ending ending = other.play(seconds);
    const Ending of_two = two.play();
    EXPECT_TRUE(of_two.eos) << "on the first GPU: " << of_two.error;
    return ending;
  }
  void expect_two_as(const std::vector<std::string>& expected) const {
    for (const int i : {0, 1})
      expect_same_lines(expected, lines_of(faces_file(i)),
                        "stream " + std::to_string(i) + " of the first GPU");
  }
  /// Of a stream that may have been cut off.
  static void expect_beginning(std::vector<std::string> expected,
                               const std::vector<std::string>& found, const std::string& where) {
    ASSERT_LE(found.size(), expected.size()) << where;
    expected.resize(found.size());
    expect_same_lines(expected, found, where);
  }
};

TEST_F(TwoGpusCuda, TheSecondGivesTheSameLines) {
  const auto expected = alone();
  Submissions submissions;
  Pipeline pipeline(chain(1, second_, "cuda-device-id=1"));
  const Ending ending = pipeline.play();
  EXPECT_TRUE(ending.eos) << ending.error;
  pipeline.set_state(GST_STATE_NULL);
  expect_same_lines(expected, lines_of(faces_file(1)), "on the second GPU");
  EXPECT_EQ(submissions.on(0), 0);
  EXPECT_GE(submissions.on(1), 3 * 400);
}

/// The elements behind the first are told nothing.
TEST_F(TwoGpusCuda, SystemMemoryGoesToTheDeviceOfTheFirstElement) {
  const auto expected = alone();
  Submissions submissions;
  Pipeline pipeline(chain(0, decoded_on_cpu(clip(kPexels)), "backend=cuda cuda-device-id=1"));
  const Ending ending = pipeline.play();
  EXPECT_TRUE(ending.eos) << ending.error;
  pipeline.set_state(GST_STATE_NULL);
  expect_same_lines(expected, lines_of(faces_file(0)), "uploaded to the second GPU");
  std::printf("submissions of a chain that begins on the second GPU: %ld there, %ld elsewhere\n",
              submissions.on(1), submissions.on(0));
  EXPECT_EQ(submissions.on(0), 0);
  EXPECT_GE(submissions.on(1), 3 * 400);
  EXPECT_EQ(submissions.contexts_on(1), 1u);
}

TEST_F(TwoGpusCuda, AFrameOfTheOtherIsRefused) {
  for (const auto& [decoded, device] : {std::pair{second_, 0}, {first_, 1}}) {
    Pipeline pipeline(chain(0, decoded, "cuda-device-id=" + std::to_string(device)));
    const Ending ending = pipeline.play();
    EXPECT_FALSE(ending.eos);
    EXPECT_NE(ending.error.find("the frame lies on CUDA device " + std::to_string(1 - device)),
              std::string::npos)
        << ending.error;
    EXPECT_NE(ending.error.find("cuda-device-id"), std::string::npos) << ending.error;
  }
}

TEST_F(TwoGpusCuda, SixteenChainsOverBoth) {
  const auto expected = alone();
  std::string chains[2];
  for (int i = 0; i < 16; ++i) chains[i % 2] += chain(i, i % 2 ? second_ : first_);
  Submissions submissions;
  Pipeline pipeline(bins(chains));
  const Ending ending = pipeline.play();
  EXPECT_TRUE(ending.eos) << ending.error;
  pipeline.set_state(GST_STATE_NULL);
  for (int i = 0; i < 16; ++i)
    expect_same_lines(expected, lines_of(faces_file(i)), "chain " + std::to_string(i) + " of 16");
  for (const int device : {0, 1}) {
    EXPECT_GE(submissions.on(device), 8 * 3 * 400) << "device " << device;
    EXPECT_EQ(submissions.contexts_on(device), 1u) << "device " << device;
  }
}

// ---- what fails on one
// ---------------------------------------------------------------------------

TEST_F(TwoGpusCuda, OneWithoutMemoryBeforePlaying) {
  const auto expected = alone();
  GstContext* context = make_cuda_context(1);
  ASSERT_NE(context, nullptr);
  {
    const Hog hog(1);
    Pipeline other(chain(2, decoded_on_cpu(clip(kPexels)), "backend=cuda cuda-device-id=1"),
                   context);
    const Ending ending = play_beside_two(other, 30);
    EXPECT_FALSE(ending.eos);
    EXPECT_NE(ending.error.find("memory"), std::string::npos) << ending.error;
    std::printf("with %.1f GiB of the second GPU taken: %s: %s\n", hog.gib(), ending.source.c_str(),
                ending.error.c_str());
  }
  expect_two_as(expected);
  gst_context_unref(context);
}

TEST_F(TwoGpusCuda, OneWithoutMemoryWhilePlaying) {
  const auto expected = alone();
  Ending ending;
  {
    std::unique_ptr<Hog> hog;
    Pipeline other(second_ + " ! identity name=id ! " + chain(2, "identity"));
    int frames = 0;
    other.on_buffer("id", "src", [&](GstBuffer*) {
      if (++frames == 60) hog = std::make_unique<Hog>(1);
    });
    ending = play_beside_two(other);
    EXPECT_GE(frames, 60);
  }
  const auto found = lines_of(faces_file(2));
  std::printf("the second GPU's memory taken from frame 60 on: %zu of %zu lines; %s\n",
              found.size(), expected.size(),
              ending.eos ? "played to the end" : ending.error.c_str());
  EXPECT_TRUE(ending.eos || !ending.error.empty());
  EXPECT_GE(found.size(), 50u);
  expect_two_as(expected);
  expect_beginning(expected, found, "on the second GPU");
}

/// A kernel that traps stands in for a fault of the hardware: all that its context had is lost. The
/// last test, as nobody knows what a driver makes of it.
TEST_F(TwoGpusCuda, OneLosesItsContext) {
  const auto expected = alone();
  Ending ending;
  {
    Pipeline other(chain(2, second_));
    std::mutex mutex;
    long submissions = 0;
    trace::before_submission([&](const trace::Call& call, CUstream stream) {
      if (call.caller != trace::Caller::kElements) return;
      CUdevice device = -1;
      trace::driver<CUresult (*)(CUdevice*)>("cuCtxGetDevice")(&device);
      const std::lock_guard lock(mutex);
      if (device == 1 && ++submissions == 3 * 100) lose_context(stream);
    });
    ending = play_beside_two(other);
    other.set_state(GST_STATE_NULL);
    trace::before_submission({});
    EXPECT_GE(submissions, 3 * 100);
  }
  const auto found = lines_of(faces_file(2));
  std::printf("the second GPU's context lost at about frame 100: %zu of %zu lines; %s: %s\n",
              found.size(), expected.size(), ending.source.c_str(), ending.error.c_str());
  EXPECT_FALSE(ending.eos);
  EXPECT_FALSE(ending.error.empty());
  EXPECT_GE(found.size(), 50u);
  EXPECT_LE(found.size(), 150u);
  expect_two_as(expected);
  expect_beginning(expected, found, "on the second GPU");
}

}  // namespace
}  // namespace cuface::test
