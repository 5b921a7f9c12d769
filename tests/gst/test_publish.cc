// cufacepublish: the lines themselves, and when they are in the file.
#include <cmath>
#include <limits>

#include "gst/meta/motion.h"
#include "tests/gst/publish.h"

namespace cuface::test {
namespace {

TEST_F(FacePublish, ALineHoldsWhatDesignSays) {
  auto faces = make_faces(kWidth, kHeight, 2, 3);
  faces->faces[1].id = 0;
  faces->faces[1].neighbors = -1;
  faces->faces[1].origin = Origin::kTracked;
  faces->faces[1].age = 7;
  faces->faces[0].box = {212.4f, 80.1f, 120, 120};
  faces->landmarks[0] = {230.11f, 121.87f};
  {
    FrameHarness h(launch("source=cam1"), "GRAY8", kWidth, kHeight);
    push(h, with_faces(plain_frame("GRAY8", kWidth, kHeight, 5), faces));
  }
  const auto all = lines();
  ASSERT_EQ(all.size(), 1u);
  const std::string start =
      R"({"frame":0,"timestamp":200000000,"running_time":200000000,"source":"cam1",)"
      R"("resolution":{"width":640,"height":360},"objects":[{"id":1,"roi_type":"face",)"
      R"("x":212.4,"y":80.1,"w":120.0,"h":120.0,"detection":{"label":"face","confidence":)";
  EXPECT_EQ(all[0].substr(0, start.size()), start);
  EXPECT_NE(
      all[0].find(R"("neighbors":31,"origin":"detected","age":0,"landmarks":[[230.11,121.87],)"),
      std::string::npos)
      << all[0];
  EXPECT_NE(all[0].find(R"("neighbors":null,"origin":"tracked","age":7,)"), std::string::npos);
  const Json line = Json::parse(all[0]);
  EXPECT_TRUE(line["objects"][1]["id"].is_null());
  const Json& box = line["objects"][0]["detection"]["bounding_box"];
  EXPECT_NEAR(box["x_min"].get<double>(), 212.4 / 640, 1e-6);
  EXPECT_NEAR(box["y_min"].get<double>(), 80.1 / 360, 1e-6);
  EXPECT_NEAR(box["x_max"].get<double>(), 332.4 / 640, 1e-6);
  EXPECT_NEAR(box["y_max"].get<double>(), 200.1 / 360, 1e-6);
  std::string keys;
  for (const auto& [key, value] : line["objects"][0].items()) keys += key + " ";
  EXPECT_EQ(keys, "id roi_type x y w h detection neighbors origin age landmarks ");
  EXPECT_EQ(text().back(), '\n');
}

TEST_F(FacePublish, KeypointsAreThoseOfANetworksFace) {
  auto faces = make_faces(kWidth, kHeight, 3, 3);
  for (std::size_t f : {1, 2}) {
    faces->faces[f].has_keypoints = true;
    for (int i = 0; i < kFaceKeypoints; ++i)
      faces->faces[f].keypoints[i] = {10.25f * static_cast<float>(i), -3};
  }
  faces->faces[2].keypoints[4].y = std::numeric_limits<float>::infinity();
  {
    FrameHarness h(launch(), "GRAY8", kWidth, kHeight);
    push(h, with_faces(plain_frame("GRAY8", kWidth, kHeight), faces));
  }
  const std::string text = lines().at(0);
  const std::string end =
      R"(]],"keypoints":[[0.0,-3.0],[10.25,-3.0],[20.5,-3.0],[30.75,-3.0],[41.0,-3.0]]}]})";
  EXPECT_EQ(text.substr(text.size() - end.size()), end);
  const Json objects = Json::parse(text)["objects"];
  ASSERT_EQ(objects.size(), 2u) << "the last one has a point that is no number";
  EXPECT_FALSE(objects[0].contains("keypoints"));
}

TEST_F(FacePublish, MotionIsAKeyOfItsOwn) {
  auto motion = std::make_shared<MotionMap>();
  motion->width = kWidth;
  motion->height = kHeight;
  motion->compared = motion->in_event = true;
  motion->share = 0.25f;
  motion->moving_cells = 2;
  motion->columns = 3;
  motion->rows = 2;
  motion->cells.resize(6);
  motion->cells[2].moves = motion->cells[3].moves = true;
  motion->regions = {{7, 2, {10, 20, 30.5f, 40}}, {9, 1, {1, 2, 3, 4}}};
  for (const bool with : {false, true}) {
    {
      FrameHarness h(launch(), "GRAY8", kWidth, kHeight);
      GstBuffer* buffer =
          with_faces(plain_frame("GRAY8", kWidth, kHeight), make_faces(kWidth, kHeight, 1, 0));
      if (with) gst::append_result<MotionMap>(buffer, {motion, kWidth, kHeight});
      push(h, buffer);
    }
    const std::string line = lines().at(0);
    const std::string expected =
        R"(]}],"motion":{"compared":true,"global_change":false,"in_event":true,"share":0.25,)"
        R"("columns":3,"rows":2,"cells":[[2,0],[0,1]],"boxes":[{"id":7,"x":10.0,"y":20.0,)"
        R"("w":30.5,"h":40.0,"cells":2},{"id":9,"x":1.0,"y":2.0,"w":3.0,"h":4.0,"cells":1}]}})";
    EXPECT_EQ(line.ends_with(expected), with) << line;
    EXPECT_EQ(line.find("motion") != line.npos, with) << line;
    EXPECT_EQ(Json::parse(line)["objects"].size(), 1u);
  }
}

TEST_F(FacePublish, FloatsComeBackTheSame) {
  auto faces = make_faces(kWidth, kHeight, 1, 68);
  std::uint32_t seed = 1;
  const auto next = [&] {
    return static_cast<float>((seed = seed * 1664525 + 1013904223) >> 8) / 31337;
  };
  for (Point& p : faces->landmarks) p = {next(), -next()};
  faces->faces[0].box = {next(), next(), next(), next()};
  {
    FrameHarness h(launch(), "GRAY8", kWidth, kHeight);
    push(h, with_faces(plain_frame("GRAY8", kWidth, kHeight), faces));
  }
  const Json object = Json::parse(lines().at(0))["objects"][0];
  EXPECT_EQ(object["x"].get<float>(), faces->faces[0].box.x);
  EXPECT_EQ(object["detection"]["confidence"].get<float>(), faces->faces[0].confidence);
  int compared = 0;
  for (std::size_t i = 0; i < 68; ++i, ++compared) {
    ASSERT_EQ(object["landmarks"][i][0].get<float>(), faces->landmarks[i].x);
    ASSERT_EQ(object["landmarks"][i][1].get<float>(), faces->landmarks[i].y);
  }
  EXPECT_EQ(compared, 68);
}

TEST_F(FacePublish, EveryFrameHasItsLineBeforeEos) {
  FrameHarness h(launch(), "GRAY8", kWidth, kHeight);
  const int n = 1000;  // more than the queue holds
  for (int i = 0; i < n; ++i) ASSERT_EQ(push(h, frame(i, i % 3)), GST_FLOW_OK);
  struct AtEos {
    const FacePublish* test;
    std::size_t lines;
  } at_eos{this, 0};
  gst_pad_add_probe(
      h.get()->sinkpad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
      [](GstPad*, GstPadProbeInfo* info, gpointer data) {
        auto* eos = static_cast<AtEos*>(data);
        if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_EOS)
          eos->lines = eos->test->lines().size();
        return GST_PAD_PROBE_OK;
      },
      &at_eos, nullptr);
  gst_harness_push_event(h.get(), gst_event_new_eos());
  EXPECT_EQ(at_eos.lines, static_cast<std::size_t>(n));
  const auto all = lines();
  for (int i = 0; i < n; ++i) {
    const Json line = Json::parse(all[static_cast<std::size_t>(i)]);
    ASSERT_EQ(line["frame"], i);
    ASSERT_EQ(line["timestamp"], i * 40000000ll);
    ASSERT_EQ(line["objects"].size(), static_cast<std::size_t>(i % 3));
  }
}

TEST_F(FacePublish, VideoPassesUntouchedAndUncopied) {
  FrameHarness h(launch(), "GRAY8", kWidth, kHeight);
  GstBuffer* in = frame(0);
  const GstMemory* memory = gst_buffer_peek_memory(in, 0);
  const auto before = bytes_of(in);
  gst_buffer_ref(in);  // somebody else looks at it too
  GstBuffer* out = gst_harness_push_and_pull(h.get(), in);
  EXPECT_EQ(gst_buffer_peek_memory(out, 0), memory);
  EXPECT_EQ(bytes_of(out), before);
  gst_buffer_unref(in);
  gst_buffer_unref(out);
}

TEST_F(FacePublish, NullWhereThereIsNoTime) {
  {
    FrameHarness h(launch(), "GRAY8", kWidth, kHeight);
    GstBuffer* buffer = frame(0, 0);
    GST_BUFFER_PTS(buffer) = GST_CLOCK_TIME_NONE;
    push(h, buffer);
  }
  const Json line = Json::parse(lines().at(0));
  EXPECT_TRUE(line["timestamp"].is_null());
  EXPECT_TRUE(line["running_time"].is_null());
  EXPECT_TRUE(line["source"].is_null());
  EXPECT_TRUE(line["objects"].empty());
}

TEST_F(FacePublish, WhatIsNotANumberIsLeftOut) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  auto faces = make_faces(kWidth, kHeight, 4, 5);
  faces->faces[0].box.w = nan;
  faces->faces[1].confidence = std::numeric_limits<float>::infinity();
  faces->landmarks[2 * 5 + 1].y = nan;
  {
    FrameHarness h(launch(), "GRAY8", kWidth, kHeight);
    GstElement* publish = gst_harness_find_element(h.get(), "cufacepublish");
    g_object_set(publish, "source", "\xff\xfe", nullptr);
    gst_object_unref(publish);
    push(h, with_faces(plain_frame("GRAY8", kWidth, kHeight), faces));
  }
  const Json line = Json::parse(lines().at(0));
  ASSERT_EQ(line["objects"].size(), 1u);
  EXPECT_EQ(line["objects"][0]["id"], 4);
}

