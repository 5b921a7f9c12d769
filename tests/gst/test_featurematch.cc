// cufeaturematch: the matches of the kernel in a meta and in JSON, where a known part of a picture
// is found, and inputs that have nothing to match.
#include <cmath>
#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>

#include "gst/meta/keypoints.h"
#include "kernels/match/match.h"
#include "tests/gst/features_read.h"
#include "tests/gst/matches_read.h"
#include "tests/gst/support.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 320, kHeight = 240;
const cv::Rect kPart(90, 40, 170, 150);

/// Corners everywhere, no two alike.
cv::Mat textured(int width, int height, int seed, int cell = 8) {
  cv::Mat small((height + cell - 1) / cell, (width + cell - 1) / cell, CV_8U), large;
  cv::RNG random(static_cast<std::uint64_t>(seed));
  random.fill(small, cv::RNG::UNIFORM, 0, 256);
  cv::resize(small, large, {small.cols * cell, small.rows * cell}, 0, 0, cv::INTER_NEAREST);
  cv::GaussianBlur(large, large, {3, 3}, 0);
  return large(cv::Rect(0, 0, width, height)).clone();
}

std::vector<PictureMatch> expected(const cv::Mat& reference, const cv::Mat& frame,
                                   const FeatureConfig& config, const MatchConfig& match) {
  const Features a = features_of(reference, config), b = features_of(frame, config);
  const auto count = [](const Features& f) { return static_cast<int>(f.keypoints.size()); };
  const auto bytes = [&](const Features& f) {
    return BinarySet{f.descriptors.data(), count(f), kBinaryBytes, f.signs.data()};
  };
  const auto floats = [&](const Features& f) {
    return FloatSet{f.floats.data(), count(f), config.surf.descriptor_size, f.signs.data()};
  };
  Matcher matcher = Matcher::create(match).value();
  std::vector<Match> found;
  EXPECT_TRUE((config.descriptor == FeatureDescriptor::kOrb
                   ? matcher.run(bytes(a), bytes(b), found)
                   : matcher.run(floats(a), floats(b), found))
                  .ok());
  std::vector<PictureMatch> out;
  for (const Match& m : found) {
    const Keypoint& theirs = a.keypoints[static_cast<std::size_t>(m.query)];
    const Keypoint& ours = b.keypoints[static_cast<std::size_t>(m.train)];
    out.push_back({0, {ours.x, ours.y}, {theirs.x, theirs.y}, m.distance});
  }
  return out;
}

/// The same, but for the rounding of places.
void expect_same(const std::vector<PictureMatch>& a, const std::vector<PictureMatch>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].picture, b[i].picture);
    ASSERT_NEAR(a[i].at.x, b[i].at.x, 1e-3);
    ASSERT_NEAR(a[i].at.y, b[i].at.y, 1e-3);
    ASSERT_NEAR(a[i].in_picture.x, b[i].in_picture.x, 1e-3);
    ASSERT_NEAR(a[i].in_picture.y, b[i].in_picture.y, 1e-3);
    ASSERT_EQ(a[i].distance, b[i].distance);
  }
}

class FeatureMatches : public testing::Test {
 protected:
  std::string write(const std::string& name, const cv::Mat& picture) const {
    const std::string path = folder.path() + "/" + name;
    cv::imwrite(path, picture);
    return path;
  }
  /// What passes of one frame behind a piece of pipeline.
  static GstBuffer* pass(const std::string& pipeline, const cv::Mat& grey) {
    Harness harness(pipeline);
    harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, grey.cols, grey.rows));
    return harness.pass(grey_frame(grey));
  }
  static MatchesRead matches(const std::string& pipeline, const cv::Mat& grey) {
    GstBuffer* out = pass(pipeline, grey);
    EXPECT_NE(out, nullptr) << pipeline;
    const MatchesRead read(out, static_cast<float>(grey.cols), static_cast<float>(grey.rows));
    if (out) gst_buffer_unref(out);
    return read;
  }
  BusReport play(const std::string& chain, const std::string& source = "pattern=ball") const {
    return run_pipeline("videotestsrc num-buffers=3 " + source +
                        " ! video/x-raw,width=160,height=120 ! " + chain + " ! fakesink");
  }

  TempFolder folder;
  const cv::Mat frame = textured(kWidth, kHeight, 3);
  const std::string part = write("part.png", frame(kPart));
};

