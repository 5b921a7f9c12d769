// Flat objects on CUDA against the CPU's, bit for bit: found, followed, lost, found again, at rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/keypoints/cuda/finder.h"
#include "kernels/keypoints/keypoints.h"
#include "kernels/planar/cuda/objects.h"
#include "kernels/planar/objects.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/moving_faces.h"
#include "tests/printed_pictures.h"

namespace cuface {
namespace {

using test::Grey;
using test::GuardedBytes;
using test::lay;
using test::printed;
using test::turned;

constexpr int kWidth = 320, kHeight = 240;

class PlanarCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    stream_.emplace();
    out_.emplace(std::vector<std::uint8_t>(cuda::device_planar_bytes(2)));
    counts_.emplace(std::vector<std::uint8_t>(sizeof(cuda::PlanarCounts)));
    config_.planar.points = 32;
    config_.features.orb.max_keypoints = 400;
    describe({});
    begin();
  }

  void describe(const FeatureConfig& config) {
    features_.assign(pictures_.size(), {});
    for (std::size_t i = 0; i < pictures_.size(); ++i) {
      auto finder = FeatureFinder::create(config, pictures_[i].width, pictures_[i].height);
      ASSERT_TRUE(finder.ok()) << finder.status().message();
      ASSERT_TRUE(finder.value().run(pictures_[i].view(), features_[i]).ok());
    }
  }

  std::vector<PlanarObjects::Reference> references() const {
    std::vector<PlanarObjects::Reference> all;
    for (std::size_t i = 0; i < pictures_.size(); ++i)
      all.push_back({pictures_[i].view(), &features_[i]});
    return all;
  }

  void begin() {
    auto host = PlanarObjects::create(references(), config_);
    auto device = cuda::PlanarObjects::create(references(), config_);
    ASSERT_TRUE(host.ok() && device.ok()) << device.status().message();
    host_.emplace(std::move(host.value()));
    device_.emplace(std::move(device.value()));
    resize();
  }

  void resize() {
    ASSERT_TRUE(host_->resize(kWidth, kHeight).ok());
    const Status resized = device_->resize(kWidth, kHeight);
    ASSERT_TRUE(resized.ok()) << resized.message();
    before_ = nullptr;
  }

  /// The objects of frame n: both move; the second is covered on frames 4 and 5.
  Grey frame_of(int n) const {
    Grey out = printed(kWidth, kHeight, 99);
    lay(out, pictures_[0], turned(12 + 3 * n, 20 + n, 1, 0.02 * n, 2e-4));
    lay(out, pictures_[1], turned(185 - 2 * n, 90, 1, 0.01 * n, 0));
    for (int y = 90; (n == 4 || n == 5) && y < kHeight; ++y)
      std::fill_n(&out.view().at(120, y), 200, std::uint8_t{60});
    return out;
  }

  void step(const Grey& frame, bool is_known = false) {
    SCOPED_TRACE("frame " + std::to_string(number_));
    auto now = std::make_shared<GaussianPyramid>(kWidth, kHeight);
    now->build(frame.view());
    test::DevicePicture picture(kWidth, kHeight);
    picture.set(frame.view());
    auto made = cuda::GaussianPyramid::create(kWidth, kHeight);
    ASSERT_TRUE(made.ok() && made.value()->begin(picture.view()).ok());
    std::shared_ptr<cuda::GaussianPyramid> on_device = std::move(made.value());
    Features known;
    cuda::DeviceBuffer<std::byte> list, scratch;
    if (is_known) {
      auto finder = FeatureFinder::create(config_.features, kWidth, kHeight);
      ASSERT_TRUE(finder.ok() && finder.value().run(frame.view(), known).ok());
      cuda::ScratchLayout layout;
      auto made = cuda::FeatureFinder::create(config_.features, kWidth, kHeight, layout);
      ASSERT_TRUE(made.ok());
      cuda::FeatureFinder& on_gpu = made.value();
      ASSERT_TRUE(take(cuda::DeviceBuffer<std::byte>::create(layout.bytes()), scratch).ok());
      ASSERT_TRUE(take(cuda::DeviceBuffer<std::byte>::create(on_gpu.list_bytes()), list).ok());
      on_gpu.bind(scratch.data());
      ASSERT_TRUE(on_gpu.enqueue(picture.view(), list.data(), *stream_).ok());
      const std::size_t most = cuda::most_of_list(on_gpu.list_bytes(), on_gpu.floats());
      ASSERT_TRUE(device_->expect(static_cast<int>(most)).ok());
    }
    ASSERT_TRUE(host_->step(before_.get(), *now, is_known ? &known : nullptr, number_).ok());
    before_ = now;
    const Status enqueued =
        device_->enqueue(on_device, list.data(), number_, out(), counts(), *stream_);
    ASSERT_TRUE(enqueued.ok()) << enqueued.message();
    ++number_;
    ASSERT_NO_FATAL_FAILURE(check());
    ASSERT_TRUE(device_->expect(0).ok());
  }

