#include "models/models.h"

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "models/cascade_file.h"
#include "models/cascade_xml.h"
#include "models/container.h"
#include "models/dlib_dat.h"
#include "models/file_bytes.h"
#include "models/forest_file.h"
#include "models/network_file.h"
#include "models/shape_file.h"
#include "models/xml_tree.h"

namespace cuface {
namespace {

// Far more than any model of the kind has; what a hostile file may cost.
constexpr std::size_t kMaxCascadeBytes = XmlTree::kMaxBytes;
constexpr std::size_t kMaxNetworkBytes = std::size_t{8} << 20;

using FileRef = std::shared_ptr<const FileBytes>;

/// Models of one kind that somebody in this process holds, by the content they were read from. The
/// one lock is held while a file is read, so that two elements starting together read it once.
template <typename Model>
class Registry {
 public:
  using ModelRef = std::shared_ptr<const Model>;

  template <typename Read>
  Result<ModelRef> get(const std::string& path, Read read) {
    return guarded(path, [&] { return get_or_read(path, read); });
  }

 private:
  template <typename Read>
  Result<ModelRef> get_or_read(const std::string& path, Read read) {
    const std::lock_guard lock(mutex_);
    const Result<ModelFile> file = ModelFile::open(path);
    if (!file.ok()) return file.status();
    const FileIdentity identity = file.value().identity();
    if (const auto it = models_.find(identity); it != models_.end()) {
      if (ModelRef held = it->second.lock()) return held;
    }
    Result<ModelRef> model = read(file.value());
    std::erase_if(models_, [](const auto& entry) { return entry.second.expired(); });
    if (model.ok()) models_[identity] = model.value();
    return model;
  }

