// Where models come from: files, checked before anything in them is used, each loaded once a
// process.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "kernels/cascade/cascade.h"
#include "kernels/common/status.h"
#include "kernels/landmarks/landmarks.h"
#include "kernels/network/network.h"
#include "kernels/shape/shape_model.h"

namespace cuface {

/// The largest file of a landmark model that is read. The largest known has 100 MB.
inline constexpr std::size_t kMaxForestBytes = std::size_t{512} << 20;

/// An OpenCV cascade XML (old or new layout) or our own file. A model file is untrusted input: the
/// result is validated, or a Status says which file, where in it, and what is wrong.
/// Thread-safe. The same unchanged file gives the same object while somebody holds it.
Result<std::shared_ptr<const CascadeModel>> load_cascade(const std::string& path);

/// A dlib shape predictor .dat or our own file. Otherwise as load_cascade.
Result<std::shared_ptr<const ForestModel>> load_forest(const std::string& path);

/// A network in our own file. An ONNX file is kUnsupported, and its message names the command that
/// converts it. Otherwise as load_cascade.
Result<std::shared_ptr<const NetworkModel>> load_network(const std::string& path);

/// A shape model in our own file. An archive of Stasm's sources is kUnsupported, and its message
/// names the command that converts it. Otherwise as load_cascade.
Result<std::shared_ptr<const ShapeModel>> load_shape(const std::string& path);

enum class ModelKind { kCascade, kForest, kNetwork, kShape };

/// For messages, in static storage: "Haar cascade", "landmark model", "face-detection network",
/// "shape model".
const char* model_kind_name(ModelKind kind);

/// What a file holds, by its first bytes, and our own files by their header: whether it can be
/// loaded is for its loader to say. What is none of the known formats is taken for a cascade. A
/// Status where the file cannot be read or is one of ours and damaged. Thread-safe.
Result<ModelKind> model_kind(const std::string& path);

/// The first default file found in $CUFACE_MODEL_PATH, $XDG_CACHE_HOME/gst-cuface (~/.cache where
/// unset), the installed data folder, and for cascades OpenCV's folders. kNotFound names every
/// folder looked in and the command that fetches the models.
Result<std::string> find_default_cascade();
Result<std::string> find_default_forest();
/// Of eyes of either side: haarcascade_eye, looked for as faces' cascades are.
Result<std::string> find_eye_cascade();

}  // namespace cuface
