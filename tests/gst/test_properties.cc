// Properties: what is out of range is refused, what changes while playing counts from the next
// frame on and never for half of one, what is read at the start waits for the next start.
#include <atomic>
#include <limits>
#include <thread>

#include "tests/gst/faces.h"
#include "tests/gst/parts.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 320, kHeight = 200;

class Properties : public testing::Test {
 protected:
  Parts parts;
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  const cv::Mat picture =
      squares(kWidth, kHeight, {{20, 20, 20, 20}, {120, 60, 60, 60}, {230, 20, 30, 30}});

  static std::vector<GParamSpec*> writable(GstElement* element) {
    guint count = 0;
    GParamSpec** specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);
    std::vector<GParamSpec*> ours;
    for (guint i = 0; i < count; ++i)
      if (std::string(g_type_name(specs[i]->owner_type)).find("Cuface") != std::string::npos &&
          (specs[i]->flags & G_PARAM_WRITABLE))
        ours.push_back(specs[i]);
    g_free(specs);
    return ours;
  }
};

/// Counts the warnings with this text in them while it lives; newer GLib says them as criticals.
class Refusals {
 public:
  Refusals(const char* domain, const char* text)
      : domain_(domain),
        text_(text),
        fatal_(g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_FATAL_MASK))),
        handler_(g_log_set_handler(
            domain, static_cast<GLogLevelFlags>(G_LOG_LEVEL_WARNING | G_LOG_LEVEL_CRITICAL),
            count_it, this)) {}
  ~Refusals() {
    g_log_remove_handler(domain_, handler_);
    g_log_set_always_fatal(fatal_);
  }
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;
  int count() const { return count_; }

 private:
  static void count_it(const gchar*, GLogLevelFlags, const gchar* said, gpointer data) {
    auto* self = static_cast<Refusals*>(data);
    if (g_strrstr(said, self->text_)) ++self->count_;
  }
  const char* domain_;
  const char* text_;
  int count_ = 0;
  GLogLevelFlags fatal_;
  guint handler_;
};

std::string value_text(GstElement* element, GParamSpec* spec) {
  GValue value = G_VALUE_INIT;
  g_value_init(&value, spec->value_type);
  g_object_get_property(G_OBJECT(element), spec->name, &value);
  gchar* text = g_strdup_value_contents(&value);
  const std::string result(text);
  g_free(text);
  g_value_unset(&value);
  return result;
}

TEST_F(Properties, OutOfRangeIsRefusedAndTheOldValueStays) {
  int tried = 0;
  for (const char* name : kElements) {
    GstElement* element = gst_element_factory_make(name, nullptr);
    for (GParamSpec* spec : writable(element)) {
      const std::string before = value_text(element, spec);
      const Refusals refusals("GLib-GObject", "out of range");
      int expected = 0;
      const auto set = [&](auto value) {
        g_object_set(element, spec->name, value, nullptr);
        ++expected;
      };
      if (G_IS_PARAM_SPEC_INT(spec)) {
        const auto* range = G_PARAM_SPEC_INT(spec);
        if (range->minimum > G_MININT) set(range->minimum - 1);
        if (range->maximum < G_MAXINT) set(range->maximum + 1);
      } else if (G_IS_PARAM_SPEC_UINT(spec)) {
        const auto* range = G_PARAM_SPEC_UINT(spec);
        if (range->minimum > 0) set(range->minimum - 1);
        if (range->maximum < G_MAXUINT) set(range->maximum + 1);
      } else if (G_IS_PARAM_SPEC_FLOAT(spec) || G_IS_PARAM_SPEC_DOUBLE(spec)) {
        const bool single = G_IS_PARAM_SPEC_FLOAT(spec);
        const double low = single ? static_cast<double>(G_PARAM_SPEC_FLOAT(spec)->minimum)
                                  : G_PARAM_SPEC_DOUBLE(spec)->minimum;
        const double high = single ? static_cast<double>(G_PARAM_SPEC_FLOAT(spec)->maximum)
                                   : G_PARAM_SPEC_DOUBLE(spec)->maximum;
        for (const double value : {low - 0.001, high + 0.001, -HUGE_VAL, HUGE_VAL,
                                   std::numeric_limits<double>::quiet_NaN()})
          set(value);
      } else if (G_IS_PARAM_SPEC_ENUM(spec)) {
        set(99);
      } else if (G_IS_PARAM_SPEC_FLAGS(spec)) {
        set(1 << 20);
      }
      EXPECT_EQ(refusals.count(), expected) << name << " " << spec->name;
      EXPECT_EQ(value_text(element, spec), before) << name << " " << spec->name;
      tried += expected;
    }
    gst_object_unref(element);
  }
  EXPECT_GE(tried, 100);
}

