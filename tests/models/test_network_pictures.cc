// The faces of every test picture against OpenCV's FaceDetectorYN. Debian 12's reads outputs of
// another shape, so its text of OpenCV 4.8 stands here, on the outputs of Debian's DNN module.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <opencv2/dnn.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <vector>

#include "models/onnx_network.h"
#include "tests/data.h"
#include "tests/fewer.h"
#include "tests/models/temporary.h"

namespace cuface::test {
namespace {

constexpr float kScore = 0.6f, kNms = 0.3f;

/// In OpenCV's order, x, y, width, height, five points, score.
using OpenCvFace = std::array<float, 15>;

float clamped(float x) { return std::max(std::min(x, 1.0f), 0.0f); }

/// FaceDetectorYNImpl::postProcess() of one stride.
void read_stride(const std::vector<cv::Mat>& outputs, int stride, int columns,
                 std::vector<OpenCvFace>& faces) {
  const auto row_of = [&](std::size_t output, std::size_t size, std::size_t index) {
    return outputs[output].ptr<float>() + index * size;
  };
  const auto s = static_cast<float>(stride);
  for (std::size_t i = 0; i < outputs[0].total(); ++i) {
    const float score = std::sqrt(clamped(*row_of(0, 1, i)) * clamped(*row_of(1, 1, i)));
    if (score < kScore) continue;
    const auto c = static_cast<float>(static_cast<int>(i) % columns);
    const auto r = static_cast<float>(static_cast<int>(i) / columns);
    const float *box = row_of(2, 4, i), *points = row_of(3, 10, i);
    OpenCvFace face;
    const float w = std::exp(box[2]) * s, h = std::exp(box[3]) * s;
    face[0] = (c + box[0]) * s - w / 2;
    face[1] = (r + box[1]) * s - h / 2;
    face[2] = w;
    face[3] = h;
    for (std::size_t n = 0; n < 5; ++n) {
      face[4 + 2 * n] = (points[2 * n] + c) * s;
      face[5 + 2 * n] = (points[2 * n + 1] + r) * s;
    }
    face[14] = score;
    faces.push_back(face);
  }
}

cv::Rect truncated(const OpenCvFace& f) {
  return {static_cast<int>(f[0]), static_cast<int>(f[1]), static_cast<int>(f[2]),
          static_cast<int>(f[3])};
}

std::vector<OpenCvFace> faces_by_opencv(cv::dnn::Net& net, const cv::Mat& picture) {
  cv::Mat padded;
  const auto missing = [](int side) { return (32 - side % 32) % 32; };
  cv::copyMakeBorder(picture, padded, 0, missing(picture.rows), 0, missing(picture.cols),
                     cv::BORDER_CONSTANT, cv::Scalar(0));
  net.setInput(cv::dnn::blobFromImage(padded));
  std::vector<OpenCvFace> faces;
  for (const int stride : {8, 16, 32}) {
    const std::string end = "_" + std::to_string(stride);
    std::vector<cv::Mat> outputs;
    net.forward(outputs,
                std::vector<cv::String>{"cls" + end, "obj" + end, "bbox" + end, "kps" + end});
    read_stride(outputs, stride, padded.cols / stride, faces);
  }
  std::stable_sort(faces.begin(), faces.end(),
                   [](const OpenCvFace& a, const OpenCvFace& b) { return a[14] > b[14]; });
  std::vector<OpenCvFace> kept;
  for (const OpenCvFace& face : faces) {
    const bool keep = std::all_of(kept.begin(), kept.end(), [&](const OpenCvFace& better) {
      const double distance = cv::jaccardDistance(truncated(face), truncated(better));
      return 1.f - static_cast<float>(distance) <= kNms;
    });
    if (keep) kept.push_back(face);
  }
  return kept;
}

double iou(const NetworkFace& ours, const OpenCvFace& f) {
  return intersection_over_union(ours.box, {f[0], f[1], f[2], f[3]});
}

struct Worst {
  int pictures = 0, faces = 0;
  double iou = 1, score = 0, point = 0;
};

void compare(const std::vector<NetworkFace>& ours, const std::vector<OpenCvFace>& peers,
             const std::string& name, Worst& worst) {
  ++worst.pictures;
  ASSERT_EQ(ours.size(), peers.size()) << name;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    ++worst.faces;
    worst.iou = std::min(worst.iou, iou(ours[i], peers[i]));
    worst.score = std::max(worst.score, std::fabs(double{ours[i].score} - double{peers[i][14]}));
    for (std::size_t n = 0; n < 5; ++n) {
      worst.point = std::max(
          {worst.point, std::fabs(double{ours[i].points[n].x} - double{peers[i][4 + 2 * n]}),
           std::fabs(double{ours[i].points[n].y} - double{peers[i][5 + 2 * n]})});
    }
  }
}

std::vector<std::filesystem::path> picture_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data_dir() + "/images")) {
    const auto end = entry.path().extension();
    if (end == ".jpg" || end == ".png") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(NetworkPictures, HaveOpenCvsFaces) {
  CUFACE_NEEDS_DATA();
  const std::string path = data_dir() + "/models/yunet.onnx";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  const std::string bytes = read_file(path);
  const auto model =
      parse_onnx_network({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  cv::dnn::Net net = cv::dnn::readNetFromONNX(path);
  Worst worst;
  Turn turn;
  const auto files = picture_files();
  for (const auto& file : files) {
    if (!turn()) continue;
    const cv::Mat whole = cv::imread(file.string());
    if (whole.empty()) continue;
    cv::Mat picture = whole;
    if (const double factor = 320.0 / std::max(whole.cols, whole.rows); factor < 1) {
      cv::resize(whole, picture, {}, factor, factor, cv::INTER_LINEAR_EXACT);
    }
    const NetworkConfig config{kScore, kNms, kMaxNetworkCandidates};
    auto network =
        FaceNetwork::create(Backend::kCpu, model.value(), config, picture.cols, picture.rows);
    ASSERT_TRUE(network.ok()) << network.status().message();
    std::vector<NetworkFace> faces;
    const Status status = network.value()->enqueue(
        {picture.ptr<Bgr>(), picture.cols, picture.rows, static_cast<std::ptrdiff_t>(picture.step)},
        faces);
    ASSERT_TRUE(status.ok()) << status.message();
    compare(faces, faces_by_opencv(net, picture), file.filename().string(), worst);
  }
  std::printf(
      "%d pictures, %d faces; least IoU %.7f, largest difference of scores %.2g, of points "
      "%.2g px\n",
      worst.pictures, worst.faces, worst.iou, worst.score, worst.point);
  EXPECT_GE(worst.iou, 0.99);
  EXPECT_LE(worst.score, 1e-3);
  EXPECT_LE(worst.point, 0.1);
  EXPECT_GE(worst.pictures, static_cast<int>(Turn::of(150)));
  EXPECT_GE(worst.faces, static_cast<int>(Turn::of(150)));
}

}  // namespace
}  // namespace cuface::test
