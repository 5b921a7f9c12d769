// Boxes that other people's detectors find: what is read of them, what of nonsense, and what comes
// back to them.
#include <chrono>
#include <limits>
#include <set>

#include "gst/regions/foreign.h"
#include "models/models.h"
#include "tests/fewer.h"
#include "tests/gst/faces.h"
#include "tests/gst/parts.h"
#include "tests/gst/standin.h"
#include "tests/models/landmark_rows.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 640, kHeight = 360;

class Foreign : public testing::Test {
 protected:
  void TearDown() override { gst_buffer_unref(buffer_); }
  std::vector<gst::Region> read(const char* labels = "face") {
    return gst::read_foreign(buffer_, gst::frame_geometry(buffer_, kWidth, kHeight), labels);
  }
  void add(const Box& box, double confidence = -1, const char* label = "face") {
    add_region(buffer_, label, box, confidence, kWidth, kHeight);
  }
  GstBuffer* buffer_ = plain_frame("GRAY8", kWidth, kHeight);
};

TEST_F(Foreign, RegionsHaveWhatTheirParametersSay) {
  add({10, 20, 30, 40});
  add({100.25f, 50.5f, 30.125f, 40}, 0.625);
  const auto regions = read();
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[0].box, (Box{10, 20, 30, 40}));
  EXPECT_EQ(regions[0].confidence, 1);
  EXPECT_EQ(regions[1].box, (Box{100.25f, 50.5f, 30.125f, 40}));
  EXPECT_EQ(regions[1].confidence, 0.625f);
}

TEST_F(Foreign, AParameterThatDoesNotFitItsRegionHasNoPlace) {
  add({100, 50, 30, 40}, 0.5);
  gpointer state = nullptr;
  auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(gst_buffer_iterate_meta_filtered(
      buffer_, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE));
  roi->x = 200;  // as a scaler that keeps parameters would do it
  EXPECT_EQ(read()[0].box, (Box{200, 50, 30, 40}));
  GstStructure* detection = gst_video_region_of_interest_meta_get_param(roi, "detection");
  gst_structure_set(detection, "x_min", G_TYPE_STRING, "left", "confidence", G_TYPE_INT, 7,
                    nullptr);
  ASSERT_EQ(read().size(), 1u);
  EXPECT_EQ(read()[0].box, (Box{200, 50, 30, 40}));
  EXPECT_EQ(read()[0].confidence, 1) << "no number of that type";
}

TEST_F(Foreign, LabelsSayWhatIsAFace) {
  const auto is_one_of = [](const char* label, const char* labels) {
    return gst::is_one_of(label, labels);
  };
  EXPECT_TRUE(is_one_of("face", "face") && is_one_of("face", "head, face ,x"));
  EXPECT_FALSE(is_one_of("face", "") || is_one_of("face", "faces,fac") || is_one_of("", ",,") ||
               is_one_of("head,face", "head,face"));
  add({10, 20, 30, 40}, -1, "head");
  add({110, 20, 30, 40}, -1, "face");
  add({210, 20, 30, 40}, -1, "");
  EXPECT_EQ(read().size(), 1u);
  EXPECT_EQ(read("person, head").size(), 1u);
  EXPECT_EQ(read("head,face").size(), 2u);
  EXPECT_EQ(read("").size(), 0u);
}

TEST_F(Foreign, WhatCannotBeAFaceIsNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const guint most = G_MAXUINT;
  for (const auto& [x, y, w, h] : std::vector<std::array<guint, 4>>{{0, 0, 0, 5},
                                                                    {0, 0, 5, 0},
                                                                    {640, 0, 5, 5},
                                                                    {0, 360, 5, 5},
                                                                    {most, most, most, most},
                                                                    {0, 0, 1281, 5},
                                                                    {0, 0, 5, 721},
                                                                    {most, 0, 2, 2}})
    gst_buffer_add_video_region_of_interest_meta(buffer_, "face", x, y, w, h);
  EXPECT_TRUE(read().empty());
  add({100, 50, 30, 40}, nan);
  add({200, 50, 30, 40}, HUGE_VAL);
  add({300, 50, 30, 40}, 0.25);
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer_, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    if (GstStructure* detection = gst_video_region_of_interest_meta_get_param(roi, "detection"))
      gst_structure_set(detection, "x_min", G_TYPE_DOUBLE, nan, "y_max", G_TYPE_DOUBLE, HUGE_VAL,
                        nullptr);
  }
  const auto regions = read();
  ASSERT_EQ(regions.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(regions[i].box, (Box{static_cast<float>(100 + 100 * i), 50, 30, 40}));
  EXPECT_EQ(regions[0].confidence, 0);
  EXPECT_EQ(regions[1].confidence, 1);
  EXPECT_EQ(regions[2].confidence, 0.25f);
  add({-20, 300, 60, 100});  // -20 is 4294967276 there
  EXPECT_EQ(read().size(), 3u);
  add({600, 300, 60, 100});
  EXPECT_EQ(read().size(), 4u) << "half outside";
}

