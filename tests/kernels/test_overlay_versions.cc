// Vector code draws the bytes that the plain version draws.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "tests/fewer.h"
#include "tests/kernels/overlay_frames.h"
#include "tests/kernels/versions.h"

namespace cuface::test {
namespace {

class OverlayVersions : public EveryVersion {};

TEST_P(OverlayVersions, DrawTheSameBytes) {
  std::mt19937 random(7);
  unsigned long compared = 0, changed = 0;
  Turn turn;
  for (const char* name : {"GRAY8", "Y444", "I420", "Y42B", "NV12", "GBR", "BGRx"}) {
    for (const auto& [width, height] : {std::pair{640, 360}, {333, 171}, {64, 33}, {31, 32}}) {
      for (int i = 0; i < 6; ++i) {
        if (!turn()) continue;
        const OverlayFrame plain(layout(name), width, height), vector(layout(name), width, height);
        // Noise, and both ends of the range.
        for (const OverlayFrame* frame : {&plain, &vector}) {
          std::minstd_rand noise(static_cast<unsigned>(i + 1));
          frame->paint([&](int, int, int) {
            const auto v = static_cast<int>(noise() >> 8 & 511);
            return v < 256 ? v : v & 1 ? 255 : 0;
          });
        }
        const std::vector<int> before = plain.all();
        const auto side = static_cast<float>(height) * (0.3f + 0.15f * static_cast<float>(i));
        const FaceList faces = some_faces(width, height, static_cast<float>(random() % 64) - 8,
                                          static_cast<float>(random() % 32) - 4, side);
        OverlayStyle wanted = style(kEverything & ~static_cast<unsigned>(kDrawPixelate), 1 + i);
        const unsigned alphas[] = {255, 254, 128, 127, 1, 77};
        wanted.box_color = alphas[i] << 24 | (random() & 0xffffff);
        wanted.landmark_color = alphas[i] << 24 | 0xffffff;
        wanted.text_color = alphas[i] << 24;
        draw_faces(vector.view(), ColorMatrix::kBt709, faces, wanted);
        ASSERT_TRUE(simd::force("scalar").ok());
        draw_faces(plain.view(), ColorMatrix::kBt709, faces, wanted);
        ASSERT_TRUE(simd::force(GetParam()).ok());
        ASSERT_EQ(vector.all(), plain.all()) << name << ' ' << width << 'x' << height << ' ' << i;
        ASSERT_EQ(vector.damage(), 0);
        ++compared;
        changed += plain.all() != before;
      }
    }
  }
  EXPECT_EQ(compared, Turn::of(7 * 4 * 6));
  EXPECT_GT(changed, compared / 2);
}

CUFACE_EVERY_VERSION(OverlayVersions);

}  // namespace
}  // namespace cuface::test
