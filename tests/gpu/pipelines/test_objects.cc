// cuplanartrack on the GPU: the objects that it has on the CPU, of frames in system and in CUDA
// memory, with keypoints of a cufeatures before it and without.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "gst/base/element.h"
#include "gst/faces/elements.h"
#include "gst/features/element.h"
#include "gst/meta/planar.h"
#include "gst/planartrack/element.h"
#include "kernels/surf/surf.h"
#include "models/png_picture.h"
#include "tests/gpu/pipelines/played.h"
#include "tests/gpu/pipelines/small_picture.h"
#include "tests/moving_faces.h"
#include "tests/printed_pictures.h"

namespace cuface::test {
namespace {

constexpr int kFrames = 5, kWidth = 320, kHeight = 176, kGone = 2;

/// The elements of this program, under names that no plugin has.
void register_elements() {
  static const bool once = [] {
    static gst::ElementInfo features = gst::kFeatureDetect, planar = gst::kPlanarTrack,
                            overlay = gst::kFaceOverlay;
    register_as("testcorners", "CufaceTestCorners", features);
    register_as("testobjects", "CufaceTestObjects", planar);
    register_as("testlaid", "CufaceTestLaid", overlay);
    return true;
  }();
  (void)once;
}

const Grey& picture(unsigned number) {
  static const Grey pictures[] = {printed(130, 120, 3), printed(130, 130, 7)};
  return pictures[number];
}

/// Both pictures move; on frame kGone the second one is not there.
Grey frame_of(int n) {
  Grey out = printed(kWidth, kHeight, 99);
  lay(out, picture(0), turned(10 + 3 * n, 20 + n, 1, 0.02 * n, 2e-4));
  if (n != kGone) lay(out, picture(1), turned(180 - 2 * n, 25, 1, 0.01 * n, 0));
  return out;
}

struct Seen {
  std::vector<FramePlanar> frames;
  std::uint64_t searches = 0, visible = 0, lost = 0;
  int on_gpu = 0;  ///< frames whose objects were there
};

Seen play(const std::string& elements, Memory memory) {
  Seen seen;
  const auto see = [&](GstBuffer* b) {
    const auto result = gst::find_result<FramePlanar>(b, 0, 0).result;
    seen.on_gpu += result.pending != nullptr;
    const auto found = result.read();
    EXPECT_TRUE(found.ok()) << found.status().message();
    seen.frames.push_back(found.ok() && found.value() ? *found.value() : FramePlanar());
  };
  const auto make = [&](int number, GstCudaContext* context) {
    return make_buffer(GST_VIDEO_FORMAT_NV12, frame_of(number), static_cast<unsigned>(number),
                       context);
  };
  const auto after = [&](Pipeline& pipeline) {
    seen.searches = pipeline.stat("p", "searches");
    seen.visible = pipeline.stat("p", "visible-objects");
    seen.lost = pipeline.stat("p", "lost-objects");
  };
  play({elements, GST_VIDEO_FORMAT_NV12, kWidth, kHeight, kFrames, make, see, {}, after}, memory);
  return seen;
}

class ObjectsCuda : public PlayedCuda {
 protected:
  void SetUp() override {
    PlayedCuda::SetUp();
    if (IsSkipped()) return;
    register_elements();
    for (unsigned i = 0; i < 2; ++i) {
      const Status saved = save_png_grey(picture(i).view(), folder_.file(name(i)));
      if (saved.code() == StatusCode::kUnsupported) GTEST_SKIP() << saved.message();
      ASSERT_TRUE(saved.ok()) << saved.message();
    }
  }
  static std::string name(unsigned i) { return i ? "second.png" : "first.png"; }
  std::string text(const std::string& more) const {
    return "testobjects name=p backend=BACKEND reference=one=" + folder_.file(name(0)) +
           ",two=" + folder_.file(name(1)) + " " + more;
  }