  cuda::DevicePlanarObjects* out() {
    return reinterpret_cast<cuda::DevicePlanarObjects*>(out_->data());
  }
  cuda::PlanarCounts* counts() { return reinterpret_cast<cuda::PlanarCounts*>(counts_->data()); }

  void check() {
    const auto bytes = out_->get();
    const auto& got = *reinterpret_cast<const cuda::DevicePlanarObjects*>(bytes.data());
    int place = 0;
    for (std::size_t o = 0; o < pictures_.size(); ++o) {
      const PlanarObjects::Object& want = host_->objects()[o];
      const PlanarPose& pose = want.tracker.pose();
      if (!pose.visible) continue;
      ASSERT_LT(place, got.count);
      const cuda::DevicePlanarObject& one = got.all()[place++];
      ASSERT_EQ(one.picture, static_cast<int>(o));
      ASSERT_EQ(one.id, want.id);
      ASSERT_EQ(one.pose.found, pose.found);
      ASSERT_EQ(one.pose.inliers, pose.inliers);
      ASSERT_EQ(std::memcmp(one.pose.map.m, pose.map.m, sizeof pose.map.m), 0);
      ASSERT_EQ(std::memcmp(one.pose.corners, pose.corners, sizeof pose.corners), 0);
      ++(pose.found ? found_ : followed_);
    }
    ASSERT_EQ(got.count, place);
    visible_ += static_cast<std::uint64_t>(place);
  }

  std::optional<test::Stream> stream_;
  std::vector<Grey> pictures_ = {printed(130, 120, 3), printed(130, 130, 7)};
  std::vector<Features> features_;
  PlanarSearchConfig config_;
  std::optional<PlanarObjects> host_;
  std::optional<cuda::PlanarObjects> device_;
  std::shared_ptr<GaussianPyramid> before_;
  std::uint64_t number_ = 0, visible_ = 0;
  std::optional<GuardedBytes> out_, counts_;
  int found_ = 0, followed_ = 0;
};

#define STEP(...) ASSERT_NO_FATAL_FAILURE(__VA_ARGS__)

TEST_F(PlanarCuda, ObjectsAreFoundFollowedLostAndFoundAgain) {
  for (int n = 0; n < 8; ++n) STEP(step(frame_of(n), n == 6));
  test::compared("objects found", found_, 3);
  test::compared("objects followed", followed_, 7);
  // A gap: at rest. Then nothing goes on.
  ASSERT_TRUE(device_->rest(out(), counts(), *stream_).ok());
  STEP(check());
  host_->lose();
  device_->lose();
  before_ = nullptr;
  ASSERT_TRUE(device_->rest(out(), counts(), *stream_).ok());
  STEP(check());
  EXPECT_EQ(host_->objects()[0].id, 1u);
  STEP(step(frame_of(3)));
  const auto counted = counts_->get();
  const auto& all = *reinterpret_cast<const cuda::PlanarCounts*>(counted.data());
  EXPECT_EQ(all.visible, visible_);
  EXPECT_GE(all.searches, 3u);
  EXPECT_GE(all.lost, 1u);
}

TEST_F(PlanarCuda, SearchesComeInTheirInterval) {
  config_.interval = 2;
  STEP(begin());
  number_ = 1;
  for (int n = 0; n < 3; ++n) STEP(step(frame_of(n)));
  EXPECT_EQ(found_, 2) << "on the second frame";
  test::compared("objects followed", followed_, 2);
}

