// What goes wrong with GPUs, drivers and streams is an error with a message or is recovered from;
// never a crash, a hang or the faces of another frame.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/gpu/pipelines/both_chains.h"
#include "tests/gpu/pipelines/hog.h"
#include "tests/gpu/pipelines/pipeline.h"

namespace cuface::test {
namespace {

class FaultsCuda : public BothChains {};

// ---- GPU memory
// ----------------------------------------------------------------------------------

/// In a context that is there already: what fails is our own allocation, not the making of a
/// context.
TEST_F(FaultsCuda, NoMemoryBeforePlayingIsAnErrorAndLaterItPlays) {
  GstContext* context = make_cuda_context();
  ASSERT_NE(context, nullptr);
  const std::string uploaded = decoded_on_cpu(clip(kPexels)) + " ! " + chain("gpu", "backend=cuda");
  {
    const Hog hog;
    Pipeline pipeline(uploaded, context);
    const Ending ending = pipeline.play(30);
    EXPECT_FALSE(ending.eos);
    for (const char* said : {"memory", "cuda-device-id", "backend=cpu"})
      EXPECT_NE(ending.error.find(said), std::string::npos)
          << ending.source << ": " << ending.error;
    std::printf("with %.1f GiB taken: %s: %s\n", hog.gib(), ending.source.c_str(),
                ending.error.c_str());
  }
  {
    Pipeline pipeline(uploaded, context);
    const Ending ending = pipeline.play();
    EXPECT_TRUE(ending.eos) << ending.error;
  }
  gst_context_unref(context);
  const auto expected = play_to_end(decoded_on_cpu(clip(kPexels)), "cpu");
  EXPECT_GE(faces_in(expected), 400);
  expect_same_lines(expected, lines("gpu"), "after memory had been short");
}

TEST_F(FaultsCuda, NoMemoryForTheDecoderIsAnErrorToo) {
  {
    const Hog hog;
    Pipeline pipeline(decoded_on_gpu(clip(kPexels)) + " ! " + chain("gpu"));
    const Ending ending = pipeline.play(30);
    EXPECT_FALSE(ending.eos);
    EXPECT_FALSE(ending.error.empty());
    std::printf("with %.1f GiB taken: %s: %s\n", hog.gib(), ending.source.c_str(),
                ending.error.c_str());
  }
  EXPECT_GE(faces_in(play_to_end(decoded_on_gpu(clip(kPexels)), "gpu")), 400);
}

TEST_F(FaultsCuda, NoMemoryWhilePlayingChangesNothing) {
  const auto expected = play_to_end(decoded_on_gpu(clip(kPexels)), "before");
  ASSERT_GE(faces_in(expected), 400);
  Ending ending;
  int frames = 0;
  {
    std::unique_ptr<Hog> hog;
    Pipeline pipeline(decoded_on_gpu(clip(kPexels)) + " ! " + chain("gpu"));
    pipeline.on_buffer("sink", "sink", [&](GstBuffer*) {
      ++frames;
      if (frames == 60) hog = std::make_unique<Hog>();
      if (frames == 300) hog.reset();
    });
    ending = pipeline.play();
  }
  EXPECT_GE(frames, 60);
  auto found = lines("gpu");
  std::printf("memory taken from frame 60 to 300: %zu of %zu lines; %s\n", found.size(),
              expected.size(), ending.eos ? "played to the end" : ending.error.c_str());
  if (!ending.eos) {  // the decoder may want more; then what was written is right all the same
    EXPECT_FALSE(ending.error.empty());
    EXPECT_NE(ending.source, "detect") << ending.error;
    EXPECT_NE(ending.source, "landmark") << ending.error;
    EXPECT_GE(found.size(), 50u);
    found.insert(found.end(), expected.begin() + std::ssize(found), expected.end());
  }
  expect_same_lines(expected, found, "memory taken while playing");
}

/// In our elements alone: the frames, which become larger, are decoded on the CPU.
TEST_F(FaultsCuda, NoMemoryForALargerPictureIsAnErrorAndLaterItPlays) {
  constexpr int kFrames = 30;  // of each size
  const ByteStream stream = byte_stream(clip(kPexels), 2 * kFrames);
  write_file(folder_.file("clip.h264"), stream.bytes);
  GstContext* context = make_cuda_context();
  ASSERT_NE(context, nullptr);
  const auto play = [&](const std::string& out, const std::string& backend, bool takes_memory) {
    std::unique_ptr<Hog> hog;
    int frames = 0;
    Pipeline pipeline(byte_stream_on_cpu(folder_.file("clip.h264")) +
                          " ! videoconvertscale name=scale ! capsfilter name=size " +
                          "caps=video/x-raw,width=320,height=180 ! " +
                          chain(out, "backend=" + backend),
                      context);
    pipeline.stamp(stream);
    pipeline.on_buffer("scale", "sink", [&](GstBuffer*) {
      ++frames;
      if (frames == kFrames / 2 && takes_memory) hog = std::make_unique<Hog>();
      if (frames == kFrames + 1) pipeline.set("size", "caps", "video/x-raw,width=1920,height=1080");
    });
    Ending ending = pipeline.play(40);
    pipeline.set_state(GST_STATE_NULL);
    return ending;
  };
  EXPECT_TRUE(play("cpu", "cpu", false).eos);
  const auto expected = lines("cpu");
  ASSERT_EQ(expected.size(), std::size_t{2 * kFrames});
  ASSERT_GE(faces_in(expected), 2 * kFrames - 10);
  EXPECT_NE(expected.front().find("\"width\":320,"), std::string::npos);
  EXPECT_NE(expected[kFrames].find("\"width\":1920,"), std::string::npos);

  const Ending ending = play("gpu", "cuda", true);
  EXPECT_FALSE(ending.eos);
  for (const char* said : {"memory", "cuda-device-id", "backend=cpu"})
    EXPECT_NE(ending.error.find(said), std::string::npos) << ending.source << ": " << ending.error;
  const auto before = lines("gpu");
  std::printf("with memory taken, after %zu lines a larger picture: %s: %s\n", before.size(),
              ending.source.c_str(), ending.error.c_str());
  ASSERT_GE(std::ssize(before), kFrames / 2);
  ASSERT_LE(std::ssize(before), kFrames);
  expect_same_lines({expected.begin(), expected.begin() + std::ssize(before)}, before,
                    "before the larger picture");

  const Ending again = play("gpu", "cuda", false);
  EXPECT_TRUE(again.eos) << again.error;
  expect_same_lines(expected, lines("gpu"), "after memory had been short");
  gst_context_unref(context);
}

// ---- streams
// -------------------------------------------------------------------------------------

/// Both chains behind one decoder see the same pictures, however broken.
TEST_F(FaultsCuda, ACorruptedStreamGivesTheFacesOfItsPictures) {
  constexpr int kUnits = 150;
  const ByteStream whole = byte_stream(clip(kPexels), kUnits);
  long compared = 0, faces = 0, different_pictures = 0;
  const std::string file = folder_.file("clip.h264");
  write_file(file, whole.bytes);
  {
    Pipeline pipeline(byte_stream_on_gpu(file) + " ! " + chain("intact"));
    pipeline.stamp(whole);
    ASSERT_TRUE(pipeline.play().eos);
  }
  const auto intact = lines("intact");
  for (const unsigned seed : {1u, 2u, 3u}) {
    ByteStream broken = whole;
    std::mt19937 random(seed);
    const std::size_t begin = broken.bytes.size() / 10;
    const std::size_t flips = (broken.bytes.size() - begin) / 3000;
    ASSERT_GE(flips, 20u);
    for (std::size_t i = 0; i < flips; ++i) {
      const std::size_t at = begin + random() % (broken.bytes.size() - begin);
      broken.bytes[at] = static_cast<char>(broken.bytes[at] ^ (1 + random() % 255));
    }
    write_file(file, broken.bytes);
    const std::string queue = " t. ! queue max-size-buffers=4 ! ";
    const std::string tail = " ! culktrack ! cufacelandmark ! cufacepublish location=";
    Pipeline pipeline(byte_stream_on_gpu(file) + " ! tee name=t" + queue + "cufacedetect" + tail +
                      folder_.file("gpu") + " ! fakesink sync=false async=false" + queue +
                      "cudadownload ! capsfilter caps=video/x-raw ! cufacedetect backend=cpu" +
                      tail + folder_.file("cpu") + " ! fakesink sync=false async=false");
    pipeline.stamp(broken);
    const Ending ending = pipeline.play(40);
    pipeline.set_state(GST_STATE_NULL);
    auto cpu = lines("cpu"), gpu = lines("gpu");
    std::printf("seed %u, %zu bytes changed: %zu lines, %s\n", seed, flips, gpu.size(),
                ending.eos ? "played to the end" : ending.error.c_str());
    EXPECT_TRUE(ending.eos || !ending.error.empty());
    if (!ending.eos) {  // one of the two may be behind
      const auto both = static_cast<std::ptrdiff_t>(std::min(cpu.size(), gpu.size()));
      cpu.resize(static_cast<std::size_t>(both));
      gpu.resize(static_cast<std::size_t>(both));
    }
    expect_same_lines(cpu, gpu, "seed " + std::to_string(seed));
    compared += std::ssize(gpu);
    faces += faces_in(gpu);
    for (std::size_t i = 0; i < std::min(gpu.size(), intact.size()); ++i)
      different_pictures += gpu[i] != intact[i];
  }
  std::printf("%ld lines with %ld faces are equal, %ld unlike those of the intact clip\n", compared,
              faces, different_pictures);
  EXPECT_GE(compared, 150);
  EXPECT_GE(faces, 100);
  EXPECT_GE(different_pictures, 10) << "the damage did nothing";
}

/// Two faces, nobody for a thousand frames, then faces again: nothing is kept that should go, and
/// the chain finds its way back.
TEST_F(FaultsCuda, AThousandFramesWithoutAFace) {
  constexpr long kClip = 472, kEmpty = 1000;
  const std::string caps =
      " ! videoconvertscale ! capsfilter "
      "caps=video/x-raw,format=NV12,width=320,height=180,framerate=24000/1001 ! c. ";
  const std::string people = decoded_on_cpu(clip(kPexels)) + " ! videorate" + caps;
  const std::string nobody =
      "videotestsrc pattern=smpte num-buffers=" + std::to_string(kEmpty) + caps;
  const auto found = same_on_both(people + nobody + people + "concat name=c", "min-size=36");
  constexpr long kSlack =
      10;  // videorate may give or take a frame, and a track is held for a while
  ASSERT_GE(std::ssize(found), 2 * kClip + kEmpty - kSlack);
  long first = 0, between = 0, last = 0;
  for (long i = 0; i < std::ssize(found); ++i) {
    const long faces = faces_of(found[static_cast<std::size_t>(i)]);
    if (i < kClip - kSlack)
      first += faces;
    else if (i >= kClip + 5 * kSlack && i < kClip + kEmpty - kSlack)
      between += faces;
    else if (i >= kClip + kEmpty + kSlack)
      last += faces;
  }
  std::printf("%zu lines equal; faces: %ld, then %ld in about a thousand frames, then %ld\n",
              found.size(), first, between, last);
  EXPECT_GE(first, 300);
  EXPECT_EQ(between, 0);
  EXPECT_GE(last, 300);
}

// ---- devices and drivers
// -------------------------------------------------------------------------

TEST_F(FaultsCuda, AnUnknownDeviceIsNamedInTheError) {
  {
    Pipeline pipeline(decoded_on_cpu(clip(kPexels)) + " ! " +
                      chain("gpu", "backend=cuda cuda-device-id=99"));
    const Ending ending = pipeline.play();
    EXPECT_FALSE(ending.eos);
    EXPECT_NE(ending.error.find("there is no CUDA device 99"), std::string::npos) << ending.error;
  }
  Pipeline pipeline(decoded_on_gpu(clip(kPexels)) + " ! " + chain("gpu", "cuda-device-id=99"));
  const Ending ending = pipeline.play();
  EXPECT_FALSE(ending.eos);
  EXPECT_NE(ending.error.find("99"), std::string::npos) << ending.error;
  EXPECT_NE(ending.error.find("cuda-device-id"), std::string::npos) << ending.error;
}

/// In processes of their own, on machines with and without a GPU.
class NoDriver : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = missing_for_cpu_chains(); !missing.empty()) GTEST_SKIP() << missing;
    gchar* tool = g_find_program_in_path("gst-launch-1.0");
    if (!tool) GTEST_SKIP() << "no gst-launch-1.0";
    g_free(tool);
  }

  struct Run {
    int status = -1;
    std::string output;
  };
  Run launch(const std::string& environment, const std::string& backend) const {
    const std::string choice = " backend=" + backend;
    const std::string command =
        environment + " GST_DEBUG=cufacefilter:INFO GST_REGISTRY=" + folder_.file("registry") +
        " timeout -k 5 60 gst-launch-1.0 -q " + decoded_on_cpu(clip(kFranck)) +
        " ! identity eos-after=60 ! cufacedetect" + choice + " ! culktrack" + choice +
        " ! cufacelandmark" + choice + " ! cufacepublish" + choice +
        " location=" + folder_.file(backend) + " ! fakesink sync=false 2>&1";
    Run run;
    FILE* pipe = popen(command.c_str(), "r");
    if (!pipe) return run;
    for (char text[1000]; fgets(text, sizeof text, pipe);) run.output += text;
    run.status = pclose(pipe);
    return run;
  }
  /// How often a run has said that the CPU does the work, though a GPU might have.
  static long told(const Run& run) {
    const std::string words = "backend=auto works on the CPU: ";
    long times = 0;
    for (auto at = run.output.find(words); at != run.output.npos;
         at = run.output.find(words, at + 1))
      ++times;
    return times;
  }
  /// backend=cuda fails and says why; backend=auto says so once, and gives what the CPU gives.
  void expect_the_cpu(const std::string& environment, const std::string& why) const {
    const Run cuda = launch(environment, "cuda");
    EXPECT_NE(cuda.status, 0);
    EXPECT_NE(cuda.output.find(why), std::string::npos) << cuda.output;
    EXPECT_NE(cuda.output.find("use backend=auto or backend=cpu"), std::string::npos)
        << cuda.output;
    const Run automatic = launch(environment, "auto"), cpu = launch(environment, "cpu");
    EXPECT_EQ(automatic.status, 0) << automatic.output;
    EXPECT_EQ(cpu.status, 0) << cpu.output;
    EXPECT_EQ(told(automatic), 1) << automatic.output;
    EXPECT_NE(automatic.output.find(why), std::string::npos) << automatic.output;
    EXPECT_EQ(told(cpu), 0) << cpu.output;
    const auto expected = lines_of(folder_.file("cpu"));
    EXPECT_GE(expected.size(), 50u);
    EXPECT_GE(faces_in(expected), 40);
    expect_same_lines(expected, lines_of(folder_.file("auto")), "without a driver");
    std::printf("%zu lines with %ld faces are equal\n", expected.size(), faces_in(expected));
  }

  const TempFolder folder_;

 private:
  const TimeLimit limit_{90};
};

TEST_F(NoDriver, NoLibrary) {
  std::filesystem::create_directory(folder_.file("lib"));
  write_file(folder_.file("lib/libcuda.so.1"), "no library");
  expect_the_cpu("LD_LIBRARY_PATH=" + folder_.file("lib") + ":$LD_LIBRARY_PATH",
                 "libcuda.so.1 cannot be loaded");
}

TEST_F(NoDriver, NoDeviceVisible) { expect_the_cpu("CUDA_VISIBLE_DEVICES=", "the NVIDIA driver"); }

}  // namespace
}  // namespace cuface::test