TEST_F(FeatureMatches, OfTheMetaAreTheKernels) {
  const FeatureConfig few = with_orb({.max_keypoints = 90}), upright = with_orb({.upright = true}),
                      surf = with_surf();
  MatchConfig any, near, cross, signs, short_cut;
  signs.sign_check = true;
  short_cut.early_out = 0.05f;
  any.ratio = 1;
  near.max_distance = 12;
  cross.ratio = 0.95f;
  cross.cross_check = true;
  struct Case {
    std::string features, match;
    FeatureConfig found_with;
    MatchConfig config;
  };
  std::vector<Case> cases = {{"cufeatures", "", {}, {}},
                             {"cufeatures max-keypoints=90", "ratio=1", few, any},
                             {"cufeatures upright=true", "max-distance=12", upright, near},
                             {"cufeatures", "sign-check=true", {}, signs},
                             {"cufeatures", "ratio=0.95 cross-check=true", {}, cross}};
  if (has_surf())
    cases.insert(cases.end(),
                 {{"cusurf", "", surf, {}},
                  {"cusurf", "sign-check=true", surf, signs},
                  {"cusurf descriptor-size=36", "", with_surf({.descriptor_size = 36}), {}},
                  {"cusurf", "early-out=0.05", surf, short_cut}});
  for (const Case& c : cases) {
    Harness harness(c.features + " ! cufeaturematch name=m reference=" + part + " " + c.match);
    harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight));
    GstBuffer* out = harness.pass(grey_frame(frame));
    ASSERT_NE(out, nullptr) << c.features;
    const MatchesRead read(out, kWidth, kHeight);
    gst_buffer_unref(out);
    const auto wanted = expected(frame(kPart).clone(), frame, c.found_with, c.config);
    EXPECT_GE(wanted.size(), 30u) << c.features << c.match;
    expect_same(read.matches, wanted);
    ASSERT_EQ(read.pictures, 1);
    const int keypoints =
        static_cast<int>(features_of(frame(kPart).clone(), c.found_with).keypoints.size());
    EXPECT_EQ(read.references[0], (MatchedPicture{part, kPart.width, kPart.height, keypoints}));
    EXPECT_EQ(harness.stat("m", "matches"), wanted.size());
  }
}

TEST_F(FeatureMatches, SayWhereAPartOfThePictureIs) {
  const MatchesRead read = matches("cufeatures ! cufeaturematch reference=" + part, frame);
  int right = 0;
  for (const PictureMatch& m : read.matches)
    right += std::abs(m.at.x - m.in_picture.x - static_cast<float>(kPart.x)) < 2 &&
             std::abs(m.at.y - m.in_picture.y - static_cast<float>(kPart.y)) < 2;
  std::printf("%d of %zu matches are where the part is\n", right, read.matches.size());
  EXPECT_GE(right, 60);
  EXPECT_GE(right * 10, static_cast<int>(read.matches.size()) * 9);
}

TEST_F(FeatureMatches, TellPicturesApart) {
  const std::string other = write("other.png", textured(200, 180, 9));
  const std::string rest = write("rest.png", frame(cv::Rect(0, 100, 150, 140)));
  const MatchesRead read =
      matches("cufeatures ! cufeaturematch reference=" + part + "," + other + "," + rest, frame);
  ASSERT_EQ(read.pictures, 3);
  EXPECT_GE(read.of(0), 60);
  EXPECT_LE(read.of(1), read.of(0) / 10);
  EXPECT_GE(read.of(2), 30);
  for (std::size_t i = 1; i < read.matches.size(); ++i)
    EXPECT_GE(read.matches[i].picture, read.matches[i - 1].picture) << "picture by picture";
}

