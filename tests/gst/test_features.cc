// cufeatures and cusurf: the keypoints of the kernels in a meta and in JSON, settings, pictures
// without any.
#include <nlohmann/json.hpp>
#include <regex>

#include "gst/meta/gstcufacefeaturemeta.h"
#include "gst/meta/keypoints.h"
#include "tests/gst/features_read.h"
#include "tests/gst/support.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 320, kHeight = 240;

cv::Mat picture() {
  return squares(kWidth, kHeight, {{50, 50, 60, 60}, {150, 60, 90, 90}, {60, 140, 50, 50}});
}

GstVideoInfo grey_info(int width = kWidth, int height = kHeight) {
  return video_info(GST_VIDEO_FORMAT_GRAY8, width, height);
}

/// A buffer's snapshot, which goes with this.
class Read {
 public:
  explicit Read(GstBuffer* buffer) {
    GstCufaceFeatureMeta* meta = buffer ? gst_cuface_buffer_get_feature_meta(buffer) : nullptr;
    if (meta) features_ = gst_cuface_feature_meta_get_features(meta);
  }
  ~Read() {
    if (features_) gst_cuface_features_unref(features_);
  }
  Read(const Read&) = delete;
  Read& operator=(const Read&) = delete;

  const GstCufaceFeatures* get() const { return features_; }
  int count() const {
    return features_ ? static_cast<int>(gst_cuface_features_get_count(features_)) : -1;
  }
  /// Its keypoints in pixels of a frame of this size, with their descriptors.
  Features in_pixels(float width, float height) const {
    Features out;
    for (guint i = 0; static_cast<int>(i) < count(); ++i) {
      Keypoint k;
      k.octave = static_cast<std::int32_t>(gst_cuface_features_get_keypoint(
          features_, i, &k.x, &k.y, &k.size, &k.angle, &k.response));
      k.x = k.x * width - 0.5f;
      k.y = k.y * height - 0.5f;
      k.size *= width;
      out.keypoints.push_back(k);
      gsize length = 0;
      out.signs.push_back(static_cast<std::int8_t>(gst_cuface_features_get_sign(features_, i)));
      if (const gfloat* floats = gst_cuface_features_get_floats(features_, i, &length)) {
        EXPECT_TRUE(length == 64 || length == 36) << length;
        out.floats.insert(out.floats.end(), floats, floats + length);
      }
      const guint8* bytes = gst_cuface_features_get_descriptor(features_, i, &length);
      if (!bytes) continue;
      EXPECT_EQ(length, gsize{kBinaryBytes});
      out.descriptors.insert(out.descriptors.end(), bytes, bytes + length);
    }
    return out;
  }

 private:
  GstCufaceFeatures* features_ = nullptr;
};

/// The same, but for the rounding of places.
void expect_same(const Features& a, const Features& b) {
  ASSERT_EQ(a.keypoints.size(), b.keypoints.size());
  for (std::size_t i = 0; i < a.keypoints.size(); ++i) {
    const Keypoint &k = a.keypoints[i], &other = b.keypoints[i];
    ASSERT_NEAR(k.x, other.x, 1e-3);
    ASSERT_NEAR(k.y, other.y, 1e-3);
    ASSERT_NEAR(k.size, other.size, 1e-3);
    ASSERT_EQ(k.angle, other.angle);
    ASSERT_EQ(k.response, other.response);
    ASSERT_EQ(k.octave, other.octave);
  }
  EXPECT_EQ(a.descriptors, b.descriptors);
  EXPECT_EQ(a.floats, b.floats);
  EXPECT_EQ(a.signs, b.signs);
  EXPECT_EQ(a.floats_each(), b.floats_each());
  EXPECT_TRUE(a.floats.empty() ? a.descriptors.size() == kBinaryBytes * a.keypoints.size()
                               : a.descriptors.empty());
}

/// An element of this build, and what it does by default.
struct Finder {
  std::string name;
  FeatureConfig config;
};
std::ostream& operator<<(std::ostream& out, const Finder& finder) { return out << finder.name; }

std::vector<Finder> finders() {
  std::vector<Finder> all = {{"cufeatures", {}}};
  if (has_surf()) all.push_back({"cusurf", with_surf()});
  return all;
}

