// Draws the pictures on faces that test_picture_twin.py compares with its own.
//
//   overlay_pictures < CASES > FRAMES
//
// A case is a line of numbers, and bytes: "width height rgb full_range matrix bytes"; the picture's
// "width height eye_distance eyes_y chin_y"; the face's "x y w h cos sin keypoints landmarks",
// where `keypoints` is 0 or 1, and then x and y of each of those; "components", and for each
// "offset stride pixel_stride depth shift sub_x sub_y"; the frame's bytes; the picture's,
// 0xAARRGGBB in the machine's order. What comes out are the frames' bytes.
#include <cstdio>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "kernels/overlay/picture.h"
#include "tests/kernels/frame_cases.h"

namespace {

using namespace cuface;

int fail(const std::string& what) {
  std::fprintf(stderr, "overlay_pictures: %s\n", what.c_str());
  return 1;
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  FrameView frame;
  int matrix = 0;
  std::size_t bytes = 0;
  std::vector<std::uint8_t> data;
  while (std::cin >> frame.width >> frame.height >> frame.rgb >> frame.full_range >> matrix >>
         bytes) {
    int width = 0, height = 0, components = 0;
    OverlayStyle style;
    style.draw = kDrawImage;
    std::cin >> width >> height >> style.picture_face.eye_distance >> style.picture_face.eyes_y >>
        style.picture_face.chin_y;
    FaceList faces;
    Face& face = faces.faces.emplace_back();
    std::cin >> face.box.x >> face.box.y >> face.box.w >> face.box.h >> face.roll.cos >>
        face.roll.sin >> face.has_keypoints >> faces.landmarks_per_face;
    if (face.has_keypoints)
      for (Point& p : face.keypoints) std::cin >> p.x >> p.y;
    if (!std::cin || faces.landmarks_per_face < 0) return fail("a face that cannot be");
    faces.landmarks.resize(static_cast<std::size_t>(faces.landmarks_per_face));
    for (Point& p : faces.landmarks) std::cin >> p.x >> p.y;
    std::cin >> components;
    if (!test::read_frame(std::cin, components, bytes, data, frame)) return fail("no frame");
    Image<Argb> pixels(width, height);
    for (int y = 0; y < height; ++y) {
      const auto row = static_cast<std::streamsize>(sizeof(Argb)) * width;
      if (!std::cin.read(reinterpret_cast<char*>(pixels.view().row(y)), row))
        return fail("no picture");
    }
    auto picture = FacePicture::create(std::move(pixels));
    if (!picture.ok()) return fail(picture.status().message());
    style.picture = &picture.value().in(frame, static_cast<ColorMatrix>(matrix));
    draw_faces(frame, static_cast<ColorMatrix>(matrix), faces, style);
    std::cout.write(reinterpret_cast<const char*>(data.data()),
                    static_cast<std::streamsize>(bytes));
  }
  return std::cin.eof() && std::cout.flush() ? 0 : 1;
}
