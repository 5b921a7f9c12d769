// cuedgedetect and cumotiondetect on the GPU: the pixels, edges, motion and messages that they have
// on the CPU, of frames in system and in CUDA memory. Without a decoder: frames are made here.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "gst/base/element.h"
#include "gst/edgedetect/element.h"
#include "gst/meta/edges.h"
#include "gst/meta/motion.h"
#include "gst/motiondetect/element.h"
#include "tests/gpu/pipelines/played.h"
#include "tests/moving_faces.h"

namespace cuface::test {
namespace {

constexpr int kFrames = 56, kWidth = 130, kHeight = 62;

/// The elements of this program, under names that no plugin has.
void register_elements() {
  static const bool once = [] {
    static gst::ElementInfo edges = gst::kEdgeDetect, motion = gst::kMotionDetect;
    register_as("testedges", "CufaceTestEdges", edges);
    register_as("testmotion", "CufaceTestMotion", motion);
    return true;
  }();
  (void)once;
}

/// A textured ground with noise; from frame 35 on a square crosses it, until 50.
Grey picture_of(int number) {
  std::mt19937 random(static_cast<unsigned>(number + 1));
  Grey grey = textured(kWidth, kHeight, 1);
  for (auto& p : grey.pixels)
    p = static_cast<std::uint8_t>(std::max(p - static_cast<int>(random() % 3), 0));
  for (int y = 16; y < 44 && number >= 35 && number < 50; ++y)
    std::fill_n(&grey.view().at((number - 35) * 5, y), 30, std::uint8_t{250});
  return grey;
}

/// All of a frame that can be seen.
struct Seen {
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint64_t> edges;
  std::string motion, regions;
  int moving = 0;
};

Seen see(GstBuffer* buffer, GstVideoFormat format) {
  Seen out;
  GstVideoInfo info;
  gst_video_info_set_format(&info, format, kWidth, kHeight);
  out.pixels = samples_of(info, buffer);
  const auto edges = gst::find_result<Edges>(buffer, 0, 0).result.read();
  EXPECT_TRUE(edges.ok()) << edges.status().message();
  if (edges.ok() && edges.value())
    for (int y = 0; y < edges.value()->bits.height(); ++y)
      out.edges.insert(out.edges.end(), edges.value()->bits.view().row(y),
                       edges.value()->bits.view().row(y) + edges.value()->bits.width());
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    const auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    for (const guint v : {static_cast<guint>(roi->id), roi->x, roi->y, roi->w, roi->h})
      out.regions += std::to_string(v) + " ";
  }
  const auto motion = gst::find_result<MotionMap>(buffer, 0, 0).result.read();
  EXPECT_TRUE(motion.ok()) << motion.status().message();
  if (!motion.ok() || !motion.value()) return out;
  const MotionMap& m = *motion.value();
  out.moving = m.moving_cells;
  const auto add = [&](auto value) { out.motion += std::to_string(value) + " "; };
  for (const int v : {m.width, m.height, int{m.compared}, int{m.global_change}, int{m.in_event},
                      m.moving_cells, m.columns, m.rows})
    add(v);
  add(m.share);
  for (const MotionCell& cell : m.cells) add(cell.share + (cell.moves ? 10.0f : 0.0f));
  for (const MotionRegion& r : m.regions) {
    add(r.id);
    for (const float v : {r.box.x, r.box.y, r.box.w, r.box.h}) add(v);
  }
  return out;
}

/// Motion needs what it has learnt.
int frames_for(const std::string& elements) {
  return elements.find("testmotion") == elements.npos ? 12 : kFrames;
}

struct All {
  std::vector<Seen> frames;
  std::vector<std::string> messages;
  std::vector<std::uint64_t> stats;  ///< of the element m
};

/// What the element m is told before a frame.
struct Change {
  int frame = -1;
  const char* property = nullptr;
  std::string value = {};
};

All play(const std::string& elements, GstVideoFormat format, Memory memory, int gap = -1,
         const Change& change = {}) {
  All all;
  const auto see_one = [&](GstBuffer* b) { all.frames.push_back(see(b, format)); };
  const auto make = [&](int number, GstCudaContext* context) {
    GstBuffer* buffer =
        make_buffer(format, picture_of(number), static_cast<unsigned>(number + 1), context);
    if (number == gap) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_GAP);
    return buffer;
  };
  const auto before = [&](Pipeline& pipeline) {
    if (!change.property) return;
    pipeline.on_buffer("m", "sink", [&, number = 0](GstBuffer*) mutable {
      if (number++ == change.frame) pipeline.set("m", change.property, change.value);
    });
  };
  const auto after = [&](Pipeline& pipeline) {
    if (!elements.starts_with("testmotion name=m ")) return;
    for (const char* field : {"frames", "moving-frames", "global-changes", "events", "edge-maps"})
      all.stats.push_back(pipeline.stat("m", field));
  };
  all.messages =
      play({elements, format, kWidth, kHeight, frames_for(elements), make, see_one, before, after},
           memory)
          .messages;
  return all;
}

