// Pictures of a list: read by several threads, and taken one after another in the list's order.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/common/guarded.h"
#include "kernels/common/stop_flag.h"
#include "kernels/common/try.h"
#include "kernels/common/workers.h"
#include "models/train/labels.h"

namespace cuface::train {

/// Held in memory together.
inline constexpr std::size_t kPicturesAtOnce = 64;

/// `load(picture)`, from any thread, gives a value with a `status`, which also tells what has been
/// thrown there; `take(value)` ends it all where it is not ok. `threads` 0 = as many as there are
/// processors. kCancelled once `stop` is raised.
template <typename Load, typename Take>
Status each_picture(const std::vector<LabelledPicture>& pictures, const std::string& path,
                    int threads, const StopFlag* stop, const Load& load, const Take& take) {
  using OfPicture = decltype(load(pictures[0]));
  Workers workers(threads > 0 ? threads : Workers::processors());
  for (std::size_t first = 0; first < pictures.size(); first += kPicturesAtOnce) {
    if (is_raised(stop)) return cancelled();
    std::vector<OfPicture> part(std::min(kPicturesAtOnce, pictures.size() - first));
    workers.run(static_cast<int>(part.size()), [&](int i, int) {
      OfPicture& result = part[static_cast<std::size_t>(i)];
      result.status = guarded(path, [&] {
        result = load(pictures[first + static_cast<std::size_t>(i)]);
        return result.status;
      });
    });
    for (OfPicture& picture : part) CUFACE_TRY(take(std::move(picture)));
  }
  return {};
}

}  // namespace cuface::train
