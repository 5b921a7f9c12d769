// The two ways to look at all sizes of faces: scale the picture, or scale the window.
#pragma once

#include <memory>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/detect/detect.h"

namespace cuface {

/// What a search is planned for. Lengths in pixels of the searched picture.
struct SearchPlan {
  int width = 0, height = 0;
  double scale_factor = 1.1;
  int min_size = 0, max_size = 0;
  int step = 0;
};

/// Finds the raw windows of a picture of the planned size. Serves one thread at a time.
class Searcher {
 public:
  virtual ~Searcher() = default;
  /// Appends the windows as boxes in the picture, by (level, y, x). False where they are more than
  /// kMaxRawWindows.
  virtual bool search(ImageView<const std::uint8_t> picture, std::vector<Rect>& out) = 0;
};

/// The model must outlive the searcher. May throw std::bad_alloc.
std::unique_ptr<Searcher> make_searcher(ScaleMode mode, const CascadeModel& model,
                                        const SearchPlan& plan);
std::unique_ptr<Searcher> make_pyramid_searcher(const CascadeModel& model, const SearchPlan& plan);
std::unique_ptr<Searcher> make_window_searcher(const CascadeModel& model, const SearchPlan& plan);

}  // namespace cuface
