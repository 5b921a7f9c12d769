// Times of the search by MASM patches of 68 points on CUDA [S3.E1, S3.E2]: faces of 300 pixels, in
// pictures of many sizes, and up to 16 at once, of one frame and of as many streams. What is timed
// is compared with the CPU first. tests/gpu/tools/pack brings model and faces; without these both
// are made up.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "models/models.h"
#include "tests/data.h"
#include "tests/gpu/bench/curve.h"
#include "tests/gpu/kernels/shape_pair.h"

namespace cuface {
namespace {

using test::block_of;
using test::faces_at;
using test::GuardedBytes;
using test::ShapeInput;
using test::ShapeRef;

/// A labelled face of 300 pixels, and where it is.
struct Portrait {
  test::GrayPicture picture;
  Box box;
};

/// Of $CUFACE_GPU_DATA/portraits.txt, with lines "name width height x y w h"; else of waves.
std::vector<Portrait> portraits() {
  std::vector<Portrait> all;
  const char* folder = std::getenv("CUFACE_GPU_DATA");
  if (folder && !test::under_tool()) {
    std::ifstream list(std::string(folder) + "/portraits.txt");
    for (Portrait p; list >> p.picture.name >> p.picture.width >> p.picture.height >> p.box.x >>
                     p.box.y >> p.box.w >> p.box.h;) {
      std::ifstream file(std::string(folder) + "/" + p.picture.name + ".gray", std::ios::binary);
      p.picture.pixels.resize(static_cast<std::size_t>(p.picture.width) *
                              static_cast<std::size_t>(p.picture.height));
      file.read(reinterpret_cast<char*>(p.picture.pixels.data()),
                static_cast<std::streamsize>(p.picture.pixels.size()));
      EXPECT_TRUE(file) << p.picture.name << " is not as portraits.txt says";
      all.push_back(p);
    }
  }
  for (int i = 0; all.empty() || i + 1 < 16; ++i) {
    if (!all.empty() && all[0].picture.name != "waves") break;
    const test::Grey grey = test::textured(400, 400, i + 1);
    all.push_back({{"waves", 400, 400, grey.pixels}, {50, 50, 300, 300}});
  }
  return all;
}

/// The face in the middle of a picture, whose rim goes on to all sides.
void put(const Portrait& face, int left, int top, int width, int height, test::PaddedPicture& to,
         Box& box) {
  const auto before = [](int size, float middle) {
    return static_cast<int>(std::lround(static_cast<float>(size) / 2 - middle));
  };
  const int x0 = before(width, face.box.x + face.box.w / 2);
  const int y0 = before(height, face.box.y + face.box.h / 2);
  const test::GrayPicture& from = face.picture;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int u = std::clamp(x - x0, 0, from.width - 1),
                v = std::clamp(y - y0, 0, from.height - 1);
      to.bytes[static_cast<std::size_t>((top + y) * to.stride + left + x)] = from.view().at(u, v);
    }
  }
  box = {face.box.x + static_cast<float>(left + x0), face.box.y + static_cast<float>(top + y0),
         face.box.w, face.box.h};
}

test::PaddedPicture blank(int width, int height) {
  return test::make_picture(width, height, [](int, int) { return 0; });
}

/// One face in a picture of 4:3 with so many pixels.
ShapeInput framed(const Portrait& face, double pixels) {
  const int width = static_cast<int>(std::lround(std::sqrt(pixels * 4 / 3)));
  const int height = static_cast<int>(std::lround(pixels / width));
  ShapeInput input{blank(width, height), {Box{}}};
  put(face, 0, 0, width, height, input.picture, input.boxes[0]);
  return input;
}

