// How much faster two GPUs are than one: 32 streams of 1080p in one process. Where decoders limit
// that, frames that are at hand say what the elements would do.
#include <gst/cuda/gstcudamemory.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "tests/gpu/pipelines/frames.h"
#include "tests/gpu/pipelines/two_gpus.h"

namespace cuface::test {
namespace {

constexpr int kStreams = 32, kRounds = 3, kAtHand = 60;
constexpr double kGoal = 1.9;

/// The clip's first frames in a GPU's memory, to be played forwards and backwards.
class FramesAtHand {
 public:
  explicit FramesAtHand(int gpu, const std::vector<std::vector<std::uint8_t>>& pictures) {
    gst_video_info_set_format(&info_, GST_VIDEO_FORMAT_NV12, 1920, 1080);
    GstContext* shared = make_cuda_context(gpu);
    GstCudaContext* context = cuda_context_of(shared);
    for (const auto& picture : pictures) {
      frames_.push_back(make_buffer(info_, picture, context));
      // The copy to the GPU is made by the first who maps it there.
      GstMapInfo map;
      constexpr auto kOnGpu = static_cast<GstMapFlags>(GST_MAP_READ | GST_MAP_CUDA);
      GstMemory* memory = gst_buffer_peek_memory(frames_.back(), 0);
      EXPECT_TRUE(gst_memory_map(memory, &map, kOnGpu));
      gst_memory_unmap(memory, &map);
    }
    gst_object_unref(context);
    gst_context_unref(shared);
  }
  ~FramesAtHand() {
    for (GstBuffer* frame : frames_) gst_buffer_unref(frame);
  }
  FramesAtHand(const FramesAtHand&) = delete;
  FramesAtHand& operator=(const FramesAtHand&) = delete;

  /// Frame `number` of an endless clip: a buffer of its own, with memory that all share.
  GstBuffer* frame(std::size_t number) const {
    const std::size_t last = frames_.size() - 1, at = number % (2 * last);
    GstBuffer* frame = gst_buffer_copy(frames_[at <= last ? at : 2 * last - at]);
    GST_BUFFER_PTS(frame) = number * 40 * GST_MSECOND;
    return frame;
  }

 private:
  GstVideoInfo info_;
  std::vector<GstBuffer*> frames_;
};

/// Seconds of one and of two GPUs, and how many processors were busy, a value a round.
struct Times {
  std::array<std::vector<double>, 2> seconds, processors;
};

class SpreadCuda : public TwoGpus {
 protected:
  SpreadCuda() : TwoGpus(520) {}
  void SetUp() override {
    TwoGpus::SetUp();
    if (IsSkipped()) return;
    CUFACE_NEEDS_BENCH_CLIP("pexels1080");
  }

  static std::string decoded(int gpu) {
    return decoded_on(gpu, bench_clip("pexels1080")) + " ! queue max-size-buffers=4";
  }
  static std::string source(int stream) { return "src" + std::to_string(stream); }
  static std::string at_hand(int stream) {
    return "appsrc name=" + source(stream) +
           " format=time caps=video/x-raw(memory:CUDAMemory),format=NV12,width=1920,height=1080,"
           "framerate=25/1 ! queue max-size-buffers=4";
  }

  /// Plays what `text(stream, gpu)` says of each stream on so many GPUs, and keeps what it took.
  template <typename Text, typename Prepare>
  static void measure(int gpus, Times& times, const Text& text, const Prepare& prepare) {
    std::string chains[2];
    for (int i = 0; i < kStreams; ++i) chains[i % gpus] += text(i, i % gpus);
    Pipeline pipeline(bins(chains));
    prepare(pipeline);
    const std::clock_t begin = std::clock();
    const double seconds = seconds_to_play(pipeline);
    const auto busy = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    const auto which = static_cast<std::size_t>(gpus - 1);
    times.seconds[which].push_back(seconds);
    times.processors[which].push_back(busy / seconds);
  }
  void expect_all_as(const std::vector<std::string>& expected, int gpus) {
    for (int i = 0; i < kStreams; ++i) {
      expect_same_lines(expected, lines_of(faces_file(i)),
                        "stream " + std::to_string(i) + " on " + std::to_string(gpus) + " GPUs");
      lines_compared_ += static_cast<long>(expected.size());
    }
  }
  static double report(const char* part, const Times& times) {
    constexpr double kFrames = double{kStreams} * kBenchFrames;
    double ratio = 1;
    for (const std::size_t which : {0, 1}) {
      const double rate = kFrames / quantile(times.seconds[which], 0.5);
      if (which == 1) ratio = quantile(times.seconds[0], 0.5) / quantile(times.seconds[1], 0.5);
      std::printf(
          "{\"what\":\"32 streams over GPUs\",\"size\":\"1920x1080\",\"part\":\"%s\","
          "\"streams\":%d,\"gpus\":%zu,\"frames/s\":%.0f,\"ratio\":%.2f,"
          "\"processors busy\":%.1f}\n",
          part, kStreams, which + 1, rate, ratio, quantile(times.processors[which], 0.5));
    }
    return ratio;
  }
  static void tell(const char* part, double ratio) {
    std::printf("goal of %s: %.2f times on two GPUs, at least %.1f: %s\n", part, ratio, kGoal,
                ratio >= kGoal ? "met" : "MISSED");
  }

