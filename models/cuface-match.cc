// cuface-match: what two pictures have in common, printed and drawn [S2.11].
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "kernels/keypoints/keypoints.h"
#include "kernels/match/match_features.h"
#include "kernels/overlay/raster.h"
#include "models/png_picture.h"
#include "models/train/picture.h"

namespace {

using namespace cuface;

constexpr int kBad = 1, kUsage = 2;

constexpr const char* kHelp =
    R"(usage: cuface-match A B [OPTION ...]   keypoints of picture A that are in picture B
       cuface-match --help | --version

prints x and y in A, x and y in B, and the distance of each match, one a line

  --output FILE.png     draw both pictures, with lines between the matches
  --ratio N             the nearest is nearer than this times the second (0.75; 1 = any)
  --max-distance N      most distance of a match, ORB's in bits (0 = any)
  --cross-check         both are nearest to each other
  --max-keypoints N     of a picture (1020)
  --threshold N         how much a corner differs from what is around it (20), a blob's strength (100)
  --levels N            sizes of a picture in which keypoints are looked for (8)
  --scale-factor N      from size to size (1.2)
  --edge N              pixels along the sides of each size without keypoints (31)
  --upright             descriptors do not turn with the keypoints
  --sign-check          light spots match light ones only

in builds with SURF

  --surf                blobs and floats of SURF instead of corners and bits of ORB
  --octaves N           times that the boxes of blobs double (4)
  --layers N            sizes of an octave (3)
  --descriptor-size N   floats of a descriptor, 64 or 36 (64)

exit status: 0 done, also without a match; 1 a file is missing, damaged or cannot be written;
2 wrong arguments
)";

struct Options {
  std::vector<std::string> pictures;
  std::string output;
  FeatureConfig features;
  MatchConfig match;
};

template <typename T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// What is wrong; "" where nothing is.
std::string read_options(std::span<const std::string> arguments, Options& options) {
  OrbConfig& orb = options.features.orb;
  SurfConfig& surf = options.features.surf;
  std::optional<float> threshold;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (!name.starts_with("--")) {
      options.pictures.push_back(name);
      continue;
    }
    if (name == "--cross-check") {
      options.match.cross_check = true;
      continue;
    }
    if (name == "--upright") {
      orb.upright = surf.upright = true;
      continue;
    }
    if (name == "--surf") {
      options.features.detector = FeatureDetector::kHessian;
      options.features.descriptor = FeatureDescriptor::kSurf;
      continue;
    }
    if (name == "--sign-check") {
      options.match.sign_check = true;
      continue;
    }
    if (i + 1 == arguments.size()) return name + ": its value is missing, or no such option";
    const std::string& text = arguments[++i];
    bool good = true;
    if (name == "--output") {
      options.output = text;
    } else if (name == "--ratio") {
      good = parse(text, options.match.ratio);
    } else if (name == "--max-distance") {
      good = parse(text, options.match.max_distance);
    } else if (name == "--max-keypoints") {
      good = parse(text, orb.max_keypoints);
    } else if (name == "--threshold") {
      good = parse(text, threshold.emplace());
    } else if (name == "--levels") {
      good = parse(text, orb.levels);
    } else if (name == "--scale-factor") {
      good = parse(text, orb.scale_factor);
    } else if (name == "--edge") {
      good = parse(text, orb.edge);
    } else if (name == "--octaves") {
      good = parse(text, surf.octaves);
    } else if (name == "--layers") {
      good = parse(text, surf.layers);
    } else if (name == "--descriptor-size") {
      good = parse(text, surf.descriptor_size);
    } else {
      return name + ": no such option";
    }
    if (!good) return name + " " + text + ": no number";
  }
  if (options.pictures.size() != 2) return "give two pictures";
  const bool is_surf = options.features.descriptor == FeatureDescriptor::kSurf;
  surf.max_keypoints = orb.max_keypoints;
  if (threshold && is_surf) {
    surf.threshold = *threshold;
  } else if (threshold) {
    orb.threshold = static_cast<int>(*threshold);
    if (static_cast<float>(orb.threshold) != *threshold)
      return "--threshold: that of corners is a whole number";
  }
  for (const Status& status : {validate(options.features), validate(options.match)})
    if (!status.ok()) return status.message();
  return "";
}

struct Described {
  std::string path;
  Image<std::uint8_t> grey;
  Features found;
  ImageView<const std::uint8_t> view() const { return grey.view(); }
};

Result<Described> describe(const std::string& path, const FeatureConfig& config) {
  CUFACE_TAKE(picture, train::load_picture(path));
  Described described{path, std::move(picture.grey), {}};
  const Status found = find_keypoints(config, described.view(), described.found);
  if (!found.ok()) return Status(found.code(), path + ": " + found.message());
  return described;
}

/// Two keypoints that mean the same.
struct Pair {
  Point a, b;
  float distance;
};

