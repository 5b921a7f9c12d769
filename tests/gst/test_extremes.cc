// Every value that a property declares is legal while the video plays: the least and the greatest
// of each, found by introspection, so that a new property is tested too.
#include <opencv2/imgcodecs.hpp>
#include <set>
#include <utility>

#include "tests/gst/faces.h"
#include "tests/gst/parts.h"

namespace cuface::test {
namespace {

// Small, because legal extremes may search very many windows.
constexpr int kSide = 112;
constexpr int kFramesEach = 3;

/// A GValue that ends with its scope.
class Value {
 public:
  explicit Value(GType type) { g_value_init(&value_, type); }
  Value(const Value& other) {
    g_value_init(&value_, G_VALUE_TYPE(&other.value_));
    g_value_copy(&other.value_, &value_);
  }
  ~Value() { g_value_unset(&value_); }
  Value& operator=(const Value&) = delete;
  GValue* get() { return &value_; }
  std::string text() const {
    gchar* contents = g_strdup_value_contents(&value_);
    std::string result(contents);
    g_free(contents);
    return result;
  }

 private:
  GValue value_ = G_VALUE_INIT;
};

/// Whether users may write it while the video plays, and it is one of ours.
bool is_playing_property(const GParamSpec* spec) {
  return (spec->flags & G_PARAM_WRITABLE) && (spec->flags & GST_PARAM_MUTABLE_PLAYING) &&
         std::string(g_type_name(spec->owner_type)).find("Cuface") != std::string::npos;
}

std::vector<GParamSpec*> playing_properties(GstElement* element) {
  guint count = 0;
  GParamSpec** specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);
  std::vector<GParamSpec*> ours;
  for (guint i = 0; i < count; ++i)
    if (is_playing_property(specs[i])) ours.push_back(specs[i]);
  g_free(specs);
  return ours;
}

/// The least and the greatest; of enums all values, of strings none and a long one.
std::vector<Value> extremes_of(GParamSpec* spec) {
  std::vector<Value> values;
  const auto add = [&](auto set, auto... arguments) {
    values.emplace_back(spec->value_type);
    set(values.back().get(), arguments...);
  };
  if (G_IS_PARAM_SPEC_INT(spec)) {
    add(g_value_set_int, G_PARAM_SPEC_INT(spec)->minimum);
    add(g_value_set_int, G_PARAM_SPEC_INT(spec)->maximum);
  } else if (G_IS_PARAM_SPEC_UINT(spec)) {
    add(g_value_set_uint, G_PARAM_SPEC_UINT(spec)->minimum);
    add(g_value_set_uint, G_PARAM_SPEC_UINT(spec)->maximum);
  } else if (G_IS_PARAM_SPEC_INT64(spec)) {
    add(g_value_set_int64, G_PARAM_SPEC_INT64(spec)->minimum);
    add(g_value_set_int64, G_PARAM_SPEC_INT64(spec)->maximum);
  } else if (G_IS_PARAM_SPEC_UINT64(spec)) {
    add(g_value_set_uint64, G_PARAM_SPEC_UINT64(spec)->minimum);
    add(g_value_set_uint64, G_PARAM_SPEC_UINT64(spec)->maximum);
  } else if (G_IS_PARAM_SPEC_FLOAT(spec)) {
    add(g_value_set_float, G_PARAM_SPEC_FLOAT(spec)->minimum);
    add(g_value_set_float, G_PARAM_SPEC_FLOAT(spec)->maximum);
  } else if (G_IS_PARAM_SPEC_DOUBLE(spec)) {
    add(g_value_set_double, G_PARAM_SPEC_DOUBLE(spec)->minimum);
    add(g_value_set_double, G_PARAM_SPEC_DOUBLE(spec)->maximum);
  } else if (G_IS_PARAM_SPEC_BOOLEAN(spec)) {
    add(g_value_set_boolean, FALSE);
    add(g_value_set_boolean, TRUE);
  } else if (G_IS_PARAM_SPEC_ENUM(spec)) {
    const GEnumClass* klass = G_PARAM_SPEC_ENUM(spec)->enum_class;
    for (guint i = 0; i < klass->n_values; ++i) add(g_value_set_enum, klass->values[i].value);
  } else if (G_IS_PARAM_SPEC_FLAGS(spec)) {
    add(g_value_set_flags, 0u);
    add(g_value_set_flags, G_PARAM_SPEC_FLAGS(spec)->flags_class->mask);
  } else if (G_IS_PARAM_SPEC_STRING(spec)) {
    const std::string long_text(10'000, 'x');
    add(g_value_set_string, static_cast<const char*>(nullptr));
    add(g_value_set_string, long_text.c_str());
  }
  return values;
}

/// The whole chain, playing, with a face that moves.
class Extremes : public testing::Test {
 protected:
  void SetUp() override { harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kSide, kSide)); }

