// Settings that each are legal but make no sense, or not together; and what elements say of
// themselves: stats, debug categories.
#include <map>
#include <opencv2/objdetect.hpp>
#include <set>

#include "tests/gst/faces.h"
#include "tests/gst/parts.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 320, kHeight = 200;

class Settings : public testing::Test {
 protected:
  Parts parts;
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  const cv::Mat picture =
      squares(kWidth, kHeight, {{20, 20, 20, 20}, {120, 60, 60, 60}, {230, 20, 30, 30}});
};

TEST_F(Settings, MinSizeAboveMaxSizeIsWhatOpenCvMakesOfIt) {
  cv::CascadeClassifier classifier(parts.cascade);
  for (const auto& [smallest, largest] : {std::pair{100, 50}, {30, 29}, {70, 10}}) {
    std::vector<cv::Rect> expected;
    classifier.detectMultiScale(picture, expected, 1.1, 3, 0, cv::Size(smallest, smallest),
                                cv::Size(largest, largest));
    Harness harness(parts.detect + " min-size=" + std::to_string(smallest) +
                    " max-size=" + std::to_string(largest));
    harness.set_caps(info);
    GstBuffer* out = harness.pass(grey_frame(picture));
    EXPECT_EQ(face_count(out), static_cast<int>(expected.size())) << smallest << " " << largest;
    gst_buffer_unref(out);
  }
}

// Searches go on with what OpenCV makes of it, but the user hears of it: before playing and while
// playing, once for each time that the two are set so.
TEST_F(Settings, MinSizeAboveMaxSizeIsAWarningThatNamesBoth) {
  Harness harness(parts.detect + " min-size=100 max-size=50");
  Bus bus(harness);
  harness.set_caps(info);
  const auto expect_warnings = [&](const char* sizes, const std::vector<const char*>& words) {
    for (int i = 0; i < 3; ++i) gst_buffer_unref(harness.pass(grey_frame(picture)));
    int count = 0;
    while (GstMessage* message = bus.next(GST_MESSAGE_WARNING, 0)) {
      GError* error = nullptr;
      gst_message_parse_warning(message, &error, nullptr);
      EXPECT_TRUE(g_error_matches(error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS)) << sizes;
      for (const char* word : words)
        EXPECT_NE(std::string(error->message).find(word), std::string::npos) << error->message;
      g_clear_error(&error);
      gst_message_unref(message);
      ++count;
    }
    EXPECT_EQ(count, words.empty() ? 0 : 1) << sizes;
  };
  expect_warnings("from the start", {"min-size is 100", "max-size is 50", "0 = no limit"});
  g_object_set(harness.element("d"), "max-size", 60, nullptr);
  expect_warnings("still so", {});
  g_object_set(harness.element("d"), "max-size", 0, nullptr);
  expect_warnings("no limit", {});
  g_object_set(harness.element("d"), "min-size", 40, "max-size", 40, nullptr);
  expect_warnings("equal", {});
  g_object_set(harness.element("d"), "min-size", 41, nullptr);
  expect_warnings("while playing", {"min-size is 41", "max-size is 40"});
  EXPECT_EQ(bus.count(GST_MESSAGE_ERROR), 0);
}

TEST_F(Settings, AnEvenWindowBecomesTheNextOddOneAndTheVideoGoesOn) {
  Harness harness(parts.detect + " min-size=60 ! " + parts.track + " window-size=20");
  Bus bus(harness);
  harness.set_caps(info);
  const auto window = [&] {
    gint value = 0;
    g_object_get(harness.element("t"), "window-size", &value, nullptr);
    return value;
  };
  EXPECT_EQ(window(), 21);
  for (int size = 5; size <= 63; ++size) {
    g_object_set(harness.element("t"), "window-size", size, nullptr);
    EXPECT_EQ(window(), size | 1);
    const std::string text =
        harness.pass_text(grey_frame(squares(kWidth, kHeight, {{100 + size, 70, 48, 48}})));
    EXPECT_NE(text.find("id 1 "), std::string::npos) << size << text;
  }
  EXPECT_EQ(bus.count(GST_MESSAGE_ERROR), 0);
}

// Each element counts what it does, and says nothing of what it does not.
TEST_F(Settings, StatsHoldWhatTheElementCounts) {
  const std::set<std::string> always = {"frames", "time-total-ns", "time-max-ns"};
  const std::set<std::string> on_cuda = {"device-time-ns", "waits"};
  const std::map<std::string, std::set<std::string>> own = {
      {"cufacedetect", {"faces", "searches", "skipped-searches", "overflows"}},
      {"culktrack", {"faces", "lost-tracks"}},
      {"cufacelandmark", {"faces"}},
      {"cufaceoverlay", {}},
      {"cufacepublish", {"dropped-lines"}},
      {"cuface2json", {}},
      {"cumotiondetect", {"moving-frames", "global-changes", "events", "edge-maps"}}};
  for (const char* name : kElements) {
    GstElement* element = gst_element_factory_make(name, nullptr);
    std::set<std::string> expected = always;
    expected.insert(own.at(name).begin(), own.at(name).end());
    if (g_object_class_find_property(G_OBJECT_GET_CLASS(element), "cuda-device-id") &&
        std::string(name) != "cufacepublish" && std::string(name) != "cuface2json")
      expected.insert(on_cuda.begin(), on_cuda.end());
    GstStructure* stats = nullptr;
    g_object_get(element, "stats", &stats, nullptr);
    std::set<std::string> fields;
    for (gint i = 0; i < gst_structure_n_fields(stats); ++i)
      fields.insert(gst_structure_nth_field_name(stats, static_cast<guint>(i)));
    EXPECT_EQ(fields, expected) << name;
    gst_structure_free(stats);
    gst_object_unref(element);
  }
}

TEST_F(Settings, EachElementLogsUnderItsName) {
  for (const char* name : kElements) {
    gst_object_unref(gst_element_factory_make(name, nullptr));
    GSList* all = gst_debug_get_all_categories();
    int found = 0;
    for (const GSList* c = all; c; c = c->next) {
      auto* category = static_cast<GstDebugCategory*>(c->data);
      if (std::string(gst_debug_category_get_name(category)) != name) continue;
      EXPECT_NE(gst_debug_category_get_description(category), nullptr) << name;
      ++found;
    }
    g_slist_free(all);
    EXPECT_EQ(found, 1) << name;
  }
}

}  // namespace
}  // namespace cuface::test
