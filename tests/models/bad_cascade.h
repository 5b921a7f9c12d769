// A small cascade as OpenCV's XML, of which any part can be a bad one.
#pragma once

#include <string>

namespace cuface::test {

/// A cascade whose parts can be replaced.
inline std::string xml(const std::string& nodes, const std::string& leaves,
                       const std::string& rects, const std::string& threshold = "0.5",
                       const std::string& sides = "24", const std::string& trees_after = "") {
  return "<?xml version=\"1.0\"?>\n<opencv_storage><cascade>\n<stageType>BOOST</stageType>"
         "<featureType>HAAR</featureType><height>" +
         sides + "</height>\n<width>" + sides + "</width>\n<stages><_><stageThreshold>" +
         threshold + "</stageThreshold>\n<weakClassifiers><_><internalNodes>" + nodes +
         "</internalNodes>\n<leafValues>" + leaves + "</leafValues></_>" + trees_after +
         "</weakClassifiers></_></stages>\n<features><_><rects>" + rects +
         "</rects></_></features></cascade></opencv_storage>\n";
}

inline const std::string kNodes = "0 -1 0 1.6", kLeaves = "0. 1.",
                         kRects = "<_>0 0 24 24 -1.</_><_>6 6 12 12 4.</_>";

}  // namespace cuface::test