class MovingCuda : public PlayedCuda {
 protected:
  void SetUp() override {
    PlayedCuda::SetUp();
    if (!IsSkipped()) register_elements();
  }
  static void compare(const std::string& elements, GstVideoFormat format, int least_moving,
                      int gap = -1, const Change& change = {},
                      const std::vector<Memory>& memories = {Memory::kSystem, Memory::kCuda}) {
    SCOPED_TRACE(elements);
    const All cpu = play(elements, format, Memory::kCpu, gap, change);
    ASSERT_EQ(cpu.frames.size(), static_cast<std::size_t>(frames_for(elements)));
    int moving = 0;
    for (const Seen& each : cpu.frames) moving += each.moving > 0;
    EXPECT_GE(moving, least_moving);
    EXPECT_GE(cpu.messages.size(), least_moving > 0 ? 2u : 0u);
    for (const Memory memory : memories) {
      SCOPED_TRACE(memory == Memory::kCuda ? "CUDA memory" : "system memory");
      const All gpu = play(elements, format, memory, gap, change);
      EXPECT_EQ(gpu.messages, cpu.messages);
      EXPECT_EQ(gpu.stats, cpu.stats);
      ASSERT_EQ(gpu.frames.size(), cpu.frames.size());
      for (std::size_t i = 0; i < cpu.frames.size(); ++i) {
        SCOPED_TRACE("frame " + std::to_string(i));
        ASSERT_TRUE(gpu.frames[i].edges == cpu.frames[i].edges);
        ASSERT_EQ(gpu.frames[i].motion, cpu.frames[i].motion);
        ASSERT_TRUE(gpu.frames[i].pixels == cpu.frames[i].pixels);
        // By default the GPU's elements write none: they would wait.
        const bool always = elements.find("standard-metas=always") != elements.npos;
        ASSERT_EQ(gpu.frames[i].regions, always ? cpu.frames[i].regions : "");
      }
    }
  }
};

TEST_F(MovingCuda, EdgesInThePictureAndInTheMeta) {
  for (const char* output : {"picture", "gradient", "angle", "meta", "picture mask=true"})
    compare(std::string("testedges backend=BACKEND output=") + output, GST_VIDEO_FORMAT_NV12, 0);
  compare("testedges backend=BACKEND linking=apron kernel-size=1", GST_VIDEO_FORMAT_RGBA, 0);
  compare("testedges backend=BACKEND convolution=full", GST_VIDEO_FORMAT_NV12, 0);
  compare("testedges backend=BACKEND aperture=5 low=600 high=1800", GST_VIDEO_FORMAT_I420, 0);
}

TEST_F(MovingCuda, MotionByEveryMethod) {
  for (const char* method : {"edges", "difference", "background"})
    for (const char* output : {"meta", "mask", "cells"})
      compare(
          "testmotion name=m backend=BACKEND method=" + std::string(method) + " output=" + output,
          GST_VIDEO_FORMAT_NV12, 5);
}

TEST_F(MovingCuda, MotionByTheEdgesAtHand) {
  const std::string own = "testmotion method=edges interval=0 backend=BACKEND";
  compare("testedges backend=BACKEND output=meta kernel-size=7 ! " + own, GST_VIDEO_FORMAT_NV12, 5);
  compare("testedges backend=BACKEND output=picture ! " + own, GST_VIDEO_FORMAT_NV12, 5);
  // The luma of the picture that the edges have replaced.
  compare(
      "testedges backend=BACKEND output=gradient ! testmotion method=difference backend=BACKEND",
      GST_VIDEO_FORMAT_NV12, 5);
  // Edges in host memory.
  compare("testedges backend=cpu output=meta kernel-size=7 ! " + own, GST_VIDEO_FORMAT_NV12, 5, -1,
          {}, {Memory::kSystem});
}

TEST_F(MovingCuda, GapsMasksAndRegions) {
  compare("testmotion backend=BACKEND method=difference interval=0 standard-metas=always",
          GST_VIDEO_FORMAT_I420, 5, 42);
  compare("testmotion name=m backend=BACKEND output=mask ignore=\"0,0 0.3,0 0.3,0.4\"",
          GST_VIDEO_FORMAT_NV12, 5, 42);
  compare("testmotion backend=BACKEND method=difference columns=24 rows=12", GST_VIDEO_FORMAT_RGBA,
          5, 42);
}

// Ids go on behind those of the detector before.
TEST_F(MovingCuda, SettingsThatChange) {
  const std::string edges = "testedges name=m backend=BACKEND";
  compare(edges, GST_VIDEO_FORMAT_NV12, 0, -1, {5, "kernel-size", "9"});
  compare(edges, GST_VIDEO_FORMAT_NV12, 0, -1, {5, "output", "angle"});
  compare(edges, GST_VIDEO_FORMAT_NV12, 0, -1, {5, "convolution", "full"});
  const std::string motion = "testmotion name=m backend=BACKEND method=difference interval=0";
  compare(motion, GST_VIDEO_FORMAT_NV12, 5, -1, {42, "columns", "16"});
  compare(motion, GST_VIDEO_FORMAT_NV12, 5, -1, {42, "method", "edges"});
}

}  // namespace
}  // namespace cuface::test
