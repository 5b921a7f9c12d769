// cuface-model: what is in a model file, is it whole, and make ours of it.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "models/cascade_file.h"
#include "models/cascade_writer.h"
#include "models/confidence_json.h"
#include "models/forest_file.h"
#include "models/models.h"
#include "models/network_file.h"
#include "models/provenance.h"
#include "models/scheme_json.h"
#include "models/shape_file.h"
#include "models/stasm_sources.h"
#ifdef CUFACE_ONNX
#include "models/onnx_network.h"
#endif

namespace {

using namespace cuface;

constexpr int kBad = 1, kUsage = 2;

constexpr const char* kHelp =
    R"(usage: cuface-model info FILE         what the model is, where it comes from, its licence
       cuface-model check FILE        read and check all of it
       cuface-model convert [--compact] [--scheme FILE] [--confidence FILE] IN OUT
                                      write it in the format that loads fastest (.cuface), or a
                                      cascade as OpenCV's where OUT ends in .xml
       cuface-model --help | --version

FILE and IN: a landmark model (dlib shape predictor .dat), a Haar cascade (OpenCV .xml, old or new
layout), a face-detection network of the YuNet family (ONNX), the sources of Stasm 4.1 with its shape
model (.tar), or a .cuface file. --compact rounds a landmark model's leaves to integers: half the size, and
faster, but no longer dlib's points bit for bit. --scheme says what a model's points stand for, in
JSON: eyes, low point, mouth, jaw, size and curves; --confidence how sure its points are by their
scores (docs/design/landmark-schemes.md and confidence.md). OUT is replaced only when all of it has been written.

exit status: 0 done; 1 the file is missing, damaged or cannot be written; 2 wrong arguments
)";

/// One model of any kind, loaded and checked: the others are null.
struct Loaded {
  ModelKind kind = ModelKind::kCascade;
  std::shared_ptr<const ForestModel> forest;
  std::shared_ptr<const CascadeModel> cascade;
  std::shared_ptr<const NetworkModel> network;
  std::shared_ptr<const ShapeModel> shape;
};

Result<std::shared_ptr<const FileBytes>> read(const std::string& path) {
  CUFACE_TAKE(opened, ModelFile::open(path));
  return opened.read(kMaxForestBytes);
}

/// Ours, or ONNX.
Result<std::shared_ptr<const NetworkModel>> load_any_network(const std::string& path) {
  CUFACE_TAKE(opened, ModelFile::open(path));
  if (Container::looks_like(opened.head())) return load_network(path);
#ifdef CUFACE_ONNX
  CUFACE_TAKE(bytes, opened.read(kMaxOnnxBytes));
  return parse_onnx_network(bytes->bytes(), path);
#else
  return Status(StatusCode::kUnsupported,
                path +
                    ": an ONNX file, and this cuface-model was built without ONNX (Debian: "
                    "install libonnx-dev and libprotobuf-dev, then build it again)");
#endif
}

/// Ours, or Stasm's sources.
Result<std::shared_ptr<const ShapeModel>> load_any_shape(const std::string& path) {
  CUFACE_TAKE(opened, ModelFile::open(path));
  if (Container::looks_like(opened.head())) return load_shape(path);
  CUFACE_TAKE(bytes, opened.read(kMaxStasmBytes));
  return parse_stasm_sources(bytes->bytes(), path);
}

Result<Loaded> load(const std::string& path) {
  CUFACE_TAKE(kind, model_kind(path));
  Loaded loaded;
  loaded.kind = kind;
  switch (kind) {
    case ModelKind::kForest: {
      CUFACE_TAKE(model, load_forest(path));
      loaded.forest = model;
      break;
    }
    case ModelKind::kCascade: {
      CUFACE_TAKE(model, load_cascade(path));
      loaded.cascade = model;
      break;
    }
    case ModelKind::kNetwork: {
      CUFACE_TAKE(model, load_any_network(path));
      loaded.network = model;
      break;
    }
    case ModelKind::kShape: {
      CUFACE_TAKE(model, load_any_shape(path));
      loaded.shape = model;
      break;
    }
  }
  return loaded;
}

int fail(const Status& status) {
  std::fprintf(stderr, "cuface-model: %s\n", status.message().c_str());
  return kBad;
}

std::string summary(const Loaded& loaded) {
  if (loaded.network) {
    return "face-detection network, " + std::to_string(loaded.network->weights.size()) + " weights";
  }
  if (loaded.shape) {
    return "shape model, " + std::to_string(loaded.shape->points) + " points";
  }
  if (loaded.forest) {
    return "landmark model, " + std::to_string(loaded.forest->landmarks) + " points";
  }
  return "Haar cascade, " + std::to_string(loaded.cascade->stages.size()) + " stages";
}

void print(const ConfidenceTable& confidence) {
  if (confidence.is_known())
    std::printf("confidence of each point, by %d steps\n", confidence.steps);
}

