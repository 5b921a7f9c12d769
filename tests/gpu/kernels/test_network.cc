// The network on CUDA against the CPU's: every bit of every cell, and the faces.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/colour/colour_cuda.h"
#include "kernels/network/cuda/network.h"
#include "kernels/network/faces.h"
#include "kernels/network/network.h"
#include "models/models.h"
#include "tests/gpu/gpu.h"
#include "tests/kernels/networks.h"

namespace cuface {
namespace {

using cuda::DeviceNetworkFaces;
using Model = std::shared_ptr<const NetworkModel>;

std::vector<Bgr> noise(int width, int height, unsigned seed) {
  return test::BgrPicture(width, height, seed).pixels;
}

/// A network on both processors, for one picture size.
class Both {
 public:
  Both(const Model& model, const NetworkConfig& config, int width, int height)
      : width_(width),
        height_(height),
        out_(sizeof(DeviceNetworkFaces), test::kCanary),
        picture_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * sizeof(Bgr),
                 test::kCanary) {
    auto cpu = FaceNetwork::create(Backend::kCpu, model, config, width, height);
    auto gpu = cuda::FaceNetwork::create(model, config, width, height);
    EXPECT_TRUE(cpu.ok()) << cpu.status().message();
    EXPECT_TRUE(gpu.ok()) << gpu.status().message();
    if (cpu.ok()) cpu_ = std::move(cpu.value());
    if (gpu.ok()) gpu_ = std::move(gpu.value());
  }

  ImageView<const Bgr> on_device() {
    return {reinterpret_cast<const Bgr*>(picture_.data()), width_, height_, stride()};
  }
  DeviceNetworkFaces* out() { return reinterpret_cast<DeviceNetworkFaces*>(out_.data()); }
  cuda::FaceNetwork& gpu() { return *gpu_; }

  void set_picture(const std::vector<Bgr>& pixels) {
    std::vector<std::uint8_t> bytes(pixels.size() * sizeof(Bgr));
    std::memcpy(bytes.data(), pixels.data(), bytes.size());
    picture_.set(bytes);
  }

  /// Faces found.
  int compare(const std::vector<Bgr>& pixels) {
    set_picture(pixels);
    std::vector<NetworkFace> faces;
    const Status cpu = cpu_->enqueue({pixels.data(), width_, height_, stride()}, faces);
    EXPECT_TRUE(cpu.ok()) << cpu.message();
    out_.set(std::vector<std::uint8_t>(out_.size(), test::kCanary));
    const Status gpu = submit_(stream_, [&](cuda::Launcher launch) {
      return gpu_->enqueue(on_device(), nullptr, out(), launch);
    });
    EXPECT_TRUE(gpu.ok()) << gpu.message();
    const std::vector<std::uint8_t> bytes = out_.get();
    std::vector<NetworkCell> cells(gpu_->plan().cells);
    EXPECT_EQ(cudaMemcpy(cells.data(), gpu_->cells(), cells.size() * sizeof(NetworkCell),
                         cudaMemcpyDeviceToHost),
              cudaSuccess);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (std::memcmp(&cells[i], &cpu_->cells()[i], sizeof(NetworkCell)) == 0) continue;
      ADD_FAILURE() << "cell " << i << " of " << cells.size() << ": " << cells[i].classes
                    << " on CUDA, " << cpu_->cells()[i].classes << " on the CPU";
      break;
    }
    DeviceNetworkFaces found;
    std::memcpy(static_cast<void*>(&found), bytes.data(), sizeof found);
    EXPECT_EQ(found.count, static_cast<int>(faces.size()));
    for (std::size_t i = 0; i < faces.size() && static_cast<int>(i) < found.count; ++i)
      EXPECT_EQ(std::memcmp(&found.faces[i], &faces[i], sizeof faces[i]), 0) << "face " << i;
    return found.count;
  }

  /// Nothing is written where the stage is told not to run.
  void check_idle() {
    out_.set(std::vector<std::uint8_t>(out_.size(), test::kCanary));
    test::GuardedBytes run(std::vector<std::uint8_t>(4, 0));
    EXPECT_TRUE(gpu_->enqueue(on_device(), reinterpret_cast<const std::int32_t*>(run.data()), out(),
                              stream_)
                    .ok());
    EXPECT_EQ(out_.get(), std::vector<std::uint8_t>(out_.size(), test::kCanary));
  }

 private:
  std::ptrdiff_t stride() const { return width_ * static_cast<std::ptrdiff_t>(sizeof(Bgr)); }

  int width_, height_;
  std::unique_ptr<FaceNetwork> cpu_;
  std::unique_ptr<cuda::FaceNetwork> gpu_;
  test::GuardedBytes out_, picture_;
  test::Stream stream_;
  test::Submitter submit_;
};

