// Faces behind the elements of others: where they are delivered they are where the face is, and
// what others wrote stays.
#include <sstream>

#include "tests/gst/behind.h"
#include "tests/gst/faces.h"
#include "tests/gst/parts.h"

namespace cuface::test {
namespace {

/// Whether every element of it is installed.
bool exists(const std::string& elements) {
  GError* error = nullptr;
  GstElement* bin =
      gst_parse_launch_full(elements.c_str(), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  const bool missing = g_error_matches(error, GST_PARSE_ERROR, GST_PARSE_ERROR_NO_SUCH_ELEMENT);
  g_clear_error(&error);
  if (bin) gst_object_unref(bin);
  return !missing;
}

TEST(MetaTransforms, FacesPassElementsThatLeavePixelsInTheirPlace) {
  int passed = 0;
  for (const char* elements :
       {"videoconvert", "queue", "tee", "tee ! queue", "identity", "videobalance contrast=1.2",
        "gamma gamma=1.1",
        "textoverlay text=face color=0xff000000 draw-outline=false draw-shadow=false",
        "timeoverlay color=0xff000000 draw-outline=false draw-shadow=false ! queue", "videorate",
        "videorate ! capsfilter caps=video/x-raw,framerate=50/1",
        "videorate ! capsfilter caps=video/x-raw,framerate=5/1", "videorate rate=2", "videocrop",
        "videobox", "videoscale",
        "videoconvert ! capsfilter caps=video/x-raw,format=RGB ! videoconvert"}) {
    const Out out = behind(elements, 6);
    ASSERT_GE(out.frames, 1) << elements;
    ASSERT_TRUE(out.faces) << elements << ": not delivered";
    EXPECT_TRUE(fits(out)) << elements;
    EXPECT_EQ(out.faces->faces[0].id, 7u) << elements;
    ++passed;
  }
  EXPECT_EQ(passed, 17);
}

/// Elements that move pixels, or might.
constexpr const char* kMovers = R"(
videocrop left=40
videocrop top=8 bottom=20
videocrop right=60 left=2
videocrop left=40 ! videoscale ! capsfilter caps=video/x-raw,width=320,height=240
aspectratiocrop aspect-ratio=16/9
aspectratiocrop aspect-ratio=1/1
videobox left=-20
videobox left=30 top=10
videobox left=-10 right=10
videobox top=-16 bottom=-16 left=-8 right=-8
videobox autocrop=true ! capsfilter caps=video/x-raw,width=300,height=260
videoscale ! capsfilter caps=video/x-raw,width=320,height=320,pixel-aspect-ratio=1/1
videoscale add-borders=false ! capsfilter caps=video/x-raw,width=320,height=320,pixel-aspect-ratio=1/1
videoscale ! capsfilter caps=video/x-raw,width=640,height=240,pixel-aspect-ratio=1/1
videoscale ! capsfilter caps=video/x-raw,width=640,height=240
videoscale ! capsfilter caps=video/x-raw,width=100,height=240
videoscale ! capsfilter caps=video/x-raw,width=333,height=250,pixel-aspect-ratio=1/1
videoscale ! capsfilter caps=video/x-raw,width=642,height=480,pixel-aspect-ratio=1/1
videoscale ! capsfilter caps=video/x-raw,width=640,height=480 ! videocrop top=10
videoconvertscale ! capsfilter caps=video/x-raw,width=200,height=240,pixel-aspect-ratio=1/1
videoconvertscale add-borders=false ! capsfilter caps=video/x-raw,width=200,height=240
videoflip
videoflip video-direction=90r
videoflip video-direction=180
videoflip video-direction=90l
videoflip video-direction=horiz
videoflip video-direction=vert
videoflip video-direction=ul-lr
videoflip video-direction=ur-ll
videoflip video-direction=horiz ! videoflip video-direction=horiz
videocrop left=20 ! videoflip video-direction=horiz ! videobox left=-20
deinterlace mode=1
interlace
smooth
videomedian
gaussianblur
dilate
agingtv
edgetv
warptv
rippletv
streaktv
quarktv
vertigotv
radioactv
revtv
mirror
bulge
rotate angle=1
perspective
kaleidoscope
fisheye
dewarp outer-radius=0.5
cvsmooth
templatematch
cairooverlay
gdkpixbufoverlay
navigationtest
compositor
videomixer
rtpvrawpay ! rtpvrawdepay
pngenc ! pngdec
)";

// Whatever an element does to the picture: where faces are delivered they are where the face is.
// What must be delivered at least is said above and below.
TEST(MetaTransforms, NeverWrong) {
  int tried = 0, delivered = 0;
  std::string missing;
  std::istringstream lines(kMovers);
  for (std::string elements; std::getline(lines, elements);) {
    if (elements.empty()) continue;
    if (!exists(elements)) {
      missing += elements + ", ";
      continue;
    }
    SCOPED_TRACE(elements);
    const Out out = behind("videoconvert ! " + elements);
    ++tried;
    if (!out.faces) continue;
    ++delivered;
    EXPECT_TRUE(fits(out)) << elements << ": box at " << out.faces->faces[0].box.x << ", "
                           << out.faces->faces[0].box.y << ", the face at " << out.bright;
  }
  RecordProperty("missing", missing);
  EXPECT_GE(tried, 40) << "not installed: " << missing;
  EXPECT_GE(delivered, 5);
}

TEST(MetaTransforms, ScalingThereAndBackIsExact) {
  int compared = 0;
  for (const auto& [width, height] :
       {std::pair{640, 480}, {160, 120}, {480, 360}, {40, 30}, {2560, 1920}, {100, 75}}) {
    const std::string there =
        "videoscale ! capsfilter caps=video/x-raw,width=" + std::to_string(width) +
        ",height=" + std::to_string(height);
    const Out scaled = behind(there);
    ASSERT_TRUE(scaled.faces) << there;
    EXPECT_TRUE(fits(scaled)) << there;
    const FaceListRef original = face_list();
    const double s = static_cast<double>(width) / kWidth;
    const auto expect_near = [&](const FaceListRef& faces, double scale, const char* what) {
      const Box &a = original->faces[0].box, &b = faces->faces[0].box;
      for (const auto& [x, y] : {std::pair{a.x, b.x}, {a.y, b.y}, {a.w, b.w}, {a.h, b.h}})
        EXPECT_NEAR(static_cast<double>(x) * scale, static_cast<double>(y), 1e-3) << there << what;
      for (std::size_t i = 0; i < original->landmarks.size(); ++i, ++compared) {
        const Point &p = original->landmarks[i], &q = faces->landmarks[i];
        EXPECT_NEAR((static_cast<double>(p.x) + 0.5) * scale - 0.5, static_cast<double>(q.x), 1e-3);
        EXPECT_NEAR((static_cast<double>(p.y) + 0.5) * scale - 0.5, static_cast<double>(q.y), 1e-3);
      }
    };
    expect_near(scaled.faces, s, " there");
    const Out back =
        behind(there + " ! videoscale ! capsfilter caps=video/x-raw,width=320,height=240");
    ASSERT_TRUE(back.faces) << there;
    expect_near(back.faces, 1, " and back");
  }
  EXPECT_EQ(compared, 6 * 2 * 2);
}

// ---- between our elements ----

class Between : public testing::Test {
 protected:
  Parts parts;
  /// The faces of each frame behind a chain with something in the middle.
  std::vector<std::string> faces(const std::string& between) const {
    GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, kWidth, kHeight);
    info.colorimetry.range = GST_VIDEO_COLOR_RANGE_0_255;
    Harness harness(parts.detect + " redetect-interval=4 ! " + between + parts.track + " ! " +
                    parts.landmark);
    harness.set_caps(info);
    for (int i = 0; i < 12; ++i)
      harness.push(make_frame(info, squares(kWidth, kHeight, {{60 + 2 * i, 60, 48, 48}})));
    EXPECT_TRUE(harness.finish()) << between;
    std::vector<std::string> texts;
    while (GstBuffer* out = gst_harness_try_pull(harness.get())) {
      texts.push_back(faces_text(out));
      gst_buffer_unref(out);
    }
    return texts;
  }
};

TEST_F(Between, FramesThatAreRepeatedOrDroppedKeepTheirFaces) {
  const auto plain = faces("");
  ASSERT_EQ(plain.size(), 12u);
  // At the end of the stream videorate of GStreamer 1.28 makes one frame more than that of 1.22.
  for (const auto& [rate, fewest, most] :
       {std::tuple{"50/1", 22u, 25u}, {"25/1", 11u, 13u}, {"10/1", 4u, 7u}}) {
    const auto texts =
        faces("videorate ! capsfilter caps=video/x-raw,framerate=" + std::string(rate) + " ! ");
    EXPECT_GE(texts.size(), fewest) << rate;
    EXPECT_LE(texts.size(), most) << rate;
    for (const std::string& text : texts)
      EXPECT_NE(text.find("\n id 1 "), std::string::npos) << rate << text;
  }
}

TEST_F(Between, ATextOverTheVideoMovesNoFace) {
  EXPECT_EQ(faces("timeoverlay halignment=right valignment=bottom ! "), faces(""))
      << "the text is far from the face";
  const BusReport report =
      run_pipeline("videotestsrc num-buffers=6 ! video/x-raw,width=320,height=240 ! " +
                   parts.detect + " ! textoverlay text=here ! queue ! " + parts.track + " ! " +
                   parts.landmark + " ! " + parts.publish + " ! fakesink");
  EXPECT_EQ(report.error, "");
  EXPECT_TRUE(report.warnings.empty()) << report.warnings[0];
  EXPECT_EQ(parts.published().size(), 6u);
}

TEST_F(Between, OneWarningForAllThatIsLost) {
  for (const char* between : {"videoflip video-direction=horiz", "videoflip video-direction=90r"}) {
    const BusReport report =
        run_pipeline("videotestsrc num-buffers=6 ! video/x-raw,width=320,height=240 ! " +
                     parts.detect + " ! " + between + " ! " + parts.track + " ! " + parts.landmark +
                     " ! " + parts.overlay + " ! " + parts.publish + " ! fakesink");
    EXPECT_EQ(report.error, "") << between;
    ASSERT_EQ(report.warnings.size(), 1u) << between;
    EXPECT_NE(report.warnings[0].find("cropped, flipped or padded"), std::string::npos);
  }
}

// ---- what others wrote ----

std::string regions_text(GstBuffer* buffer) {
  std::string text;
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    if (gst_video_region_of_interest_meta_get_param(roi, "cuface")) continue;
    text += std::string(g_quark_to_string(roi->roi_type)) + " " + std::to_string(roi->id) + " " +
            std::to_string(roi->parent_id) + " " + std::to_string(roi->x) + " " +
            std::to_string(roi->y) + " " + std::to_string(roi->w) + " " + std::to_string(roi->h);
    for (GList* item = roi->params; item; item = item->next) {
      gchar* param = gst_structure_to_string(static_cast<GstStructure*>(item->data));
      text += std::string(" ") + param;
      g_free(param);
    }
    text += "\n";
  }
  return text;
}