class FeatureElements : public testing::TestWithParam<Finder> {
 protected:
  const std::string element = GetParam().name;
  const cv::Mat grey = picture();
  const Features all = features_of(grey, GetParam().config);
};
INSTANTIATE_TEST_SUITE_P(Elements, FeatureElements, testing::ValuesIn(finders()),
                         [](const auto& info) { return info.param.name; });

TEST(FeatureSettings, OfTheMetaAreTheKernels) {
  const cv::Mat grey = picture();
  std::vector<std::pair<std::string, FeatureConfig>> cases = {
      {"cufeatures", {}},
      {"cufeatures detector=fast descriptor=orb max-keypoints=40", with_orb({.max_keypoints = 40})},
      {"cufeatures threshold=40 levels=3 scale-factor=1.5",
       with_orb({.threshold = 40, .levels = 3, .scale_factor = 1.5f})},
      {"cufeatures score=fast edge=25", with_orb({.edge = 25, .score = KeypointScore::kFast})},
      {"cufeatures upright=true", with_orb({.upright = true})}};
  if (has_surf()) {
    FeatureConfig corners = with_orb({});
    corners.descriptor = FeatureDescriptor::kSurf;
    cases.insert(
        cases.end(),
        {{"cusurf", with_surf()},
         {"cufeatures detector=hessian descriptor=surf", with_surf()},
         {"cusurf max-keypoints=30 threshold=10",
          with_surf({.max_keypoints = 30, .threshold = 10})},
         {"cusurf octaves=2", with_surf({.octaves = 2})},
         {"cusurf layers=5 threshold=20.5", with_surf({.threshold = 20.5f, .layers = 5})},
         {"cusurf upright=true", with_surf({.upright = true})},
         {"cusurf descriptor-size=36", with_surf({.descriptor_size = 36})},
         {"cusurf sampling=integral", with_surf({.sampling = SurfSampling::kIntegral})},
         {"cusurf sampling=mipmap", with_surf({.sampling = SurfSampling::kMipmap})},
         {"cusurf orientation=centroid window=overlap precision=fp16",
          with_surf({.orientation = SurfOrientation::kCentroid,
                     .window = SurfWindow::kOverlap,
                     .precision = SurfPrecision::kFp16})},
         {"cusurf orientation=sliding precision=10",
          with_surf({.orientation = SurfOrientation::kSliding, .precision = SurfPrecision::k10})},
         {"cusurf detector=fast", corners}});
  }
  for (const auto& [element, config] : cases) {
    Harness harness(element + " name=f");
    harness.set_caps(grey_info());
    GstBuffer* out = harness.pass(grey_frame(grey));
    ASSERT_NE(out, nullptr) << element;
    const Read read(out);
    gst_buffer_unref(out);  // the snapshot outlives it
    const Features wanted = features_of(grey, config);
    EXPECT_GE(wanted.keypoints.size(), 20u) << element;
    expect_same(read.in_pixels(kWidth, kHeight), wanted);
    EXPECT_EQ(harness.stat("f", "keypoints"), wanted.keypoints.size());
  }
}

/// So reference pictures are not described again for it.
TEST(FeatureSettings, ThatDoNotCountLeaveTheConfigurationAlone) {
  if (!has_surf()) GTEST_SKIP() << "built without SURF";
  const auto config = [](const std::string& settings) {
    Harness harness("cufeatures descriptor=surf " + settings);
    harness.set_caps(grey_info());
    GstBuffer* out = harness.pass(grey_frame(picture()));
    const auto found = gst::find_result<FrameFeatures>(out, kWidth, kHeight).result.read();
    gst_buffer_unref(out);
    return found.ok() && found.value() ? found.value()->config : FeatureConfig{};
  };
  const FeatureConfig fast = config("");
  EXPECT_EQ(fast.descriptor, FeatureDescriptor::kSurf);
  EXPECT_EQ(config("octaves=2 layers=5"), fast);
  EXPECT_NE(config("sampling=integral"), fast);
  EXPECT_NE(config("descriptor-size=36"), fast);
  EXPECT_NE(config("upright=true"), fast);
  EXPECT_NE(config("detector=hessian octaves=2"), config("detector=hessian"));
}