Result<std::vector<Pair>> match(const Described& a, const Described& b, const Options& options) {
  CUFACE_TAKE(matcher, Matcher::create(options.match));
  std::vector<Match> found;
  CUFACE_TRY(match_features(matcher, a.found, b.found, options.features.floats(), found));
  std::vector<Pair> pairs;
  for (const Match& m : found) {
    const Keypoint& ours = a.found.keypoints[static_cast<std::size_t>(m.query)];
    const Keypoint& theirs = b.found.keypoints[static_cast<std::size_t>(m.train)];
    pairs.push_back({{ours.x, ours.y}, {theirs.x, theirs.y}, m.distance});
  }
  return pairs;
}

// ---- drawing -----------------------------------------------------------------------------------

void put(ImageView<const std::uint8_t> grey, int left, Image<std::uint8_t>& rgb) {
  for (int y = 0; y < grey.height; ++y) {
    const std::uint8_t* from = grey.row(y);
    std::uint8_t* to = rgb.view().row(y) + 3 * left;
    for (int x = 0; x < grey.width; ++x)
      for (int c = 0; c < 3; ++c) to[3 * x + c] = from[x];
  }
}

/// A beside B, black where one is lower, and a line for each pair.
Status draw(const Described& a, const Described& b, const std::vector<Pair>& pairs,
            const std::string& path) {
  const int left = a.grey.width(), width = left + b.grey.width();
  const int height = std::max(a.grey.height(), b.grey.height());
  Image<std::uint8_t> rgb(3 * width, height);
  for (int y = 0; y < height; ++y)
    std::memset(rgb.view().row(y), 0, static_cast<std::size_t>(3 * width));
  put(a.view(), 0, rgb);
  put(b.view(), left, rgb);
  FrameView frame;
  frame.width = width;
  frame.height = height;
  frame.rgb = true;
  for (int c = 0; c < 3; ++c)
    frame.component[c] = {rgb.view().data + c, rgb.view().stride, 3, 8, 0, 0, 0};
  // Neighbours in the list, and so often in the picture, differ.
  constexpr std::array<Argb, 6> kColors = {0xffff4040, 0xff40ff40, 0xff6080ff,
                                           0xffffff30, 0xffff50ff, 0xff30ffff};
  const int radius = std::max(1, height / 360) * raster::kOne / 2;
  const auto fixed = [](float v) { return static_cast<int>(v * raster::kOne); };
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Pair& pair = pairs[i];
    const raster::FixedPoint from{fixed(pair.a.x), fixed(pair.a.y)};
    const raster::FixedPoint to{fixed(pair.b.x) + left * raster::kOne, fixed(pair.b.y)};
    const raster::Stroke strokes[] = {
        {from, to, radius}, {from, from, 4 * radius}, {to, to, 4 * radius}};
    raster::fill(frame, strokes,
                 raster::make_ink(frame, ColorMatrix::kBt709, kColors[i % kColors.size()]));
  }
  return save_png_rgb(std::as_const(rgb).view(), path);
}

Status compare(const Options& options) {
  CUFACE_TAKE(a, describe(options.pictures[0], options.features));
  CUFACE_TAKE(b, describe(options.pictures[1], options.features));
  CUFACE_TAKE(pairs, match(a, b, options));
  for (const Described* picture : {&a, &b})
    std::printf("%s: %d x %d pixels, %zu keypoints\n", picture->path.c_str(), picture->grey.width(),
                picture->grey.height(), picture->found.keypoints.size());
  std::printf("%zu matches: x y in the first, x y in the second, distance\n", pairs.size());
  for (const Pair& p : pairs)
    std::printf("%.2f %.2f %.2f %.2f %g\n", static_cast<double>(p.a.x), static_cast<double>(p.a.y),
                static_cast<double>(p.b.x), static_cast<double>(p.b.y),
                static_cast<double>(p.distance));
  return options.output.empty() ? Status() : draw(a, b, pairs, options.output);
}

int fail(const Status& status) {
  std::fprintf(stderr, "cuface-match: %s\n", status.message().c_str());
  return kBad;
}

int run(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  Options options;
  int result = 0;
  if (arguments == std::vector<std::string>{"--help"} ||
      arguments == std::vector<std::string>{"-h"}) {
    std::fputs(kHelp, stdout);
  } else if (arguments == std::vector<std::string>{"--version"}) {
    std::puts("cuface-match " CUFACE_VERSION);
  } else if (const std::string wrong = read_options(arguments, options); !wrong.empty()) {
    std::fprintf(stderr, "cuface-match: %s\n%s", wrong.c_str(), kHelp);
    return kUsage;
  } else if (const Status status = compare(options); !status.ok()) {
    result = fail(status);
  }
  // A full disk or a closed pipe must not pass for success.
  if (std::fflush(stdout) != 0 && result == 0) {
    std::fprintf(stderr, "cuface-match: cannot write the output: %s\n", std::strerror(errno));
    result = kBad;
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a limit to the size of files is an error like a full disk
  const Result<int> result = guarded("working", [&] { return Result<int>(run(argc, argv)); });
  return result.ok() ? result.value() : fail(result.status());
}