TEST_F(FeatureMatches, FollowThePictureAndTheSettings) {
  const std::string chain = "cufeatures name=f ! cufeaturematch name=m reference=" + part;
  const std::vector<PictureMatch> all = matches(chain, frame).matches;
  GstBuffer* scaled =
      pass(chain + " ! videoscale ! capsfilter caps=video/x-raw,width=640,height=480", frame);
  ASSERT_NE(scaled, nullptr);
  expect_same(MatchesRead(scaled, kWidth, kHeight).matches, all);
  gst_buffer_unref(scaled);

  Harness harness(chain);
  harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight));
  for (const bool upright : {false, true, false}) {
    g_object_set(harness.element("f"), "upright", upright, nullptr);
    g_object_set(harness.element("m"), "ratio", upright ? 0.6f : 0.75f, nullptr);
    GstBuffer* out = harness.pass(grey_frame(frame));
    ASSERT_NE(out, nullptr);
    MatchConfig config;
    config.ratio = upright ? 0.6f : 0.75f;
    expect_same(MatchesRead(out, kWidth, kHeight).matches,
                expected(frame(kPart).clone(), frame, with_orb({.upright = upright}), config));
    gst_buffer_unref(out);
  }
  GstBuffer* out = gst_buffer_make_writable(harness.pass(grey_frame(frame)));
  GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(out);
  crop->x = 140;
  crop->y = 60;
  crop->width = 160;
  crop->height = 120;
  std::vector<PictureMatch> inside;
  for (PictureMatch m : all) {
    m.at.x -= 140;
    m.at.y -= 60;
    if (m.at.x > -0.5f && m.at.y > -0.5f && m.at.x < 160 && m.at.y < 120) inside.push_back(m);
  }
  EXPECT_GE(inside.size(), 10u);
  EXPECT_LT(inside.size(), all.size());
  expect_same(MatchesRead(out, 160, 120).matches, inside);
  gst_buffer_unref(out);
}

TEST_F(FeatureMatches, FollowOtherCaps) {
  Harness harness("cufeatures ! cufeaturematch reference=" + part);
  for (const auto& [format, width] : {std::pair{GST_VIDEO_FORMAT_GRAY8, kWidth},
                                      {GST_VIDEO_FORMAT_BGRx, kWidth},
                                      {GST_VIDEO_FORMAT_BGRx, kWidth * 3 / 4},
                                      {GST_VIDEO_FORMAT_GRAY8, kWidth * 5 / 4}}) {
    const GstVideoInfo info = video_info(format, width, kHeight * width / kWidth);
    cv::Mat other;
    cv::resize(frame, other, {info.width, info.height}, 0, 0, cv::INTER_AREA);
    harness.set_caps(info);
    GstBuffer* out = harness.pass(make_frame(info, other));
    ASSERT_NE(out, nullptr);
    const std::vector<PictureMatch> wanted = expected(frame(kPart).clone(), other, {}, {});
    EXPECT_GE(wanted.size(), 20u) << width;
    const auto w = static_cast<float>(info.width), h = static_cast<float>(info.height);
    expect_same(MatchesRead(out, w, h).matches, wanted);
    gst_buffer_unref(out);
  }
}

TEST_F(FeatureMatches, StandInALineOfJson) {
  const std::vector<PictureMatch> wanted = expected(frame(kPart).clone(), frame, {}, {});
  GstBuffer* out = pass("cufeatures ! cufeaturematch reference=" + part + " ! cuface2json", frame);
  ASSERT_NE(out, nullptr);
  GstMapInfo map;
  ASSERT_TRUE(gst_buffer_map(out, &map, GST_MAP_READ));
  const nlohmann::json line = nlohmann::json::parse(map.data, map.data + map.size);
  gst_buffer_unmap(out, &map);
  gst_buffer_unref(out);
  const nlohmann::json& reference = line["matches"]["references"].at(0);
  EXPECT_EQ(reference["name"], part);
  EXPECT_EQ(reference["width"], kPart.width);
  EXPECT_EQ(reference["height"], kPart.height);
  std::vector<PictureMatch> read;
  for (const nlohmann::json& m : line["matches"]["pairs"])
    read.push_back(
        {m["reference"], {m["x"], m["y"]}, {m["reference_x"], m["reference_y"]}, m["distance"]});
  expect_same(read, wanted);
}