void print(const ForestModel& m) {
  const std::size_t bytes = m.mean_shape.size_bytes() + m.anchors.size_bytes() +
                            m.deltas.size_bytes() + m.splits.size_bytes() + m.leaves.size_bytes() +
                            m.compact_leaves.size_bytes() + m.leaf_scales.size_bytes() +
                            m.leaf_spreads.size_bytes();
  std::printf("kind       landmark model (ensemble of regression trees)\n");
  std::printf("landmarks  %d\n", m.landmarks);
  std::printf("forest     %d cascades of %d trees of depth %d, %d feature pixels each\n", m.stages,
              m.trees, m.depth, m.pool);
  if (m.is_compact()) std::printf("leaves     compact: integers\n");
  if (!m.leaf_spreads.empty()) std::printf("spreads    of the last stage's leaves\n");
  std::printf("scheme     %s\n", summary(m.scheme).c_str());
  print(m.confidence);
  std::printf("in memory  %.1f MB\n", static_cast<double>(bytes) / 1e6);
  for (const auto& [name, map] : m.box_maps) {
    std::printf("box map    %s: %s x %g, right %g, down %g of the side\n", name.c_str(),
                map.square ? "larger side" : "side", static_cast<double>(map.scale),
                static_cast<double>(map.shift_x), static_cast<double>(map.shift_y));
  }
}

void print(const CascadeModel& m) {
  std::printf("kind       Haar cascade\n");
  std::printf("window     %dx%d\n", m.window_width, m.window_height);
  std::printf("cascade    %zu stages, %zu trees, %zu splits, %zu features%s\n", m.stages.size(),
              m.trees.size(), m.nodes.size(), m.features.size(),
              m.has_tilted() ? ", some tilted" : "");
}

void print(const NetworkModel& m) {
  std::printf("kind       face-detection network (YuNet family)\n");
  std::printf("network    %zu layers, %zu weights and biases\n", m.layers.size(), m.weights.size());
  std::printf("strides   ");
  const std::vector<int> depths = tensor_depths(m);
  for (const NetworkHead& head : m.heads) {
    std::printf(" %d", 1 << depths[static_cast<std::size_t>(head.classes)]);
  }
  std::printf("\n");
}

/// A line of `info`, where the model has any of the kind.
void print_profiles(const ShapeModel& m, ProfileKind kind, const char* text, int size) {
  const auto count = std::ranges::count(m.profiles, kind, &ShapeProfile::kind);
  if (count > 0) std::printf("profiles   %td %s %d\n", count, text, size);
}

void print(const ShapeModel& m) {
  std::printf("kind       shape model (active shape model)\n");
  std::printf("landmarks  %d\n", m.points);
  std::printf("shapes     %d modes, up to %g standard deviations\n", m.modes, m.mode_limit);
  std::printf("search     %d levels of %d iterations, faces of %g pixels from eyes to mouth\n",
              m.levels, m.iterations, m.size);
  print_profiles(m, ProfileKind::kHat, "HAT descriptors, numbers:", m.hat.size());
  print_profiles(m, ProfileKind::kLine, "line profiles, pixels:", m.line.length);
  print_profiles(m, ProfileKind::kPatch, "patches, pixels a side:", m.patch.side);
  std::printf("rules      %zu corrections of shapes\n", m.rules.size());
  std::printf("scheme     %s\n", summary(m.scheme).c_str());
  print(m.confidence);
}

int info(const std::string& path) {
  const Result<Loaded> loaded = load(path);
  if (!loaded.ok()) return fail(loaded.status());
  const auto file = read(path);
  if (!file.ok()) return fail(file.status());
  const Result<Provenance> kept = provenance_of(file.value(), loaded.value().kind);
  if (!kept.ok()) return fail(kept.status());
  const Provenance& source = kept.value();
  std::printf("file       %s (%zu bytes)\n", path.c_str(), file.value()->bytes().size());
  if (loaded.value().forest) print(*loaded.value().forest);
  if (loaded.value().cascade) print(*loaded.value().cascade);
  if (loaded.value().network) print(*loaded.value().network);
  if (loaded.value().shape) print(*loaded.value().shape);
  std::printf("source     %s\n", source.file.c_str());
  if (!source.sha256.empty()) std::printf("SHA-256    %s\n", source.sha256.c_str());
  std::printf("licence    %s\n", source.licence.c_str());
  for (const TrainingRecord::Line& line : source.training.lines()) {
    std::printf("trained    %s: %s\n", line.name.c_str(), line.value.c_str());
  }
  return 0;
}

int check(const std::string& path) {
  const Result<Loaded> loaded = load(path);
  if (!loaded.ok()) return fail(loaded.status());
  std::printf("%s: good (%s)\n", path.c_str(), summary(loaded.value()).c_str());
  return 0;
}

/// OpenCV's XML where the name asks for it.
Status write_any_cascade(const CascadeModel& model, const Provenance& source,
                         const std::string& out) {
  return out.ends_with(".xml") ? write_cascade(out, model, source)
                               : write_cascade_file(model, source, out);
}

/// The same model with another scheme.
template <typename Model>
Status set_scheme(std::shared_ptr<const Model>& model, int points, const std::string& path) {
  auto changed = std::make_shared<Model>(*model);
  CUFACE_TRY(take(load_scheme(path, points), changed->scheme));
  model = std::move(changed);
  return {};
}