TEST_F(FacePublish, AppendKeepsAndMends) {
  const auto write = [&](const std::string& content) { std::ofstream(path_) << content; };
  const auto run = [&](const char* more) {
    FrameHarness h(launch(more), "GRAY8", kWidth, kHeight);
    push(h, frame(0, 0));
  };
  write("{\"old\":1}\n");
  run("");
  EXPECT_EQ(lines().size(), 1u);
  run("append=true");
  EXPECT_EQ(lines().size(), 2u);
  write("{\"old\":1}\n{\"cut\":");  // as after a kill
  run("append=true");
  ASSERT_EQ(lines().size(), 2u);
  EXPECT_EQ(lines()[0], "{\"old\":1}");
  EXPECT_EQ(Json::parse(lines()[1])["frame"], 0);
  write("{\"old\":1}");  // whole, but for its newline
  run("append=true");
  ASSERT_EQ(lines().size(), 2u);
  EXPECT_EQ(lines()[0], "{\"old\":1}");
}

TEST_F(FacePublish, CountsFromZeroAfterReady) {
  FrameHarness h(launch(), "GRAY8", kWidth, kHeight);
  for (int i = 0; i < 3; ++i) push(h, frame(i));
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  for (int i = 0; i < 1000 && lines().size() < 3; ++i) g_usleep(10000);  // a flush waits 0.2 s
  EXPECT_EQ(lines().size(), 3u) << "written at a flush";
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  push(h, frame(1));
  gst_element_set_state(h.get()->element, GST_STATE_READY);
  const auto all = lines();
  ASSERT_EQ(all.size(), 4u) << "written at stop";
  EXPECT_EQ(Json::parse(all[3])["frame"], 3) << "a flush does not start anew";
  gst_element_set_state(h.get()->element, GST_STATE_PLAYING);
  EXPECT_EQ(lines().size(), 0u);
}

