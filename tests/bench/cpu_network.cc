// Faces and times of our network for tests/bench/network.py, which runs OpenCV beside it.
//
//   cpu_network MODEL.cuface [int16]
//
// Reads requests from its input: a line "WIDTH HEIGHT SCORE NMS", then the picture's pixels.
// Answers each with a line: the processor time of this thread in microseconds, the number of faces,
// and of each x, y, width, height, five points and the score, as OpenCV's rows have them.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/network/network.h"
#include "models/models.h"
#include "tests/bench/ratio.h"

namespace {

using namespace cuface;

int fail(const Status& status) {
  std::fprintf(stderr, "cpu_network: %s\n", status.message().c_str());
  return 1;
}

void print(const NetworkFace& face) {
  std::printf(" %.9g %.9g %.9g %.9g", face.box.x, face.box.y, face.box.w, face.box.h);
  for (const Point& p : face.points) std::printf(" %.9g %.9g", p.x, p.y);
  std::printf(" %.9g", face.score);
}

}  // namespace

int main(int argc, char** argv) {
  const auto model = load_network(argc > 1 ? argv[1] : "");
  if (!model.ok()) return fail(model.status());
  std::unique_ptr<FaceNetwork> network;
  std::vector<Bgr> pixels;
  std::vector<NetworkFace> faces;
  std::string planned;
  char line[256];
  while (std::fgets(line, sizeof line, stdin)) {
    int width = 0, height = 0;
    NetworkConfig config{.max_faces = kMaxNetworkCandidates};
    if (argc > 2) config.precision = NetworkPrecision::kInt16;
    if (std::sscanf(line, "%d %d %f %f", &width, &height, &config.score_threshold,
                    &config.nms_threshold) != 4) {
      return 1;
    }
    if (planned != line) {
      auto made = FaceNetwork::create(Backend::kCpu, model.value(), config, width, height);
      if (!made.ok()) return fail(made.status());
      network = std::move(made.value());
      planned = line;
    }
    pixels.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
    if (std::fread(pixels.data(), sizeof(Bgr), pixels.size(), stdin) != pixels.size()) return 1;
    const double begin = bench::thread_us();
    const Status status =
        network->enqueue({pixels.data(), width, height, width * std::ptrdiff_t{3}}, faces);
    const double used = bench::thread_us() - begin;
    if (!status.ok()) return fail(status);
    std::printf("%.1f %zu", used, faces.size());
    for (const NetworkFace& face : faces) print(face);
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}