  /// Passes some frames: the face is found or it is not, but frames and no errors come out.
  void play(const std::string& setting) {
    for (int i = 0; i < kFramesEach; ++i, ++frames) {
      const int x = frames % 8, y = frames % 5;
      GstBuffer* out = harness.pass(grey_frame(squares(kSide, kSide, {{30 + x, 30 + y, 36, 36}})));
      ASSERT_NE(out, nullptr) << setting;
      faces += face_count(out);
      gst_buffer_unref(out);
    }
    while (GstMessage* message = bus.next(GST_MESSAGE_ERROR, 0)) {
      GError* error = nullptr;
      gst_message_parse_error(message, &error, nullptr);
      ADD_FAILURE() << setting << ": " << error->message;
      g_clear_error(&error);
      gst_message_unref(message);
    }
  }
  void set(const char* name, GParamSpec* spec, Value& value) {
    g_object_set_property(G_OBJECT(harness.element(name)), spec->name, value.get());
  }
  Value current(const char* name, GParamSpec* spec) {
    Value value(spec->value_type);
    g_object_get_property(G_OBJECT(harness.element(name)), spec->name, value.get());
    return value;
  }

  explicit Extremes(const std::string& end = elements_without_faces())
      : harness(with_picture(parts).all() + with_reference(parts, end)) {}

  static std::string elements_without_faces() {
    return std::string(" ! cufeatures name=f ! cufeaturematch name=k ! cuplanartrack name=g") +
           (has_surf() ? " ! cusurf name=u" : "") +
           " ! cuedgedetect name=e ! cumotiondetect name=m";
  }
  /// A build option.
  static bool has_surf() {
    return gst_registry_check_feature_version(gst_registry_get(), "cusurf", 0, 0, 0);
  }
  /// Hessian with ORB is an error (test_features.cc), which one of the two alone would ask for.
  static bool is_one_of_a_pair(const GParamSpec* spec) {
    return std::string(spec->name) == "detector" || std::string(spec->name) == "descriptor";
  }

  /// draw=image needs one.
  static const Parts& with_picture(Parts& parts) {
    const std::string path = parts.folder.path() + "/mask.png";
    cv::imwrite(path, cv::Mat(8, 8, CV_8UC4, cv::Scalar(10, 200, 90, 128)));
    parts.overlay += " image=" + path;
    return parts;
  }

  /// Both elements of reference pictures need one.
  static std::string with_reference(const Parts& parts, std::string end) {
    const std::string path = parts.folder.path() + "/reference.png";
    cv::imwrite(path, squares(kSide, kSide, {{30, 30, 36, 36}}));
    for (const std::string name : {"name=k", "name=g"})
      if (const std::size_t at = end.find(name); at != end.npos)
        end.replace(at, name.size(), name + " reference=" + path);
    return end;
  }

  static constexpr const char* kNames[] = {"d", "t", "l", "o", "p", "f", "k", "g", "e", "m"};
  Parts parts;
  Harness harness;
  Bus bus{harness};
  int frames = 0, faces = 0;
};

