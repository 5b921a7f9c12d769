// cuedgedetect: what becomes of the picture in every format, the meta, and settings.
#include <algorithm>

#include "gst/meta/gstcufaceedgemeta.h"
#include "kernels/edges/edges.h"
#include "tests/gst/first_sample.h"
#include "tests/gst/support.h"
#include "tests/published_edges.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 97, kHeight = 61;

/// Squares and noise in the greys that limited range can give.
cv::Mat picture() {
  cv::Mat grey = squares(kWidth, kHeight, {{20, 15, 30, 30}, {60, 8, 25, 25}});
  for (auto it = grey.begin<uchar>(); it != grey.end<uchar>(); ++it)
    *it = static_cast<uchar>(((*it * 219 / 255) * 255 + 109) / 219);
  return grey;
}

cv::Mat canny(const cv::Mat& grey, int kernel_size = 5) {
  cv::Mat blurred, out;
  cv::GaussianBlur(grey, blurred, {kernel_size, kernel_size}, 0);
  cv::Canny(blurred, out, 50, 150);
  return out;
}

struct Sample {
  int value, depth;
};

Sample sample(const GstVideoFrame& frame, guint c, int x, int y) {
  const GstVideoFormatInfo* format = frame.info.finfo;
  const int depth = GST_VIDEO_FRAME_COMP_DEPTH(&frame, c);
  const guint8* at =
      first_sample(frame, c) +
      (y >> GST_VIDEO_FORMAT_INFO_H_SUB(format, c)) * GST_VIDEO_FRAME_COMP_STRIDE(&frame, c) +
      (x >> GST_VIDEO_FORMAT_INFO_W_SUB(format, c)) * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, c);
  const int word = depth > 8 ? at[0] | at[1] << 8 : at[0];
  return {word >> GST_VIDEO_FORMAT_INFO_SHIFT(format, c) & ((1 << depth) - 1), depth};
}

class Mapped {
 public:
  Mapped(GstVideoInfo info, GstBuffer* buffer) {
    EXPECT_TRUE(gst_video_frame_map(&frame_, &info, buffer, GST_MAP_READ));
  }
  ~Mapped() { gst_video_frame_unmap(&frame_); }
  const GstVideoFrame& frame() const { return frame_; }

 private:
  GstVideoFrame frame_;
};

/// What came out of a piece of pipeline for one frame.
GstBuffer* passed(const std::string& pipeline, const GstVideoInfo& info, GstBuffer* in) {
  Harness harness(pipeline);
  harness.set_caps(info);
  GstBuffer* out = harness.pass(in);
  EXPECT_NE(out, nullptr) << pipeline;
  return out;
}

cv::Mat grey_of(GstBuffer* buffer) {
  const Mapped mapped(video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight), buffer);
  const GstVideoFrame& f = mapped.frame();
  return cv::Mat(kHeight, kWidth, CV_8U, GST_VIDEO_FRAME_PLANE_DATA(&f, 0),
                 static_cast<std::size_t>(GST_VIDEO_FRAME_PLANE_STRIDE(&f, 0)))
      .clone();
}

int differences(const cv::Mat& a, const cv::Mat& b) { return cv::countNonZero(a != b); }