TEST_P(FeatureElements, SettingsChangeWhileItPlays) {
  Harness harness(element + " name=f");
  harness.set_caps(grey_info());
  for (const int most : {500, 20, 500}) {
    g_object_set(harness.element("f"), "max-keypoints", most, nullptr);
    GstBuffer* out = harness.pass(grey_frame(grey));
    ASSERT_NE(out, nullptr);
    FeatureConfig config = GetParam().config;
    config.orb.max_keypoints = config.surf.max_keypoints = most;
    expect_same(Read(out).in_pixels(kWidth, kHeight), features_of(grey, config));
    gst_buffer_unref(out);
  }
}

TEST_P(FeatureElements, FollowAPictureThatIsScaledOrCropped) {
  const auto behind = [&](const std::string& other) {
    Harness harness(element + " ! " + other);
    harness.set_caps(grey_info());
    return harness.pass(grey_frame(grey));
  };
  GstBuffer* scaled = behind("videoscale ! capsfilter caps=video/x-raw,width=640,height=480");
  ASSERT_NE(scaled, nullptr);
  expect_same(Read(scaled).in_pixels(kWidth, kHeight), all);
  gst_buffer_unref(scaled);

  GstBuffer* flipped = behind("videoflip video-direction=horiz");
  ASSERT_NE(flipped, nullptr);
  EXPECT_EQ(Read(flipped).get(), nullptr) << "nobody knows where they are";
  gst_buffer_unref(flipped);

  Harness harness(element);
  harness.set_caps(grey_info());
  GstBuffer* out = harness.pass(grey_frame(grey));
  ASSERT_NE(out, nullptr);
  out = gst_buffer_make_writable(out);
  GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(out);
  crop->x = 100;
  crop->y = 40;
  crop->width = 160;
  crop->height = 120;
  Features inside;
  for (std::size_t i = 0; i < all.keypoints.size(); ++i) {
    Keypoint k = all.keypoints[i];
    k.x -= 100;
    k.y -= 40;
    if (k.x <= -0.5f || k.y <= -0.5f || k.x >= 160 || k.y >= 120) continue;
    k.size = all.keypoints[i].size;
    inside.keypoints.push_back(k);
    inside.signs.push_back(all.signs[i]);
    if (all.floats.empty()) {
      inside.descriptors.insert(inside.descriptors.end(), all.descriptor(i),
                                all.descriptor(i) + kBinaryBytes);
      continue;
    }
    inside.floats.insert(inside.floats.end(), all.floats_of(i),
                         all.floats_of(i) + all.floats_each());
  }
  EXPECT_GT(inside.keypoints.size(), 10u);
  EXPECT_LT(inside.keypoints.size(), all.keypoints.size());
  expect_same(Read(out).in_pixels(160, 120), inside);
  gst_buffer_unref(out);
}

TEST_P(FeatureElements, AreTheSameInColourAndFollowOtherCaps) {
  Harness harness(element);
  for (const auto& [format, width] : {std::pair{GST_VIDEO_FORMAT_RGB, kWidth},
                                      {GST_VIDEO_FORMAT_BGRx, kWidth},
                                      {GST_VIDEO_FORMAT_BGRx, kWidth * 3 / 4},
                                      {GST_VIDEO_FORMAT_GBR, kWidth},
                                      {GST_VIDEO_FORMAT_GRAY8, kWidth * 5 / 4}}) {
    const GstVideoInfo info = video_info(format, width, kHeight * width / kWidth);
    cv::Mat frame = grey;
    if (width != kWidth) cv::resize(grey, frame, {info.width, info.height}, 0, 0, cv::INTER_AREA);
    harness.set_caps(info);
    GstBuffer* out = harness.pass(make_frame(info, frame));
    ASSERT_NE(out, nullptr);
    const Features wanted = width == kWidth ? all : features_of(frame, GetParam().config);
    EXPECT_GE(wanted.keypoints.size(), 20u);
    expect_same(
        Read(out).in_pixels(static_cast<float>(info.width), static_cast<float>(info.height)),
        wanted);
    gst_buffer_unref(out);
  }
}

TEST_P(FeatureElements, PicturesWithoutCornersHaveNone) {
  for (const auto& [width, height, value] :
       {std::tuple{320, 240, 255}, {320, 240, 0}, {16, 16, 200}, {1, 1, 7}, {4000, 40, 90}}) {
    Harness harness(element);
    harness.set_caps(grey_info(width, height));
    GstBuffer* out = harness.pass(grey_frame(cv::Mat(height, width, CV_8U, cv::Scalar(value))));
    ASSERT_NE(out, nullptr);
    EXPECT_EQ(Read(out).count(), 0) << width << "x" << height;
    gst_buffer_unref(out);
  }
}

