// Faces behind GStreamer's own elements on CUDA memory: where no pixel moves they stay where they
// are, and else there are none and one warning names the element. tests/gst/test_meta_cuda.cc shows
// more cases without a GPU.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "gst/meta/gstcufacemeta.h"
#include "tests/gpu/pipelines/pipeline.h"

namespace cuface::test {
namespace {

constexpr int kFrames = 60;
const std::string kOnCuda = " ! capsfilter caps=video/x-raw(memory:CUDAMemory),";

/// What came out behind some elements.
struct Behind {
  std::vector<std::string> lines;     ///< of cufacepublish
  std::vector<std::string> warnings;  ///< of the pipeline
  long seen = 0;                      ///< faces that an application's probe was given
};

/// The numbers of all normalised boxes, line by line.
std::vector<double> boxes_in(const std::vector<std::string>& lines) {
  std::vector<double> numbers;
  for (const std::string& line : lines)
    for (auto at = line.find("\"bounding_box\""); at != line.npos;
         at = line.find("\"bounding_box\"", at + 1)) {
      std::size_t from = at;
      for (const char* key : {"\"x_min\":", "\"y_min\":", "\"x_max\":", "\"y_max\":"}) {
        const auto found = line.find(key, at);
        if (found == line.npos) return {};
        from = found + std::string(key).size();
        numbers.push_back(std::strtod(line.c_str() + from, nullptr));
      }
    }
  return numbers;
}

class PositionsCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_CHAINS();
    for (const char* name : {"cudascale", "cudaconvert", "cudaconvertscale"}) {
      GstElementFactory* factory = gst_element_factory_find(name);
      if (!factory)
        GTEST_SKIP() << "no element " << name
                     << ": GStreamer finds no CUDA runtime compiler that it can use";
      gst_object_unref(factory);
    }
  }

  Behind behind(const std::string& elements) {
    const std::string file = folder_.file("faces.jsonl");
    Pipeline pipeline(decoded_on_gpu(clip(kPexels)) + " ! identity eos-after=" +
                      std::to_string(kFrames + 1) + " ! " + kChain + " ! " + elements +
                      " ! cufacepublish location=" + file + " ! fakesink name=sink sync=false");
    Behind found;
    pipeline.on_buffer("sink", "sink", [&](GstBuffer* buffer) {
      GstCufaceMeta* meta = gst_cuface_buffer_get_face_meta(buffer);
      ASSERT_NE(meta, nullptr);
      found.seen += gst_cuface_meta_get_n_faces(meta);
    });
    const Ending ending = pipeline.play(60);
    EXPECT_TRUE(ending.eos) << elements << ": " << ending.error;
    pipeline.set_state(GST_STATE_NULL);
    found.lines = lines_of(file);
    found.warnings = ending.warnings;
    EXPECT_GE(found.lines.size(), std::size_t{kFrames}) << elements;
    return found;
  }

 private:
  TempFolder folder_;
};

/// cudaconvertscale turns from GStreamer 1.24 on.
bool is_known(const std::string& elements) {
  guint major = 0, minor = 0, micro = 0, nano = 0;
  gst_version(&major, &minor, &micro, &nano);
  return minor >= 24 || elements.find("cudaconvertscale") == std::string::npos ||
         elements.find("video-direction") == std::string::npos;
}

