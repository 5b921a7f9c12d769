// The elements of the whole chain with models made on the spot, as pieces of pipeline.
#pragma once

#include <string>
#include <vector>

#include "tests/drawn_heads.h"
#include "tests/gst/support.h"

namespace cuface::test {

/// The factories of all elements.
inline constexpr const char* kElements[] = {"cufacedetect",  "culktrack",     "cufacelandmark",
                                            "cufaceoverlay", "cufacepublish", "cumotiondetect",
                                            "cuface2json"};

struct Parts {
  TempFolder folder;
  std::string cascade = folder.write("square.xml", square_cascade_xml());
  std::string model = drawn_heads_model();
  std::string lines = folder.path() + "/faces.jsonl";
  std::string detect = "cufacedetect name=d cascade=" + cascade;
  std::string track = "culktrack name=t max-shape-change=0";
  std::string landmark = "cufacelandmark name=l model=" + model;
  std::string overlay = "cufaceoverlay name=o";
  std::string publish = "cufacepublish name=p location=" + lines;
  std::string motion = "cumotiondetect name=m";

  /// Each element alone.
  std::vector<std::string> each() const {
    return {detect, track, landmark, overlay, publish, motion};
  }
  /// All that know faces, in the main order.
  std::string all() const {
    return detect + " ! " + track + " ! " + landmark + " ! " + overlay + " ! " + publish;
  }
  /// What finds faces, in the main order.
  std::string faces() const { return detect + " ! " + track + " ! " + landmark; }

  /// The lines that cufacepublish has written.
  std::vector<std::string> published() const {
    std::vector<std::string> all_lines;
    std::ifstream file(lines);
    for (std::string line; std::getline(file, line);) all_lines.push_back(line);
    return all_lines;
  }
};

}  // namespace cuface::test