TEST(NetworkCuda, HasTheBitsOfTheCpu) {
  CUFACE_NEEDS_GPU();
  long faces = 0, networks = 0;
  const auto compare = [&](const Model& model, const NetworkConfig& config, int width, int height) {
    SCOPED_TRACE(std::to_string(width) + "x" + std::to_string(height));
    Both both(model, config, width, height);
    faces += both.compare(noise(width, height, static_cast<unsigned>(width)));
    faces += both.compare(noise(width, height, static_cast<unsigned>(height + 1)));
    both.check_idle();
    ++networks;
  };
  const NetworkConfig all = {.score_threshold = 0.3f};
  for (const auto& [width, height] :
       {std::pair(640, 360), {1, 1}, {31, 17}, {33, 95}, {320, 180}, {16384, 20}, {20, 16384}})
    compare(test::random_yunet(static_cast<unsigned>(width)), all, width, height);
  for (int channels : {1, 3, 6}) compare(test::random_yunet(5, channels), all, 200, 120);
  for (unsigned seed = 0; seed < static_cast<unsigned>(test::cases(40)); ++seed)
    compare(test::random_network(seed), all, 70, 90);
  test::compared("networks", networks, 40);
  test::compared("faces", faces, 300);
}

// More cells than may be looked at, by whatever score: where ties are, and where all is suppressed.
TEST(NetworkCuda, TheBestFiveThousandAreLookedAt) {
  CUFACE_NEEDS_GPU();
  for (const float nms : {0.0f, 0.3f, 1.0f}) {
    Both both(test::random_yunet(9, 2), {.score_threshold = 0, .nms_threshold = nms}, 1280, 720);
    EXPECT_GT(both.compare(noise(1280, 720, 3)), 0) << nms;
    EXPECT_GT(both.compare(std::vector<Bgr>(1280 * 720)), 0) << nms;
  }
}