TEST_F(PositionsCuda, FacesStayInTheirPlaceWhereNoPixelMoves) {
  const Behind plain = behind("identity");
  const std::vector<double> expected = boxes_in(plain.lines);
  ASSERT_GE(expected.size(), std::size_t{4 * kFrames / 2}) << "too few faces to compare";
  EXPECT_TRUE(plain.warnings.empty()) << plain.warnings[0];
  int compared = 0;
  for (const std::string& elements :
       {"cudaconvert" + kOnCuda + "format=RGBA", "cudascale" + kOnCuda + "width=1280,height=720",
        "cudascale" + kOnCuda + "width=1280,height=360,pixel-aspect-ratio=1/2",
        "cudaconvertscale video-direction=identity" + kOnCuda + "format=I420,width=320,height=180",
        std::string("cudadownload ! capsfilter caps=video/x-raw"),
        "queue ! cudascale" + kOnCuda + "width=960,height=540 ! tee ! queue ! cudaconvert" +
            kOnCuda + "format=I420 ! cudadownload ! capsfilter caps=video/x-raw ! cudaupload" +
            kOnCuda + "width=960"}) {
    if (!is_known(elements)) continue;
    const Behind found = behind(elements);
    EXPECT_TRUE(found.warnings.empty()) << elements << ": " << found.warnings[0];
    const std::vector<double> boxes = boxes_in(found.lines);
    const std::size_t both = std::min(boxes.size(), expected.size());
    EXPECT_GE(both, std::size_t{4 * kFrames / 2}) << elements;
    double largest = 0;
    for (std::size_t i = 0; i < both; ++i)
      largest = std::max(largest, std::abs(boxes[i] - expected[i]));
    EXPECT_LE(largest, 2e-3) << elements;
    EXPECT_EQ(found.seen * 4, static_cast<long>(boxes.size())) << elements << ": the probe";
    std::printf(
        "{\"what\": \"faces behind elements on CUDA\", \"elements\": \"%s\", \"boxes\": %zu, "
        "\"largest difference\": %.6f}\n",
        std::regex_replace(elements, std::regex(" ! capsfilter caps=\\S+"), "").c_str(), both / 4,
        largest);
    ++compared;
  }
  EXPECT_EQ(compared, is_known("cudaconvertscale video-direction=") ? 6 : 5);
}

TEST_F(PositionsCuda, FacesAreLostLoudlyWherePixelsMove) {
  const std::string square = kOnCuda + "width=640,height=640,pixel-aspect-ratio=1/1";
  // Else the cropper is offered CUDA memory, which it cannot crop.
  const std::string in_system = " ! capsfilter caps=video/x-raw ! ";
  int lost = 0;
  for (const auto& [elements, named] :
       {std::pair{"cudascale name=x add-borders=true" + square, "x (cudascale, 16:9 to 1:1)"},
        {"cudascale name=x add-borders=false" + square, "x (cudascale, 16:9 to 1:1)"},
        {"cudaconvertscale name=x add-borders=true" + square, "x (cudaconvertscale, 16:9 to 1:1)"},
        {std::string("cudaconvertscale name=x video-direction=90r"),
         "x (cudaconvertscale video-direction=90r)"},
        {std::string("cudaconvertscale name=x video-direction=180"),
         "x (cudaconvertscale video-direction=180)"},
        {std::string("cudaconvertscale name=x video-direction=horiz ! cudaconvert ! cudadownload"),
         "x (cudaconvertscale video-direction=horiz)"},
        {"cudadownload" + in_system + "videocrop name=x left=80", "x (videocrop)"},
        {"cudadownload" + in_system + "videocrop name=x left=80 ! cudaupload", "x (videocrop)"},
        {"cudadownload" + in_system + "videoflip name=x video-direction=horiz ! cudaupload",
         "x (videoflip)"}}) {
    if (!is_known(elements)) continue;
    const Behind found = behind(elements);
    EXPECT_EQ(faces_in(found.lines), 0) << elements;
    EXPECT_EQ(found.seen, 0) << elements << ": the probe";
    ASSERT_EQ(found.warnings.size(), 1u) << elements;
    EXPECT_NE(found.warnings[0].find(std::string(named) + " between the face elements"),
              std::string::npos)
        << elements << ": " << found.warnings[0];
    ++lost;
  }
  EXPECT_EQ(lost, is_known("cudaconvertscale video-direction=") ? 9 : 6);
}

}  // namespace
}  // namespace cuface::test