TEST_F(FeatureMatches, AreDrawn) {
  const std::string chain = "cufeatures max-keypoints=400 ! cufeaturematch reference=" + part;
  const auto pixels = [&](const std::string& settings) {
    GstBuffer* out = pass(chain +
                              " ! cufaceoverlay box-color=0xffffffff "
                              "landmark-color=0xff000000 " +
                              settings,
                          frame);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(kWidth * kHeight));
    EXPECT_EQ(gst_buffer_extract(out, 0, bytes.data(), bytes.size()), bytes.size());
    gst_buffer_unref(out);
    return bytes;
  };
  const std::vector<std::uint8_t> plain(frame.data, frame.data + kWidth * kHeight);
  EXPECT_EQ(pixels("draw=box+contour+id"), plain) << "there are no faces";
  const FeatureConfig few = with_orb({.max_keypoints = 400});
  const auto at = [](const std::vector<std::uint8_t>& bytes, float x, float y) {
    return bytes[static_cast<std::size_t>(std::lround(y) * kWidth + std::lround(x))];
  };
  const auto points = pixels("draw=keypoints"), crosses = pixels("draw=matches"),
             both = pixels("draw=keypoints+matches");
  const auto changed = [&](const std::vector<std::uint8_t>& bytes) {
    int count = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) count += bytes[i] != plain[i];
    return count;
  };
  const Features found = features_of(frame, few);
  for (const Keypoint& k : found.keypoints) EXPECT_EQ(at(points, k.x, k.y), 0);
  EXPECT_LT(changed(points), 12 * static_cast<int>(found.keypoints.size()));
  const auto matched = matches(chain, frame).matches;
  EXPECT_GE(matched.size(), 10u);
  for (const PictureMatch& m : matched) {
    EXPECT_GT(at(crosses, m.at.x, m.at.y), 200);
    EXPECT_GT(at(both, m.at.x, m.at.y), 128) << "over the keypoints";
  }
  EXPECT_LT(changed(crosses), 60 * static_cast<int>(matched.size()));
}

TEST_F(FeatureMatches, AGapAndAWhiteFrameHaveNone) {
  const std::string chain = "cufeatures ! cufeaturematch reference=" + part;
  Harness harness(chain);
  harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight));
  GstBuffer* in = grey_frame(frame);
  GST_BUFFER_FLAG_SET(in, GST_BUFFER_FLAG_GAP);
  GstBuffer* gap = harness.pass(in);
  ASSERT_NE(gap, nullptr);
  EXPECT_EQ(gst_cuface_buffer_get_match_meta(gap), nullptr);
  gst_buffer_unref(gap);
  const MatchesRead white = matches(chain, cv::Mat(kHeight, kWidth, CV_8U, cv::Scalar(255)));
  EXPECT_EQ(white.pictures, 1) << "it was matched";
  EXPECT_TRUE(white.matches.empty());
}

TEST_F(FeatureMatches, APictureWithoutKeypointsMatchesNothingAndSaysSo) {
  const std::string white = write("white.png", cv::Mat(80, 90, CV_8U, cv::Scalar(255)));
  const MatchesRead read =
      matches("cufeatures ! cufeaturematch reference=" + white + "," + part, frame);
  EXPECT_EQ(read.pictures, 2);
  EXPECT_EQ(read.references.at(0).keypoints, 0);
  EXPECT_EQ(read.of(0), 0);
  EXPECT_GE(read.of(1), 60);
  const BusReport report = play("cufeatures ! cufeaturematch reference=" + white);
  EXPECT_TRUE(report.finished);
  EXPECT_EQ(report.error, "");
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(report.warnings[0].find("white.png has no keypoints"), std::string::npos)
      << report.warnings[0];
}