/// So many faces, in squares of 450 pixels, four in a row.
ShapeInput mosaic(const std::vector<Portrait>& faces, int count) {
  constexpr int kSide = 450, kAcross = 4;
  ShapeInput input{blank(kAcross * kSide, (count + kAcross - 1) / kAcross * kSide), {}};
  input.boxes.resize(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    put(faces[static_cast<std::size_t>(i) % faces.size()], i % kAcross * kSide, i / kAcross * kSide,
        kSide, kSide, input.picture, input.boxes[static_cast<std::size_t>(i)]);
  return input;
}

class ShapeCurves : public test::ShapePair {
 protected:
  void SetUp() override {
    ShapePair::SetUp();
    if (IsSkipped()) return;
    auto loaded = load_shape(test::model_dir() + "/masm.cuface");
    model_ = !test::under_tool() && loaded.ok() ? loaded.value() : test::random_masm(5);
    ours_ = make_cuda(*model_);
    faces_of_ = portraits();
  }

  /// No time of a made-up model stands where that of the trained one belongs.
  std::string row(const std::string& what) const {
    return model_->name == "random" ? "random " + what : what;
  }

  /// Memory of frames that are searched again and again, each time with other faces' lists.
  struct Frames {
    std::vector<std::unique_ptr<GuardedBytes>> memory;
    std::vector<cuda::ShapeFrame> frames;
  };
  Frames upload(const std::vector<ShapeInput>& inputs) {
    Frames out;
    const auto keep = [&](const test::Bytes& bytes) -> GuardedBytes& {
      return *out.memory.emplace_back(std::make_unique<GuardedBytes>(bytes));
    };
    for (const ShapeInput& input : inputs) {
      GuardedBytes &luma = keep(input.picture.bytes),
                   &in = keep(block_of(input.boxes, model_->points)),
                   &to = keep(block_of({}, model_->points));
      out.frames.push_back({input.picture.at(luma.data()), faces_at(in), faces_at(to)});
    }
    return out;
  }
  double time(const std::vector<ShapeInput>& inputs) {
    EXPECT_NO_FATAL_FAILURE(compare(model_, *ours_, inputs));
    const Frames on_device = upload(inputs);
    cuda::LaunchList list;
    EXPECT_TRUE(ours_->enqueue(on_device.frames, cuda::Launcher(list)).ok());
    return test::median_us(*stream_, std::move(list));
  }

  ShapeRef model_;
  std::unique_ptr<cuda::ShapeSearcher> ours_;
  std::vector<Portrait> faces_of_;
};

TEST_F(ShapeCurves, OneFaceByThePicturesSize) {
  ASSERT_TRUE(ours_);
  constexpr double kLeast = 640 * 480, kMost = 1920 * 1080;
  test::Curve curve(row("patches, one face"), "pixels of the picture");
  for (int i = 0; i < (test::under_tool() ? 1 : 19); ++i) {
    const double pixels =
        test::under_tool() ? 160 * 120 : std::round(kLeast + i * (kMost - kLeast) / 18);
    curve.add(pixels, time({framed(faces_of_[0], pixels)}));
  }
}

TEST_F(ShapeCurves, FacesOfOneFrameAndOfStreams) {
  ASSERT_TRUE(ours_);
  double of_one = 0;
  for (const int count : {1, 4, 16}) {
    if (test::under_tool() && count > 1) continue;
    const ShapeInput all = mosaic(faces_of_, count);
    of_one = time({all});
    const std::string what = row("shape model of 68 patches, " + std::to_string(count) + " faces");
    test::report_time(what, "300 px", of_one);
    if (count == 4) continue;
    const Frames on_device = upload({all});
    cuda::LaunchList list;
    ASSERT_TRUE(ours_->enqueue(on_device.frames, cuda::Launcher(list)).ok());
    test::report_parts(what, "300 px", list, *stream_, 31);
  }
  if (test::under_tool()) return;
  std::vector<ShapeInput> streams;
  for (int i = 0; i < 16; ++i)
    streams.push_back(framed(faces_of_[static_cast<std::size_t>(i) % faces_of_.size()], 640 * 480));
  const double of_streams = time(streams);
  test::report_time(row("shape model of 68 patches, a face of 16 streams each"), "300 px",
                    of_streams);
  EXPECT_LE(of_streams, 1.3 * of_one) << "than 16 faces of one frame take";
}

}  // namespace
}  // namespace cuface