TEST_F(Between, RegionsOfOthersStayAsTheyAre) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  for (const char* metas : {"auto", "always", "never"}) {
    std::string chain = parts.all();
    for (const char* name : {" name=d", " name=t", " name=l"})
      chain.replace(chain.find(name), 0, std::string(" standard-metas=") + metas);
    Harness harness(chain);
    harness.set_caps(info);
    for (int i = 0; i < 4; ++i) {
      GstBuffer* buffer = grey_frame(squares(kWidth, kHeight, {{60, 60, 48, 48}}));
      auto* car = gst_buffer_add_video_region_of_interest_meta(buffer, "car", 1, 2, 30, 40);
      car->id = 1;  // our first face's id too
      gst_video_region_of_interest_meta_add_param(
          car, gst_structure_new("detection", "confidence", G_TYPE_DOUBLE, 0.5, nullptr));
      auto* face = gst_buffer_add_video_region_of_interest_meta(buffer, "face", 60, 60, 48, 48);
      face->id = 1;
      face->parent_id = 3;
      auto* named = gst_buffer_add_video_region_of_interest_meta(buffer, "face", 61, 60, 48, 48);
      gst_video_region_of_interest_meta_add_param(
          named, gst_structure_new("roi/x264", "delta-qp", G_TYPE_DOUBLE, -5.0, nullptr));
      const std::string before = regions_text(buffer);
      GstBuffer* out = harness.pass(buffer);
      EXPECT_EQ(regions_text(out), before) << metas << " frame " << i;
      int own = 0;
      gpointer state = nullptr;
      while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
                 out, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
        own += gst_video_region_of_interest_meta_get_param(
                   reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta), "cuface") != nullptr;
      EXPECT_EQ(own, std::string(metas) == "never" ? 0 : face_count(out)) << metas;
      EXPECT_GE(face_count(out), 1);
      gst_buffer_unref(out);
    }
  }
}

}  // namespace
}  // namespace cuface::test