// The most that an image may have of them, in a frame and, cut, in a picture.
TEST_F(FeatureMatches, AsManyKeypointsAsThereMayBe) {
  const cv::Mat many = textured(1200, 1000, 5, 3);
  const cv::Rect piece(500, 400, 90, 80);
  const std::string reference = write("piece.png", many(piece));
  Harness harness(
      "cufeatures name=f levels=1 threshold=1 score=fast edge=22 max-keypoints=65535 ! "
      "cufeaturematch reference=" +
      reference);
  harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, many.cols, many.rows));
  GstBuffer* out = harness.pass(grey_frame(many));
  ASSERT_NE(out, nullptr);
  const MatchesRead read(out, static_cast<float>(many.cols), static_cast<float>(many.rows));
  gst_buffer_unref(out);
  const guint64 keypoints = harness.stat("f", "keypoints");
  std::printf("%llu keypoints, of the picture %d, %zu matches\n",
              static_cast<unsigned long long>(keypoints), read.references.at(0).keypoints,
              read.matches.size());
  EXPECT_EQ(keypoints, guint64{kMostKeypoints});
  EXPECT_GE(read.matches.size(), 20u);
  for (const PictureMatch& m : read.matches) {
    EXPECT_NEAR(m.at.x - m.in_picture.x, static_cast<float>(piece.x), 1e-2);
    EXPECT_NEAR(m.at.y - m.in_picture.y, static_cast<float>(piece.y), 1e-2);
  }
}

TEST_F(FeatureMatches, ErrorsNameTheFileThePropertyAndWhatHelps) {
  const std::string path = folder.path() + "/other.png";
  const auto refused = [&](const std::string& settings) {
    return play("cufeatures ! cufeaturematch " + settings);
  };
  EXPECT_EQ(refused("reference=" + part).error, "");
  expect_error(refused(""), GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
               {"reference:", "there is no picture", "Set reference to PNG files"});
  expect_error(refused("reference=,"), GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
               {"reference:", "there is no picture"});
  expect_error(refused("reference=" + part + "," + path), GST_RESOURCE_ERROR,
               GST_RESOURCE_ERROR_NOT_FOUND, {"reference:", "other.png", "pngenc"});
  for (const std::string& bytes : damaged_copies(part)) {
    folder.write("other.png", bytes);
    expect_error(refused("reference=" + path), GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE,
                 {"reference:", "other.png", "libpng"});
  }
  write("other.png", cv::Mat(1, 40'000, CV_8U, cv::Scalar(0)));
  const BusReport wide = refused("reference=" + path);
  EXPECT_NE(wide.error.find("other.png"), std::string::npos) << wide.error;
  const BusReport cuda = refused("backend=cuda reference=" + part);
  EXPECT_NE(cuda.error.find("backend=cuda"), std::string::npos) << cuda.error;
}

TEST_F(FeatureMatches, WarnOnceOfWhatIsMissing) {
  const auto only = [&](const std::string& chain) {
    const BusReport report = play(chain);
    EXPECT_EQ(report.error, "") << chain;
    EXPECT_EQ(report.warnings.size(), 1u) << chain;
    return report.warnings.empty() ? "" : report.warnings[0];
  };
  const std::string match = "cufeaturematch reference=" + part;
  EXPECT_NE(only(match).find("cufeatures is missing"), std::string::npos);
  EXPECT_NE(only("cufeatures ! videoflip video-direction=horiz ! " + match).find("put it in front"),
            std::string::npos);
  EXPECT_NE(only("cufeatures ! " + match + " early-out=0.1").find("ORB's descriptors"),
            std::string::npos);
  const BusReport fine =
      play("cufeatures ! " + match + " ! cufacepublish location=" + folder.path() + "/lines.jsonl");
  EXPECT_TRUE(fine.warnings.empty());
}

}  // namespace
}  // namespace cuface::test
