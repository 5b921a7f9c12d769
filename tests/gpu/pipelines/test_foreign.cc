// Boxes of other people's detectors in front of the chain on a GPU: what it makes of them on the
// CPU, with the same learned map.
#include <string>
#include <vector>

#include "tests/gpu/pipelines/both_chains.h"
#include "tests/gst/standin.h"

namespace cuface::test {
namespace {

class ForeignBoxes : public BothChains {
 protected:
  /// The clip's face on every fifth frame, a part of it only, so that there is something to learn.
  std::vector<std::string> lines_behind(const std::string& decoded, const std::string& out,
                                        const std::string& options = "",
                                        const std::string& options_of_tracker = "") {
    set_standin([](GstBuffer* buffer, int frame) {
      if (frame % 5 == 0) add_region(buffer, "face", {320, 90, 200, 200}, 0.9, 640, 360);
    });
    Pipeline pipeline(decoded + " ! standin ! culktrack " + options_of_tracker +
                      " ! cufacelandmark " + options +
                      " ! cufacepublish location=" + folder_.file(out) + " ! fakesink sync=false");
    const Ending ending = pipeline.play();
    EXPECT_TRUE(ending.eos) << out << ": " << ending.error;
    messages_ = ending.messages;
    pipeline.set_state(GST_STATE_NULL);
    return lines(out);
  }
  std::vector<std::string> messages_;  ///< of the last one's elements, until its end
};

TEST_F(ForeignBoxes, GiveTheSameFacesAsOnTheCpu) {
  const auto on_cpu = lines_behind(decoded_on_cpu(clip(kPexels)), "cpu");
  const auto on_gpu = lines_behind(decoded_on_gpu(clip(kPexels)), "gpu");
  expect_same_lines(on_cpu, on_gpu, "boxes of others");
  EXPECT_GT(faces_in(on_gpu), 100);
  const auto as_they_come = lines_behind(decoded_on_gpu(clip(kPexels)), "raw", "box-map=none");
  EXPECT_NE(as_they_come, on_gpu) << "a map is learned";
}

TEST_F(ForeignBoxes, SayWhoComesAndGoesAsOnTheCpu) {
  const std::string few = "max-missed=1 hold-time=0", told = few + " post-messages=true";
  lines_behind(decoded_on_cpu(clip(kPexels)), "cpu", "", told);
  const auto on_cpu = messages_;
  lines_behind(decoded_on_gpu(clip(kPexels)), "gpu", "", told);
  EXPECT_EQ(messages_, on_cpu);
  const auto starting = [&](const char* name) {
    return std::ranges::count_if(messages_, [&](const auto& m) { return m.starts_with(name); });
  };
  EXPECT_GE(starting("face-appeared"), 1);
  EXPECT_EQ(starting("face-lost"), starting("face-appeared")) << "the last before the end";
  lines_behind(decoded_on_gpu(clip(kPexels)), "quiet", "", few);
  EXPECT_TRUE(messages_.empty()) << messages_[0];
}

}  // namespace
}  // namespace cuface::test