TEST_F(FacePublish, PostsMessagesWithoutAFile) {
  FrameHarness h("cufacepublish post-messages=true source=cam2", "GRAY8", kWidth, kHeight);
  Bus bus(h);
  const auto faces = make_faces(kWidth, kHeight, 2, 5);
  push(h, with_faces(plain_frame("GRAY8", kWidth, kHeight, 3), faces));
  GstMessage* message = bus.next(GST_MESSAGE_ELEMENT);
  ASSERT_NE(message, nullptr);
  const GstStructure* s = gst_message_get_structure(message);
  EXPECT_TRUE(gst_structure_has_name(s, "cuface-faces"));
  guint64 number = 9, timestamp = 0, id = 0;
  EXPECT_TRUE(gst_structure_get(s, "frame", G_TYPE_UINT64, &number, "timestamp", G_TYPE_UINT64,
                                &timestamp, nullptr));
  EXPECT_EQ(number, 0u);
  EXPECT_EQ(timestamp, 3 * 40 * GST_MSECOND);
  EXPECT_STREQ(gst_structure_get_string(s, "source"), "cam2");
  const GValue* list = gst_structure_get_value(s, "faces");
  ASSERT_TRUE(GST_VALUE_HOLDS_LIST(list));
  ASSERT_EQ(gst_value_list_get_size(list), 2u);
  const GstStructure* second = gst_value_get_structure(gst_value_list_get_value(list, 1));
  gfloat x = 0;
  EXPECT_TRUE(gst_structure_get(second, "id", G_TYPE_UINT64, &id, "x", G_TYPE_FLOAT, &x, nullptr));
  EXPECT_EQ(id, 2u);
  EXPECT_EQ(x, faces->faces[1].box.x);
  const GValue* landmarks = gst_structure_get_value(second, "landmarks");
  ASSERT_EQ(gst_value_array_get_size(landmarks), 10u);
  EXPECT_EQ(g_value_get_float(gst_value_array_get_value(landmarks, 9)),
            faces->landmarks_of(1)[4].y);
  gst_message_unref(message);
}