  void compare(const std::string& elements, const std::vector<Memory>& memories) {
    SCOPED_TRACE(elements);
    const Seen cpu = play(elements, Memory::kCpu);
    ASSERT_EQ(cpu.frames.size(), std::size_t{kFrames});
    for (const Memory memory : memories) {
      SCOPED_TRACE(memory == Memory::kCuda ? "CUDA memory" : "system memory");
      const Seen gpu = play(elements, memory);
      EXPECT_EQ(gpu.searches, cpu.searches);
      EXPECT_EQ(gpu.visible, cpu.visible);
      EXPECT_EQ(gpu.lost, cpu.lost);
      EXPECT_EQ(gpu.on_gpu, kFrames);
      ASSERT_EQ(gpu.frames.size(), cpu.frames.size());
      for (std::size_t i = 0; i < cpu.frames.size(); ++i)
        ASSERT_NO_FATAL_FAILURE(expect_same(cpu.frames[i], gpu.frames[i])) << "frame " << i;
    }
  }
  void expect_same(const FramePlanar& a, const FramePlanar& b) {
    EXPECT_TRUE(a.width == kWidth && b.width == kWidth && b.height == kHeight);
    ASSERT_TRUE(a.pictures == b.pictures);
    ASSERT_EQ(a.objects.size(), b.objects.size());
    for (std::size_t i = 0; i < a.objects.size(); ++i) {
      const PlanarObject &x = a.objects[i], &y = b.objects[i];
      ASSERT_TRUE(x.picture == y.picture && x.id == y.id && x.found == y.found &&
                  x.inliers == y.inliers &&
                  std::memcmp(x.corners, y.corners, sizeof x.corners) == 0 &&
                  std::memcmp(x.map.m, y.map.m, sizeof x.map.m) == 0)
          << "object " << i;
      ++(x.found ? found_ : followed_);
    }
  }