/// With the element that makes JSON of the frames, so it can only be the last.
class ExtremesOfJson : public Extremes {
 protected:
  ExtremesOfJson() : Extremes(" ! cuface2json name=j") {}
};

TEST_F(Extremes, TheChainHoldsEveryElementOfThePlugin) {
  std::set<std::string> types, tested = {"GstCuface2Json"};  // in the chain of ExtremesOfJson
  GList* features = gst_registry_get_feature_list_by_plugin(gst_registry_get(), "cuface");
  for (const GList* f = features; f; f = f->next) {
    if (!GST_IS_ELEMENT_FACTORY(f->data)) continue;
    GstElement* element = gst_element_factory_create(GST_ELEMENT_FACTORY(f->data), nullptr);
    types.insert(G_OBJECT_TYPE_NAME(element));
    gst_object_unref(element);
  }
  gst_plugin_feature_list_free(features);
  for (const char* name : kNames) tested.insert(G_OBJECT_TYPE_NAME(harness.element(name)));
  if (has_surf()) tested.insert(G_OBJECT_TYPE_NAME(harness.element("u")));
  EXPECT_EQ(types, tested);
}

TEST_F(ExtremesOfJson, OfEachPropertyWhilePlaying) {
  int values = 0;
  for (GParamSpec* spec : playing_properties(harness.element("j"))) {
    for (Value& value : extremes_of(spec)) {
      set("j", spec, value);
      ASSERT_NO_FATAL_FAILURE(play(std::string(spec->name) + "=" + value.text().substr(0, 40)));
      ++values;
    }
  }
  EXPECT_GE(values, 2);
  EXPECT_TRUE(harness.finish());
}

TEST_F(Extremes, OfEachPropertyWhilePlaying) {
  int values = 0, properties = 0;
  ASSERT_NO_FATAL_FAILURE(play("defaults"));
  EXPECT_GT(faces, 0);
  std::vector<const char*> names(std::begin(kNames), std::end(kNames));
  if (has_surf()) names.push_back("u");
  for (const char* name : names) {
    for (GParamSpec* spec : playing_properties(harness.element(name))) {
      if (is_one_of_a_pair(spec)) continue;
      Value before = current(name, spec);
      auto extremes = extremes_of(spec);
      EXPECT_GE(extremes.size(), 2u) << spec->name << ": values of its type are not known here";
      for (Value& value : extremes) {
        set(name, spec, value);
        EXPECT_EQ(current(name, spec).text(), value.text()) << spec->name << " was refused";
        ASSERT_NO_FATAL_FAILURE(play(std::string(spec->name) + "=" + value.text().substr(0, 40)));
        ++values;
      }
      set(name, spec, before);
      ++properties;
    }
  }
  std::printf("%d values of %d properties\n", values, properties);
  EXPECT_GE(properties, 50);
  faces = 0;
  ASSERT_NO_FATAL_FAILURE(play("defaults again"));
  EXPECT_GT(faces, 0);
  EXPECT_TRUE(harness.finish());
}

// Each value joins those set before it, until all are at the least, or at the greatest. The
// detector comes last, as hardly any face is found with its extremes.
TEST_F(Extremes, OfAllPropertiesTogether) {
  for (const bool greatest : {false, true}) {
    for (const char* name : {"p", "o", "l", "t", "d"}) {
      const int found = std::string(name) == "d" ? std::exchange(faces, 0) : 1;
      EXPECT_GT(found, 0) << "faces before the detector's extremes";
      for (GParamSpec* spec : playing_properties(harness.element(name))) {
        // Eyes at the chin are an error (test_overlayimage.cc), and the least of all are there.
        if (g_str_has_prefix(spec->name, "image-")) continue;
        auto extremes = extremes_of(spec);
        Value& value = greatest ? extremes.back() : extremes.front();
        set(name, spec, value);
        ASSERT_NO_FATAL_FAILURE(play(std::string(spec->name) + "=" + value.text().substr(0, 40)));
      }
    }
  }
  EXPECT_TRUE(harness.finish());
}

}  // namespace
}  // namespace cuface::test
