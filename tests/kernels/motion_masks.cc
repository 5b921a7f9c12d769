// What kernels/motion makes of a video, for test_motion_twin.py and tests/quality/motion.py.
//
//   motion_masks METHOD WIDTH HEIGHT [KEY=VALUE]... < PICTURES > RESULTS
//
// METHOD: edges, difference, background, published. Pictures have a byte a pixel and follow each
// other 40 ms apart, or `step`. Other keys: members of MotionConfig, and `ignore`, a file with a
// byte a pixel. A result is a line of numbers - compared, global_change, began, ended, in_event,
// changed, pixels, moving cells, boxes, and for each of these id, left, top, right, bottom, cells,
// then whether each cell is active, and whether it moves - and the mask, a byte a pixel. The last
// line has "finish" and whether it ended an event.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "kernels/common/draw_bits.h"
#include "kernels/motion/motion.h"

namespace {

using namespace cuface;

int fail(const std::string& what) {
  std::fprintf(stderr, "motion_masks: %s\n", what.c_str());
  return 1;
}

struct Options {
  MotionConfig config;
  std::int64_t step = 40'000'000;
  std::string ignore;
};

bool set(Options& options, const std::string& key, const std::string& value) {
  MotionConfig& config = options.config;
  const long long number = std::atoll(value.c_str());
  const auto into = [&](auto& member) {
    member = static_cast<std::remove_reference_t<decltype(member)>>(number);
    return true;
  };
  if (key == "interval") return into(config.interval);
  if (key == "tolerance") return into(config.tolerance);
  if (key == "symmetric") return into(config.symmetric);
  if (key == "border") return into(config.border);
  if (key == "columns") return into(config.columns);
  if (key == "rows") return into(config.rows);
  if (key == "threshold") return into(config.threshold);
  if (key == "find_global_changes") return into(config.find_global_changes);
  if (key == "min_frames") return into(config.min_frames);
  if (key == "gap") return into(config.gap);
  if (key == "step") return into(options.step);
  if (key != "ignore") return false;
  options.ignore = value;
  return true;
}

void print_cells(const MotionPlan& plan, const std::uint64_t* rows) {
  for (int r = 0; r < plan.config.rows; ++r)
    for (int c = 0; c < plan.config.columns; ++c) std::cout << ' ' << (rows[r] >> c & 1);
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  if (argc < 4) return fail("usage: motion_masks METHOD WIDTH HEIGHT [KEY=VALUE]...");
  const std::string method = argv[1];
  Options options;
  if (method == "edges") options.config.method = MotionMethod::kEdges;
  if (method == "published") options.config = published_motion();
  if (method == "difference") options.config.method = MotionMethod::kDifference;
  if (method == "background") options.config.method = MotionMethod::kBackground;
  for (int i = 4; i < argc; ++i) {
    const std::string text = argv[i];
    const std::size_t at = text.find('=');
    if (at == std::string::npos || !set(options, text.substr(0, at), text.substr(at + 1)))
      return fail("no key: " + text);
  }
  const int width = std::atoi(argv[2]), height = std::atoi(argv[3]);
  auto made = MotionDetector::create(options.config, width, height);
  if (!made.ok()) return fail(made.status().message());
  MotionDetector& motion = made.value();
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(width) *
                                  static_cast<std::size_t>(height));
  const ImageView<std::uint8_t> picture = {bytes.data(), width, height, width};
  const auto read = [&](std::istream& from) {
    return static_cast<bool>(from.read(reinterpret_cast<char*>(bytes.data()),
                                       static_cast<std::streamsize>(bytes.size())));
  };
  if (!options.ignore.empty()) {
    std::ifstream file(options.ignore, std::ios::binary);
    if (!read(file)) return fail("cannot read " + options.ignore);
    if (const Status status = motion.ignore(picture); !status.ok()) return fail(status.message());
  }
  for (std::int64_t time = 0; read(std::cin); time += options.step) {
    const auto looked = motion.look(picture, time);
    if (!looked.ok()) return fail(looked.status().message());
    const MotionResult& result = *std::as_const(looked).value();
    std::cout << result.compared << ' ' << result.global_change << ' ' << result.began << ' '
              << result.ended << ' ' << result.in_event << ' ' << result.changed << ' '
              << result.pixels << ' ' << result.moving_cells << ' ' << result.count;
    for (int i = 0; i < result.count; ++i) {
      const MotionBox& box = result.boxes[i];
      std::cout << ' ' << box.id << ' ' << box.left << ' ' << box.top << ' ' << box.right << ' '
                << box.bottom << ' ' << box.cells;
    }
    print_cells(motion.plan(), result.active);
    print_cells(motion.plan(), result.moving);
    std::cout << '\n';
    draw_bits(motion.mask(), picture);
    std::cout.write(reinterpret_cast<const char*>(bytes.data()),
                    static_cast<std::streamsize>(bytes.size()));
  }
  std::cout << "finish " << motion.finish().ended << '\n';
  return std::cout.flush() ? 0 : 1;
}