  const TempFolder folder_;
  long found_ = 0, followed_ = 0;
};

TEST_F(ObjectsCuda, AreThoseOfTheCpu) {
  compare(text("max-keypoints=400"), {Memory::kSystem, Memory::kCuda});
  compared("objects found", found_, 6);
  compared("objects followed", followed_, 10);
}

TEST_F(ObjectsCuda, ByKeypointsOfAnElementBefore) {
  compare("testcorners backend=BACKEND max-keypoints=300 ! " + text(""), {Memory::kCuda});
  compared("objects found", found_, 3);
  compared("objects followed", followed_, 5);
}

TEST_F(ObjectsCuda, BySurfsKeypointsOfAnElementBefore) {
  if (!validate(SurfConfig()).ok()) GTEST_SKIP() << "built without SURF";
  compare("testcorners backend=BACKEND detector=hessian descriptor=surf max-keypoints=300 ! " +
              text(""),
          {Memory::kCuda});
  compared("objects found", found_, 3);
  compared("objects followed", followed_, 5);
}

TEST_F(ObjectsCuda, StaysWithKeypointsOnTheCpu) {
  std::string objects = text("");
  objects.replace(objects.find("BACKEND"), 7, "auto");
  const std::string corners = "testcorners backend=cpu max-keypoints=300 ! ";
  const Seen alone = play(corners + objects, Memory::kSystem);
  const Seen behind = play("testcorners backend=cuda ! " + corners + objects, Memory::kSystem);
  EXPECT_EQ(behind.on_gpu, 0);
  ASSERT_EQ(alone.frames.size(), std::size_t{kFrames});
  ASSERT_EQ(behind.frames.size(), alone.frames.size());
  for (std::size_t i = 0; i < alone.frames.size(); ++i)
    ASSERT_NO_FATAL_FAILURE(expect_same(alone.frames[i], behind.frames[i])) << "frame " << i;
  compared("objects found", found_, 3);
}

/// Caps with other memory change the processor. The second picture is found first, so ids that are
/// given anew are others.
TEST_F(ObjectsCuda, KeepTheirIdsWhenTheMemoryChanges) {
  std::string objects = text("max-keypoints=400");
  objects.replace(objects.find("BACKEND"), 7, "auto");
  Pipeline* playing = nullptr;
  const auto make = [&](int number, GstCudaContext* context) {
    const bool in_cuda_memory = number % 2 == 0;
    playing->set("src", "caps",
                 "video/x-raw" + std::string(in_cuda_memory ? "(memory:CUDAMemory)" : "") +
                     ",format=NV12,width=" + std::to_string(kWidth) +
                     ",height=" + std::to_string(kHeight) + ",framerate=25/1");
    Grey grey = printed(kWidth, kHeight, 99);
    if (number > 0) lay(grey, picture(0), turned(10, 20, 1, 0.02, 2e-4));
    if (number != 1) lay(grey, picture(1), turned(180, 25, 1, 0.01, 0));
    return make_buffer(GST_VIDEO_FORMAT_NV12, grey, 1, in_cuda_memory ? context : nullptr);
  };
  std::string ids;
  const auto see = [&](GstBuffer* b) {
    const auto result = gst::find_result<FramePlanar>(b, 0, 0).result;
    ids += result.pending ? "gpu" : "cpu";
    const auto found = result.read();
    ASSERT_TRUE(found.ok() && found.value());
    for (const PlanarObject& o : found.value()->objects)
      ids.append(" ").append(std::to_string(o.picture)).append(":").append(std::to_string(o.id));
    ids += "\n";
  };
  play({objects, GST_VIDEO_FORMAT_NV12, kWidth, kHeight, 4, make, see,
        [&](Pipeline& pipeline) { playing = &pipeline; }},
       Memory::kCuda);
  EXPECT_EQ(ids, "gpu 1:1\ncpu 0:2\ngpu 0:2 1:1\ncpu 0:2 1:1\n");
}

TEST_F(ObjectsCuda, APictureIsLaidOnThem) {
  const std::string image = folder_.file("laid.png");
  write_small_picture(image);
  const auto drawn = [&](Memory memory, const char* draw) {
    std::vector<std::vector<std::uint8_t>> seen;
    GstVideoInfo info;
    gst_video_info_set_format(&info, GST_VIDEO_FORMAT_NV12, kWidth, kHeight);
    const auto see = [&](GstBuffer* b) { seen.push_back(samples_of(info, b)); };
    const auto make = [&](int number, GstCudaContext* context) {
      return make_buffer(GST_VIDEO_FORMAT_NV12, frame_of(number), static_cast<unsigned>(number),
                         context);
    };
    play({text("max-keypoints=400") + " ! testlaid image=" + image + " draw=" + draw,
          GST_VIDEO_FORMAT_NV12, kWidth, kHeight, kFrames, make, see},
         memory);
    return seen;
  };
  const auto plain = drawn(Memory::kCpu, "none"), cpu = drawn(Memory::kCpu, "image"),
             gpu = drawn(Memory::kCuda, "image");
  ASSERT_EQ(cpu.size(), std::size_t{kFrames});
  ASSERT_EQ(gpu.size(), cpu.size());
  long bytes = 0;
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    ASSERT_TRUE(gpu[i] == cpu[i]) << "frame " << i;
    for (std::size_t k = 0; k < cpu[i].size(); ++k) bytes += cpu[i][k] != plain[i][k];
  }
  EXPECT_GE(bytes, 20'000);
}

TEST_F(ObjectsCuda, KeypointsElsewhereAreAnErrorThatNamesBackend) {
  Pipeline pipeline("appsrc name=src format=time caps=video/x-raw,format=GRAY8,width=" +
                    std::to_string(kWidth) + ",height=" + std::to_string(kHeight) +
                    ",framerate=25/1 ! testcorners backend=cpu ! testobjects backend=cuda "
                    "reference=" +
                    folder_.file(name(0)) + " ! fakesink sync=false");
  pipeline.feed("src", [number = 0]() mutable -> GstBuffer* {
    return number++ ? nullptr : make_buffer(GST_VIDEO_FORMAT_GRAY8, frame_of(0), 0, nullptr);
  });
  const Ending ending = pipeline.play(300);
  EXPECT_FALSE(ending.eos);
  EXPECT_NE(ending.error.find("backend=cpu"), std::string::npos) << ending.error;
}

}  // namespace
}  // namespace cuface::test
