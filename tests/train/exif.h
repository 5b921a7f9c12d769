// A JPEG file whose EXIF tag asks for a rotation.
#pragma once

#include <string>

namespace cuface::train {

inline std::string turned_by_exif(std::string jpeg) {
  // APP1: "Exif", a TIFF head, one entry: the orientation (0x112) is 6, a quarter turn.
  const std::string exif(
      "\xff\xe1\x00\x22"
      "Exif\0\0"
      "II*\0\x08\0\0\0"
      "\x01\0"
      "\x12\x01\x03\0\x01\0\0\0\x06\0\0\0"
      "\0\0\0\0",
      36);
  return jpeg.insert(2, exif);
}

}  // namespace cuface::train