TEST_P(FeatureElements, AGapHasNoMeta) {
  Harness harness(element);
  harness.set_caps(grey_info());
  GstBuffer* in = grey_frame(grey);
  GST_BUFFER_FLAG_SET(in, GST_BUFFER_FLAG_GAP);
  GstBuffer* out = harness.pass(in);
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(gst_cuface_buffer_get_feature_meta(out), nullptr);
  gst_buffer_unref(out);
}

TEST_P(FeatureElements, StandInALineOfJson) {
  Harness harness(element + " ! cuface2json");
  harness.set_caps(grey_info());
  GstBuffer* out = harness.pass(grey_frame(grey));
  ASSERT_NE(out, nullptr);
  GstMapInfo map;
  ASSERT_TRUE(gst_buffer_map(out, &map, GST_MAP_READ));
  const nlohmann::json line = nlohmann::json::parse(map.data, map.data + map.size);
  gst_buffer_unmap(out, &map);
  gst_buffer_unref(out);
  const bool is_surf = element == "cusurf";
  EXPECT_EQ(line["features"]["descriptor"], is_surf ? "surf" : "orb");
  const nlohmann::json& keypoints = line["features"]["keypoints"];
  ASSERT_EQ(keypoints.size(), all.keypoints.size());
  for (std::size_t i = 0; i < keypoints.size(); ++i) {
    const Keypoint& k = all.keypoints[i];
    EXPECT_EQ(keypoints[i]["x"].get<float>(), k.x);
    EXPECT_EQ(keypoints[i]["y"].get<float>(), k.y);
    EXPECT_EQ(keypoints[i]["size"].get<float>(), k.size);
    EXPECT_EQ(keypoints[i]["angle"].get<float>(), k.angle);
    EXPECT_EQ(keypoints[i]["response"].get<float>(), k.response);
    EXPECT_EQ(keypoints[i]["octave"], k.octave);
    EXPECT_EQ(keypoints[i]["sign"], all.signs[i]);
    if (is_surf) {
      EXPECT_EQ(keypoints[i]["descriptor"].get<std::vector<float>>(),
                std::vector<float>(all.floats_of(i), all.floats_of(i) + all.floats_each()));
      continue;
    }
    const auto hex = keypoints[i]["descriptor"].get<std::string>();
    ASSERT_TRUE(std::regex_match(hex, std::regex("[0-9a-f]{64}"))) << hex;
    for (std::size_t b = 0; b < kBinaryBytes; ++b)
      ASSERT_EQ(std::stoi(hex.substr(2 * b, 2), nullptr, 16), all.descriptor(i)[b]);
  }
}

TEST_P(FeatureElements, NeedNoFacesForAPublisher) {
  const BusReport report =
      run_pipeline("videotestsrc num-buffers=2 ! video/x-raw,width=160,height=120 ! " + element +
                   " ! cuface2json ! fakesink");
  EXPECT_TRUE(report.finished);
  EXPECT_EQ(report.error, "");
  EXPECT_TRUE(report.warnings.empty());
}

TEST(FeatureSettings, ThatDoNotFitEachOtherAreAnError) {
  if (!has_surf()) GTEST_SKIP() << "built without SURF";
  for (const char* element : {"cusurf descriptor=orb", "cufeatures detector=hessian"})
    expect_error(
        run_pipeline("videotestsrc num-buffers=2 ! " + std::string(element) + " ! fakesink"),
        GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS, {"descriptor=orb", "descriptor=surf"});
}

TEST(FeatureSettings, TheBuildDecidesOnSurf) {
  GstElementFactory* factory = gst_element_factory_find("cusurf");
  EXPECT_EQ(factory != nullptr, has_surf());
  if (factory) gst_object_unref(factory);
  Harness harness("cufeatures name=f");
  const auto has = [&](const char* property) {
    return g_object_class_find_property(G_OBJECT_GET_CLASS(harness.element("f")), property) !=
           nullptr;
  };
  EXPECT_TRUE(has("levels"));
  EXPECT_EQ(has("octaves"), has_surf());
  EXPECT_EQ(has("layers"), has_surf());
}

}  // namespace
}  // namespace cuface::test