TEST_F(Foreign, OfTwoDetectorsOfOneFaceTheMoreConfidentCounts) {
  add({100, 100, 60, 60}, 0.5);
  add({300, 100, 60, 60}, 0.75);
  add({88, 90, 84, 84}, 0.625);     // 1.4 times the first
  add({305, 104, 50, 50}, 0.75);    // as confident, but later
  add({100, 100, 160, 160}, 0.25);  // a larger head behind it
  const auto regions = read();
  ASSERT_EQ(regions.size(), 3u);
  EXPECT_EQ(regions[0].box, (Box{300, 100, 60, 60}));
  EXPECT_EQ(regions[1].box, (Box{88, 90, 84, 84}));
  EXPECT_EQ(regions[2].box, (Box{100, 100, 160, 160}));
}

TEST_F(Foreign, OfTenThousandTheMostConfidentStay) {
  for (int i = 0; i < 10'000; ++i)
    add({static_cast<float>(i % 40 * 16), static_cast<float>(i / 40 % 20 * 18), 12, 12},
        0.5 + 0.4 * (i % 997) / 997);
  const auto start = std::chrono::steady_clock::now();
  const auto regions = read();
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
            slowness());
  ASSERT_EQ(regions.size(), gst::kMostForeign);
  std::set<std::pair<float, float>> places;
  for (const gst::Region& region : regions) {
    EXPECT_GT(region.confidence, 0.85f);
    EXPECT_TRUE(places.insert({region.box.x, region.box.y}).second) << "a place twice";
  }
}

// ---- the elements ---------------------------------------------------------------------------

/// A detector that looks at every fifth frame, and finds two squares that move.
class ForeignChain : public testing::Test {
 protected:
  static constexpr int kFrames = 22, kEvery = 5, kSide = 48;
  static cv::Rect square(int which, int frame) {
    return which == 0 ? cv::Rect(60 + 2 * frame, 60, kSide, kSide)
                      : cv::Rect(420 - 3 * frame, 200 + frame, kSide, kSide);
  }
  void SetUp() override {
    set_standin([this](GstBuffer* buffer, int frame) {
      if (frame % kEvery != 0) return;
      for (int which = 0; which < 2; ++which) {
        const cv::Rect2f r = square(which, frame);
        add_region(buffer, label_.c_str(), {r.x - 4.25f, r.y - 6.5f, r.width * 1.2f, r.height},
                   0.9375, kWidth, kHeight);
      }
    });
  }
  GstBuffer* pass(Harness& h, int frame) {
    return h.pass(grey_frame(squares(kWidth, kHeight, {square(0, frame), square(1, frame)})));
  }
  std::string label_ = "face";
  Parts parts;
};

TEST_F(ForeignChain, FacesAreFollowedBetweenItsSearchesAndHaveLandmarks) {
  std::vector<std::string> texts[2];
  for (auto& run : texts) {
    FrameHarness h("standin ! culktrack ! " + parts.landmark, "GRAY8", kWidth, kHeight);
    for (int i = 0; i < kFrames; ++i) {
      GstBuffer* out = pass(h, i);
      ASSERT_NE(out, nullptr);
      const FacesRead read = read_faces(out, kWidth, kHeight);
      ASSERT_NE(read.faces, nullptr);
      ASSERT_EQ(read.faces->faces.size(), 2u) << i;
      EXPECT_EQ(read.faces->landmarks_per_face, kDrawnHeadPoints);
      EXPECT_EQ(read.faces->searched, i % kEvery == 0);
      for (int which = 0; which < 2; ++which) {
        const Face& face = read.faces->faces[static_cast<std::size_t>(which)];
        EXPECT_EQ(face.id, static_cast<std::uint64_t>(which + 1)) << i;
        EXPECT_NEAR(face.box.x, square(which, i).x - 4.25f, 2) << i;
        EXPECT_NEAR(face.box.w, kSide * 1.2f, 2) << i;
      }
      run.push_back(faces_text(out));
      gst_buffer_unref(out);
    }
  }
  EXPECT_EQ(texts[0], texts[1]) << "two runs are equal";
}