TEST_F(FacePublish, SaysOnceThatNoElementFindsFaces) {
  FrameHarness h("cufaceoverlay ! " + launch(), "GRAY8", kWidth, kHeight);
  Bus bus(h);
  for (int i = 0; i < 5; ++i) push(h, plain_frame("GRAY8", kWidth, kHeight, i));
  GstMessage* message = bus.next(GST_MESSAGE_WARNING);
  ASSERT_NE(message, nullptr);
  GError* error = nullptr;
  gst_message_parse_warning(message, &error, nullptr);
  EXPECT_NE(std::string(error->message).find("cufacedetect"), std::string::npos);
  g_error_free(error);
  gst_message_unref(message);
  EXPECT_EQ(bus.count(GST_MESSAGE_WARNING), 0);
  gst_harness_push_event(h.get(), gst_event_new_eos());
  EXPECT_EQ(lines().size(), 5u);
}

TEST_F(FacePublish, WritesFacesOfOtherDetectors) {
  {
    FrameHarness h(launch(), "GRAY8", kWidth, kHeight);
    Bus bus(h);
    GstBuffer* buffer = plain_frame("GRAY8", kWidth, kHeight);
    gst_buffer_add_video_region_of_interest_meta(buffer, "face", 10, 20, 30, 40);
    push(h, buffer);
    EXPECT_EQ(bus.count(GST_MESSAGE_WARNING), 0);
  }
  const Json object = Json::parse(lines().at(0))["objects"].at(0);
  EXPECT_EQ(object["x"], 10);
  EXPECT_EQ(object["h"], 40);
  EXPECT_TRUE(object["id"].is_null());
}

}  // namespace
}  // namespace cuface::test
