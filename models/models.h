// Where models come from: files, checked before anything in them is used, each loaded once a
// process.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "kernels/cascade/cascade.h"
#include "kernels/common/status.h"
#include "kernels/landmarks/landmarks.h"

namespace cuface {

/// The largest file of a landmark model that is read. The largest known has 100 MB.
inline constexpr std::size_t kMaxForestBytes = std::size_t{512} << 20;

/// An OpenCV cascade XML (old or new layout) or our own file. A model file is untrusted input: the
/// result is validated, or a Status says which file, where in it, and what is wrong.
/// Thread-safe. The same unchanged file gives the same object while somebody holds it.
Result<std::shared_ptr<const CascadeModel>> load_cascade(const std::string& path);

/// A dlib shape predictor .dat or our own file. Otherwise as load_cascade.
Result<std::shared_ptr<const ForestModel>> load_forest(const std::string& path);

/// The first default file found in $CUFACE_MODEL_PATH, $XDG_CACHE_HOME/gst-cuface (~/.cache where
/// unset), the installed data folder, and for cascades OpenCV's folders. kNotFound names every
/// folder looked in and the command that fetches the models.
Result<std::string> find_default_cascade();
Result<std::string> find_default_forest();

}  // namespace cuface