TEST_F(ForeignChain, IdsAreWrittenBack) {
  FrameHarness h(
      "standin ! culktrack name=t ! videoscale ! capsfilter caps=video/x-raw,width=320,"
      "height=180 ! culktrack",
      "GRAY8", kWidth, kHeight);
  std::vector<std::vector<gint>> ids;
  GstPad* pad = gst_element_get_static_pad(h.element("t"), "src");
  ASSERT_NE(pad, nullptr);
  gst_pad_add_probe(
      pad, GST_PAD_PROBE_TYPE_BUFFER,
      [](GstPad*, GstPadProbeInfo* info, gpointer all) {
        std::vector<gint> of_frame;
        gpointer state = nullptr;
        while (GstMeta* meta =
                   gst_buffer_iterate_meta_filtered(GST_PAD_PROBE_INFO_BUFFER(info), &state,
                                                    GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
          auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
          if (gst_video_region_of_interest_meta_get_param(roi, "cuface")) continue;
          EXPECT_EQ(roi->id, 0) << "the name by which others refer to it";
          const GstStructure* param = gst_video_region_of_interest_meta_get_param(roi, "object_id");
          gint id = 0;
          EXPECT_TRUE(param && gst_structure_get_int(param, "id", &id));
          of_frame.push_back(id);
        }
        static_cast<std::vector<std::vector<gint>>*>(all)->push_back(of_frame);
        return GST_PAD_PROBE_OK;
      },
      &ids, nullptr);
  for (int i = 0; i < kFrames; ++i) {
    GstBuffer* out = pass(h, i);
    EXPECT_EQ(face_count(out), 2) << i << ": the scaled boxes of others are no faces of their own";
    gst_buffer_unref(out);
  }
  gst_object_unref(pad);
  ASSERT_EQ(ids.size(), static_cast<std::size_t>(kFrames));
  for (std::size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(ids[i], i % kEvery == 0 ? (std::vector<gint>{1, 2}) : std::vector<gint>{}) << i;
}

TEST_F(ForeignChain, TheLabelIsAProperty) {
  label_ = "head";
  for (const char* track : {"culktrack", "culktrack labels=person,head"}) {
    FrameHarness h(std::string("standin ! ") + track, "GRAY8", kWidth, kHeight);
    GstBuffer* out = pass(h, 0);
    EXPECT_EQ(face_count(out), std::string(track).size() > 9 ? 2 : 0) << track;
    gst_buffer_unref(out);
  }
  FrameHarness h("standin ! " + parts.landmark + " labels=head", "GRAY8", kWidth, kHeight);
  GstBuffer* out = pass(h, 0);
  EXPECT_EQ(face_count(out), 2);
  gst_buffer_unref(out);
}

TEST_F(ForeignChain, OursComeFirst) {
  FrameHarness h(parts.detect + " redetect-interval=1 min-size=200 ! standin ! culktrack", "GRAY8",
                 kWidth, kHeight);
  GstBuffer* out = pass(h, 0);
  EXPECT_EQ(face_count(out), 0) << "our detector found nothing, so there is nothing";
  gst_buffer_unref(out);
}

// A detector whose boxes lie otherwise than ours: the map is learned while the first frame passes.
TEST(ForeignBoxes, AreMappedToTheModels) {
  CUFACE_NEEDS_DATA();
  const std::string model = model_dir() + "/shape_predictor_68_face_landmarks.dat";
  const auto forest = load_forest(model);
  if (!forest.ok()) GTEST_SKIP() << forest.status().message();
  constexpr int kFaces = 3;
  double errors[2] = {};
  int faces = 0;
  for (const LandmarkRow& row : landmark_rows()) {
    if (!row.human || row.set != "helen" || ++faces > kFaces) continue;
    const cv::Mat picture = row.picture();
    set_standin([&](GstBuffer* buffer, int) {
      const Box truth = box_from_landmarks(*forest.value(), row.truth);
      add_region(
          buffer, "face",
          {truth.x + truth.w * 0.25f, truth.y + truth.h * 0.2f, truth.w * 0.7f, truth.h * 0.7f});
    });
    for (const bool mapped : {false, true}) {
      FrameHarness h("standin ! culktrack ! cufacelandmark refine=false model=" + model +
                         (mapped ? "" : " box-map=none"),
                     "GRAY8", picture.cols, picture.rows);
      GstBuffer* out = nullptr;
      for (int i = 0; i < 2; ++i) {
        if (out) gst_buffer_unref(out);
        out = h.pass(grey_frame(picture));
      }
      const FacesRead read = read_faces(out, picture.cols, picture.rows);
      ASSERT_TRUE(read.faces && read.faces->faces.size() == 1);
      errors[mapped] += nme_percent({read.faces->landmarks.data(), 68}, row.truth);
      gst_buffer_unref(out);
    }
  }
  EXPECT_GT(errors[0], 1.5 * errors[1]) << errors[0] / kFaces << " %, then " << errors[1] / kFaces;
  EXPECT_LT(errors[1] / kFaces, 5);
}

}  // namespace
}  // namespace cuface::test