/// Of 64 and of 36 floats, which others have found: none are here.
TEST_F(PlanarCuda, ObjectsAreFoundBySurfsDescriptors) {
  config_.features.detector = FeatureDetector::kHessian;
  config_.features.descriptor = FeatureDescriptor::kSurf;
  if (!validate(config_.features).ok()) GTEST_SKIP() << "built without SURF";
  for (const int size : {64, 36}) {
    SCOPED_TRACE(size);
    config_.features.surf.descriptor_size = size;
    STEP(describe(config_.features));
    STEP(begin());
    number_ = 0;
    for (const int n : {0, 1, 4, 6}) STEP(step(frame_of(n), true));
  }
  test::compared("objects found", found_, 6);
  test::compared("objects followed", followed_, 6);
  auto now = cuda::GaussianPyramid::create(kWidth, kHeight);
  test::DevicePicture picture(kWidth, kHeight);
  ASSERT_TRUE(now.ok() && now.value()->begin(picture.view()).ok());
  EXPECT_EQ(device_->enqueue(std::move(now.value()), nullptr, 9, out(), nullptr, *stream_).code(),
            StatusCode::kInvalidArgument);
  features_[1].floats.resize(64 * features_[1].keypoints.size());
  const std::vector<const Features*> uneven = {&features_[0], &features_[1]};
  EXPECT_EQ(device_->describe(uneven).code(), StatusCode::kInvalidArgument);
}

TEST_F(PlanarCuda, WhatIsNotThereIsNotFound) {
  STEP(step(printed(kWidth, kHeight, 99)));
  STEP(step(Grey(kWidth, kHeight, 80)));
  EXPECT_EQ(found_ + followed_, 0);
  EXPECT_FALSE(device_->resize(0, 0).ok());
}

/// Of frames of 1080p with three cards, which move forth and back, and of one without any.
TEST_F(PlanarCuda, Time) {
  if (test::under_tool("emulator")) GTEST_SKIP() << "takes a minute";
  constexpr int kWide = 1920, kHigh = 1080, kCards = 3;
  std::vector<Grey> cards;
  std::vector<Features> features(kCards);
  std::vector<PlanarObjects::Reference> references;
  for (unsigned i = 0; i < kCards; ++i) cards.push_back(printed(400, 300, 10 + i));
  for (std::size_t i = 0; i < kCards; ++i) {
    auto finder = FeatureFinder::create({}, 400, 300);
    ASSERT_TRUE(finder.ok() && finder.value().run(cards[i].view(), features[i]).ok());
    references.push_back({cards[i].view(), &features[i]});
  }
  auto made = cuda::PlanarObjects::create(references, {});
  ASSERT_TRUE(made.ok()) << made.status().message();
  cuda::PlanarObjects& objects = made.value();
  ASSERT_TRUE(objects.resize(kWide, kHigh).ok());
  const auto frame_with = [&](int moved, std::size_t count) {
    Grey out = printed(kWide, kHigh, 99);
    for (std::size_t i = 0; i < count; ++i)
      lay(out, cards[i], turned(100 + 600 * static_cast<double>(i) + 3 * moved, 300, 1.1, 0.05, 0));
    return out;
  };
  test::DevicePicture pictures[] = {{kWide, kHigh}, {kWide, kHigh}};
  std::shared_ptr<cuda::GaussianPyramid> pyramids[2];
  for (auto& pyramid : pyramids) {
    auto one = cuda::GaussianPyramid::create(kWide, kHigh);
    ASSERT_TRUE(one.ok());
    pyramid = std::move(one.value());
  }
  GuardedBytes out(std::vector<std::uint8_t>(cuda::device_planar_bytes(kCards)));
  auto* found = reinterpret_cast<cuda::DevicePlanarObjects*>(out.data());
  std::uint64_t number = 0;
  const auto look = [&](int i, cuda::Launcher launch) {
    ASSERT_TRUE(pyramids[i]->begin(pictures[i].view()).ok());
    ASSERT_TRUE(objects.enqueue(pyramids[i], nullptr, number++, found, nullptr, launch).ok());
  };
  const auto visible = [&] {
    const auto bytes = out.get();
    return reinterpret_cast<const cuda::DevicePlanarObjects*>(bytes.data())->count;
  };
  for (const std::size_t count : {std::size_t{kCards}, std::size_t{0}}) {
    for (int i = 0; i < 2; ++i) pictures[i].set(frame_with(i, count).view());
    look(0, *stream_);
    EXPECT_EQ(visible(), static_cast<int>(count));
    cuda::LaunchList list;
    for (const int i : {1, 0}) look(i, cuda::Launcher(list));
    const double us = test::median_us(*stream_, list) / 2;
    EXPECT_EQ(visible(), static_cast<int>(count));
    test::report_time(count ? "flat objects, 3 followed" : "flat objects, 3 looked for",
                      "1920x1080", us);
  }
}

}  // namespace
}  // namespace cuface
