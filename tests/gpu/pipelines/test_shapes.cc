// cufacelandmark with a shape model on the GPU: the lines of JSON that it gives on the CPU, of
// frames in system and in CUDA memory. Without a decoder: frames and faces are made here.
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

namespace cuface::test {
namespace {

constexpr int kFrames = 4, kWidth = 170, kHeight = 98;

/// The element of this program, under a name that no plugin has.
void register_element() {
  static const bool once = [] {
    static gst::ElementInfo landmark = gst::kFaceLandmark;
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
    register_element();
    model_ = folder_.file("shape.cuface");
    ASSERT_TRUE(write_shape_file(*random_shape_model(3), {}, model_).ok());
  }

  std::vector<std::string> lines(const std::string& settings, Memory memory) {
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
    play({"testlandmark name=l backend=BACKEND model=" + model_ + " " + settings,
          GST_VIDEO_FORMAT_NV12,
          kWidth,
          kHeight,
          kFrames,
          frame,
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
    EXPECT_NE(cpu[1].find("\"landmarks\":[["), std::string::npos) << cpu[1];
    for (const Memory memory : {Memory::kSystem, Memory::kCuda})
      if (memory == Memory::kCuda || settings.empty())
        expect_same_lines(cpu, lines(settings, memory), settings);
  }
}

}  // namespace
}  // namespace cuface::test