Status set_scheme(Loaded& loaded, const std::string& in, const std::string& path) {
  if (loaded.forest) return set_scheme(loaded.forest, loaded.forest->landmarks, path);
  if (loaded.shape) return set_scheme(loaded.shape, loaded.shape->points, path);
  return {StatusCode::kUnsupported, in + ": only models of landmarks have a scheme"};
}

Status set_shape_confidence(std::shared_ptr<const ShapeModel>& model, const std::string& path) {
  struct Tables {
    ShapeConfidence own;
    std::shared_ptr<const void> rest;
  };
  auto tables = std::make_shared<Tables>();
  tables->rest = model->storage;
  CUFACE_TRY(take(load_shape_confidence(path), tables->own));
  auto changed = std::make_shared<ShapeModel>(*model);
  changed->confidence = tables->own.table;
  changed->usual_costs = tables->own.usual_costs;
  changed->score_offsets = tables->own.offsets;
  changed->score_parts = tables->own.parts;
  changed->storage = std::move(tables);
  if (const Status status = validate(*changed); !status.ok())
    return {status.code(), path + ": " + status.message()};
  model = std::move(changed);
  return {};
}

Status set_confidence(Loaded& loaded, const std::string& in, const std::string& path) {
  if (loaded.shape) return set_shape_confidence(loaded.shape, path);
  if (!loaded.forest)
    return {StatusCode::kUnsupported, in + ": only models of landmarks have confidences"};
  auto changed = std::make_shared<ForestModel>(*loaded.forest);
  CUFACE_TRY(take(load_confidence(path), changed->confidence));
  loaded.forest = std::move(changed);
  return {};
}

struct ConvertOptions {
  bool compact = false;
  std::string scheme, confidence;  ///< files; empty: the model's own
};

int convert(const std::string& in, const std::string& out, const ConvertOptions& options) {
  const bool compact = options.compact;
  Result<Loaded> loaded = load(in);
  if (!loaded.ok()) return fail(loaded.status());
  auto& forest = loaded.value().forest;
  if (compact && !forest) {
    return fail({StatusCode::kUnsupported, in + ": only a landmark model has a compact form"});
  }
  if (compact && !forest->is_compact()) forest = compact_forest(*forest);
  if (!options.scheme.empty()) {
    const Status status = set_scheme(loaded.value(), in, options.scheme);
    if (!status.ok()) return fail(status);
  }
  if (!options.confidence.empty()) {
    const Status status = set_confidence(loaded.value(), in, options.confidence);
    if (!status.ok()) return fail(status);
  }
  Provenance source;
  {
    const auto file = read(in);
    if (!file.ok()) return fail(file.status());
    const Result<Provenance> kept = provenance_of(file.value(), loaded.value().kind);
    if (!kept.ok()) return fail(kept.status());
    source = kept.value();
  }
  const Loaded& model = loaded.value();
  const Status status = model.forest    ? write_forest_file(*model.forest, source, out)
                        : model.cascade ? write_any_cascade(*model.cascade, source, out)
                        : model.shape   ? write_shape_file(*model.shape, source, out)
                                        : write_network_file(*model.network, source, out);
  if (!status.ok()) return fail(status);
  std::printf("%s: written (%s)\n", out.c_str(), summary(loaded.value()).c_str());
  return 0;
}

int convert(const std::vector<std::string>& arguments) {
  ConvertOptions options;
  std::size_t i = 1;
  for (; i < arguments.size() && arguments[i].starts_with("--"); ++i) {
    if (arguments[i] == "--compact") {
      options.compact = true;
    } else if (arguments[i] == "--scheme" && i + 1 < arguments.size()) {
      options.scheme = arguments[++i];
    } else if (arguments[i] == "--confidence" && i + 1 < arguments.size()) {
      options.confidence = arguments[++i];
    } else {
      break;
    }
  }
  if (i + 2 == arguments.size()) return convert(arguments[i], arguments[i + 1], options);
  std::fputs(kHelp, stderr);
  return kUsage;
}

int run(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string_view command = arguments.empty() ? "" : std::string_view(arguments[0]);
  int result = kUsage;
  if (command == "--help" || command == "-h") {
    std::fputs(kHelp, stdout);
    result = 0;
  } else if (command == "--version") {
    std::puts("cuface-model " CUFACE_VERSION);
    result = 0;
  } else if (command == "info" && arguments.size() == 2) {
    result = info(arguments[1]);
  } else if (command == "check" && arguments.size() == 2) {
    result = check(arguments[1]);
  } else if (command == "convert") {
    result = convert(arguments);
  } else {
    std::fputs(kHelp, stderr);
  }
  // A full disk or a closed pipe must not pass for success.
  if (std::fflush(stdout) != 0 && result == 0) {
    std::fprintf(stderr, "cuface-model: cannot write the output: %s\n", std::strerror(errno));
    result = kBad;
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a limit to the size of files is an error like a full disk
  const Result<int> result = guarded("working", [&] { return Result<int>(run(argc, argv)); });
  return result.ok() ? result.value() : fail(result.status());
}
