#include "models/provenance.h"

#include <glib.h>

#include <filesystem>
#include <string_view>

namespace cuface {
namespace {

struct Known {
  std::string_view sha256, licence;
};

constexpr Known kKnown[] = {
    {"fbdc2cb80eb9aa7a758672cbfdda32ba6300efe9b6e6c7a299ff7e736b11b92f",
     "The package face_recognition_models says CC0, but this 68-point model was trained on the "
     "iBUG 300-W data set, whose terms exclude commercial use."},
    {"c4b1e9804792707d3a405c2c16a80a20269e6675021f64a41d30fffafbc41888",
     "CC0 1.0, as stated by the package face_recognition_models."},
    {"8f2383e4dd3cfbb4553ea8718107fc0423210dc964f9f4280604804ed2552fa4",
     "MIT, as stated by OpenCV's model zoo; by Shiqi Yu and others (libfacedetection)."},
};
constexpr std::string_view kUnknownForest =
    "Unknown; a public 68-point model was most likely trained on the iBUG 300-W data set, whose "
    "terms exclude commercial use.";
constexpr std::string_view kUnknownNetwork = "Unknown; ask who published the file.";
constexpr std::string_view kUnknownCascade =
    "In the comment at the head of the XML file, where it has one (OpenCV's files do).";

std::string sha256_of(std::span<const std::uint8_t> bytes) {
  char* digest = g_compute_checksum_for_data(G_CHECKSUM_SHA256, bytes.data(), bytes.size());
  std::string result = digest;
  g_free(digest);
  return result;
}

std::string licence_of(const std::string& sha256, ModelKind kind) {
  for (const Known& known : kKnown) {
    if (sha256 == known.sha256) return std::string(known.licence);
  }
  return std::string(kind == ModelKind::kForest    ? kUnknownForest
                     : kind == ModelKind::kNetwork ? kUnknownNetwork
                                                   : kUnknownCascade);
}

}  // namespace

Provenance provenance_of(const std::shared_ptr<const FileBytes>& file, ModelKind kind) {
  if (Container::looks_like(file->bytes())) {
    const Result<Container> container = Container::open(file);
    return container.ok() ? container.value().provenance() : Provenance{};
  }
  const std::string sha256 = sha256_of(file->bytes());
  return {std::filesystem::path(file->path()).filename().string(), sha256,
          licence_of(sha256, kind)};
}

}  // namespace cuface