  long lines_compared_ = 0;
};

TEST_F(SpreadCuda, BehindTheDecoder) {
  {
    Pipeline pipeline(chain(0, decoded(0)));
    EXPECT_TRUE(pipeline.play().eos);
  }
  const auto alone = lines_of(faces_file(0));
  ASSERT_EQ(alone.size(), kBenchFrames);
  ASSERT_GE(faces_in(alone), 800);
  Times all, decoding;
  const auto nothing = [](Pipeline&) {};
  for (int round = 0; round < kRounds; ++round)
    for (const int gpus : {1, 2}) {
      measure(
          gpus, all, [&](int i, int gpu) { return chain(i, decoded(gpu)); }, nothing);
      expect_all_as(alone, gpus);
      measure(
          gpus, decoding, [&](int, int gpu) { return decoding_only(decoded(gpu), 1); }, nothing);
    }
  report("decoding", decoding);
  tell("32 streams", report("decoding, searching, following, landmarks", all));
  std::printf("%ld lines are those of one stream alone\n", lines_compared_);
}

TEST_F(SpreadCuda, FramesAtHand) {
  std::vector<std::vector<std::uint8_t>> pictures;
  {
    Pipeline pipeline(decoded_on_cpu(bench_clip("pexels1080")) +
                      " ! videoconvert ! capsfilter caps=video/x-raw,format=NV12 ! "
                      "identity name=id eos-after=" +
                      std::to_string(kAtHand + 10) + " ! fakesink sync=false");
    pipeline.on_buffer("id", "src", [&](GstBuffer* buffer) {
      if (pictures.size() == kAtHand) return;
      pictures.emplace_back(gst_buffer_get_size(buffer));
      gst_buffer_extract(buffer, 0, pictures.back().data(), pictures.back().size());
    });
    EXPECT_TRUE(pipeline.play().eos);
  }
  ASSERT_EQ(pictures.size(), std::size_t{kAtHand});
  ASSERT_EQ(pictures[0].size(), std::size_t{1920 * 1080 * 3 / 2});
  gst_cuda_memory_init_once();
  const FramesAtHand first(0, pictures), second(1, pictures);
  const auto feed = [&](int streams, int gpus) {
    return [&, streams, gpus](Pipeline& pipeline) {
      for (int i = 0; i < streams; ++i)
        pipeline.feed(source(i),
                      [frames = i % gpus == 0 ? &first : &second,
                       number = std::size_t{0}]() mutable -> GstBuffer* {
                        return number == kBenchFrames ? nullptr : frames->frame(number++);
                      });
    };
  };
  {
    Pipeline pipeline(chain(0, at_hand(0)));
    feed(1, 1)(pipeline);
    EXPECT_TRUE(pipeline.play().eos);
  }
  const auto alone = lines_of(faces_file(0));
  ASSERT_EQ(alone.size(), kBenchFrames);
  ASSERT_GE(faces_in(alone), 800);
  Times all;
  for (int round = 0; round < kRounds; ++round)
    for (const int gpus : {1, 2}) {
      measure(
          gpus, all, [&](int i, int) { return chain(i, at_hand(i)); }, feed(kStreams, gpus));
      expect_all_as(alone, gpus);
    }
  tell("frames at hand", report("searching, following, landmarks of frames at hand", all));
  std::printf("%ld lines are those of one stream alone\n", lines_compared_);
}

}  // namespace
}  // namespace cuface::test
