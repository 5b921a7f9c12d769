// What the element tests share: pictures, model files made on the spot, a harness around a piece of
// pipeline, and faces as text.
#pragma once

#include <gst/check/gstharness.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <string>
#include <utility>
#include <vector>

#include "gst/meta/facemeta.h"
#include "gst/meta/gstcufacemeta.h"
#include "tests/data.h"
#include "tests/square_cascade.h"

namespace cuface::test {

/// A folder that goes away with everything in it.
class TempFolder {
 public:
  TempFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "cuface-gst-XXXXXX").string();
    path_ = mkdtemp(path.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return (path_ / name).string();
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// A dark, slightly uneven picture.
inline cv::Mat dark_ground(int width, int height) {
  cv::Mat picture(height, width, CV_8UC1);
  cv::RNG random(5);
  random.fill(picture, cv::RNG::UNIFORM, 10, 30);
  return picture;
}

/// A bright square with a texture that moves with it. The cascade above finds it.
inline void draw_square(cv::Mat& picture, int x, int y, int side) {
  for (int dy = 0; dy < side; ++dy)
    for (int dx = 0; dx < side; ++dx) {
      const int u = dx * 24 / side, v = dy * 24 / side;
      const int px = x + dx, py = y + dy;
      if (px < 0 || py < 0 || px >= picture.cols || py >= picture.rows) continue;
      picture.at<uchar>(py, px) = static_cast<uchar>(200 + 50 * ((u / 4 * 7 + v / 4 * 3) % 5) / 4);
    }
}

inline cv::Mat squares(int width, int height, const std::vector<cv::Rect>& where) {
  cv::Mat picture = dark_ground(width, height);
  for (const cv::Rect& r : where) draw_square(picture, r.x, r.y, r.width);
  return picture;
}

inline GstVideoInfo video_info(GstVideoFormat format, int width, int height) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, format, static_cast<guint>(width), static_cast<guint>(height));
  info.fps_n = 25;
  info.fps_d = 1;
  return info;
}

/// A buffer of any simple format whose luma is `grey`: R = G = B, or Y with neutral chroma. With
/// limited range `grey` must hold only values that 8-bit limited luma can give.
GstBuffer* make_frame(const GstVideoInfo& info, const cv::Mat& grey);

inline GstBuffer* grey_frame(const cv::Mat& grey) {
  return make_frame(video_info(GST_VIDEO_FORMAT_GRAY8, grey.cols, grey.rows), grey);
}

/// That an element's properties have these defaults, as one writes them in a pipeline.
void expect_defaults(const char* element,
                     const std::vector<std::pair<const char*, const char*>>& defaults);

/// The pixel formats in the caps of an element.
std::vector<std::string> offered_formats(const char* element);

/// The newest faces of a buffer as text, floats exact; "-" without a meta.
std::string faces_text(GstBuffer* buffer);

/// The newest faces of a buffer of this size, read.
struct FacesRead {
  gst::Positions positions = gst::Positions::kNone;
  FaceListRef faces;
  Status status;  ///< an error of the GPU; `faces` is null then
};
inline FacesRead read_faces(GstBuffer* buffer, int width, int height) {
  const gst::FoundFaces found = gst::find_result<FaceList>(buffer, width, height);
  const auto read = found.result.read();
  return {found.positions, read.ok() ? read.value() : nullptr, read.status()};
}
inline void append_faces(GstBuffer* buffer, gst::FaceResult faces) {
  gst::append_result<FaceList>(buffer, std::move(faces));
}

/// Snapshot of a buffer's faces; free with gst_cuface_faces_unref().
inline GstCufaceFaces* faces_of(GstBuffer* buffer) {
  GstCufaceMeta* meta = gst_cuface_buffer_get_face_meta(buffer);
  return meta ? gst_cuface_meta_get_faces(meta) : nullptr;
}
inline int face_count(GstBuffer* buffer) {
  GstCufaceMeta* meta = gst_cuface_buffer_get_face_meta(buffer);
  return meta ? static_cast<int>(gst_cuface_meta_get_n_faces(meta)) : -1;
}
inline bool was_searched(GstBuffer* buffer) {
  GstCufaceFaces* faces = faces_of(buffer);
  if (!faces) return false;
  const bool searched = gst_cuface_faces_get_searched(faces);
  gst_cuface_faces_unref(faces);
  return searched;
}

/// On a pad of the pipeline's element of this name.
void add_probe(GstElement* pipeline, const char* element, const char* pad_name,
               GstPadProbeType type, GstPadProbeCallback callback, gpointer data);

/// A piece of pipeline between two pads of the test, playing.
class Harness {
 public:
  explicit Harness(const std::string& pipeline);
  ~Harness();
  Harness(const Harness&) = delete;
  Harness& operator=(const Harness&) = delete;

  void set_caps(const GstVideoInfo& info);
  /// Stamps the buffer as frame `number` of 25 a second (or the given time) and sends it.
  GstFlowReturn push(GstBuffer* buffer);
  GstFlowReturn push_at(GstBuffer* buffer, GstClockTime pts);
  /// The next buffer that came out; null after a minute without.
  GstBuffer* pull() { return gst_harness_pull(h_); }
  /// push() then pull(); the caller unrefs.
  GstBuffer* pass(GstBuffer* buffer) { return push(buffer) == GST_FLOW_OK ? pull() : nullptr; }
  std::string pass_text(GstBuffer* buffer);
  /// Ends the stream; true when the end has come out.
  bool finish();
  /// A field of the named element's stats.
  guint64 stat(const char* element, const char* field);
  GstElement* element(const char* name);
  GstHarness* get() { return h_; }

 private:
  GstHarness* h_;
  guint64 frames_ = 0;
};

/// The text of every frame's faces after a piece of pipeline. All frames are sent before the first
/// is taken out, so that elements in different threads work at the same time.
std::vector<std::string> run_frames(const std::string& pipeline, const GstVideoInfo& info,
                                    const std::vector<cv::Mat>& frames);

/// What a pipeline that ends by itself left on the bus.
struct BusReport {
  bool finished = false;  ///< EOS or an error, in time
  GQuark error_domain = 0;
  int error_code = 0;
  std::string error, error_source;
  std::string debug;  ///< of the error
  std::vector<std::string> warnings;
};
BusReport run_pipeline(const std::string& pipeline);
/// It ended with this error, whose text has these words.
void expect_error(const BusReport& report, GQuark domain, int code,
                  const std::vector<std::string>& words);

/// What a PNG file may be in its place: cut twice, with a bit flipped, and no PNG at all.
std::vector<std::string> damaged_copies(const std::string& png);

/// A clip's first frames in system memory, as `caps`.
std::vector<GstBuffer*> decode(const std::string& path, const std::string& caps, int frames,
                               GstVideoInfo* info);

}  // namespace cuface::test
