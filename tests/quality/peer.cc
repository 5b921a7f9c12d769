// What people run today: OpenCV's Haar cascade on every frame, and dlib's shape predictor in each
// of its boxes. One JSON line a frame, with the keys of docs/reference/faces.schema.json that it can fill.
//
//   peer CASCADE.xml MODEL.dat WIDTH HEIGHT < grey frames, 8 bit
//
// Settings are cufacedetect's defaults: scale factor 1.1, 3 neighbours, no limit of size.
// `landmarks` are the integers of dlib's public call, `floats` the points before dlib rounds them.
// cpu_ns is the thread's processor time for the frame, without `floats`, reading and writing.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <opencv2/objdetect.hpp>
#include <vector>

#include "tests/models/dlib_forest.h"

namespace {

using namespace cuface;
using Json = nlohmann::ordered_json;

long long thread_ns() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

Json face(const cv::Rect& box, const dlib::full_object_detection& shape) {
  Json points = Json::array();
  for (unsigned long i = 0; i < shape.num_parts(); ++i) {
    points.push_back({shape.part(i).x(), shape.part(i).y()});
  }
  return {{"id", nullptr},  {"x", box.x},      {"y", box.y},
          {"w", box.width}, {"h", box.height}, {"landmarks", points}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: peer CASCADE.xml MODEL.dat WIDTH HEIGHT\n");
    return 2;
  }
  cv::setNumThreads(1);
  cv::CascadeClassifier cascade;
  if (!cascade.load(argv[1])) {
    std::fprintf(stderr, "peer: %s is not a cascade\n", argv[1]);
    return 1;
  }
  dlib::shape_predictor predictor;
  dlib::deserialize(argv[2]) >> predictor;
  std::ifstream model(argv[2], std::ios::binary);
  const test::DlibForest floats(model);
  cv::Mat frame(std::atoi(argv[4]), std::atoi(argv[3]), CV_8U);
  for (int number = 0; std::fread(frame.data, 1, frame.total(), stdin) == frame.total(); ++number) {
    const long long start = thread_ns();
    std::vector<cv::Rect> boxes;
    cascade.detectMultiScale(frame, boxes, 1.1, 3);
    const dlib::array2d<unsigned char> picture = test::to_dlib(frame);
    std::vector<dlib::rectangle> rectangles;
    std::vector<dlib::full_object_detection> shapes;
    for (const cv::Rect& box : boxes) {
      rectangles.emplace_back(box.x, box.y, box.x + box.width - 1, box.y + box.height - 1);
      shapes.push_back(predictor(picture, rectangles.back()));
    }
    const long long spent = thread_ns() - start;
    Json objects = Json::array();
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      objects.push_back(face(boxes[i], shapes[i]));
      Json& points = objects.back()["floats"] = Json::array();
      for (const auto& p : floats(picture, rectangles[i])) points.push_back({p.x(), p.y()});
    }
    std::puts(Json{{"frame", number}, {"cpu_ns", spent}, {"objects", objects}}.dump().c_str());
  }
  return 0;
}
