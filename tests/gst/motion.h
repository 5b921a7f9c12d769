// Motion for the tests of elements: pictures in which a square moves, and what was seen of it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gst/meta/motion.h"
#include "tests/gst/faces.h"

namespace cuface::test {

inline constexpr int kMotionWidth = 320, kMotionHeight = 240;

/// Textured ground with a bright square of 48 pixels; at -100 there is none.
inline cv::Mat moving_square(int x, int y) {
  return squares(kMotionWidth, kMotionHeight, {{x, y, 48, 48}});
}

/// The newest motion on a buffer of this size; null without.
inline MotionMapRef motion_of(GstBuffer* buffer, int width = kMotionWidth,
                              int height = kMotionHeight) {
  const auto read = gst::find_result<MotionMap>(buffer, width, height).result.read();
  return read.ok() ? read.value() : nullptr;
}

/// All of it, exact.
inline std::string motion_text(const MotionMapRef& motion) {
  if (!motion) return "none";
  std::string text = std::to_string(motion->compared) + std::to_string(motion->global_change) +
                     std::to_string(motion->in_event) + " " + std::to_string(motion->share) + " " +
                     std::to_string(motion->moving_cells) + " ";
  for (const MotionCell& cell : motion->cells)
    text += std::to_string(cell.share) + (cell.moves ? "!" : ",");
  for (const MotionRegion& region : motion->regions)
    text += " " + std::to_string(region.id) + ":" + std::to_string(region.box.x) + "," +
            std::to_string(region.box.y) + "," + std::to_string(region.box.w) + "," +
            std::to_string(region.box.h);
  return text;
}

/// cumotiondetect and what comes out of it.
struct MotionHarness : FrameHarness {
  explicit MotionHarness(const std::string& properties = "", const char* format = "GRAY8")
      : FrameHarness("cumotiondetect name=m " + properties, format, kMotionWidth, kMotionHeight) {}

  MotionMapRef see(const cv::Mat& picture) { return read(pass(grey_frame(picture))); }
  MotionMapRef see_at(const cv::Mat& picture, GstClockTime pts) {
    push_at(grey_frame(picture), pts);
    return read(pull());
  }
  /// So many frames on which nothing moves.
  void rest(int frames) {
    for (int i = 0; i < frames; ++i) see(moving_square(-100, 0));
  }

 private:
  static MotionMapRef read(GstBuffer* out) {
    if (!out) return nullptr;
    MotionMapRef motion = motion_of(out);
    gst_buffer_unref(out);
    return motion;
  }
};

/// The messages cuface-motion so far, as "begin 400 3" and "end 800 5": state, timestamp in ms,
/// cells. `shares` gets the share of each.
inline std::vector<std::string> motion_messages(Bus& bus, std::vector<float>* shares = nullptr) {
  std::vector<std::string> all;
  while (GstMessage* message = bus.next(GST_MESSAGE_ELEMENT, 0)) {
    const GstStructure* s = gst_message_get_structure(message);
    if (gst_structure_has_name(s, "cuface-motion")) {
      guint64 timestamp = 0, running = 0;
      guint cells = 0;
      gfloat share = 0;
      EXPECT_TRUE(gst_structure_get(s, "timestamp", G_TYPE_UINT64, &timestamp, "running-time",
                                    G_TYPE_UINT64, &running, "share", G_TYPE_FLOAT, &share, "cells",
                                    G_TYPE_UINT, &cells, nullptr));
      EXPECT_EQ(running, timestamp) << "the segment begins at 0";
      EXPECT_GT(share, 0);
      EXPECT_LT(share, 1);
      if (shares) shares->push_back(share);
      all.push_back(std::string(gst_structure_get_string(s, "state")) + " " +
                    std::to_string(timestamp / GST_MSECOND) + " " + std::to_string(cells));
    }
    gst_message_unref(message);
  }
  return all;
}

}  // namespace cuface::test
