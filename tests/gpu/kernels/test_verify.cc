// Followed faces verified on CUDA against the CPU: anywhere in noise, and turned in natural
// pictures.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/turn/turn.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/detect_pair.h"
#include "tests/gpu/kernels/random_cascade.h"

namespace cuface {
namespace {

using cuda::DeviceFaces;
using test::GuardedBytes;
using test::Model;
using test::padded;
using test::Pair;
using test::Picture;
using test::shared;
using test::smooth;

class VerifyCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    Pair::restart();
  }
  float real(float low, float high) {
    return low + (high - low) * static_cast<float>(random_() % 4096) / 4095;
  }
  Roll any_roll() {
    const double angle = real(-3.2f, 3.2f);
    return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
  }
  std::vector<Followed> followed(int count, const Picture& picture, float largest) {
    std::vector<Followed> faces;
    for (int i = 0; i < count; ++i) {
      const float side = real(15, largest);
      const auto w = static_cast<float>(picture.width), h = static_cast<float>(picture.height);
      faces.push_back({{real(-side, w), real(-side, h), side, side}, any_roll()});
      if (i % 9 == 5) faces.back().box.x = std::numeric_limits<float>::quiet_NaN();
      if (i % 9 == 7) faces.back().roll = {};
    }
    return faces;
  }
  std::mt19937 random_{7};
};