TEST(EdgeDetect, DrawsTheEdgesInEveryFormat) {
  const cv::Mat map = canny(picture());
  ASSERT_GT(cv::countNonZero(map), 200);
  int formats = 0, samples = 0;
  for (const std::string& format : offered_formats("cuedgedetect")) {
    for (const bool full_range : {false, true}) {
      GstVideoInfo info = video_info(gst_video_format_from_string(format.c_str()), kWidth, kHeight);
      if (!GST_VIDEO_INFO_IS_RGB(&info))
        info.colorimetry.range =
            full_range ? GST_VIDEO_COLOR_RANGE_0_255 : GST_VIDEO_COLOR_RANGE_16_235;
      const bool full = full_range || GST_VIDEO_INFO_IS_RGB(&info);
      GstBuffer* in = make_frame(info, picture());
      GstBuffer* before = gst_buffer_copy_deep(in);
      GstBuffer* out = passed("cuedgedetect", info, in);
      ASSERT_NE(out, nullptr) << format;
      {
        const Mapped mapped(info, out), old(info, before);
        for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS(&info); ++c) {
          for (int y = 0; y < kHeight; ++y) {
            for (int x = 0; x < kWidth; ++x, ++samples) {
              const auto [value, depth] = sample(mapped.frame(), c, x, y);
              const int more = depth - 8, most = (1 << depth) - 1;
              const bool edge = map.at<uchar>(y, x) != 0;
              int expected = edge ? (full ? most : 235 << more) : (full ? 0 : 16 << more);
              if (c == 3) expected = sample(old.frame(), c, x, y).value;
              if ((c == 1 || c == 2) && !GST_VIDEO_INFO_IS_RGB(&info)) expected = 1 << (depth - 1);
              ASSERT_EQ(value, expected)
                  << format << full_range << " component " << c << " at " << x << "," << y;
            }
          }
        }
      }
      gst_buffer_unref(out);
      gst_buffer_unref(before);
      ++formats;
    }
  }
  EXPECT_GE(formats, 100);
  EXPECT_GT(samples, 1'000'000);
}

TEST(EdgeDetect, LeavesThePictureAloneAndFillsAMeta) {
  const cv::Mat grey = picture(), map = canny(grey);
  GstBuffer* out = passed("cuedgedetect output=meta",
                          video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight), grey_frame(grey));
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(differences(grey_of(out), grey), 0);
  GstCufaceEdgeMeta* meta = gst_cuface_buffer_get_edge_meta(out);
  ASSERT_NE(meta, nullptr);
  GstCufaceEdges* edges = gst_cuface_edge_meta_get_edges(meta);
  ASSERT_NE(edges, nullptr);
  gst_buffer_unref(out);  // the snapshot outlives it
  ASSERT_EQ(gst_cuface_edges_get_width(edges), guint{kWidth});
  ASSERT_EQ(gst_cuface_edges_get_height(edges), guint{kHeight});
  for (guint y = 0; y < kHeight; ++y) {
    gsize length = 0;
    const guint8* row = gst_cuface_edges_get_row(edges, y, &length);
    ASSERT_EQ(length, gsize{kWidth + 7} / 8);
    EXPECT_EQ(row[length - 1] >> (kWidth % 8), 0) << "bits behind the row";
    for (guint x = 0; x < kWidth; ++x)
      ASSERT_EQ(gst_cuface_edges_get_pixel(edges, x, y) != 0,
                map.at<uchar>(static_cast<int>(y), static_cast<int>(x)) != 0);
  }
  gst_cuface_edges_unref(edges);
}

TEST(EdgeDetect, TheMetaPassesAScalerAndIsEmptyBehindACrop) {
  const auto size_behind = [](const std::string& behind) {
    GstBuffer* out =
        passed("cuedgedetect ! " + behind, video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight),
               grey_frame(picture()));
    GstCufaceEdgeMeta* meta = out ? gst_cuface_buffer_get_edge_meta(out) : nullptr;
    GstCufaceEdges* edges = meta ? gst_cuface_edge_meta_get_edges(meta) : nullptr;
    const int width = edges ? static_cast<int>(gst_cuface_edges_get_width(edges)) : -1;
    if (edges) gst_cuface_edges_unref(edges);
    if (out) gst_buffer_unref(out);
    return width;
  };
  EXPECT_EQ(size_behind("identity"), kWidth);
  EXPECT_EQ(size_behind("videoscale ! capsfilter caps=video/x-raw,width=194,height=122"), kWidth);
  EXPECT_LE(size_behind("videocrop left=20"), 0);
}

