// Where the face elements count what: the places of Counts.
#pragma once

namespace cuface::gst {

/// The first five and the last are those of cuda::FaceCounters too.
enum FaceCounter : int {
  kSearches,
  kSkippedSearches,
  kOverflows,
  kFaces,
  kLostTracks,
  kDroppedLines,
  kLastId = 7,  ///< the greatest id of any face
};

}  // namespace cuface::gst
