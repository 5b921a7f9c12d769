// The same chain on the CPU and on the GPU, published to files of a folder.
#pragma once

#include <gst/gst.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/gpu/pipelines/pipeline.h"

namespace cuface::test {

/// Needs a GPU with a decoder; ends the process when a test takes longer than 90 s.
class BothChains : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_CHAINS();
    // A plugin that is loaded while there is no memory finds no decoders, for the whole process.
    GstElement* decoder = gst_element_factory_make("nvh264dec", nullptr);
    ASSERT_NE(decoder, nullptr);
    gst_object_unref(decoder);
  }

  /// A chain that publishes to a file of that name.
  std::string chain(const std::string& out, const std::string& detect = "") const {
    return "cufacedetect name=detect " + detect + " ! culktrack ! cufacelandmark name=landmark ! " +
           "cufacepublish location=" + folder_.file(out) + " ! fakesink name=sink sync=false ";
  }
  std::vector<std::string> lines(const std::string& out) const {
    return lines_of(folder_.file(out));
  }
  /// Plays to the end, which must come.
  std::vector<std::string> play_to_end(const std::string& decoded, const std::string& out,
                                       const std::string& detect = "") const {
    Pipeline pipeline(decoded + " ! " + chain(out, detect));
    const Ending ending = pipeline.play();
    EXPECT_TRUE(ending.eos) << out << ": " << ending.error;
    pipeline.set_state(GST_STATE_NULL);
    return lines(out);
  }
  /// backend=cuda and backend=cpu behind the same source in system memory give the same; their
  /// lines.
  std::vector<std::string> same_on_both(const std::string& source,
                                        const std::string& detect) const {
    const auto on_cpu = play_to_end(source, "cpu", "backend=cpu " + detect);
    const auto on_gpu = play_to_end(source, "gpu", "backend=cuda " + detect);
    expect_same_lines(on_cpu, on_gpu, detect);
    return on_gpu;
  }

  const TempFolder folder_;

 private:
  const TimeLimit limit_{90};
};

inline long faces_of(const std::string& line) { return faces_in({line}); }

}  // namespace cuface::test