/// A picture in which each component of each pixel is another, in this format.
GstBuffer* coloured(const GstVideoInfo& info) {
  const GstVideoInfo rgba = video_info(GST_VIDEO_FORMAT_RGBA, kWidth, kHeight);
  GstBuffer* frame = make_frame(rgba, picture());
  GstMapInfo map;
  EXPECT_TRUE(gst_buffer_map(frame, &map, GST_MAP_READWRITE));
  for (gsize i = 0; i < map.size; ++i) {
    const int more = static_cast<int>(i * 37 % 50) - 25;
    map.data[i] = static_cast<guint8>(std::clamp(map.data[i] + more, 0, 255));
  }
  gst_buffer_unmap(frame, &map);
  return passed("videoconvert ! capsfilter caps=video/x-raw,format=" +
                    std::string(GST_VIDEO_INFO_NAME(&info)),
                rgba, frame);
}

// A sample stays where one of the pixels that it is of lies on an edge, and alpha everywhere.
TEST(EdgeDetect, MaskKeepsTheColoursOfEdgesInEveryFormat) {
  int formats = 0, kept = 0, chroma_kept = 0;
  for (const std::string& format : offered_formats("cuedgedetect")) {
    GstVideoInfo info = video_info(gst_video_format_from_string(format.c_str()), kWidth, kHeight);
    const bool rgb = GST_VIDEO_INFO_IS_RGB(&info);
    if (!rgb) info.colorimetry.range = GST_VIDEO_COLOR_RANGE_16_235;
    GstBuffer* in = coloured(info);
    ASSERT_NE(in, nullptr) << format;
    GstBuffer* before = gst_buffer_copy_deep(in);
    GstBuffer* out = passed("cuedgedetect mask=true", info, in);
    ASSERT_NE(out, nullptr) << format;
    GstCufaceEdges* edges = gst_cuface_edge_meta_get_edges(gst_cuface_buffer_get_edge_meta(out));
    ASSERT_NE(edges, nullptr) << format;
    {
      const Mapped mapped(info, out), old(info, before);
      const GstVideoFormatInfo* finfo = mapped.frame().info.finfo;
      for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS(&info); ++c) {
        const int across = 1 << GST_VIDEO_FORMAT_INFO_W_SUB(finfo, c);
        const int down = 1 << GST_VIDEO_FORMAT_INFO_H_SUB(finfo, c);
        for (int y = 0; y < kHeight; ++y) {
          for (int x = 0; x < kWidth; ++x) {
            bool edge = false;
            for (int v = y / down * down; v < std::min(y / down * down + down, kHeight); ++v)
              for (int u = x / across * across; u < std::min(x / across * across + across, kWidth);
                   ++u)
                edge |= gst_cuface_edges_get_pixel(edges, static_cast<guint>(u),
                                                   static_cast<guint>(v)) != 0;
            const auto [was, depth] = sample(old.frame(), c, x, y);
            const int black = rgb ? 0 : c == 0 ? 16 << (depth - 8) : 1 << (depth - 1);
            ASSERT_EQ(sample(mapped.frame(), c, x, y).value, edge || c == 3 ? was : black)
                << format << " component " << c << " at " << x << "," << y;
            kept += edge && c == 0;
            chroma_kept += edge && (c == 1 || c == 2) && was != black;
          }
        }
      }
    }
    gst_cuface_edges_unref(edges);
    gst_buffer_unref(out);
    gst_buffer_unref(before);
    ++formats;
  }
  EXPECT_GE(formats, 50);
  EXPECT_GT(kept, 200 * formats);
  EXPECT_GT(chroma_kept, 200 * formats / 2);
}

TEST(EdgeDetect, DefaultsAreThoseOfCanny) {
  expect_defaults("cuedgedetect", {{"kernel-size", "5"},
                                   {"sigma", "0"},
                                   {"operator", "sobel"},
                                   {"aperture", "3"},
                                   {"norm", "l1"},
                                   {"low", "50"},
                                   {"high", "150"},
                                   {"linking", "hysteresis"},
                                   {"apron", "2"},
                                   {"thinning", "gradient"},
                                   {"convolution", "opencv"},
                                   {"mask", "false"},
                                   {"output", "picture"}});
}

