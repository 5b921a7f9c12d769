// Whether the source of a stream is live. Only then may results depend on the machine's speed.
#pragma once

#include <gst/gst.h>

#include <atomic>

namespace cuface::gst {

/// told() from any thread, the rest from the streaming thread.
class Liveness {
 public:
  void restart() { ask_ = true; }

  /// An event on its way upstream.
  void told(GstEvent* event) {
    // The pipeline has another source, or other delays.
    if (GST_EVENT_TYPE(event) == GST_EVENT_LATENCY) ask_ = true;
  }

  /// Asks upstream of `sink` the first time, and again after told() of a change.
  bool is_live(GstPad* sink) {
    if (!ask_.exchange(false)) return live_;
    GstQuery* query = gst_query_new_latency();
    gboolean live = FALSE;
    if (gst_pad_peer_query(sink, query)) gst_query_parse_latency(query, &live, nullptr, nullptr);
    gst_query_unref(query);
    return live_ = live;
  }

 private:
  std::atomic<bool> ask_{true};
  bool live_ = false;
};

}  // namespace cuface::gst
