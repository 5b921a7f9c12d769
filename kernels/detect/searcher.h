// The two ways to look at all sizes of faces: scale the picture, or scale the window.
#pragma once

#include <memory>
#include <vector>

#include "kernels/cascade/scaled.h"
#include "kernels/cells/cells.h"
#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/detect/detect.h"
#include "kernels/levels/levels.h"

namespace cuface {

struct SearchPlan;

/// The rows of windows of a level's stripes, but for the last.
int rows_of_stripes(const SearchGrid& grid);

/// Data that the searches of one detector share: at several angles, and of followed faces. They run
/// one after another. Plan time; one thread at a time.
class SharedSearch {
 public:
  /// A cascade bound to a layout, and what searches read of it.
  struct Bound {
    explicit Bound(const CascadeModel& model) : cascade(model) {}
    BoundCascade cascade;
    std::shared_ptr<SearchTables> tables;
  };

  /// The model must outlive it, and so must the flag.
  explicit SharedSearch(const CascadeModel& model, const StopFlag* stop = nullptr)
      : model_(model), stop_(stop) {}

  /// The planes of sums get room for the stripes of this search, so that all searches have one
  /// layout: for the highest one, and for some that are small.
  void make_room(const SearchPlan& plan);
  int width() const { return width_; }  ///< of the largest stripe so far, in pixels
  int rows() const { return rows_; }    ///< of planes of sums

  /// Memory that one worker writes, for its search of one stripe after another.
  struct Scratch {
    std::vector<std::uint8_t> pixels;  ///< a row and the one above
    std::vector<std::uint32_t> sums;
    std::vector<std::uint16_t> shorts;  ///< planes as the sums, and with the columns in order
    std::vector<std::uint64_t> mask;
    std::shared_ptr<WaitingLists> waiting;
  };

  /// The same for searches that ask for the same layout.
  const Bound& bound(const SumLayout& layout);
  Scratch& scratch(std::size_t worker);
  /// Bound by each search for itself.
  BoundCascade& scaled();
  /// Raised: planning ends with an unusable result, a search returns false. Null = never.
  const StopFlag* stop() const { return stop_; }

 private:
  const CascadeModel& model_;
  const StopFlag* const stop_;
  int width_ = 0, rows_ = 0;
  std::vector<std::unique_ptr<Bound>> bound_;
  std::vector<std::unique_ptr<Scratch>> scratch_;  ///< of each worker
  std::unique_ptr<BoundCascade> scaled_;
};

/// The settings for which a search is planned. Lengths in pixels of the searched picture.
struct SearchPlan {
  int width = 0, height = 0;
  double scale_factor = 1.1;
  int min_size = 0, max_size = 0;
  int step = 0;
  int threads = 1;                            ///< as in DetectConfig
  std::shared_ptr<SharedSearch> shared = {};  ///< null: nothing
};

/// kInvalidArgument or kUnsupported, with the reason, where a picture cannot be searched like that.
Status validate_search(const DetectConfig& config, int width, int height);

/// The plan for a valid configuration.
SearchPlan plan_search(const DetectConfig& config, int width, int height);

/// The levels of the scaled-picture search; none where the picture is smaller than the window.
std::vector<Level> plan_levels(const CascadeModel& model, const SearchPlan& plan);

/// The scales of the scaled-window search; none where the picture is smaller than the window.
std::vector<ScaledWindows> plan_scaled_windows(const CascadeModel& model, const SearchPlan& plan);
long long count_windows(const std::vector<ScaledWindows>& windows);

/// Finds the raw windows of a picture of the planned size. Serves one thread at a time.
class Searcher {
 public:
  virtual ~Searcher() = default;
  /// Appends the windows of a band as boxes in the picture, by (level, y, x); with a map only those
  /// that it has on, in an order of its own. False where they are more than kMaxRawWindows. A part
  /// of the picture: by the pyramid's searcher only.
  virtual bool search(ImageView<const std::uint8_t> picture, const SearchRegion& band,
                      const ActivityMap* active, std::vector<Rect>& out) = 0;
  /// The same of a picture that is flat from row `bottom` on, where there is nothing to find. By
  /// the pyramid's searcher only.
  virtual bool search_above(ImageView<const std::uint8_t> picture, int bottom,
                            std::vector<Rect>& out) {
    (void)bottom;
    return search(picture, kWholePicture, nullptr, out);
  }
  /// The windows of a search of the whole picture.
  virtual long long windows() const = 0;
};

/// Detector::create() on the CPU, of a valid model.
Result<std::unique_ptr<Detector>> make_detector(const std::shared_ptr<const CascadeModel>& model,
                                                const DetectConfig& config, int width, int height,
                                                const std::shared_ptr<SharedSearch>& shared);

/// The model must outlive the searcher. May throw std::bad_alloc.
std::unique_ptr<Searcher> make_searcher(ScaleMode mode, const CascadeModel& model,
                                        const SearchPlan& plan);
std::unique_ptr<Searcher> make_pyramid_searcher(const CascadeModel& model, const SearchPlan& plan);
std::unique_ptr<Searcher> make_window_searcher(const CascadeModel& model, const SearchPlan& plan);

}  // namespace cuface
