// The two ways to look at all sizes of faces: scale the picture, or scale the window.
#pragma once

#include <memory>
#include <vector>

#include "kernels/activity/map.h"
#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/detect/detect.h"
#include "kernels/detect/levels.h"

namespace cuface {

/// What a search is planned for. Lengths in pixels of the searched picture.
struct SearchPlan {
  int width = 0, height = 0;
  double scale_factor = 1.1;
  int min_size = 0, max_size = 0;
  int step = 0;
  int threads = 1;  ///< as in DetectConfig
};

/// kInvalidArgument or kUnsupported, with the reason, where a picture cannot be searched like that.
Status validate_search(const DetectConfig& config, int width, int height);

/// The plan for a valid configuration.
SearchPlan plan_search(const DetectConfig& config, int width, int height);

/// The levels of the scaled-picture search; none where the picture is smaller than the window.
std::vector<Level> plan_levels(const CascadeModel& model, const SearchPlan& plan);

/// Finds the raw windows of a picture of the planned size. Serves one thread at a time.
class Searcher {
 public:
  virtual ~Searcher() = default;
  /// Appends the windows of a band as boxes in the picture, by (level, y, x); with a map only those
  /// that it has on, in an order of its own. False where they are more than kMaxRawWindows. A part
  /// of the picture: by the pyramid's searcher only.
  virtual bool search(ImageView<const std::uint8_t> picture, const Band& band,
                      const ActivityMap* active, std::vector<Rect>& out) = 0;
  /// The same of a picture that is flat from row `bottom` on, where there is nothing to find. By
  /// the pyramid's searcher only.
  virtual bool search_above(ImageView<const std::uint8_t> picture, int bottom,
                            std::vector<Rect>& out) {
    (void)bottom;
    return search(picture, kWholePicture, nullptr, out);
  }
};

/// The model must outlive the searcher. May throw std::bad_alloc.
std::unique_ptr<Searcher> make_searcher(ScaleMode mode, const CascadeModel& model,
                                        const SearchPlan& plan);
std::unique_ptr<Searcher> make_pyramid_searcher(const CascadeModel& model, const SearchPlan& plan);
std::unique_ptr<Searcher> make_window_searcher(const CascadeModel& model, const SearchPlan& plan);

}  // namespace cuface
