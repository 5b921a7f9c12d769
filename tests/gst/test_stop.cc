// Legal settings may make one search take minutes: neither NULL nor a flush waits for it.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <opencv2/imgcodecs.hpp>
#include <random>
#include <thread>

#include "kernels/detect/detect.h"
#include "kernels/network/integers.h"
#include "models/network_file.h"
#include "tests/fewer.h"
#include "tests/gst/faces.h"
#include "tests/gst/parts.h"
#include "tests/kernels/networks.h"

namespace cuface::test {
namespace {

using std::chrono::milliseconds;

// What is promised is half a second. A busy machine may take longer; a search that is waited for
// takes far longer than this.
const double kMostSeconds = 3 * every() * slowness();

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <typename F>
double seconds_of(F f) {
  const double begin = seconds_now();
  f();
  return seconds_now() - begin;
}

std::string detector(const std::string& settings) {
  return "cufacedetect name=d cascade=" + cascade_path("frontalface_default") + " " + settings;
}

struct Case {
  const char* name;
  int width, height;
  const char* settings;
};

// Each takes seconds to minutes of a core where it is waited for.
const Case kCases[] = {
    {"window", 640, 360, "scale-mode=window scale-factor=1.001"},
    {"window_step_1", 1920, 1080, "scale-mode=window scale-factor=1.01 step=1"},
    {"window_many_angles", 640, 360, "scale-mode=window scale-factor=1.001 roll=90"},
    {"small_steps", 1920, 1080, "scale-factor=1.001 step=1 threads=1"},
    {"many_angles", 640, 360, "scale-factor=1.001 step=1 roll=90 verify=true threads=2"},
    {"reduced", 2560, 1440, "scale-factor=1.001 step=1 detect-scale=2 roll=90"},
    {"smart_4k", 3840, 2160, "scale-factor=1.002 step=1 search=smart"},
};

GstElement* parse(const std::string& text) {
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(text.c_str(), &error);
  EXPECT_EQ(error, nullptr) << error->message;
  g_object_set(pipeline, "auto-flush-bus", FALSE, nullptr);  // messages() looks after NULL
  return pipeline;
}

GstElement* element_of(GstElement* pipeline, const char* name) {
  GstElement* element = gst_bin_get_by_name(GST_BIN(pipeline), name);
  gst_object_unref(element);  // the pipeline keeps it
  return element;
}

guint64 searches_of(GstElement* pipeline) {
  GstStructure* stats = nullptr;
  g_object_get(element_of(pipeline, "d"), "stats", &stats, nullptr);
  guint64 searches = G_MAXUINT64;
  gst_structure_get_uint64(stats, "searches", &searches);
  gst_structure_free(stats);
  return searches;
}

/// Lets the test wait for the first buffer that an element gets.
class FirstBuffer {
 public:
  explicit FirstBuffer(GstElement* element) {
    GstPad* pad = gst_element_get_static_pad(element, "sink");
    gst_pad_add_probe(
        pad, GST_PAD_PROBE_TYPE_BUFFER,
        [](GstPad*, GstPadProbeInfo*, gpointer self) {
          static_cast<FirstBuffer*>(self)->came_ = true;
          return GST_PAD_PROBE_OK;
        },
        this, nullptr);
    gst_object_unref(pad);
  }
  bool has_come() const { return came_; }
  /// Then the element has worked on it for a while.
  void wait() const {
    const double begin = seconds_now();
    while (!came_ && seconds_now() - begin < 60) std::this_thread::sleep_for(milliseconds(5));
    EXPECT_TRUE(came_);
    std::this_thread::sleep_for(milliseconds(200));
  }

