// What was read of an ONNX file computes what OpenCV's DNN module computes of that file: layers and
// outputs are connected as the graph says.
#include <algorithm>
#include <cmath>
#include <opencv2/dnn.hpp>
#include <random>
#include <vector>

#include "models/onnx_network.h"
#include "tests/data.h"
#include "tests/models/temporary.h"

namespace cuface::test {
namespace {

double sigmoid(float x) { return 1 / (1 + std::exp(-static_cast<double>(x))); }

/// The largest difference between the cells of ours and OpenCV's outputs, on a picture of noise.
double difference(const std::string& path, int width, int height) {
  const std::string bytes = read_file(path);
  const auto model =
      parse_onnx_network({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, path);
  EXPECT_TRUE(model.ok()) << model.status().message();
  if (!model.ok()) return HUGE_VAL;
  auto ours = FaceNetwork::create(Backend::kCpu, model.value(), {}, width, height);
  EXPECT_TRUE(ours.ok());

  cv::Mat picture(height, width, CV_8UC3);
  std::mt19937 random(36);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < 3 * width; ++x) {
      // Blocks, so that deep layers see more than grey.
      if (y % 8 == 0 && x % 24 < 3) {
        picture.ptr(y)[x] = static_cast<std::uint8_t>(random());
      } else {
        picture.ptr(y)[x] = picture.ptr(y - y % 8)[x % 3 + x / 24 * 24];
      }
    }
  }
  std::vector<NetworkFace> faces;
  EXPECT_TRUE(ours.value()
                  ->enqueue({reinterpret_cast<const Bgr*>(picture.data), width, height,
                             static_cast<std::ptrdiff_t>(picture.step)},
                            faces)
                  .ok());
  cv::dnn::Net net = cv::dnn::readNetFromONNX(path);
  net.setInput(cv::dnn::blobFromImage(picture));
  double most = 0, largest = 0;
  std::size_t first = 0;
  for (const char* stride : {"8", "16", "32"}) {
    std::vector<cv::Mat> outputs;
    const std::string end = std::string("_") + stride;
    net.forward(outputs,
                std::vector<cv::String>{"cls" + end, "obj" + end, "bbox" + end, "kps" + end});
    const std::size_t count = outputs[0].total();
    EXPECT_LE(first + count, ours.value()->cells().size());
    for (std::size_t i = 0; i < count; ++i) {
      const NetworkCell& cell = ours.value()->cells()[first + i];
      const auto compare = [&](double mine, float theirs) {
        most = std::max(most, std::fabs(mine - theirs));
        largest = std::max(largest, std::fabs(static_cast<double>(theirs)));
      };
      compare(sigmoid(cell.classes), outputs[0].ptr<float>()[i]);
      compare(sigmoid(cell.objects), outputs[1].ptr<float>()[i]);
      for (std::size_t k = 0; k < 4; ++k) compare(cell.box[k], outputs[2].ptr<float>()[4 * i + k]);
      for (std::size_t k = 0; k < 10; ++k) {
        compare(cell.points[k], outputs[3].ptr<float>()[10 * i + k]);
      }
    }
    first += count;
  }
  EXPECT_EQ(first, ours.value()->cells().size());
  EXPECT_GT(largest, 1) << "nothing was compared";
  std::printf("%dx%d: %zu cells, values up to %.3g, largest difference %.2g\n", width, height,
              first, largest, most);
  return most;
}

/// The test data's network, and OpenCV zoo's where it was fetched.
class OnnxNetwork : public ::testing::TestWithParam<const char*> {};

TEST_P(OnnxNetwork, ComputesWhatOpenCvComputes) {
  const std::string name = GetParam();
  const std::string path =
      (name == "yunet.onnx" ? data_dir() + "/models/" : model_dir() + "/") + name;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  EXPECT_LT(difference(path, 128, 96), 1e-4);
  EXPECT_LT(difference(path, 64, 160), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Files, OnnxNetwork,
                         ::testing::Values("yunet.onnx", "face_detection_yunet_2023mar.onnx"),
                         [](const auto& file) {
                           return std::string(file.index == 0 ? "Data" : "Zoo");
                         });

}  // namespace
}  // namespace cuface::test
