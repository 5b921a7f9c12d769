// cuplanartrack: corners, map and id in the meta, in JSON and in standard metas beside the truth of
// made frames; and inputs that cannot be followed.
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/gst/planar.h"

namespace cuface::test {
namespace {

TEST_F(PlanarTracks, SayWhereTheObjectIs) {
  Harness harness(chain);
  harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kSceneWidth, kSceneHeight));
  View at = view;
  for (int n = 0; n < 12; ++n) {
    at.x += 5;
    at.roll += 1;
    const PlanarRead read = pass(harness, scene(at, static_cast<unsigned>(n)));
    ASSERT_EQ(read.pictures, 2);
    EXPECT_EQ(read.names[0], other);
    EXPECT_EQ(read.names[1], "card");
    ASSERT_EQ(read.objects.size(), 1u) << n;
    const PlanarRead::Object& one = read.objects[0];
    EXPECT_EQ(one.picture, 1u);
    EXPECT_EQ(one.id, 1u);
    EXPECT_EQ(one.found, n == 0);
    EXPECT_GE(one.inliers, 20u);
    EXPECT_LT(error_of(one, at, object), 1) << n;
    // The map carries the corners of the picture to those.
    ASSERT_EQ(one.map.size(), 9u);
    for (int k = 0; k < 4; ++k) {
      const cv::Vec3d p = cv::Matx33d(one.map.data()) * cv::Vec3d(k == 1 || k == 2, k >= 2, 1);
      EXPECT_NEAR(p[0] / p[2] * kSceneWidth - 0.5, one.corners[k].x, 0.01);
      EXPECT_NEAR(p[1] / p[2] * kSceneHeight - 0.5, one.corners[k].y, 0.01);
    }
  }
  EXPECT_EQ(harness.stat("p", "visible-objects"), 12u);
  EXPECT_EQ(harness.stat("p", "lost-objects"), 0u);
  EXPECT_EQ(harness.stat("p", "searches"), 12u) << "the other one is missing all the time";
}

TEST_F(PlanarTracks, KeepTheIdOfWhatComesBack) {
  Harness harness("cuplanartrack name=p reference=" + file);
  harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kSceneWidth, kSceneHeight));
  ASSERT_EQ(pass(harness, scene(view)).objects.size(), 1u);
  EXPECT_TRUE(pass(harness, background).objects.empty());
  View elsewhere = view;
  elsewhere.x = 220;
  elsewhere.roll = -80;
  const PlanarRead back = pass(harness, scene(elsewhere));
  ASSERT_EQ(back.objects.size(), 1u);
  EXPECT_EQ(back.objects[0].id, 1u);
  EXPECT_TRUE(back.objects[0].found);
  EXPECT_EQ(harness.stat("p", "lost-objects"), 1u);
  EXPECT_EQ(harness.stat("p", "searches"), 3u);
}

