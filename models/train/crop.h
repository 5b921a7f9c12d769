// Windows out of pictures: a box, or a face by its eyes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "models/train/labels.h"
#include "models/train/windows.h"

namespace cuface::train {

/// The edges of a box, each rounded to the nearest whole pixel, halves up.
Rect whole_pixels(const Box& box);

/// Whether all of the rectangle is in the picture, and no side is smaller than the window's.
bool lies_inside(const Rect& rect, ImageView<const std::uint8_t> picture);
bool is_large_enough(const Rect& rect, const WindowSize& size);

/// The rectangle, which lies inside, scaled to the window as a search scales its picture
/// (kernels/pyramid/pyramid.h, LinearResize). Pixels around it have no influence.
std::vector<std::uint8_t> crop(ImageView<const std::uint8_t> picture, const Rect& rect,
                               const WindowSize& size);

/// The centres of both eyes of a face with a known landmark scheme (kernels/faces), the left one in
/// the picture first. False where the scheme is not known or a point is missing.
bool find_eyes(std::span<const LabelledPart> parts, Point& left, Point& right);

/// The face around the eyes, turned so that they are level: [S4.11]. They come to lie at 38 % of
/// the window's height, 42 % of its width apart. Integers from the second step on: the same bytes
/// everywhere. Empty where the window would leave the picture, or is larger than the face.
std::vector<std::uint8_t> crop_aligned(ImageView<const std::uint8_t> picture, Point left,
                                       Point right, const WindowSize& size);

}  // namespace cuface::train