TEST_F(Properties, EachSaysWhenItMayChange) {
  int checked = 0;
  for (const char* name : kElements) {
    GstElement* element = gst_element_factory_make(name, nullptr);
    for (GParamSpec* spec : writable(element)) {
      const bool playing = spec->flags & GST_PARAM_MUTABLE_PLAYING;
      const bool ready = spec->flags & GST_PARAM_MUTABLE_READY;
      EXPECT_NE(playing, ready) << name << " " << spec->name;
      const gchar* blurb = g_param_spec_get_blurb(spec);
      EXPECT_TRUE(blurb && *blurb) << name << " " << spec->name;
      ++checked;
    }
    gst_object_unref(element);
  }
  EXPECT_GE(checked, 45);
}

/// What comes out of the elements for one frame: faces and pixels.
std::string pass(Harness& harness, const cv::Mat& frame) {
  GstBuffer* out = harness.pass(grey_frame(frame));
  if (!out) return "no buffer";
  const auto bytes = bytes_of(out);
  std::string text = faces_text(out) + "\n";
  text.append(bytes.begin(), bytes.end());
  gst_buffer_unref(out);
  return text;
}

void set_text(Harness& harness, const char* element, const std::string& property,
              const std::string& value) {
  gst_util_set_object_arg(G_OBJECT(harness.element(element)), property.c_str(), value.c_str());
}

struct Setting {
  const char* element;
  const char* property;
  const char* value;
};

// Without a memory of frames (a search on each, no tracker) a frame after the change is the frame
// of an element that has had the value from the start.
const Setting kSettings[] = {
    {"d", "scale-factor", "1.4"},
    {"d", "min-neighbors", "12"},
    {"d", "min-size", "50"},
    {"d", "max-size", "50"},
    {"d", "max-faces", "1"},
    {"d", "grouping", "overlap"},
    {"d", "detect-scale", "2"},
    {"d", "scale-mode", "window"},
    {"d", "step", "1"},
    {"l", "iterations", "1"},
    {"l", "box-map", "none"},
    {"l", "samples", "5"},
    {"o", "draw", "points"},
    {"o", "draw", "pixelate"},
    {"o", "draw", "none"},
    {"o", "box-color", "0xff808080"},
    {"o", "landmark-color", "0xff808080"},
    {"o", "text-color", "0xff808080"},
    {"o", "line-width", "5"},
};

TEST_F(Properties, ChangesCountFromTheNextFrameOn) {
  const std::string chain = parts.detect + " redetect-interval=1 ! " + parts.landmark + " ! " +
                            parts.overlay + " draw=box+contour+confidence";
  int compared = 0;
  for (const Setting& s : kSettings) {
    Harness harness(chain), fresh(chain);
    harness.set_caps(info);
    fresh.set_caps(info);
    const std::string before = pass(harness, picture);
    EXPECT_EQ(pass(harness, picture), before);
    gchar* old = nullptr;
    {
      GValue value = G_VALUE_INIT;
      g_object_get_property(G_OBJECT(harness.element(s.element)), s.property, &value);
      old = gst_value_serialize(&value);
      g_value_unset(&value);
    }
    set_text(harness, s.element, s.property, s.value);
    const std::string after = pass(harness, picture);
    set_text(fresh, s.element, s.property, s.value);
    EXPECT_TRUE(after == pass(fresh, picture)) << s.property << "=" << s.value;
    EXPECT_TRUE(after != before) << s.property << "=" << s.value;
    set_text(harness, s.element, s.property, old);
    EXPECT_TRUE(pass(harness, picture) == before) << s.property << " back to " << old;
    g_free(old);
    ++compared;
  }
  EXPECT_EQ(compared, static_cast<int>(std::size(kSettings)));
}

TEST_F(Properties, TheIntervalChangesFromTheNextFrameOn) {
  Harness harness(parts.detect + " redetect-interval=4");
  harness.set_caps(info);
  std::string searched;
  for (int i = 0; i < 20; ++i) {
    if (i == 6) g_object_set(harness.element("d"), "redetect-interval", 2, nullptr);
    if (i == 11) g_object_set(harness.element("d"), "redetect-interval", 100, nullptr);
    GstBuffer* out = harness.pass(grey_frame(picture));
    searched += was_searched(out) ? 'x' : '-';
    gst_buffer_unref(out);
  }
  EXPECT_EQ(searched, "x---x-x-x-x---------");
}