/// Other caps are another picture: what was followed is found again, with its id, and where it is
/// in frames of the new size. Ids are told apart by finding the second picture first.
TEST_F(PlanarTracks, AreFoundAgainWithOtherCaps) {
  Harness harness(chain);
  const cv::Mat pictures[] = {poster(22), object};
  const View places[] = {{.tilt = 15, .roll = -20, .scale = 0.7, .x = 180, .y = 330},
                         {.tilt = 20, .towards = 70, .roll = 30, .scale = 0.7, .x = 440, .y = 150}};
  const std::vector<std::size_t> both = {0, 1}, first = {0}, second = {1}, none;
  unsigned n = 0;
  std::uint64_t left = 0;
  for (const auto& [format, width, visible] :
       {std::tuple{GST_VIDEO_FORMAT_GRAY8, kSceneWidth, second},
        {GST_VIDEO_FORMAT_BGRx, kSceneWidth, second},
        {GST_VIDEO_FORMAT_BGRx, 480, first},
        {GST_VIDEO_FORMAT_GRAY8, 480, none},
        {GST_VIDEO_FORMAT_GRAY8, 720, both},
        {GST_VIDEO_FORMAT_RGB, kSceneWidth, both}}) {
    const GstVideoInfo info = video_info(format, width, width * kSceneHeight / kSceneWidth);
    harness.set_caps(info);
    for (int f = 0; f < 4; ++f, ++n) {
      View now[] = {places[0], places[1]};
      cv::Mat frame = background.clone();
      for (const std::size_t i : visible) {
        now[i].x += 3 * n;
        lay(frame, pictures[i], map_of(now[i], object.size()));
      }
      expose(frame, 1, 0, 0.5, 2, n);
      cv::resize(frame, frame, {info.width, info.height}, 0, 0,
                 width < kSceneWidth ? cv::INTER_AREA : cv::INTER_CUBIC);
      GstBuffer* out = harness.pass(make_frame(info, frame));
      ASSERT_NE(out, nullptr);
      const PlanarRead read(out, kSceneWidth, kSceneHeight);
      gst_buffer_unref(out);
      ASSERT_EQ(read.objects.size(), visible.size()) << n;
      for (std::size_t i = 0; i < visible.size(); ++i) {
        const PlanarRead::Object& one = read.objects[i];
        EXPECT_EQ(one.picture, visible[i]) << n;
        EXPECT_EQ(one.id, visible[i] == 1 ? 1u : 2u) << n;
        EXPECT_EQ(one.found, f == 0) << n;
        EXPECT_LT(error_of(one, now[visible[i]], object), 1) << n;
      }
      left += read.objects.size();
    }
  }
  EXPECT_EQ(harness.stat("p", "visible-objects"), left);
  EXPECT_EQ(harness.stat("p", "lost-objects"), 0u) << "nothing was looked for where it had been";
}

TEST_F(PlanarTracks, FollowThePicture) {
  GstBuffer* plain = pass_one(chain, scene(view));
  const PlanarRead all(plain, kSceneWidth, kSceneHeight);
  gst_buffer_unref(plain);
  ASSERT_EQ(all.objects.size(), 1u);
  GstBuffer* scaled = pass_one(
      chain + " ! videoscale ! capsfilter caps=video/x-raw,width=320,height=200", scene(view));
  const PlanarRead small(scaled, kSceneWidth, kSceneHeight);
  ASSERT_EQ(small.objects.size(), 1u);
  for (int k = 0; k < 4; ++k)
    EXPECT_LT(cv::norm(small.objects[0].corners[k] - all.objects[0].corners[k]), 0.01);
  for (std::size_t i = 0; i < 9; ++i)
    EXPECT_NEAR(small.objects[0].map[i] / small.objects[0].map[8],
                all.objects[0].map[i] / all.objects[0].map[8], 1e-6);
  gst_buffer_unref(scaled);
  GstBuffer* out = gst_buffer_make_writable(pass_one(chain, scene(view)));
  GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(out);
  crop->x = 100;
  crop->y = 60;
  crop->width = 400;
  crop->height = 300;
  const PlanarRead part(out, 400, 300);
  ASSERT_EQ(part.objects.size(), 1u);
  for (int k = 0; k < 4; ++k)
    EXPECT_LT(
        cv::norm(part.objects[0].corners[k] + cv::Point2d(100, 60) - all.objects[0].corners[k]),
        0.01);
  crop->x = kSceneWidth - 20;
  crop->y = kSceneHeight - 20;
  crop->width = crop->height = 20;
  EXPECT_TRUE(PlanarRead(out, 20, 20).objects.empty());
  gst_buffer_unref(out);
}

