// Faces behind GStreamer's elements on CUDA memory, which drop every tagged meta: they are
// delivered where no pixel has moved, and else one warning names the element. Without a GPU:
// fakecuda.h.
#include "tests/gst/behind.h"
#include "tests/gst/fakecuda.h"
#include "tests/gst/parts.h"

namespace cuface::test {
namespace {

const std::string kGrey = "videoconvert name=ours ! capsfilter caps=video/x-raw,format=GRAY8 ! ";
std::string caps(const std::string& fields) { return " ! capsfilter caps=video/x-raw," + fields; }

/// Both behaviours of transform_meta.
class MetaCuda : public testing::TestWithParam<bool> {
 protected:
  MetaCuda() {
    register_fake_cuda_elements();
    fake_cuda_elements_are_newer(GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(GStreamer, MetaCuda, testing::Values(false, true), [](const auto& info) {
  return std::string(info.param ? "1_24" : "1_22");
});

TEST_P(MetaCuda, FacesPassWhereNoPixelMoves) {
  int passed = 0;
  for (const std::string& elements :
       {std::string("cudaupload"), std::string("cudadownload"), std::string("cudaconvert"),
        std::string("cudascale"), std::string("cudaconvertscale"), std::string("fakeconvertbin"),
        std::string("queue ! cudaupload ! queue ! fakeconvertbin ! cudadownload ! queue"),
        "cudascale" + caps("width=640,height=480"),
        "cudascale" + caps("width=640,height=240,pixel-aspect-ratio=1/2"),
        "cudascale" + caps("width=321,height=240,pixel-aspect-ratio=1/1"),
        "cudascale add-borders=false" + caps("width=160,height=120"),
        "cudaconvertscale video-direction=identity" + caps("width=640,height=480"),
        "cudaupload ! cudascale" + caps("width=640,height=480") +
            " ! cudaconvert ! cudadownload ! videoscale" + caps("width=320,height=240"),
        std::string("cudadownload ! videobalance ! cudaupload ! cudaconvert")}) {
    const Out out = behind(kGrey + elements);
    ASSERT_TRUE(out.faces) << elements << ": not delivered, " << out.moved_by;
    EXPECT_TRUE(fits(out)) << elements << ": box at " << out.faces->faces[0].box.x << ", "
                           << out.faces->faces[0].box.y << ", the face at " << out.bright;
    ++passed;
  }
  EXPECT_EQ(passed, 14);
}

TEST_P(MetaCuda, FacesAreLostWherePixelsMoveAndTheElementHasAName) {
  struct Case {
    std::string elements, named;
  };
  const std::string square = caps("width=320,height=320,pixel-aspect-ratio=1/1");
  for (const Case& c :
       {Case{"cudascale name=x" + square, "x (cudascale, 4:3 to 1:1)"},
        {"cudascale name=x add-borders=false" + square, "x (cudascale, 4:3 to 1:1)"},
        {"cudascale name=x" + caps("width=320,height=240,pixel-aspect-ratio=2/1"),
         "x (cudascale, 4:3 to 8:3)"},
        {"cudaconvertscale name=x" + square, "x (cudaconvertscale, 4:3 to 1:1)"},
        {"cudaconvertscale name=x video-direction=90r", "x (cudaconvertscale video-direction=90r)"},
        {"cudaconvertscale name=x video-direction=180", "x (cudaconvertscale video-direction=180)"},
        {"cudaconvertscale name=x video-direction=horiz",
         "x (cudaconvertscale video-direction=horiz)"},
        {"cudaconvertscale name=x video-direction=vert ! cudadownload",
         "x (cudaconvertscale video-direction=vert)"},
        {"cudaconvertscale name=x video-direction=ur-ll ! cudascale",
         "x (cudaconvertscale video-direction=ur-ll)"},
        {"cudaconvertscale name=x video-direction=auto",
         "x (cudaconvertscale video-direction=auto)"},
        {"cudaconvertscale video-direction=horiz ! cudaconvertscale video-direction=horiz",
         "cudaconvertscale0 (cudaconvertscale video-direction=horiz)"},
        {"fakecudaflip name=x", "x (fakecudaflip)"},
        {"cudaupload ! queue ! fakecudaflip name=x ! cudaconvert ! cudadownload",
         "x (fakecudaflip)"},
        {"cudadownload ! videoflip name=x video-direction=horiz ! cudaupload", "x (videoflip)"},
        {"cudadownload ! videoflip video-direction=vert", ""},
        {"cudadownload ! videoflip video-direction=vert ! videoscale" +
             caps("width=640,height=480"),
         ""},
        {"videoflip video-direction=horiz ! cudaupload", ""}}) {
    const Out out = behind(kGrey + c.elements);
    EXPECT_GT(out.frames, 0);
    EXPECT_FALSE(out.faces) << c.elements << ": delivered";
    std::string moved_by = out.moved_by;
    // gst_parse counts the elements of a process.
    if (c.named.find("cudaconvertscale0") == 0)
      moved_by.replace(0, moved_by.find(' '), "cudaconvertscale0");
    if (c.named.empty()) continue;  // nobody can tell
    EXPECT_EQ(moved_by, c.named) << c.elements;
  }
}

// The element that copies is known, not only what lies somewhere behind.
TEST_P(MetaCuda, OneBranchOfATeeSaysNothingOfTheOther) {
  for (const bool queues : {false, true}) {
    const std::string q = queues ? "queue ! " : "";
    for (const auto& [other, ours, delivered] :
         {std::tuple{"cudaconvertscale video-direction=180", "cudaconvert", true},
          {"cudaconvert", "cudaconvertscale video-direction=180", false},
          {"fakecudaflip", "cudaconvertscale", true}}) {
      const Out out = behind(
          kGrey + "tee name=t t. ! " + q + other + " ! fakesink async=false t. ! " + q + ours, 20);
      EXPECT_EQ(out.faces != nullptr, delivered) << other << " beside " << ours;
      EXPECT_TRUE(!out.faces || fits(out));
    }
  }
}

TEST_P(MetaCuda, ADirectionSetWhilePlayingCountsFromItsFrameOn) {
  Harness harness(kGrey + "cudaconvertscale name=x");
  harness.set_caps(frame_info());
  const auto ours = gst::make_element_ref(harness.element("ours"));
  for (const auto& [direction, faces] :
       {std::pair{"identity", 1}, {"180", 0}, {"identity", 1}, {"horiz", 0}}) {
    gst_util_set_object_arg(G_OBJECT(harness.element("x")), "video-direction", direction);
    GstBuffer* out = harness.pass(frame_with_face(ours));
    EXPECT_EQ(face_count(out), faces) << direction;
    gst_buffer_unref(out);
  }
}

// Frames that reach an element on a way of their own, from an appsink to an appsrc say.
TEST_P(MetaCuda, WhoCannotBeFoundIsTrustedWithNothing) {
  Harness away("identity name=away");
  Harness harness(kGrey + "cudaconvert");
  harness.set_caps(frame_info());
  for (const auto& from : {gst::ElementRef(), gst::make_element_ref(away.element("away"))}) {
    GstBuffer* out = harness.pass(frame_with_face(from));
    EXPECT_EQ(face_count(out), 0);
    EXPECT_EQ(gst::find_result<FaceList>(out, kWidth, kHeight).positions, gst::Positions::kUnknown);
    gst_buffer_unref(out);
  }
}

TEST_P(MetaCuda, BetweenOurElementsOneWarningNamesTheOneToMove) {
  Parts parts;
  for (const auto& [between, named] :
       {std::pair{std::string("cudaconvert ! cudascale ! video/x-raw,width=640,height=480"), ""},
        {"cudascale name=x ! video/x-raw,width=320,height=320,pixel-aspect-ratio=1/1",
         "x (cudascale, 4:3 to 1:1)"},
        {"cudaconvertscale name=x video-direction=180", "x (cudaconvertscale video-direction=180)"},
        {"cudadownload ! videoflip name=x video-direction=180", "x (videoflip)"}}) {
    const BusReport report = run_pipeline(
        "videotestsrc num-buffers=6 ! video/x-raw,format=GRAY8,width=320,height=240 ! " +
        parts.detect + " ! queue ! " + between + " ! " + parts.track + " ! " + parts.landmark +
        " ! " + parts.overlay + " ! " + parts.publish + " ! fakesink");
    EXPECT_EQ(report.error, "") << between;
    ASSERT_EQ(report.warnings.size(), *named ? 1u : 0u) << between;
    if (!*named) continue;
    EXPECT_NE(report.warnings[0].find(std::string(named) + " between the face elements"),
              std::string::npos)
        << report.warnings[0];
  }
}

}  // namespace
}  // namespace cuface::test