TEST(EdgeDetect, GradientAndAngleAreTheKernels) {
  const cv::Mat grey = picture();
  cv::Mat magnitude(grey.size(), CV_8U), angle(grey.size(), CV_8U);
  const auto view = [](cv::Mat& m) {
    return ImageView<std::uint8_t>{m.data, m.cols, m.rows, static_cast<std::ptrdiff_t>(m.step)};
  };
  auto detector = EdgeDetector::create({}, kWidth, kHeight);
  ASSERT_TRUE(detector.ok());
  const cv::Mat in = grey.clone();
  ASSERT_TRUE(detector.value()
                  .run({in.data, in.cols, in.rows, static_cast<std::ptrdiff_t>(in.step)},
                       {{}, view(magnitude), view(angle), {}})
                  .ok());
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  for (const auto& [output, expected] :
       {std::pair<std::string, cv::Mat>{"gradient", magnitude}, {"angle", angle}}) {
    GstBuffer* out = passed("cuedgedetect output=" + output, info, grey_frame(grey));
    ASSERT_NE(out, nullptr);
    EXPECT_EQ(differences(grey_of(out), expected), 0) << output;
    gst_buffer_unref(out);
  }
  EXPECT_GT(cv::countNonZero(magnitude > 50), 100);
}

TEST(EdgeDetect, SettingsCountFromTheNextFrameOn) {
  Harness harness("cuedgedetect name=edges kernel-size=1");
  harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight));
  const auto map = [&] {
    GstBuffer* out = harness.pass(grey_frame(picture()));
    const cv::Mat grey = grey_of(out);
    gst_buffer_unref(out);
    return grey;
  };
  EXPECT_EQ(differences(map(), canny(picture(), 1)), 0);
  GstElement* element = harness.element("edges");
  g_object_set(element, "kernel-size", 4, nullptr);  // the next odd one
  EXPECT_EQ(differences(map(), canny(picture(), 5)), 0);
  gst_util_set_object_arg(G_OBJECT(element), "operator", "scharr");
  gst_util_set_object_arg(G_OBJECT(element), "aperture", "7");  // Sobel's alone
  EXPECT_GT(cv::countNonZero(map()), 0);
  EXPECT_TRUE(gst_preset_load_preset(GST_PRESET(element), "published"));
  EXPECT_GT(cv::countNonZero(map()), 0);
  int linking = 0;
  g_object_get(element, "linking", &linking, nullptr);
  EXPECT_EQ(linking, static_cast<int>(Linking::kApron));
  EdgeConfig config = test::published_edges();
  config.convolution = Convolution::kFull;
  auto detector = EdgeDetector::create(config, kWidth, kHeight);
  const cv::Mat grey = picture();
  cv::Mat published(kHeight, kWidth, CV_8U);
  const auto view = [](auto* data) { return ImageView{data, kWidth, kHeight, kWidth}; };
  EdgeViews out;
  out.map = view(published.data);
  ASSERT_TRUE(detector.value().run(view(static_cast<const uchar*>(grey.data)), out).ok());
  EXPECT_EQ(differences(map(), published), 0);
  g_object_set(element, "convolution", 0, nullptr);
  EXPECT_GT(differences(map(), published), 50) << "zeros outside have edges along the sides";
}

TEST(EdgeDetect, ItsEdgesAreThoseThatMotionCompares) {
  guint64 made = 0;
  const auto moving = [&](const std::string& pipeline) {
    Harness harness(pipeline);
    harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight));
    for (int i = 0; i < 10; ++i)
      gst_buffer_unref(
          harness.pass(grey_frame(squares(kWidth, kHeight, {{5 + 5 * i, 15, 30, 30}}))));
    made = harness.stat("motion", "edge-maps");
    return harness.stat("motion", "moving-frames");
  };
  const std::string motion =
      "cumotiondetect name=motion method=edges interval=0 min-frames=1 global-changes=false";
  const guint64 alone = moving(motion);
  EXPECT_GT(alone, guint64{5});
  EXPECT_EQ(made, guint64{10}) << "the map of the frame before is kept";
  EXPECT_EQ(moving("cuedgedetect output=meta ! " + motion), alone);
  EXPECT_EQ(made, guint64{0});
  EXPECT_EQ(moving("cuedgedetect ! " + motion), alone) << "the picture is of edges, the meta not";
  EXPECT_EQ(moving("cuedgedetect output=meta high=1000000 ! " + motion), guint64{0}) << "no edges";
}

