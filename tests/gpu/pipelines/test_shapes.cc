// cufacelandmark with a shape model on the GPU: the lines of JSON that it gives on the CPU, of
// frames in system and in CUDA memory, and from each start of a search. Without a decoder: frames
// and faces are made here.
#include <gst/gst.h>
#include <gst/video/gstvideometa.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gst/base/element.h"
#include "gst/faces/elements.h"
#include "gst/faces/line.h"
#include "models/shape_file.h"
#include "tests/gpu/pipelines/played.h"
#include "tests/kernels/shape_models.h"
#include "tests/moving_faces.h"
#include "tests/square_cascade.h"

namespace cuface::test {
namespace {

constexpr int kFrames = 4, kWidth = 170, kHeight = 98;

/// The elements of this program, under names that no plugin has.
void register_elements() {
  static const bool once = [] {
    static gst::ElementInfo track = gst::kLkTrack, landmark = gst::kFaceLandmark;
    register_as("testtrack", "CufaceTestTrack", track);
    register_as("testlandmark", "CufaceTestLandmark", landmark);
    return true;
  }();
  (void)once;
}

/// No face on the first frame; then two, of which one reaches beyond the picture.
GstBuffer* frame(int number, GstCudaContext* context) {
  GstBuffer* buffer =
      make_buffer(GST_VIDEO_FORMAT_NV12, textured(kWidth, kHeight, 1, 1.3 * number, 0.4 * number),
                  static_cast<unsigned>(number + 1), context);
  const auto left = static_cast<guint>(20 + 2 * number);
  if (number > 0) {
    gst_buffer_add_video_region_of_interest_meta(buffer, "face", left, 12, 70, 70);
    gst_buffer_add_video_region_of_interest_meta(buffer, "face", 120, 50, 50, 48);
  }
  return buffer;
}

class ShapesCuda : public PlayedCuda {
 protected:
  void SetUp() override {
    PlayedCuda::SetUp();
    if (IsSkipped()) return;
    register_elements();
    model_ = folder_.file("shape.cuface");
    const auto model = with_confidences(*random_shape_model_with_eyes(3));
    ASSERT_TRUE(write_shape_file(*model, {}, model_).ok());
  }

  std::vector<std::string> lines(const std::string& settings, Memory memory,
                                 const std::string& before = "",
                                 GstBuffer* (*make)(int, GstCudaContext*) = frame) {
    std::vector<std::string> all;
    std::uint64_t waits = 0;
    const auto see = [&](GstBuffer* buffer) {
      gst::Line line;
      line.frame = all.size();
      line.width = kWidth;
      line.height = kHeight;
      line.faces = gst::find_result<FaceList>(buffer, kWidth, kHeight).result;
      const auto json = gst::to_json(line);
      EXPECT_TRUE(json.ok()) << json.status().message();
      all.push_back(json.ok() ? json.value() : "");
    };
    const auto after = [&](Pipeline& pipeline) { waits = pipeline.stat("l", "waits"); };
    play({before + "testlandmark name=l backend=BACKEND model=" + model_ + " " + settings,
          GST_VIDEO_FORMAT_NV12,
          kWidth,
          kHeight,
          kFrames,
          make,
          see,
          {},
          after},
         memory);
    EXPECT_EQ(waits, 0u);
    return all;
  }

  TempFolder folder_;
  std::string model_;
};

TEST_F(ShapesCuda, TheModelFileDecidesTheEngine) {
  for (const std::string settings : {"", "smooth=0.5 inertia=0", "samples=3 refine=false"}) {
    const std::vector<std::string> cpu = lines(settings, Memory::kCpu);
    ASSERT_EQ(cpu.size(), static_cast<std::size_t>(kFrames));
    EXPECT_EQ(faces_in(cpu), 2 * (kFrames - 1));
    for (const char* key : {"\"landmarks\":[[", "\"landmark_confidences\":[0."})
      EXPECT_NE(cpu[1].find(key), std::string::npos) << cpu[1];
    for (const Memory memory : {Memory::kSystem, Memory::kCuda})
      if (memory == Memory::kCuda || settings.empty())
        expect_same_lines(cpu, lines(settings, memory), settings);
  }
}

TEST_F(ShapesCuda, StartsWhereTheTrackerIs) {
  const std::string track = "testtrack backend=BACKEND ! ";
  const std::vector<std::string> cpu = lines("start=tracker inertia=0", Memory::kCpu, track);
  EXPECT_EQ(faces_in(cpu), 2 * (kFrames - 1));
  EXPECT_NE(cpu, lines("start=box inertia=0", Memory::kCpu, track));
  for (const Memory memory : {Memory::kSystem, Memory::kCuda})
    expect_same_lines(cpu, lines("start=tracker inertia=0", memory, track), "tracker");
}

/// A face whose eyes are bright squares.
GstBuffer* frame_with_eyes(int number, GstCudaContext* context) {
  Grey grey(kWidth, kHeight, 20);
  for (const int left : {40, 85})
    for (int y = 30; y < 42; ++y) std::fill_n(&grey.view().at(left + number, y), 12, 230);
  GstBuffer* buffer = make_buffer(GST_VIDEO_FORMAT_NV12, grey, 1, context);
  gst_buffer_add_video_region_of_interest_meta(buffer, "face", 20, 4, 90, 90);
  return buffer;
}

TEST_F(ShapesCuda, StartsAtTheEyes) {
  if (under_tool()) GTEST_SKIP() << "the detector's kernels are not on the emulator";
  write_file(folder_.file("haarcascade_eye.xml"), square_cascade_xml());
  const std::string before = g_getenv("CUFACE_MODEL_PATH") ? g_getenv("CUFACE_MODEL_PATH") : "";
  g_setenv("CUFACE_MODEL_PATH", folder_.file("").c_str(), TRUE);
  const std::vector<std::string> cpu = lines("start=eyes", Memory::kCpu, "", frame_with_eyes);
  EXPECT_EQ(faces_in(cpu), kFrames);
  EXPECT_NE(cpu, lines("start=box", Memory::kCpu, "", frame_with_eyes)) << "the eyes are found";
  for (const Memory memory : {Memory::kSystem, Memory::kCuda})
    expect_same_lines(cpu, lines("start=eyes", memory, "", frame_with_eyes), "eyes");
  g_setenv("CUFACE_MODEL_PATH", before.c_str(), TRUE);
}

}  // namespace
}  // namespace cuface::test
