// Makes the pictures that test_colour_twin.py compares with its own.
//
//   colour_pictures < CASES > PICTURES
//
// A case is a line "width height rgb full_range matrix input_size bytes components", followed for
// each component by "offset stride pixel_stride depth shift sub_x sub_y", and then the frame's
// bytes. `matrix` is the number of a ColorMatrix. Its picture is a line "width height" and the
// bytes.
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "kernels/colour/colour.h"
#include "tests/kernels/frame_cases.h"

namespace {

using namespace cuface;

int fail(const std::string& what) {
  std::fprintf(stderr, "colour_pictures: %s\n", what.c_str());
  return 1;
}

}  // namespace

int main() {
  FrameView frame;
  std::vector<std::uint8_t> data;
  int matrix = 0, input_size = 0, components = 0;
  std::size_t bytes = 0;
  while (std::cin >> frame.width >> frame.height >> frame.rgb >> frame.full_range >> matrix >>
         input_size >> bytes >> components) {
    if (!test::read_frame(std::cin, components, bytes, data, frame)) return fail("no frame");
    auto scaler = BgrScaler::create(frame.width, frame.height, input_size);
    if (!scaler.ok()) return fail(scaler.status().message());
    const BgrSize size = scaler.value().size();
    std::vector<Bgr> out(static_cast<std::size_t>(size.width) *
                         static_cast<std::size_t>(size.height));
    const ImageView<Bgr> picture = {out.data(), size.width, size.height,
                                    size.width * static_cast<std::ptrdiff_t>(sizeof(Bgr))};
    const Status status = scaler.value().run(frame, static_cast<ColorMatrix>(matrix), picture);
    if (!status.ok()) return fail(status.message());
    std::cout << size.width << ' ' << size.height << '\n';
    std::cout.write(reinterpret_cast<const char*>(out.data()),
                    static_cast<std::streamsize>(out.size() * sizeof(Bgr)));
  }
  return std::cin.eof() && std::cout.flush() ? 0 : 1;
}
