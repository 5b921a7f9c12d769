// Elements that look for no faces behind the decoder, beside decoding alone.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/gpu/pipelines/chains.h"

namespace cuface::test {
namespace {

constexpr int kRounds = 3;
constexpr double kGoal = 98;

struct Beside {
  const char* what;
  std::string elements;  ///< the last one without its name
  const char* count;     ///< of the last one's stats
  std::uint64_t least;   ///< of it, in the clip
};

/// Seconds of several streams of the clip, of whose last elements so much must have been found.
double seconds_of(const std::string& decoded, const Beside& beside, int streams) {
  const auto last = [](int i) { return "last" + std::to_string(i); };
  std::string all;
  for (int i = 0; i < streams; ++i)
    all += decoded + " ! " + beside.elements + " name=" + last(i) + " ! fakesink sync=false ";
  Pipeline pipeline(all);
  const double seconds = seconds_to_play(pipeline);
  for (int i = 0; i < streams; ++i) {
    EXPECT_EQ(pipeline.stat(last(i), "frames"), kBenchFrames) << beside.what;
    EXPECT_GE(pipeline.stat(last(i), beside.count), beside.least) << beside.what;
  }
  return seconds;
}

/// In turns with decoding alone. One stream is limited by its decoder, eight by all decoders that
/// the GPU has.
void compare(const std::string& clip, const std::vector<Beside>& all,
             const std::vector<int>& numbers_of_streams) {
  const std::string decoded = beside_the_decoder(clip);
  for (const int streams : numbers_of_streams) {
    std::vector<double> decoding;
    std::vector<std::vector<double>> with(all.size());
    for (int round = 0; round < kRounds; ++round) {
      decoding.push_back(seconds_to_play(decoding_only(decoded, streams)));
      for (std::size_t i = 0; i < all.size(); ++i)
        with[i].push_back(seconds_of(decoded, all[i], streams));
    }
    const double frames = static_cast<double>(streams) * kBenchFrames;
    const double alone = frames / quantile(decoding, 0.5);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double rate = frames / quantile(with[i], 0.5), percent = 100 * rate / alone;
      std::printf(
          "{\"what\":\"%s beside the decoder\",\"size\":\"1920x1080\",\"clip\":\"%s\","
          "\"streams\":%d,\"frames/s\":%.0f,\"frames/s decoding only\":%.0f,\"percent\":%.1f}\n",
          all[i].what, clip.c_str(), streams, rate, alone, percent);
      std::printf("goal of %s, %d streams: %.1f %%, at least %.0f: %s\n", all[i].what, streams,
                  percent, kGoal, percent >= kGoal ? "met" : "MISSED");
    }
  }
}

/// cuedgedetect makes the edges that cumotiondetect takes.
TEST_F(ChainsCuda, WithoutFacesBesideTheDecoder) {
  constexpr char kClip[] = "pexels1080";
  CUFACE_NEEDS_BENCH_CLIP(kClip);
  compare(kClip,
          {{"edges and motion by them", "cuedgedetect output=meta ! cumotiondetect method=edges",
            "moving-frames", 100},
           {"keypoints", "cufeatures", "keypoints", 100'000}},
          {1, 8});
}

/// Cards that tests/gpu/tools/cards_clip has made.
TEST_F(ChainsCuda, ThreeFlatObjectsBesideTheDecoder) {
  constexpr char kClip[] = "cards1080";
  CUFACE_NEEDS_BENCH_CLIP(kClip);
  const std::string clip = bench_clip(kClip), stem = clip.substr(0, clip.rfind('.'));
  std::string elements = "cuplanartrack reference=";
  for (const char* card : {"-0.png", "-1.png", "-2.png"}) {
    if (elements.back() != '=') elements += ',';
    elements.append(stem).append(card);
  }
  compare(kClip, {{"three flat objects", elements, "visible-objects", 3 * kBenchFrames * 9 / 10}},
          {1});
}

}  // namespace
}  // namespace cuface::test
