// A cascade that finds squares, for tests whose faces or eyes are squares.
#pragma once

#include <string>

namespace cuface::test {

/// A cascade of one stump that finds bright squares on dark ground, window 24x24.
inline std::string square_cascade_xml() {
  return R"(<?xml version="1.0"?>
<opencv_storage><cascade type_id="opencv-cascade-classifier">
<stageType>BOOST</stageType><featureType>HAAR</featureType><height>24</height><width>24</width>
<stageParams><maxWeakCount>1</maxWeakCount></stageParams>
<featureParams><maxCatCount>0</maxCatCount></featureParams><stageNum>1</stageNum>
<stages><_><maxWeakCount>1</maxWeakCount><stageThreshold>0.5</stageThreshold>
<weakClassifiers><_><internalNodes>0 -1 0 1.6</internalNodes><leafValues>0. 1.</leafValues></_>
</weakClassifiers></_></stages>
<features><_><rects><_>0 0 24 24 -1.</_><_>6 6 12 12 4.</_></rects></_></features>
</cascade></opencv_storage>
)";
}

}  // namespace cuface::test
