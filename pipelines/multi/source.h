// One source of the application: a decoder, which is thrown away when it fails and made anew, and
// the chain of face elements behind it, which stays. So a source that comes back has new faces with
// new ids, and nothing else in the pipeline notices more than a gap. A chain that fails ends its
// source, and no other.
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <string>

#include "gpus.h"

/// Where a source's pictures go: to a part of the compositor, or only their faces to a file.
struct Place {
  GstElement* view;  ///< null: to the file
  int x, y, width, height;
  std::string file;
};

class Source {
 public:
  /// `gpus` may be null: then GStreamer chooses the decoders, and the chain works on the CPU.
  /// Throws std::runtime_error when an element is missing.
  Source(GstPipeline* pipeline, const Place& place, int number, std::string uri, guint retry_ms,
         Gpus* gpus);
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // All of these on the main loop's thread.
  void connect();
  /// Something of the pipeline has failed. False: it was not of this source.
  bool on_error(GstObject* failed, const char* reason);
  /// An element message; of a face of this source, or not.
  void on_faces(GstMessage* message);
  /// Ends the stream in the chain.
  void end();
  bool over() const { return over_; }
  /// Its chain has.
  bool failed() const { return failed_; }
  /// The frame rate since the last call, for the view and for the log.
  std::string report(double seconds);
  std::string summary() const;
  guint64 frames() const { return frames_; }
  /// Of the first frame and of the end, in microseconds; 0 as long as there is none.
  gint64 began() const { return began_; }
  gint64 ended() const { return over_at_; }

 private:
  void lost(const std::string& reason);
  void disconnect();
  /// GstAutoplugSelectResult, which no header has: 0 takes the decoder, 2 leaves it out.
  int on_decoder(const GstCaps* stream, GstElementFactory* decoder);
  void choose_gpu(const GstCaps* stream);
  void start_chain();
  void stop_chain();
  void finish();
  void on_pad(GstPad* pad);
  GstPadProbeReturn on_first_frame(GstPad* pad, GstBuffer* buffer);
  GstPadProbeReturn on_data(GstPadProbeInfo* info);
  void on_frame(GstBuffer* buffer);

  GstPipeline* pipeline_;
  GstElement* chain_;
  GstElement* label_;  ///< null without a view
  GstElement* decoder_ = nullptr;
  const int number_;
  const std::string uri_;
  const guint retry_ms_;
  const bool is_file_;  ///< its end is an end; a camera's is a failure
  Gpus* const gpus_;
  int gpu_ = -1;  ///< of the decoder's threads, one after the other
  bool ended_ = false, failed_ = false;

  std::atomic<int> connections_ = 0;
  std::atomic<bool> over_ = false;  ///< the stream has ended
  std::atomic<gint64> began_ = 0, over_at_ = 0;
  std::atomic<guint64> frames_ = 0, faces_now_ = 0;
  guint64 frames_reported_ = 0, faces_ = 0;
};
