// What cuplanartrack says of made scenes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <opencv2/imgcodecs.hpp>
#include <string>
#include <vector>

#include "gst/meta/gstcufaceplanarmeta.h"
#include "tests/gst/support.h"
#include "tests/planar_scenes.h"

namespace cuface::test {

/// A buffer's flat objects as the library gives them; -1 pictures without a meta.
struct PlanarRead {
  struct Object {
    guint picture = 0;
    guint64 id = 0;
    guint inliers = 0;
    bool found = false;
    cv::Point2d corners[4];
    std::vector<double> map;
  };
  int pictures = -1;
  std::vector<std::string> names;
  std::vector<Object> objects;

  PlanarRead(GstBuffer* buffer, double width, double height) {
    GstCufacePlanarMeta* meta = buffer ? gst_cuface_buffer_get_planar_meta(buffer) : nullptr;
    GstCufacePlanarObjects* all = meta ? gst_cuface_planar_meta_get_objects(meta) : nullptr;
    if (!all) return;
    pictures = static_cast<int>(gst_cuface_planar_objects_get_reference_count(all));
    for (guint i = 0; static_cast<int>(i) < pictures; ++i)
      names.emplace_back(
          gst_cuface_planar_objects_get_reference(all, i, nullptr, nullptr, nullptr));
    for (guint i = 0; i < gst_cuface_planar_objects_get_count(all); ++i) {
      Object o;
      gboolean found = FALSE;
      o.picture = gst_cuface_planar_objects_get_object(all, i, &o.id, &o.inliers, &found);
      o.found = found;
      for (guint k = 0; k < 4; ++k) {
        gfloat x = 0, y = 0;
        gst_cuface_planar_objects_get_corner(all, i, k, &x, &y);
        o.corners[k] = {x * width - 0.5, y * height - 0.5};
      }
      gsize length = 0;
      const gdouble* map = gst_cuface_planar_objects_get_homography(all, i, &length);
      o.map.assign(map, map + length);
      objects.push_back(o);
    }
    gst_cuface_planar_objects_unref(all);
  }
};

/// The largest distance of a corner from where it is.
inline double error_of(const PlanarRead::Object& object, const View& view, const cv::Mat& picture) {
  const cv::Matx33d map = map_of(view, picture.size());
  double most = 0;
  for (int k = 0; k < 4; ++k)
    most = std::max(most, cv::norm(carried(map, k == 1 || k == 2 ? picture.cols - 0.5 : -0.5,
                                           k >= 2 ? picture.rows - 0.5 : -0.5) -
                                   object.corners[k]));
  return most;
}

class PlanarTracks : public testing::Test {
 protected:
  std::string write(const std::string& name, const cv::Mat& picture) const {
    const std::string path = folder.path() + "/" + name;
    cv::imwrite(path, picture);
    return path;
  }
  cv::Mat scene(const View& of, unsigned seed = 1) const {
    cv::Mat frame = background.clone();
    lay(frame, object, map_of(of, object.size()));
    expose(frame, 1, 0, 0.5, 2, seed);
    return frame;
  }
  static PlanarRead pass(Harness& harness, const cv::Mat& grey) {
    GstBuffer* out = harness.pass(grey_frame(grey));
    EXPECT_NE(out, nullptr);
    const PlanarRead read(out, grey.cols, grey.rows);
    if (out) gst_buffer_unref(out);
    return read;
  }
  /// What passes of one frame behind a piece of pipeline.
  static GstBuffer* pass_one(const std::string& pipeline, const cv::Mat& grey) {
    Harness harness(pipeline);
    harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, grey.cols, grey.rows));
    return harness.pass(grey_frame(grey));
  }
  BusReport play(const std::string& chain) const {
    return run_pipeline(
        "videotestsrc num-buffers=3 pattern=ball ! video/x-raw,width=160,height=120"
        " ! " +
        chain + " ! fakesink");
  }

  TempFolder folder;
  const cv::Mat object = poster(21), background = poster(77, kSceneWidth, kSceneHeight);
  const std::string file = write("object.png", object), other = write("other.png", poster(22));
  const View view{.tilt = 20, .towards = 70, .roll = 30, .scale = 0.9};
  const std::string chain = "cuplanartrack name=p reference=" + other + ",card=" + file;
};

}  // namespace cuface::test
