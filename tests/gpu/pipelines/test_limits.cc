// What the elements do not do on CUDA, and how they say so: more faces than a list holds, integers.
// Scaled windows, which they do.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/gpu/pipelines/both_chains.h"
#include "tests/gpu/pipelines/pipeline.h"

namespace cuface::test {
namespace {

class LimitsCuda : public BothChains {};

/// One face, a quarter of its size, in rows and columns over the whole picture; empty when the face
/// is not there.
std::string many_faces(int width, int height) {
  constexpr int kWidth = 387, kHeight = 541;  // of the picture that tests/gpu/tools/pack makes
  const char* folder = g_getenv("CUFACE_GPU_DATA");
  std::ifstream in(std::string(folder ? folder : ".") + "/single_face.gray", std::ios::binary);
  const std::string face{std::istreambuf_iterator<char>(in), {}};
  if (face.size() != std::size_t{kWidth * kHeight}) return "";
  std::string picture;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const int from_x = x % (kWidth / 4) * 4, from_y = y % (kHeight / 4) * 4;
      int sum = 8;
      for (int i = 0; i < 16; ++i)
        sum += static_cast<unsigned char>(
            face[static_cast<std::size_t>((from_y + i / 4) * kWidth + from_x + i % 4)]);
      picture.push_back(static_cast<char>(sum / 16));
    }
  return picture;
}

/// Six pictures of many faces that move by three pixels a frame.
class ManyFacesCuda : public LimitsCuda {
 protected:
  static constexpr int kWidth = 1920, kHeight = 1080, kFrames = 6, kStep = 3;

  void SetUp() override {
    LimitsCuda::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const std::string first = many_faces(kWidth, kHeight);
    if (first.empty()) GTEST_SKIP() << "no single_face.gray (CUFACE_GPU_DATA)";
    std::string all;
    for (int frame = 0; frame < kFrames; ++frame)
      for (int y = 0; y < kHeight; ++y) {
        const auto row = first.begin() + std::ptrdiff_t{y} * kWidth;
        all.append(row + frame * kStep, row + kWidth).append(row, row + frame * kStep);
      }
    write_file(folder_.file("clip.gray"), all);
  }
  std::string source() const {
    return "filesrc location=" + folder_.file("clip.gray") + " blocksize=2073600 ! rawvideoparse " +
           "format=gray8 width=1920 height=1080 framerate=25/1";
  }