TEST_F(VerifyCuda, FacesAnywhereInNoise) {
  const std::vector<Model> models = {shared(test::random_cascade(11, 20, 20, 13, false)),
                                     shared(test::random_cascade(36, 24, 16, 12, true)),
                                     shared(test::random_cascade(20, 18, 37, 5, true))};
  std::vector<Picture> pictures = {smooth(161, 121, 5, 2, 3, 7), smooth(257, 203, 9, 4, 0, 63),
                                   smooth(30, 26, 2, 5), smooth(333, 257, 7, 6)};
  // Searches that find little, so that there is something left to verify.
  std::vector<DetectConfig> all(6);
  all[0].min_neighbors = 0;
  all[1].min_neighbors = 3;
  all[2].min_neighbors = 1, all[2].max_faces = 5, all[2].detect_scale = 3;
  all[3].min_neighbors = 1, all[3].min_size = 70, all[3].max_size = 80;
  all[4].min_neighbors = 1, all[4].detect_scale = 4, all[4].scale_factor = 1.2;
  all[5].min_neighbors = 1, all[5].roll = 45;
  if (test::under_tool()) pictures.resize(1), all.resize(2);
  int rounds = 0;
  long verified = 0;
  for (const Model& model : models)
    for (const Picture& picture : pictures)
      for (std::size_t c = 0; c < all.size(); ++c) {
        all[c].verify = true;
        Pair pair(model, all[c], picture.width, picture.height);
        const long before = Pair::turned;
        for (const int count : {0, 1, 5, 17, 30, 64, 64}) {
          SCOPED_TRACE(model->name + " " + std::to_string(picture.width) + " configuration " +
                       std::to_string(c) + " " + std::to_string(count) + " followed");
          pair.follow(followed(count, picture, 160));
          const bool band = all[c].roll == 0 && count == 17;
          pair.search_band(band ? SearchRegion{static_cast<std::int32_t>(c % 3), 3}
                                : SearchRegion{});
          if (!band) pair.search_band(kWholePicture);
          pair.check(picture);
          if (HasFatalFailure()) return;
          ++rounds;
        }
        if (all[c].roll == 0) verified += Pair::turned - before;
      }
  test::compared("searches", rounds, test::under_tool() ? 20 : 400);
  test::compared("faces", Pair::faces_compared, test::under_tool() ? 100 : 3'000);
  test::compared("faces verified turned", verified, test::under_tool() ? 5 : 100);
}

// Where what the search finds is nothing, nothing is verified; and what an earlier frame's search
// has left in the scratch is of no account.
TEST_F(VerifyCuda, TheRunFlagDecidesOnTheDevice) {
  const Picture picture = smooth(200, 150, 4, 31);
  DetectConfig config;
  config.min_neighbors = 0;
  config.verify = true;
  Pair pair(shared(test::random_cascade(11, 20, 20, 13, false)), config, picture.width,
            picture.height);
  GuardedBytes in(picture.bytes), flag(sizeof(std::int32_t), 0);
  const auto* run = reinterpret_cast<const std::int32_t*>(flag.data());
  for (std::uint8_t wanted : {0, 1, 0, 2, 0}) {
    flag.set({0, 0, wanted, 0});
    pair.follow(followed(wanted == 2 ? 0 : 40, picture, 100));
    ASSERT_TRUE(pair.enqueue(picture.at(in.data()), run).ok());
    if (wanted) {
      pair.compare(picture);
      continue;
    }
    DeviceFaces got;
    std::memcpy(static_cast<void*>(&got), pair.out().get().data(), sizeof got);
    EXPECT_EQ(got.searched, 0);
    EXPECT_EQ(got.count, 0);
    pair.out().set(std::vector<std::uint8_t>(pair.out().size(), test::kCanary));
  }
  test::compared("faces", Pair::faces_compared, 10);
}

TEST_F(VerifyCuda, TurnedFacesOfNaturalPicturesAndTimes) {
  const auto pictures = test::load_gray_pictures();
  Model model;
  for (const Model& m : test::real_cascades())
    if (m->name == "haarcascade_frontalface_alt") model = m;
  if (pictures.empty() || !model)
    GTEST_SKIP() << "no pictures or cascade: set CUFACE_GPU_DATA and CUFACE_MODEL_PATH";
  DetectConfig config;
  config.min_size = 30;
  int used = 0;
  for (const test::GrayPicture& p : pictures) {
    if (test::under_tool() && used == 1) break;
    DetectResult upright;
    auto cpu = Detector::create(Backend::kCpu, model, config, p.width, p.height);
    ASSERT_TRUE(cpu.ok() && cpu.value()->enqueue(p.view(), upright).ok());
    if (upright.faces.empty()) continue;
    ++used;
    for (const int degrees : {-70, -35, 25, 50}) {
      const Turn turn = make_turn(-degrees, p.width, p.height);
      std::vector<std::uint8_t> pixels(
          static_cast<std::size_t>(turn.canvas_width * turn.canvas_height));
      ASSERT_TRUE(
          turn_picture(p.view(), turn,
                       {pixels.data(), turn.canvas_width, turn.canvas_height, turn.canvas_width})
              .ok());
      const Picture turned = padded(pixels, turn.canvas_width, turn.canvas_height, 1, 3);
      const double angle = degrees * 3.14159265358979 / 180;
      const double c = std::cos(angle), s = std::sin(angle);
      std::vector<Followed> faces;
      for (const Detection& d : upright.faces) {
        const double x = d.box.x + (d.box.w - p.width) / 2.0;
        const double y = d.box.y + (d.box.h - p.height) / 2.0;
        const auto side = static_cast<float>(d.box.w);
        if (faces.size() == cuda::kMaxFaces) break;
        faces.push_back(
            {{static_cast<float>(x * c - y * s + turn.canvas_width / 2.0) - side / 2 + real(-2, 2),
              static_cast<float>(x * s + y * c + turn.canvas_height / 2.0) - side / 2, side, side},
             {static_cast<float>(c), static_cast<float>(s)}});
      }
      SCOPED_TRACE(p.name + " by " + std::to_string(degrees));
      config.verify = true;
      Pair pair(model, config, turned.width, turned.height);
      pair.follow(faces);
      pair.check(turned);
      if (HasFatalFailure()) return;
      if (degrees != 25) continue;
      GuardedBytes in(turned.bytes);
      const auto time = [&](const char* what) {
        test::report_time(std::string("detect and verify, ") + what, p.name,
                          test::median_us(pair.stream(), [&] {
                            EXPECT_TRUE(pair.enqueue(turned.at(in.data())).ok());
                          }));
      };
      time((std::to_string(faces.size()) + " followed").c_str());
      pair.follow({});
      time("none followed");
      config.verify = false;
      Pair plain(model, config, turned.width, turned.height);
      test::report_time("detect without verify", p.name, test::median_us(plain.stream(), [&] {
                          EXPECT_TRUE(plain.enqueue(turned.at(in.data())).ok());
                        }));
    }
  }
  test::compared("pictures with faces", used, 1);
  test::compared("faces verified turned", Pair::turned, test::under_tool() ? 3 : 20);
}

}  // namespace
}  // namespace cuface