TEST(NetworkCuda, AFaceInEveryCellTakesNotLong) {
  CUFACE_NEEDS_GPU();
  constexpr int kWidth = 1280, kHeight = 1024;
  const test::Stream stream;
  const Model model = test::sure_of_all(*test::random_yunet(9, 2));
  for (const float nms : {0.0f, 0.3f, 0.999f, 1.0f}) {
    Both both(model, {.nms_threshold = nms}, kWidth, kHeight);
    EXPECT_GT(both.compare(noise(kWidth, kHeight, 3)), 0) << nms;
    const double us = test::median_us(
        stream,
        [&] {
          EXPECT_TRUE(both.gpu().enqueue(both.on_device(), nullptr, both.out(), stream).ok());
        },
        5);
    std::printf("threshold %.3f: %.0f us with the layers\n", static_cast<double>(nms), us);
    EXPECT_LT(us, 50'000) << nms;
  }
}

TEST(NetworkCuda, RefusesWhatTheCpuRefuses) {
  CUFACE_NEEDS_GPU();
  const Model model = test::random_yunet(1, 1);
  EXPECT_EQ(cuda::FaceNetwork::create(nullptr, {}, 10, 10).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(cuda::FaceNetwork::create(model, {}, 0, 10).status().code(),
            StatusCode::kInvalidArgument);
  const Status large = cuda::FaceNetwork::create(model, {}, 16384, 16384).status();
  EXPECT_EQ(large.code(), StatusCode::kUnsupported);
  EXPECT_EQ(large.message(), plan_network(*model, 16384, 16384).status().message());
  EXPECT_EQ(cuda::FaceNetwork::create(model, {.max_faces = 65}, 10, 10).status().code(),
            StatusCode::kUnsupported);
  EXPECT_EQ(cuda::FaceNetwork::create(model, {.precision = NetworkPrecision::kInt16}, 10, 10)
                .status()
                .code(),
            StatusCode::kUnsupported);
  Both both(model, {}, 64, 64);
  EXPECT_EQ(
      both.gpu().enqueue({both.on_device().data, 63, 64, 192}, nullptr, both.out(), nullptr).code(),
      StatusCode::kInvalidArgument);
}

/// The faces of a frame, as the element has them.
TEST(NetworkCuda, FacesOfAFrameAreTheCpus) {
  CUFACE_NEEDS_GPU();
  constexpr int kWidth = 640, kHeight = 360;
  const Model model = test::random_yunet(640);  // which finds some
  const NetworkConfig all = {.score_threshold = 0.1f, .max_faces = kMaxNetworkCandidates};
  long faces = 0;
  for (const FaceLimits& limits :
       {FaceLimits{}, {.max_faces = 5}, {.min_size = 30, .max_size = 90}, {.min_size = 5000}}) {
    const std::vector<Bgr> pixels = noise(kWidth, kHeight, 640);
    auto cpu = FaceNetwork::create(Backend::kCpu, model, all, kWidth, kHeight);
    std::vector<NetworkFace> found;
    ASSERT_TRUE(cpu.value()->enqueue({pixels.data(), kWidth, kHeight, kWidth * 3}, found).ok());
    const FaceList expected = faces_from_network(found, kWidth, kHeight, limits, 1280, 720);

    Both both(model, {.score_threshold = 0.1f}, kWidth, kHeight);
    both.set_picture(pixels);
    test::GuardedBytes out(cuda::device_faces_bytes(0), test::kCanary);
    ASSERT_TRUE(both.gpu()
                    .enqueue(both.on_device(), nullptr, limits, 1280, 720,
                             reinterpret_cast<cuda::DeviceFaces*>(out.data()), nullptr)
                    .ok());
    const std::vector<std::uint8_t> bytes = out.get();
    const auto* got = reinterpret_cast<const cuda::DeviceFaces*>(bytes.data());
    EXPECT_EQ(got->searched, 1);
    EXPECT_EQ(got->landmarks_per_face + got->followed_per_face + got->overflow, 0);
    ASSERT_EQ(got->count, std::min<int>(static_cast<int>(expected.faces.size()), cuda::kMaxFaces));
    for (int f = 0; f < got->count; ++f) {
      const Face &a = got->faces[f], &b = expected.faces[static_cast<std::size_t>(f)];
      EXPECT_TRUE(a.box == b.box && a.confidence == b.confidence && a.roll == b.roll) << f;
      EXPECT_EQ(a.neighbors, -1);
      EXPECT_TRUE(a.has_keypoints && std::ranges::equal(a.keypoints, b.keypoints)) << f;
      ++faces;
    }
  }
  test::compared("faces", faces, 5);
}

TEST(NetworkCuda, Times) {
  CUFACE_NEEDS_GPU();
  const char* folder = std::getenv("CUFACE_MODEL_PATH");
  const auto loaded = load_network(std::string(folder ? folder : ".") + "/yunet.cuface");
  if (!loaded.ok()) GTEST_SKIP() << loaded.status().message();
  const test::Stream stream;
  const auto time = [&](const std::string& what, const std::string& size, cuda::LaunchList& list) {
    test::report_time(what, size, test::median_us(stream, list));
    test::report_parts(what, size, list, stream);
  };
  for (const test::GrayPicture& picture : test::load_gray_pictures()) {
    if (!test::is_timed(picture)) continue;
    const std::string size = std::to_string(picture.width) + "x" + std::to_string(picture.height);
    Both both(loaded.value(), {}, picture.width, picture.height);
    std::vector<Bgr> pixels;
    for (const std::uint8_t grey : picture.pixels) pixels.push_back({grey, grey, grey});
    both.compare(pixels);
    cuda::LaunchList list;
    ASSERT_TRUE(
        both.gpu().enqueue(both.on_device(), nullptr, both.out(), cuda::Launcher(list)).ok());
    time("network at its own size", size, list);

    // From a frame in device memory to its faces, as cufacedetect has it by default.
    auto scaler = cuda::BgrScaler::create(picture.width, picture.height, 640);
    ASSERT_TRUE(scaler.ok());
    const auto [w, h] = scaler.value().size();
    auto network = cuda::FaceNetwork::create(loaded.value(), {}, w, h);
    auto scaled = cuda::DeviceImage<Bgr>::create(w, h);
    ASSERT_TRUE(network.ok() && scaled.ok());
    test::GuardedBytes luma(picture.pixels);
    test::GuardedBytes chroma(picture.pixels.size() / 2, 128);
    test::GuardedBytes out(cuda::device_faces_bytes(0), test::kCanary);
    FrameView frame;
    frame.width = picture.width;
    frame.height = picture.height;
    frame.component[0] = {luma.data(), picture.width};
    for (int c = 1; c < 3; ++c) {
      frame.component[c] = {chroma.data() + c - 1, picture.width, 2};
      frame.component[c].sub_x = frame.component[c].sub_y = 1;
    }
    list.clear();
    const cuda::Launcher launch(list);
    ASSERT_TRUE(scaler.value()
                    .enqueue(frame, ColorMatrix::kBt709, nullptr, scaled.value().view(), launch)
                    .ok());
    ASSERT_TRUE(network.value()
                    ->enqueue(std::as_const(scaled.value()).view(), nullptr, {}, picture.width,
                              picture.height, reinterpret_cast<cuda::DeviceFaces*>(out.data()),
                              launch)
                    .ok());
    time("network, a frame to its faces at 640", size, list);
  }
}

}  // namespace
}  // namespace cuface
