// Points and boxes, in pixels of one picture.
//
// Points have OpenCV's and dlib's meaning: an integer coordinate is the CENTRE of a pixel.
// Boxes are edges: a box covering all of a picture w pixels wide has x = 0 and w = the width.
// (dlib's inclusive rectangle of a box has right = x + w - 1.)
#pragma once

namespace cuface {

struct Point {
  float x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

struct Box {
  float x = 0, y = 0, w = 0, h = 0;
  friend bool operator==(const Box&, const Box&) = default;
};

/// A turn in the picture, clockwise, as y points down.
struct Roll {
  float cos = 1, sin = 0;
  friend bool operator==(const Roll&, const Roll&) = default;
};

/// A box on whole pixels, as OpenCV's cv::Rect.
struct Rect {
  int x = 0, y = 0, w = 0, h = 0;
  friend bool operator==(const Rect&, const Rect&) = default;
};

}  // namespace cuface