TEST(EdgeDetect, EvenKernelSizesAreTheNextOddOne) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  const auto edges = [&](const std::string& size) {
    GstBuffer* out = passed("cuedgedetect kernel-size=" + size, info, grey_frame(picture()));
    const cv::Mat grey = grey_of(out);
    gst_buffer_unref(out);
    return grey;
  };
  EXPECT_EQ(differences(edges("4"), edges("5")), 0);
  EXPECT_GT(differences(edges("6"), edges("5")), 10);
}

TEST(EdgeDetect, AnApertureThatIsNoneIsNotTaken) {
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch("cuedgedetect aperture=4", &error);
  ASSERT_NE(error, nullptr);
  EXPECT_NE(std::string(error->message).find("aperture"), std::string::npos) << error->message;
  g_clear_error(&error);
  if (pipeline) gst_object_unref(pipeline);
  // The other operators have one aperture, whatever the property says.
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  GstBuffer* seven = passed("cuedgedetect operator=scharr aperture=7", info, grey_frame(picture()));
  GstBuffer* three = passed("cuedgedetect operator=scharr aperture=3", info, grey_frame(picture()));
  EXPECT_EQ(differences(grey_of(seven), grey_of(three)), 0);
  gst_buffer_unref(seven);
  gst_buffer_unref(three);
}

TEST(EdgeDetect, PicturesMayBeSmallerThanTheFilters) {
  int sizes = 0;
  for (const int width : {1, 2, 3, 7, 30}) {
    for (const int height : {1, 2, 5}) {
      const BusReport report = run_pipeline(
          "videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8,width=" + std::to_string(width) +
          ",height=" + std::to_string(height) +
          " ! cuedgedetect kernel-size=31 aperture=7 linking=apron apron=15 ! fakesink");
      EXPECT_TRUE(report.finished && report.error.empty()) << report.error;
      ++sizes;
    }
  }
  EXPECT_EQ(sizes, 15);
}

TEST(EdgeDetect, OtherCapsAndJumpsInTimeLeaveNothingBehind) {
  Harness harness("cuedgedetect");
  harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight));
  const GstClockTime times[] = {0, 40 * GST_MSECOND, 3600 * GST_SECOND, 5 * GST_SECOND};
  for (const GstClockTime time : times) {
    ASSERT_EQ(harness.push_at(grey_frame(picture()), time), GST_FLOW_OK);
    GstBuffer* out = harness.pull();
    EXPECT_EQ(differences(grey_of(out), canny(picture())), 0) << time;
    gst_buffer_unref(out);
  }
  const cv::Mat black(48, 64, CV_8U, cv::Scalar(0));
  harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, 64, 48));
  GstBuffer* out = harness.pass(grey_frame(black));
  GstMapInfo map;
  ASSERT_TRUE(gst_buffer_map(out, &map, GST_MAP_READ));
  EXPECT_EQ(map.size, gsize{64 * 48});
  EXPECT_EQ(std::count(map.data, map.data + map.size, 0), 64 * 48) << "edges of the other size";
  gst_buffer_unmap(out, &map);
  gst_buffer_unref(out);
  harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight));
  out = harness.pass(grey_frame(picture()));
  EXPECT_EQ(differences(grey_of(out), canny(picture())), 0);
  gst_buffer_unref(out);
}

TEST(EdgeDetect, PassesGapsOn) {
  GstBuffer* in = grey_frame(picture());
  GST_BUFFER_FLAG_SET(in, GST_BUFFER_FLAG_GAP);
  GstBuffer* out = passed("cuedgedetect", video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight), in);
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(differences(grey_of(out), picture()), 0);
  EXPECT_EQ(gst_cuface_buffer_get_edge_meta(out), nullptr);
  gst_buffer_unref(out);
}

}  // namespace
}  // namespace cuface::test