TEST_F(PlanarTracks, StandInALineOfJson) {
  GstBuffer* out = pass_one(chain + " ! cuface2json", scene(view));
  ASSERT_NE(out, nullptr);
  GstMapInfo map;
  ASSERT_TRUE(gst_buffer_map(out, &map, GST_MAP_READ));
  const nlohmann::json line = nlohmann::json::parse(map.data, map.data + map.size);
  gst_buffer_unmap(out, &map);
  gst_buffer_unref(out);
  const nlohmann::json& planar = line["planar"];
  EXPECT_EQ(planar["references"].at(1)["name"], "card");
  EXPECT_EQ(planar["references"].at(1)["width"], object.cols);
  ASSERT_EQ(planar["objects"].size(), 1u);
  const nlohmann::json& one = planar["objects"][0];
  EXPECT_EQ(one["reference"], 1);
  EXPECT_EQ(one["id"], 1);
  EXPECT_EQ(one["found"], true);
  const auto h = one["homography"].get<std::vector<double>>();
  ASSERT_EQ(h.size(), 9u);
  const cv::Point2d corner = carried(cv::Matx33d(h.data()), -0.5, -0.5);
  EXPECT_NEAR(corner.x, one["corners"][0][0].get<double>(), 0.01);
  EXPECT_NEAR(corner.y, one["corners"][0][1].get<double>(), 0.01);
}

TEST_F(PlanarTracks, StandInStandardMetas) {
  for (const bool wanted : {true, false}) {
    GstBuffer* out = pass_one(chain + (wanted ? "" : " standard-metas=never"), scene(view));
    const PlanarRead read(out, kSceneWidth, kSceneHeight);
    gpointer state = nullptr;
    int regions = 0;
    while (auto* roi =
               reinterpret_cast<GstVideoRegionOfInterestMeta*>(gst_buffer_iterate_meta_filtered(
                   out, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))) {
      ++regions;
      EXPECT_STREQ(g_quark_to_string(roi->roi_type), "planar");
      double left = kSceneWidth, top = kSceneHeight;
      for (const cv::Point2d& p : read.objects.at(0).corners) {
        left = std::min(left, p.x + 0.5);
        top = std::min(top, p.y + 0.5);
      }
      EXPECT_NEAR(roi->x, left, 1.5);
      EXPECT_NEAR(roi->y, top, 1.5);
      gint id = 0;
      GstStructure* param = gst_video_region_of_interest_meta_get_param(roi, "object_id");
      ASSERT_NE(param, nullptr);
      EXPECT_TRUE(gst_structure_get_int(param, "id", &id));
      EXPECT_EQ(id, 1);
    }
    EXPECT_EQ(regions, wanted);
    gst_buffer_unref(out);
  }
}

TEST_F(PlanarTracks, AreDrawn) {
  const cv::Mat frame = scene(view);
  const auto drawn = [&](const std::string& draw) {
    GstBuffer* out = pass_one(
        chain +
            " ! cufaceoverlay box-color=0xffffffff text-color=0xffffffff line-width=2 draw=" + draw,
        frame);
    cv::Mat pixels(kSceneHeight, kSceneWidth, CV_8U);
    EXPECT_EQ(gst_buffer_extract(out, 0, pixels.data, pixels.total()), pixels.total());
    gst_buffer_unref(out);
    return pixels;
  };
  EXPECT_EQ(cv::countNonZero(drawn("box+contour+id") != frame), 0) << "there are no faces";
  const cv::Mat outline = drawn("planar"), both = drawn("planar+id");
  const cv::Matx33d map = map_of(view, object.size());
  for (int i = 0; i <= 20; ++i) {
    const cv::Point2d p = carried(map, i / 20.0 * object.cols - 0.5, -0.5);
    const cv::Point at(static_cast<int>(std::lround(p.x)), static_cast<int>(std::lround(p.y)));
    EXPECT_GT(outline.at<std::uint8_t>(at), 150) << i;
  }
  EXPECT_LT(cv::countNonZero(outline != frame), 2 * (320 + 240) * 4);
  EXPECT_GT(cv::countNonZero(both != outline), 20) << "the id";
}

