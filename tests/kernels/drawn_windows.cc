// Writes the windows of boost_samples.h as opencv_traincascade reads them, for
// tests/full/traincascade.
//
//   drawn_windows SIDE POSITIVES NEGATIVES FOLDER
//
// FOLDER gets positives.vec, and negatives.txt with a PGM picture for each negative.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/kernels/boost_samples.h"

namespace {

using cuface::test::drawn_window;

// OpenCV's .vec: counts, then each pixel as 16 bits behind a byte of 0 for each window.
bool write_vec(const std::string& path, int side, std::uint32_t windows) {
  std::ofstream out(path, std::ios::binary);
  const auto put = [&](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out.put(static_cast<char>(value >> (8 * i) & 255));
  };
  put(windows, 4);
  put(static_cast<std::uint32_t>(side * side), 4);
  put(0, 4);
  for (std::uint32_t i = 0; i < windows; ++i) {
    put(0, 1);
    for (const std::uint8_t pixel : drawn_window(side, true, i)) put(pixel, 2);
  }
  return out.flush().good();
}

bool write_pgm(const std::string& path, int side, const std::vector<std::uint8_t>& window) {
  std::ofstream out(path, std::ios::binary);
  out << "P5\n" << side << " " << side << "\n255\n";
  out.write(reinterpret_cast<const char*>(window.data()),
            static_cast<std::streamsize>(window.size()));
  return out.flush().good();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: drawn_windows SIDE POSITIVES NEGATIVES FOLDER\n");
    return 2;
  }
  const int side = std::atoi(argv[1]);
  const auto positives = static_cast<std::uint32_t>(std::atoi(argv[2]));
  const auto negatives = static_cast<std::uint32_t>(std::atoi(argv[3]));
  const std::string folder = argv[4];
  std::filesystem::create_directories(folder + "/negatives");
  if (!write_vec(folder + "/positives.vec", side, positives)) return 1;
  std::ofstream list(folder + "/negatives.txt");
  for (std::uint32_t i = 0; i < negatives; ++i) {
    const std::string path = folder + "/negatives/" + std::to_string(i) + ".pgm";
    if (!write_pgm(path, side, drawn_window(side, false, i))) return 1;
    list << path << "\n";
  }
  return list.flush().good() ? 0 : 1;
}
