#include "gst/faces/linemaker.h"

#include <utility>

#include "gst/base/errors.h"
#include "gst/base/segmenttimes.h"
#include "gst/meta/neighbour.h"

namespace cuface::gst {

void LineMaker::start() {
  frames_ = 0;
  warned_ = false;
}

Line LineMaker::next(const Frame& frame, const GstSegment& segment, FaceResult faces,
                     Positions before, const std::string& source) {
  MotionFound motion = frame.find<MotionMap>().result;
  FeaturesFound features = frame.find<FrameFeatures>().result;
  MatchesFound matches = frame.find<FrameMatches>().result;
  PlanarFound planar = frame.find<FramePlanar>().result;
  if (!faces && !motion && !features && !matches && !planar && before == Positions::kNone &&
      !std::exchange(warned_, true))
    post_warning(element_, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
                 "The video brings no faces: cufacedetect (then culktrack, cufacelandmark) is "
                 "missing before " +
                     std::string(factory_name(element_)) + ". Lines without faces are written.");
  return {frames_++,
          {frame.pts(), running_time_of(segment, frame.pts())},
          source.empty() ? std::nullopt : std::optional(source),
          frame.width(),
          frame.height(),
          std::move(faces),
          std::move(motion),
          std::move(features),
          std::move(matches),
          std::move(planar)};
}

}  // namespace cuface::gst