/// The picture lies on the object as OpenCV would lay it.
TEST_F(PlanarTracks, APictureIsLaidOnThem) {
  cv::Mat picture = poster(30, 200, 200), with_alpha;
  cv::merge(std::vector<cv::Mat>{picture, picture, picture, cv::Mat(200, 200, CV_8U, 255.0)},
            with_alpha);
  const std::string path = write("picture.png", with_alpha);
  const cv::Mat frame = scene(view);
  GstBuffer* out = pass_one(chain + " ! cufaceoverlay draw=image image=" + path, frame);
  const PlanarRead read(out, kSceneWidth, kSceneHeight);
  ASSERT_EQ(read.objects.size(), 1u);
  cv::Mat drawn(kSceneHeight, kSceneWidth, CV_8U);
  EXPECT_EQ(gst_buffer_extract(out, 0, drawn.data, drawn.total()), drawn.total());
  gst_buffer_unref(out);
  std::vector<cv::Point2f> from = {{-0.5f, -0.5f},
                                   {199.5f, -0.5f},
                                   {199.5f, 199.5f},
                                   {-0.5f, 199.5f}},
                           to;
  for (const cv::Point2d& p : read.objects[0].corners) to.emplace_back(p);
  cv::Mat wanted = frame.clone(), difference;
  lay(wanted, picture, cv::Matx33d(cv::getPerspectiveTransform(from, to)));
  cv::absdiff(drawn, wanted, difference);
  EXPECT_LT(cv::mean(difference)[0], 0.7);
  EXPECT_LT(cv::countNonZero(difference > 60), 40);
  EXPECT_GT(cv::countNonZero(drawn != frame), 30'000);
}

/// Those of an element before are taken, as they are.
TEST_F(PlanarTracks, KeypointsOfOthersAreTaken) {
  const auto found = [&](const std::string& before) {
    GstBuffer* out = pass_one(before + " ! " + chain, scene(view));
    const PlanarRead read(out, kSceneWidth, kSceneHeight);
    gst_buffer_unref(out);
    return read.objects.size();
  };
  EXPECT_EQ(found("cufeatures max-keypoints=5"), 0u);
  EXPECT_EQ(found("cufeatures max-keypoints=500"), 1u);
  if (gst_registry_check_feature_version(gst_registry_get(), "cusurf", 0, 0, 0)) {
    EXPECT_EQ(found("cusurf"), 1u);
  }
}

TEST_F(PlanarTracks, RestInAGap) {
  Harness harness(chain);
  harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kSceneWidth, kSceneHeight));
  const PlanarRead before = pass(harness, scene(view));
  ASSERT_EQ(before.objects.size(), 1u);
  GstBuffer* in = grey_frame(background);
  GST_BUFFER_FLAG_SET(in, GST_BUFFER_FLAG_GAP);
  GstBuffer* gap = harness.pass(in);
  const PlanarRead read(gap, kSceneWidth, kSceneHeight);
  gst_buffer_unref(gap);
  ASSERT_EQ(read.objects.size(), 1u);
  EXPECT_EQ(read.objects[0].map, before.objects[0].map);
  EXPECT_FALSE(pass(harness, scene(view, 2)).objects.at(0).found) << "it is followed over the gap";
}

/// Nobody knows where an object is in a gap behind a flush, a jump or other caps.
TEST_F(PlanarTracks, DoNotRestBehindABreak) {
  for (const std::string what : {"flush", "jump", "caps"}) {
    Harness harness(chain);
    cv::Size size(kSceneWidth, kSceneHeight);
    harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, size.width, size.height));
    const auto at = [&](const cv::Mat& scene, bool gap, GstClockTime pts) {
      cv::Mat grey;
      cv::resize(scene, grey, size, 0, 0, cv::INTER_AREA);
      GstBuffer* in = grey_frame(grey);
      if (gap) GST_BUFFER_FLAG_SET(in, GST_BUFFER_FLAG_GAP);
      harness.push_at(in, pts);
      GstBuffer* out = harness.pull();
      const std::size_t objects = PlanarRead(out, size.width, size.height).objects.size();
      gst_buffer_unref(out);
      return objects;
    };
    EXPECT_EQ(at(scene(view), false, 0), 1u);
    EXPECT_EQ(at(background, true, 40 * GST_MSECOND), 1u);
    if (what == "flush") {
      gst_harness_push_event(harness.get(), gst_event_new_flush_start());
      gst_harness_push_event(harness.get(), gst_event_new_flush_stop(FALSE));
      GstSegment segment;
      gst_segment_init(&segment, GST_FORMAT_TIME);
      gst_harness_push_event(harness.get(), gst_event_new_segment(&segment));
    }
    if (what == "caps") {
      size = {480, 360};
      harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, size.width, size.height));
    }
    const GstClockTime later = what == "jump" ? 3600 * GST_SECOND : 80 * GST_MSECOND;
    EXPECT_EQ(at(background, true, later), 0u) << what;
    EXPECT_EQ(at(scene(view), false, later + 40 * GST_MSECOND), 1u) << what;
  }
}

