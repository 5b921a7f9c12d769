// detect: luma, scale levels, integrals, cascade and grouping put together: cv::CascadeClassifier's
// detectMultiScale [S0.01, S0.03, S0.15, S0.18], equal to OpenCV 4.6 with the default options.
//
// The room: searcher.h has the two ways to look at all sizes, pyramid_searcher.cc and
// window_searcher.cc. search_angles.h looks at turned pictures, verify.h at followed faces,
// schedule.h decides which frames are searched. boxes.h makes faces of groups.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cascade/cascade.h"
#include "kernels/cells/region.h"
#include "kernels/common/backend.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/faces/followed.h"
#include "kernels/group/group.h"

namespace cuface {

enum class ScaleMode {
  kPyramid,  ///< the picture is scaled, the window stays: OpenCV's way, and exact
  kWindow,   ///< the window and its features are scaled over one integral [S0.15]
};

struct DetectConfig {
  double scale_factor = 1.1;  ///< >= 1.001 (nearer to 1 the levels would be without number)
  int min_neighbors = 3;      ///< >= 0; a group needs MORE than this many windows
  int min_size = 0;           ///< 0 = no limit; n = OpenCV's minSize (n,n)
  int max_size = 0;           ///< 0 = no limit; n = OpenCV's maxSize (n,n)
  int max_faces = 64;         ///< >= 1; the most neighbours win, then smaller y, then smaller x
  Grouping grouping = Grouping::kOpenCv;
  ScaleMode scale_mode = ScaleMode::kPyramid;
  /// Distance between windows. kPyramid: pixels of the level, 0 = OpenCV's (1 where the scale is
  /// >= 2, else 2); 1 or 2 = always that. kWindow: pixels of the picture, 0 = max(2, scale)
  /// rounded.
  int step = 0;
  /// 1 = full size; n = search a picture of 1/n of the width and height, rounded down [S0.03].
  /// Boxes and limits are still in pixels of the full picture.
  int detect_scale = 1;
  /// Of the CPU, for kPyramid; the answers are the same. 0 = as many as the processors and the size
  /// of the search make worthwhile; 1 = the calling thread alone.
  int threads = 1;
  /// Degrees, 0..90: also look for faces turned by up to so much in the picture, to either side.
  /// 0 = upright only. Each further angle (search_angles.h) is a search of the turned picture by
  /// itself, with the same limits; there a face needs twice as many neighbours. Boxes whose centre
  /// is not in the picture are dropped, and of several finds of one head the one with the most
  /// neighbours stays. Where one of the searches has too many windows, all count as "none".
  int roll = 0;
  /// Whether faces that a tracker follows, and that the search has not found, are looked for in
  /// their own place, turn and scale (verify.h). There a face needs twice as many neighbours.
  bool verify = false;
  /// Whether enqueue() may be asked for kActiveParts: then the detector remembers what it searched.
  bool active_parts = false;

  friend bool operator==(const DetectConfig&, const DetectConfig&) = default;
};

/// Whether a search can be split into bands: scaled pictures, upright ones only, since a band of a
/// turned picture is none of the picture, and a grouping whose groups stay near one face. The same
/// holds for active parts.
inline bool can_search_bands(const DetectConfig& config) {
  return config.scale_mode == ScaleMode::kPyramid && config.roll == 0 &&
         config.grouping == Grouping::kOpenCv;
}

/// Most raw windows of one frame; more make the search "none" and set `overflow`.
inline constexpr int kMaxRawWindows = 65536;

struct DetectResult {
  /// Sorted: most neighbours first, then y, then x. With DetectConfig::roll most neighbours first,
  /// then those found nearest upright; boxes found turned are not cut to the picture.
  std::vector<Detection> faces;
  /// With DetectConfig::roll or verify, of each of `faces` the angle it was found at. Else empty:
  /// upright.
  std::vector<Roll> rolls;
  bool overflow = false;
  /// For active parts: the cells that had changed, and all cells. Else 0.
  std::int32_t changed_cells = 0, cells = 0;

  void clear() {
    faces.clear();
    rolls.clear();
    overflow = false;
    changed_cells = cells = 0;
  }
};

/// Whether nothing was searched because nothing has changed.
inline bool is_unchanged(const DetectResult& result, const SearchRegion& searched) {
  return searched.only_if_changed() && result.changed_cells == 0;
}

/// The largest side of a picture.
inline constexpr int kMaxPictureSide = 16384;

/// Plan: validates, allocates all scratch for one picture size. Enqueue: no allocation in steady
/// state. An object serves one thread at a time; the model is shared.
class Detector {
 public:
  /// kInvalidArgument: a value out of its range; kUnsupported: kCuda in a build without CUDA, a
  /// picture too large; kOutOfMemory; kCorrupt: a model that validate() refuses; kCancelled: `stop`
  /// was raised before it was done.
  static Result<std::unique_ptr<Detector>> create(Backend backend,
                                                  std::shared_ptr<const CascadeModel> model,
                                                  const DetectConfig& config, int width, int height,
                                                  const StopFlag* stop = nullptr);
  virtual ~Detector() = default;

  /// `luma` must have the planned size (kInvalidArgument). Pictures smaller than the window give an
  /// empty list. A band, which can_search_bands() must allow, gives the faces that belong to it or
  /// lie at its border. kActiveParts, which DetectConfig::active_parts must allow (else
  /// kInvalidArgument), searches only the windows that kernels/activity selects, among them those
  /// around `followed` faces. kChangedParts does the same, but neither searches nor verifies if no
  /// cell has changed. kNewParts verifies nothing. With DetectConfig::verify the search verifies
  /// each face of `followed` that lies in the searched part and was not found. While create()'s
  /// `stop` is raised, returns kCancelled with an empty `out`; every search polls it at least every
  /// 20 ms.
  Status enqueue(ImageView<const std::uint8_t> luma, DetectResult& out,
                 const SearchRegion& band = kWholePicture, std::span<const Followed> followed = {});

  /// The number of windows in a search of the whole picture, at all angles, without verifying.
  virtual long long windows() const = 0;

 private:
  /// enqueue(), but that it may throw.
  virtual Status find(ImageView<const std::uint8_t> luma, DetectResult& out,
                      const SearchRegion& band, std::span<const Followed> followed) = 0;
};

}  // namespace cuface