 private:
  std::atomic<bool> came_{false};
};

/// What the bus holds of errors and warnings.
std::vector<std::string> messages(GstElement* pipeline, GstMessageType type) {
  GstBus* bus = gst_element_get_bus(pipeline);
  std::vector<std::string> texts;
  while (GstMessage* message = gst_bus_pop_filtered(bus, type)) {
    GError* error = nullptr;
    if (type == GST_MESSAGE_ERROR)
      gst_message_parse_error(message, &error, nullptr);
    else
      gst_message_parse_warning(message, &error, nullptr);
    texts.push_back(error->message);
    g_error_free(error);
    gst_message_unref(message);
  }
  gst_object_unref(bus);
  return texts;
}

double seconds_to_null(GstElement* pipeline, const std::string& what) {
  const std::clock_t worked = std::clock();
  const double took = seconds_of([&] { gst_element_set_state(pipeline, GST_STATE_NULL); });
  std::printf("%s: NULL after %.0f ms, in which the process worked for %.0f ms\n", what.c_str(),
              1000 * took, 1000.0 * static_cast<double>(std::clock() - worked) / CLOCKS_PER_SEC);
  return took;
}

std::string grey_caps(int width, int height) {
  return "video/x-raw,format=GRAY8,width=" + std::to_string(width) +
         ",height=" + std::to_string(height);
}

class StopAny : public testing::Test {
 protected:
  Parts parts;
};
class Stop : public StopAny, public testing::WithParamInterface<Case> {
 protected:
  void SetUp() override { CUFACE_NEEDS_CASCADES(); }
};

TEST_P(Stop, NullDoesNotWaitForASearch) {
  const Case& c = GetParam();
  GstElement* pipeline = parse("videotestsrc pattern=snow ! " + grey_caps(c.width, c.height) +
                               " ! " + detector(c.settings) + " ! " + parts.track + " ! fakesink");
  const FirstBuffer first(element_of(pipeline, "d"));
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  first.wait();
  EXPECT_EQ(searches_of(pipeline), 0u) << "a search that is over shows nothing";
  EXPECT_LT(seconds_to_null(pipeline, c.name), kMostSeconds);
  EXPECT_EQ(searches_of(pipeline), 0u) << "what was stopped is not counted";
  EXPECT_EQ(messages(pipeline, GST_MESSAGE_ERROR), std::vector<std::string>()) << "it is no error";
  gst_object_unref(pipeline);
}

INSTANTIATE_TEST_SUITE_P(Settings, Stop, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(StopAny, NullDoesNotWaitForThePlanning) {
  CUFACE_NEEDS_CASCADES();
  GstElement* pipeline =
      parse("videotestsrc pattern=black ! " + grey_caps(3840, 2160) + " ! " +
            detector("scale-factor=1.001 step=1 roll=90 verify=true threads=8") + " ! fakesink");
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_LT(seconds_to_null(pipeline, "planning"), kMostSeconds);
  EXPECT_EQ(messages(pipeline, GST_MESSAGE_ERROR), std::vector<std::string>());
  gst_object_unref(pipeline);
}

// The network's integers are made of what it computes on generated pictures.
TEST_F(StopAny, NullDoesNotWaitForANetworksIntegers) {
  const auto network = slow_network(1);
  const std::string model = parts.folder.path() + "/slow.cuface";
  ASSERT_TRUE(write_network_file(*network, {"slow", "", ""}, model).ok());
  const double whole = seconds_of([&] { EXPECT_TRUE(network::in_integers(*network)); });
  GstElement* pipeline =
      parse("videotestsrc pattern=black ! " + grey_caps(64, 64) +
            " ! cufacedetect name=d precision=int16 model=" + model + " ! fakesink");
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_LT(seconds_to_null(pipeline, "integers"), whole / 3) << whole;
  EXPECT_EQ(messages(pipeline, GST_MESSAGE_ERROR), std::vector<std::string>());
  gst_object_unref(pipeline);
}

// A cascade that every window but a flat one passes, window 24x24.
std::string accepting_cascade_xml() {
  std::string xml = square_cascade_xml();
  const std::string threshold = "0 -1 0 1.6";
  return xml.replace(xml.find(threshold), threshold.size(), "0 -1 0 -1e6");
}

// As many faces as a search may find, on every element behind: each of them takes time for each.
TEST_F(StopAny, NullDoesNotWaitForManyFaces) {
  const std::string settings =
      " scale-factor=10 max-size=30 step=1 min-neighbors=0 max-faces=65536 standard-metas=never "
      "cascade=" +
      parts.folder.write("all.xml", accepting_cascade_xml());
  const std::string detect = "cufacedetect name=d" + settings;
  const std::string slow_track =
      "culktrack name=t window-size=63 pyramid-levels=10 max-iterations=100 epsilon=0 "
      "max-faces=64 doubt-below=0 standard-metas=never";
  struct {
    const char* name;
    std::string rest;
    int side;
  } const chains[] = {
      {"landmarks", parts.landmark + " samples=16 standard-metas=never", 279},
      {"tracks", slow_track, 279},
      {"overlay", parts.landmark + " iterations=1 samples=1 refine=false ! " + parts.overlay, 120},
      {"two_detectors", "cufacedetect" + settings, 279},
      {"angles", "identity", 197},
  };
  for (const auto& chain : chains) {
    const bool angles = chain.name == std::string("angles");
    GstElement* pipeline =
        parse("videotestsrc pattern=snow ! " + grey_caps(chain.side, chain.side) + " ! " + detect +
              (angles ? " roll=90" : "") + " ! " + chain.rest + " ! fakesink");
    const FirstBuffer first(element_of(pipeline, "d"));
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    first.wait();
    std::this_thread::sleep_for(milliseconds(200));
    EXPECT_LT(seconds_to_null(pipeline, chain.name), kMostSeconds) << chain.name;
    EXPECT_EQ(messages(pipeline, GST_MESSAGE_ERROR), std::vector<std::string>()) << chain.name;
    gst_object_unref(pipeline);
  }
}

// As many keypoints as there may be, against as many.
TEST_F(StopAny, NullDoesNotWaitForManyMatches) {
  cv::Mat small(334, 400, CV_8U), many;
  cv::RNG(5).fill(small, cv::RNG::UNIFORM, 0, 256);
  cv::resize(small, many, {1200, 1002}, 0, 0, cv::INTER_NEAREST);
  cv::GaussianBlur(many, many, {3, 3}, 0);
  const std::string path = parts.folder.path() + "/many.png";
  cv::imwrite(path, many);
  GstElement* pipeline = parse("filesrc location=" + path +
                               " ! pngdec ! imagefreeze ! cufeatures name=d levels=1 threshold=1 "
                               "score=fast edge=22 max-keypoints=65535 ! cufeaturematch name=m "
                               "reference=" +
                               path + " ! fakesink name=end");
  const FirstBuffer first(element_of(pipeline, "m")), matched(element_of(pipeline, "end"));
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  first.wait();
  std::this_thread::sleep_for(milliseconds(600));  // the pictures' own keypoints take a third of it
  EXPECT_FALSE(matched.has_come()) << "it was matched already";
  EXPECT_LT(seconds_to_null(pipeline, "matches"), kMostSeconds);
  EXPECT_EQ(messages(pipeline, GST_MESSAGE_ERROR), std::vector<std::string>());
  gst_object_unref(pipeline);
}

// The flush comes from the application's thread while the streaming thread searches.
TEST_F(StopAny, AFlushDoesNotWaitForASearch) {
  CUFACE_NEEDS_CASCADES();
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, 320, 240);
  const cv::Mat picture = squares(320, 240, {{60, 50, 48, 48}, {180, 100, 72, 72}});
  const auto faces_after = [&](bool flush) {
    Harness harness("cufacedetect name=d cascade=" + parts.cascade + " search=smart ! " +
                    parts.track);
    const Bus bus(harness);
    harness.set_caps(info);
    if (flush) {
      // The square cascade needs no time: every step there is, in every direction.
      g_object_set(harness.element("d"), "scale-factor", 1.001, "step", 1, "roll", 90u, "threads",
                   1, "min-neighbors", 0, nullptr);
      GstFlowReturn flow = GST_FLOW_OK;
      std::thread stream([&] { flow = harness.push(make_frame(info, picture)); });
      std::this_thread::sleep_for(milliseconds(300));
      const double took = seconds_of([&] {
        gst_harness_push_event(harness.get(), gst_event_new_flush_start());
        stream.join();
        gst_harness_push_event(harness.get(), gst_event_new_flush_stop(TRUE));
      });
      std::printf("flush after %.0f ms\n", 1000 * took);
      EXPECT_LT(took, kMostSeconds);
      EXPECT_EQ(flow, GST_FLOW_FLUSHING);
      EXPECT_EQ(harness.stat("d", "searches"), 0u);
      EXPECT_EQ(gst_harness_buffers_in_queue(harness.get()), 0u) << "the frame is dropped";
      const DetectConfig defaults;
      g_object_set(harness.element("d"), "scale-factor", defaults.scale_factor, "step", 0, "roll",
                   0u, "min-neighbors", defaults.min_neighbors, nullptr);
      GstSegment segment;
      gst_segment_init(&segment, GST_FORMAT_TIME);
      gst_harness_push_event(harness.get(), gst_event_new_segment(&segment));
    }
    std::vector<std::string> texts;
    for (int i = 0; i < 12; ++i) texts.push_back(harness.pass_text(make_frame(info, picture)));
    return texts;
  };
  const auto expected = faces_after(false);
  EXPECT_NE(expected[0].find("id 2"), std::string::npos) << expected[0];
  EXPECT_EQ(faces_after(true), expected) << "as of an element that was never stopped";
}

TEST_F(StopAny, ALongSearchSaysSoOnce) {
  CUFACE_NEEDS_CASCADES();
  const auto warnings_of = [&](const std::string& settings) {
    GstElement* pipeline = parse("videotestsrc pattern=black ! " + grey_caps(640, 360) + " ! " +
                                 detector(settings) + " ! fakesink");
    const FirstBuffer first(element_of(pipeline, "d"));
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    first.wait();
    // The same again, planned anew.
    g_object_set(element_of(pipeline, "d"), "min-neighbors", 4, nullptr);
    std::this_thread::sleep_for(milliseconds(100));
    gst_element_set_state(pipeline, GST_STATE_NULL);
    auto texts = messages(pipeline, GST_MESSAGE_WARNING);
    gst_object_unref(pipeline);
    return texts;
  };
  const auto texts = warnings_of("scale-mode=window scale-factor=1.001");
  ASSERT_EQ(texts.size(), 1u);
  for (const char* said : {" windows, ", "scale-factor", "scale-mode=pyramid"})
    EXPECT_NE(texts[0].find(said), std::string::npos) << texts[0];
  EXPECT_EQ(warnings_of(""), std::vector<std::string>());
}

/// A random value for a property that may be changed while playing; false for others.
bool set_random(GObject* object, GParamSpec* spec, std::mt19937& random) {
  if (!(spec->flags & G_PARAM_WRITABLE) || !(spec->flags & GST_PARAM_MUTABLE_PLAYING)) return false;
  const auto chance = [&] { return std::uniform_real_distribution<double>(0, 1)(random); };
  // The ends of a range are where things break.
  const auto place = [&] {
    const double c = chance();
    return c < 0.2 ? 0.0 : c > 0.8 ? 1.0 : std::pow(chance(), 3);
  };
  GValue value = G_VALUE_INIT;
  g_value_init(&value, spec->value_type);
  if (G_IS_PARAM_SPEC_INT(spec)) {
    const auto* s = G_PARAM_SPEC_INT(spec);
    const double range = static_cast<double>(s->maximum) - s->minimum;
    g_value_set_int(&value, static_cast<gint>(s->minimum + range * place()) |
                                (std::string(spec->name) == "window-size"));
  } else if (G_IS_PARAM_SPEC_UINT(spec)) {
    const auto* s = G_PARAM_SPEC_UINT(spec);
    const double range = static_cast<double>(s->maximum) - s->minimum;
    g_value_set_uint(&value, static_cast<guint>(s->minimum + range * place()));
  } else if (G_IS_PARAM_SPEC_DOUBLE(spec)) {
    const auto* s = G_PARAM_SPEC_DOUBLE(spec);
    g_value_set_double(&value, s->minimum + (s->maximum - s->minimum) * place());
  } else if (G_IS_PARAM_SPEC_FLOAT(spec)) {
    const auto* s = G_PARAM_SPEC_FLOAT(spec);
    g_value_set_float(&value,
                      static_cast<gfloat>(s->minimum + (s->maximum - s->minimum) * place()));
  } else if (G_IS_PARAM_SPEC_BOOLEAN(spec)) {
    g_value_set_boolean(&value, chance() < 0.5);
  } else if (G_IS_PARAM_SPEC_ENUM(spec)) {
    const GEnumClass* klass = G_PARAM_SPEC_ENUM(spec)->enum_class;
    g_value_set_enum(&value, klass->values[random() % klass->n_values].value);
  } else {
    g_value_unset(&value);
    return false;
  }
  g_object_set_property(object, spec->name, &value);
  g_value_unset(&value);
  return true;
}

TEST_F(StopAny, NullDoesNotWaitAfterRandomSettings) {
  CUFACE_NEEDS_CASCADES();
  for (const unsigned seed : {1u, 2u}) {
    std::mt19937 random(seed);
    GstElement* pipeline =
        parse("videotestsrc pattern=ball ! " + grey_caps(640, 360) + " ! " + detector("") + " ! " +
              parts.track + " ! " + parts.landmark + " ! " + parts.overlay + " ! fakesink");
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    int set = 0;
    for (const double end = seconds_now() + 1; seconds_now() < end;) {
      for (const char* name : {"d", "t", "l", "o"}) {
        GObject* object = G_OBJECT(element_of(pipeline, name));
        guint count = 0;
        GParamSpec** specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(object), &count);
        for (int tries = 0; tries < 2; ++tries)
          set += set_random(object, specs[random() % count], random);
        g_free(specs);
      }
      std::this_thread::sleep_for(milliseconds(10));
    }
    EXPECT_GT(set, 20);
    EXPECT_LT(seconds_to_null(pipeline, "random " + std::to_string(seed)), kMostSeconds) << seed;
    EXPECT_EQ(messages(pipeline, GST_MESSAGE_ERROR), std::vector<std::string>()) << seed;
    gst_object_unref(pipeline);
  }
}

}  // namespace
}  // namespace cuface::test