TEST_F(PlanarTracks, OfAHundredPictures) {
  std::string list = file;
  for (unsigned i = 1; i < 100; ++i)
    list += "," + write("p" + std::to_string(i) + ".png", poster(100 + i, 160, 120));
  const cv::Mat frame = scene(view);
  GstBuffer* out = pass_one("cuplanartrack reference=" + list, frame);
  const PlanarRead read(out, kSceneWidth, kSceneHeight);
  gst_buffer_unref(out);
  EXPECT_EQ(read.pictures, 100);
  ASSERT_EQ(read.objects.size(), 1u);
  EXPECT_EQ(read.objects[0].picture, 0u);
}

TEST_F(PlanarTracks, OfTwoAlikeBothAreFound) {
  GstBuffer* out = pass_one("cuplanartrack reference=a=" + file + ",b=" + file, scene(view));
  const PlanarRead read(out, kSceneWidth, kSceneHeight);
  gst_buffer_unref(out);
  ASSERT_EQ(read.objects.size(), 2u);
  EXPECT_EQ(read.objects[0].id, 1u);
  EXPECT_EQ(read.objects[1].id, 2u);
  EXPECT_LT(error_of(read.objects[1], view, object), 1);
}

TEST_F(PlanarTracks, APictureLargerThanTheFrameIsFound) {
  cv::Mat large;
  cv::resize(object, large, {}, 3, 3, cv::INTER_CUBIC);
  const std::string path = write("large.png", large);
  GstBuffer* out = pass_one("cuplanartrack reference=" + path, scene(view));
  const PlanarRead read(out, kSceneWidth, kSceneHeight);
  gst_buffer_unref(out);
  ASSERT_EQ(read.objects.size(), 1u);
  EXPECT_LT(error_of(read.objects[0], view, object), 2);
}

TEST_F(PlanarTracks, APictureWithoutKeypointsSaysSo) {
  const std::string white = write("white.png", cv::Mat(80, 90, CV_8U, cv::Scalar(255)));
  const BusReport report = play("cuplanartrack reference=" + white);
  EXPECT_TRUE(report.finished);
  EXPECT_EQ(report.error, "");
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(report.warnings[0].find("white.png has no keypoints"), std::string::npos)
      << report.warnings[0];
}

TEST_F(PlanarTracks, ErrorsNameTheFileThePropertyAndWhatHelps) {
  const std::string path = folder.path() + "/bad.png";
  const auto refused = [&](const std::string& settings) {
    return play("cuplanartrack " + settings);
  };
  EXPECT_EQ(refused("reference=" + file).error, "");
  expect_error(refused(""), GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
               {"reference:", "there is no picture", "Set reference to PNG files"});
  expect_error(refused("reference=name=" + path), GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND,
               {"reference:", "bad.png"});
  for (const std::string& bytes : damaged_copies(file)) {
    folder.write("bad.png", bytes);
    expect_error(refused("reference=" + path), GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE,
                 {"reference:", "bad.png"});
  }
  write("bad.png", cv::Mat(10, 90, CV_8U, cv::Scalar(255)));
  expect_error(refused("reference=" + path), GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
               {"reference:", "at least 16 pixels"});
  const BusReport cuda = refused("backend=cuda reference=" + file);
  EXPECT_NE(cuda.error.find("backend=cuda"), std::string::npos) << cuda.error;
}

}  // namespace
}  // namespace cuface::test