  std::mutex mutex_;
  std::map<FileIdentity, std::weak_ptr<const Model>> models_;
};

/// The process-wide part: one model is loaded once however many elements use it.
template <typename Model>
Registry<Model>& registry() {
  static Registry<Model> instance;
  return instance;
}

/// By ModelKind: as our files name it, and for messages.
constexpr struct {
  const char *in_files, *name;
} kKinds[] = {{"cascade", "Haar cascade"},
              {"forest", "landmark model"},
              {"network", "face-detection network"},
              {"shape", "shape model"}};

Result<ModelKind> kind_of(const Container& container) {
  const std::string found = container.kind();
  for (std::size_t i = 0; i < std::size(kKinds); ++i) {
    if (found == kKinds[i].in_files) return static_cast<ModelKind>(i);
  }
  return Status(
      StatusCode::kCorrupt,
      container.file()->path() + ": a model of an unknown kind, \"" + shortened(found) + "\"");
}

/// Protocol buffers have no magic number. This is how ONNX's begin: the version of its format, a
/// small number, then another field of the model.
bool looks_like_onnx(const ModelFile& file) {
  const std::span<const std::uint8_t> head = file.head();
  return std::filesystem::path(file.path()).extension() == ".onnx" ||
         (head.size() > 2 && head[0] == 0x08 && head[1] < 0x20 && head[2] >= 0x12);
}

/// A tar archive's mark is behind the bytes that are looked at.
bool looks_like_stasm(const ModelFile& file) {
  return std::filesystem::path(file.path()).extension() == ".tar";
}

bool looks_like_xml(std::span<const std::uint8_t> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  const std::size_t start = text.find_first_not_of("\xef\xbb\xbf \t\r\n");
  return start != text.npos && text[start] == '<';
}

Status another_kind(const ModelFile& file, ModelKind found, ModelKind wanted) {
  return {StatusCode::kCorrupt,
          file.path() + ": a " + model_kind_name(found) + ", not a " + model_kind_name(wanted)};
}

/// By `read_ours`, where our file is of this kind.
template <typename ReadOurs>
auto read_own(const ModelFile& file, std::size_t limit, ModelKind kind, ReadOurs read_ours)
    -> decltype(read_ours(std::declval<const Container&>())) {
  CUFACE_TAKE(container, Container::read(file, limit));
  CUFACE_TAKE(found, kind_of(container));
  if (found != kind) return another_kind(file, found, kind);
  return read_ours(container);
}

/// `read_ours` for one of our files of this kind, `read_foreign` for anything else.
template <typename Model, typename ReadOurs, typename ReadForeign>
Result<std::shared_ptr<const Model>> read_model(const ModelFile& file, std::size_t limit,
                                                ModelKind kind, ReadOurs read_ours,
                                                ReadForeign read_foreign) {
  if (Container::looks_like(file.head())) return read_own(file, limit, kind, read_ours);
  CUFACE_TAKE(bytes, file.read(limit));
  return read_foreign(*bytes);
}

Result<std::shared_ptr<const ForestModel>> read_forest(const ModelFile& file) {
  // Before a film that was given for a model is read.
  if (!Container::looks_like(file.head()) && !looks_like_dlib_dat(file.head())) {
    return Status(StatusCode::kCorrupt,
                  file.path() +
                      ": neither a dlib shape predictor (.dat) nor ours (.cuface): its "
                      "first bytes are of another kind of file");
  }
  return read_model<ForestModel>(
      file, kMaxForestBytes, ModelKind::kForest, read_forest_file,
      [](const FileBytes& dat) { return parse_dlib_dat(dat.bytes(), dat.path()); });
}

Result<std::shared_ptr<const CascadeModel>> read_cascade(const ModelFile& file) {
  return read_model<CascadeModel>(
      file, kMaxCascadeBytes, ModelKind::kCascade, read_cascade_file, [](const FileBytes& xml) {
        const std::span<const std::uint8_t> bytes = xml.bytes();
        return parse_cascade_xml({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                                 xml.path());
      });
}

/// Of a format that the tool alone reads: "an ONNX file".
Status convert_first(const ModelFile& file, const char* what) {
  const std::string ours = std::filesystem::path(file.path()).replace_extension(".cuface");
  return {StatusCode::kUnsupported, file.path() + ": " + what +
                                        ", which elements do not read; convert it with: "
                                        "cuface-model convert " +
                                        file.path() + " " + ours};
}

/// Why a file that is not ours holds no model of a kind that only our files hold. Nothing of it is
/// read.
Status foreign(const ModelFile& file, ModelKind wanted) {
  if (wanted == ModelKind::kNetwork && looks_like_onnx(file)) {
    return convert_first(file, "an ONNX file");
  }
  if (wanted == ModelKind::kShape && looks_like_stasm(file)) {
    return convert_first(file, "an archive of sources");
  }
  if (looks_like_dlib_dat(file.head())) return another_kind(file, ModelKind::kForest, wanted);
  if (looks_like_xml(file.head())) return another_kind(file, ModelKind::kCascade, wanted);
  return {StatusCode::kCorrupt, file.path() + ": not one of our " +
                                    (wanted == ModelKind::kShape ? "shape models" : "networks") +
                                    " (.cuface): its first bytes are of another kind of file"};
}

Result<std::shared_ptr<const NetworkModel>> read_network(const ModelFile& file) {
  if (!Container::looks_like(file.head())) return foreign(file, ModelKind::kNetwork);
  return read_own(file, kMaxNetworkBytes, ModelKind::kNetwork, read_network_file);
}

Result<std::shared_ptr<const ShapeModel>> read_shape(const ModelFile& file) {
  if (!Container::looks_like(file.head())) return foreign(file, ModelKind::kShape);
  return read_own(file, kMaxShapeBytes, ModelKind::kShape, read_shape_file);
}

/// A set variable that is not empty.
std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Where fetched and installed models lie, in the order they are looked for.
std::vector<std::string> model_folders() {
  std::vector<std::string> folders;
  if (const std::string path = environment("CUFACE_MODEL_PATH"); !path.empty()) {
    folders.push_back(path);
  }
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty()) {
    folders.push_back(cache + "/gst-cuface");
  } else if (const std::string home = environment("HOME"); !home.empty()) {
    folders.push_back(home + "/.cache/gst-cuface");
  }
  folders.push_back(CUFACE_DATA_DIR);
  return folders;
}

Result<std::string> find_first(const std::vector<std::string>& folders,
                               const std::vector<std::string>& names, const std::string& what,
                               const std::string& remedy) {
  std::string looked_in;
  for (const std::string& folder : folders) {
    for (const std::string& name : names) {
      const std::string path = folder + "/" + name;
      std::error_code ignored;
      if (std::filesystem::is_regular_file(path, ignored)) return path;
    }
    looked_in += (looked_in.empty() ? "" : ", ") + folder;
  }
  return Status(StatusCode::kNotFound,
                "no " + what + " (" + names.back() + ") in " + looked_in + ". " + remedy);
}

Result<std::string> find_cascade(const std::string& name, const char* what) {
  return guarded(std::string("looking for a ") + what, [&] {
    std::vector<std::string> folders = model_folders();
    for (const char* folder : {"/usr/share/opencv4/haarcascades", "/usr/share/opencv/haarcascades",
                               "/usr/local/share/opencv4/haarcascades"}) {
      folders.emplace_back(folder);
    }
    return find_first(folders, {name + ".cuface", name + ".xml"}, what,
                      "Debian: apt install opencv-data");
  });
}

}  // namespace

Result<std::shared_ptr<const ForestModel>> load_forest(const std::string& path) {
  return registry<ForestModel>().get(path, read_forest);
}

Result<std::shared_ptr<const CascadeModel>> load_cascade(const std::string& path) {
  return registry<CascadeModel>().get(path, read_cascade);
}

Result<std::shared_ptr<const NetworkModel>> load_network(const std::string& path) {
  return registry<NetworkModel>().get(path, read_network);
}

Result<std::shared_ptr<const ShapeModel>> load_shape(const std::string& path) {
  return registry<ShapeModel>().get(path, read_shape);
}

const char* model_kind_name(ModelKind kind) { return kKinds[static_cast<std::size_t>(kind)].name; }

Result<ModelKind> model_kind(const std::string& path) {
  return guarded(path, [&]() -> Result<ModelKind> {
    CUFACE_TAKE(file, ModelFile::open(path));
    if (Container::looks_like(file.head())) {
      CUFACE_TAKE(container, Container::read(file, kMaxForestBytes));
      return kind_of(container);
    }
    if (looks_like_dlib_dat(file.head())) return ModelKind::kForest;
    if (looks_like_stasm(file)) return ModelKind::kShape;
    return looks_like_onnx(file) ? ModelKind::kNetwork : ModelKind::kCascade;
  });
}

Result<std::string> find_default_forest() {
  return guarded("looking for a landmark model", [] {
    return find_first(
        model_folders(),
        {"shape_predictor_68_face_landmarks.cuface", "shape_predictor_68_face_landmarks.dat"},
        "landmark model",
        "Fetch it with: models/fetch --models (where installed: cuface-fetch --models)");
  });
}

Result<std::string> find_default_cascade() {
  return find_cascade("haarcascade_frontalface_alt", "face cascade");
}

Result<std::string> find_eye_cascade() {
  return find_cascade("haarcascade_eye", "cascade of eyes");
}

}  // namespace cuface