TEST_F(Properties, StandardMetasAndSourceChangeFromTheNextFrameOn) {
  Harness harness(parts.detect + " ! " + parts.publish + " source=a");
  harness.set_caps(info);
  const auto regions = [&] {
    GstBuffer* out = harness.pass(grey_frame(picture));
    gpointer state = nullptr;
    int count = 0;
    while (
        gst_buffer_iterate_meta_filtered(out, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
      ++count;
    gst_buffer_unref(out);
    return count;
  };
  EXPECT_GE(regions(), 3);
  g_object_set(harness.element("p"), "source", "b", nullptr);
  set_text(harness, "d", "standard-metas", "never");
  EXPECT_EQ(regions(), 0);
  g_object_set(harness.element("p"), "source", nullptr, nullptr);
  set_text(harness, "d", "standard-metas", "always");
  EXPECT_GE(regions(), 3);
  EXPECT_TRUE(harness.finish());
  const auto lines = parts.published();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_NE(lines[0].find("\"source\":\"a\""), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("\"source\":\"b\""), std::string::npos) << lines[1];
  EXPECT_EQ(lines[2].find("\"a\""), std::string::npos) << lines[2];
  EXPECT_EQ(lines[2].find("\"b\""), std::string::npos) << lines[2];
}

// While another thread writes two values in turn as fast as it can, each frame is one of the two
// pictures that these values make, whole.
TEST_F(Properties, AreNeverTorn) {
  struct Toggle {
    const char* element;
    const char* property;
    const char* values[2];
  };
  const std::string chain = parts.detect + " redetect-interval=1 ! " + parts.landmark + " ! " +
                            parts.overlay + " draw=box+contour";
  for (const Toggle& t : {Toggle{"d", "min-size", {"0", "50"}},
                          {"d", "scale-mode", {"pyramid", "window"}},
                          {"d", "grouping", {"opencv", "overlap"}},
                          {"l", "iterations", {"0", "1"}},
                          {"o", "draw", {"box", "points+confidence"}},
                          {"o", "box-color", {"0xff102030", "0xffe0d0c0"}},
                          {"o", "line-width", {"1", "9"}}}) {
    std::string expected[2];
    for (int v = 0; v < 2; ++v) {
      Harness fresh(chain);
      fresh.set_caps(info);
      set_text(fresh, t.element, t.property, t.values[v]);
      expected[v] = pass(fresh, picture);
    }
    ASSERT_TRUE(expected[0] != expected[1]) << t.property;
    Harness harness(chain);
    harness.set_caps(info);
    set_text(harness, t.element, t.property, t.values[0]);
    std::atomic<bool> done{false};
    std::atomic<int> written{0};
    std::thread writer([&] {
      for (; !done; ++written) set_text(harness, t.element, t.property, t.values[written % 2]);
    });
    int seen[2] = {0, 0}, frames = 0;
    // At least 20 frames; more until both values have been met.
    for (; frames < 20 || (frames < 5000 && (!seen[0] || !seen[1])); ++frames) {
      const std::string text = pass(harness, picture);
      for (int v = 0; v < 2; ++v) seen[v] += text == expected[v];
    }
    done = true;
    writer.join();
    EXPECT_EQ(seen[0] + seen[1], frames) << t.property;
    EXPECT_GT(seen[0], 0) << t.property;
    EXPECT_GT(seen[1], 0) << t.property;
  }
}

TEST_F(Properties, TheTrackerTakesChangesFromAnotherThread) {
  Harness harness(parts.detect + " min-size=60 ! " + parts.track);
  harness.set_caps(info);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 0; !done; ++i)
      g_object_set(harness.element("t"), "window-size", i % 2 ? 31 : 15, "pyramid-levels",
                   i % 3 + 2, "max-iterations", 10 + i % 20, nullptr);
  });
  for (int i = 0; i < 40; ++i) {
    const std::string text =
        harness.pass_text(grey_frame(squares(kWidth, kHeight, {{100 + i, 70, 48, 48}})));
    EXPECT_NE(text.find("id 1 "), std::string::npos) << i << text;
  }
  done = true;
  writer.join();
}

// cascade, model, location, append, backend: a new value is for the next start.
TEST_F(Properties, WhatIsReadAtTheStartWaitsForTheNextStart) {
  const std::string other_lines = parts.folder.path() + "/other.jsonl";
  Harness harness(parts.all());
  harness.set_caps(info);
  EXPECT_NE(pass(harness, picture).find("id 1 "), std::string::npos);
  const std::string missing = parts.folder.path() + "/missing";
  g_object_set(harness.element("d"), "cascade", missing.c_str(), nullptr);
  g_object_set(harness.element("l"), "model", missing.c_str(), nullptr);
  g_object_set(harness.element("p"), "location", other_lines.c_str(), "append", TRUE, nullptr);
  for (const char* name : {"d", "t", "l", "o", "p"}) set_text(harness, name, "backend", "cuda");
  for (int i = 0; i < 9; ++i) EXPECT_NE(pass(harness, picture).find("id 1 "), std::string::npos);
  GstVideoInfo nv12 = video_info(GST_VIDEO_FORMAT_NV12, kWidth, kHeight);
  nv12.colorimetry.range = GST_VIDEO_COLOR_RANGE_0_255;
  harness.set_caps(nv12);  // new caps are no new start
  EXPECT_NE(harness.pass_text(make_frame(nv12, picture)).find("id "), std::string::npos);
  EXPECT_TRUE(harness.finish());
  EXPECT_EQ(parts.published().size(), 11u);
  EXPECT_FALSE(std::filesystem::exists(other_lines));
}

}  // namespace
}  // namespace cuface::test