  struct Detected {
    std::vector<std::string> lines, warnings;
  };
  /// Every frame searched.
  Detected detected(const std::string& settings) const {
    Pipeline pipeline(source() + " ! cufacedetect name=detect redetect-interval=1 " + settings +
                      " ! cufacepublish location=" + folder_.file("detected") + " ! fakesink");
    const Ending ending = pipeline.play();
    EXPECT_TRUE(ending.eos) << settings << ": " << ending.error;
    pipeline.set_state(GST_STATE_NULL);
    return {lines("detected"), ending.warnings};
  }
};

TEST_F(ManyFacesCuda, AsManyAsMaxFacesAreFollowed) {
  for (const int most : {1, 7, 33, 63, 64}) {
    const auto found = same_on_both(source(), "max-faces=" + std::to_string(most));
    ASSERT_EQ(found.size(), std::size_t{kFrames});
    for (const std::string& line : found) EXPECT_EQ(faces_of(line), most);
    EXPECT_NE(found.front(), found.back());
    std::printf("%zu lines with %ld faces are equal, max-faces=%d\n", found.size(), faces_in(found),
                most);
  }
}

/// A list on the GPU holds 64, and culktrack follows 64: more is asked for in vain, of all
/// elements. It is said once, and only where it is so.
TEST_F(ManyFacesCuda, MoreThanAListHoldsIsAWarningAndNoMore) {
  const Detected all = detected("backend=cpu max-faces=1000");
  ASSERT_EQ(all.lines.size(), std::size_t{kFrames});
  EXPECT_GT(faces_of(all.lines[0]), 64);
  const Detected on_gpu = detected("backend=cuda max-faces=1000");
  const Detected limited = detected("backend=cpu max-faces=64");
  const Detected fits = detected("backend=cuda max-faces=64");
  expect_same_lines(limited.lines, on_gpu.lines, "max-faces=1000");
  expect_same_lines(limited.lines, fits.lines, "max-faces=64");
  EXPECT_EQ(faces_in(on_gpu.lines), kFrames * 64);
  for (const Detected* quiet : {&all, &limited, &fits})
    EXPECT_TRUE(quiet->warnings.empty()) << quiet->warnings[0];
  ASSERT_EQ(on_gpu.warnings.size(), 1u);
  for (const char* said : {"detect: ", "max-faces is 1000", "at most 64 faces", "backend=cpu"})
    EXPECT_NE(on_gpu.warnings[0].find(said), std::string::npos) << on_gpu.warnings[0];
  std::printf("%ld faces there; said once: %s\n", faces_of(all.lines[0]),
              on_gpu.warnings[0].c_str());
}

/// Windows are scaled from the first frame on, or from the fourth.
TEST_F(ManyFacesCuda, WindowsAreScaledThereToo) {
  const std::string search = "redetect-interval=1 scale-factor=1.2 ";
  const auto found = same_on_both(source(), search + "scale-mode=window");
  const auto pyramid = same_on_both(source(), search);
  ASSERT_EQ(found.size(), std::size_t{kFrames});
  EXPECT_GE(faces_in(found), 10 * kFrames);
  EXPECT_NE(found, pyramid);
  std::vector<std::string> changed[2];
  for (const bool on_gpu : {false, true}) {
    const std::string out = on_gpu ? "gpu" : "cpu";
    Pipeline pipeline(source() + " ! " +
                      chain(out, search + (on_gpu ? "backend=cuda" : "backend=cpu")));
    int frames = 0;
    pipeline.on_buffer("detect", "sink", [&](GstBuffer*) {
      if (++frames == 4) pipeline.set("detect", "scale-mode", "window");
    });
    const Ending ending = pipeline.play();
    EXPECT_TRUE(ending.eos) << ending.error;
    pipeline.set_state(GST_STATE_NULL);
    changed[on_gpu] = lines(out);
  }
  expect_same_lines(changed[0], changed[1], "changed while playing");
  EXPECT_EQ(changed[0].front(), pyramid.front());
  EXPECT_NE(changed[0].back(), pyramid.back());
}

/// Before playing and while playing.
TEST_F(LimitsCuda, IntegersAreRefusedWithTheWayOut) {
  CUFACE_NEEDS_NETWORK();
  const std::string start =
      "videotestsrc num-buffers=20 ! capsfilter "
      "caps=video/x-raw,format=NV12,width=320,height=180,framerate=25/1 ! " +
      std::string("cufacedetect name=detect backend=cuda model=") + network_file();
  const auto expect_refused = [](const Ending& ending) {
    EXPECT_FALSE(ending.eos);
    EXPECT_EQ(ending.source, "detect");
    for (const char* said :
         {"precision=int16 works on the CPU only", "precision=float", "backend=cpu"})
      EXPECT_NE(ending.error.find(said), std::string::npos) << ending.error;
  };
  {
    Pipeline pipeline(start + " precision=int16 ! fakesink");
    expect_refused(pipeline.play());
  }
  Pipeline pipeline(start + " ! fakesink");
  int frames = 0;
  pipeline.on_buffer("detect", "sink", [&](GstBuffer*) {
    if (++frames == 10) pipeline.set("detect", "precision", "int16");
  });
  expect_refused(pipeline.play());
  EXPECT_EQ(frames, 10);
}

/// Gaps hold noise, one or two in a row: what is found on them and behind them is the same on both.
TEST_F(LimitsCuda, GapsAreNotLookedAt) {
  long held = 0;
  const auto play = [&](const std::string& backend, const std::string& landmark) {
    Pipeline pipeline(decoded_on_cpu(clip(kPexels)) +
                      " ! videoconvert ! video/x-raw,format=BGRx ! identity name=gaps ! " +
                      "cufacedetect " + backend + " ! culktrack ! cufacelandmark " + landmark +
                      " ! cufacepublish location=" + folder_.file(backend) +
                      " ! fakesink sync=false");
    int frame = 0;
    pipeline.on_buffer("gaps", "src", [&](GstBuffer* buffer) {
      const int turn = frame++ % 7;
      if (turn == 2 || turn >= 5) {
        GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_GAP);
        GstMapInfo map;
        ASSERT_TRUE(gst_buffer_map(buffer, &map, GST_MAP_WRITE));
        for (gsize i = 0; i < map.size; ++i) map.data[i] = static_cast<guint8>(i * i >> 7);
        gst_buffer_unmap(buffer, &map);
        ++held;
      }
    });
    const Ending ending = pipeline.play();
    EXPECT_TRUE(ending.eos) << ending.error;
    pipeline.set_state(GST_STATE_NULL);
    return lines(backend);
  };
  for (const char* landmark : {"", "smooth=0.5 samples=1 refine=false"}) {
    const auto expected = play("backend=cpu", landmark);
    expect_same_lines(expected, play("backend=cuda", landmark), landmark);
    EXPECT_GE(faces_in(expected), 460);
  }
  EXPECT_GE(held, 800);
}

/// What the tracker wished on the frame before is what counts, also behind it: by then its faces of
/// this frame are written where those of the frame before were.
TEST_F(LimitsCuda, ADetectorBehindTheTrackerHearsOfTheFrameBefore) {
  std::uint64_t searches = 0;
  const auto play = [&](const std::string& decoded, const std::string& backend,
                        const std::string& out) {
    const std::string detect = " ! cufacedetect redetect-interval=30 " + backend;
    // Hardly any point comes back so near: tracks are lost all the time.
    Pipeline pipeline(decoded + detect + " name=first ! culktrack forward-backward=0.02 " +
                      "hold-time=0 revive-time=0" + detect +
                      " name=second ! cufacepublish location=" + folder_.file(out) +
                      " ! fakesink sync=false");
    const Ending ending = pipeline.play();
    EXPECT_TRUE(ending.eos) << out << ": " << ending.error;
    searches = pipeline.stat("second", "searches");
    pipeline.set_state(GST_STATE_NULL);
    return lines(out);
  };
  const auto expected = play(decoded_on_cpu(clip(kPexels)), "backend=cpu", "cpu");
  const auto got = play(decoded_on_gpu(clip(kPexels)), "", "gpu");
  expect_same_lines(expected, got, "a detector behind the tracker");
  std::printf("searches behind the tracker: %lu of %zu frames\n", searches, got.size());
  EXPECT_GE(searches, 30u) << "no track was lost";
  EXPECT_LE(searches, 400u) << "there was no frame without a wish";
}

}  // namespace
}  // namespace cuface::test
