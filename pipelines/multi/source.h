// One source of the application: a decoder, which is thrown away when it fails and made anew, and
// the chain of face elements behind it, which stays. So a source that comes back has new faces with
// new ids, and nothing else in the pipeline notices more than a gap.
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <string>

struct Tile {
  int x, y, width, height;
};

class Source {
 public:
  /// `view` is the compositor. Throws std::runtime_error when an element is missing.
  Source(GstPipeline* pipeline, GstElement* view, Tile tile, int number, std::string uri,
         guint retry_ms);
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // All of these on the main loop's thread.
  void connect();
  /// Something of the pipeline has failed. False: it was not this source's decoder.
  bool on_error(GstObject* failed, const char* reason);
  /// An element message; of a face of this source, or not.
  void on_faces(GstMessage* message);
  /// Ends the stream in the chain.
  void end();
  bool over() const { return over_; }
  /// The frame rate since the last call, for the view and for the log.
  std::string report(double seconds);
  std::string summary() const;

 private:
  void lost(const std::string& reason);
  void disconnect();
  void on_pad(GstPad* pad);
  GstPadProbeReturn on_first_frame(GstPad* pad, GstBuffer* buffer);
  GstPadProbeReturn on_data(GstPadProbeInfo* info);
  void on_frame(GstBuffer* buffer);

  GstPipeline* pipeline_;
  GstElement* chain_;
  GstElement* label_;
  GstElement* decoder_ = nullptr;
  const int number_;
  const std::string uri_;
  const guint retry_ms_;
  const bool is_file_;  ///< its end is an end; a camera's is a failure
  bool ended_ = false;

  std::atomic<int> connections_ = 0;
  std::atomic<bool> over_ = false;  ///< the stream has ended
  std::atomic<guint64> frames_ = 0, faces_now_ = 0;
  guint64 frames_reported_ = 0, faces_ = 0;
};
