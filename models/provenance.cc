#include "models/provenance.h"

#include <glib.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

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
    {"0bb68661ad9f569efcd866c6fcf639eb0ef67e305856c49de541943fdc370662",
     "Stasm's licence of BSD's style, by Stephen Milborrow; trained on the MUCT face database, "
     "which "
     "is freely available for academic use."},
};
constexpr std::string_view kUnknownForest =
    "Unknown; a public 68-point model was most likely trained on the iBUG 300-W data set, whose "
    "terms exclude commercial use.";
constexpr std::string_view kUnknownFile = "Unknown; ask who published the file.";
constexpr std::string_view kUnknownCascade =
    "In the comment at the head of the XML file, where it has one (OpenCV's files do).";

constexpr std::string_view kTrained =
    "None stated; the pictures that the model was trained on may have terms.";

// A comment of ours begins so. What follows is JSON: Container's "source".
constexpr std::string_view kOpen = "<!--", kClose = "-->",
                           kMark = " model source, for cuface-model";
/// Of no comment of ours more is read: TrainingRecord's largest fits, escaped.
constexpr std::size_t kMostCommentBytes = 1 << 18;

/// The text of our comment at the head of an XML file; empty where there is none.
std::string_view head_comment(std::string_view xml) {
  if (xml.starts_with("\xef\xbb\xbf")) xml.remove_prefix(3);
  for (;;) {
    xml.remove_prefix(std::min(xml.find_first_not_of(" \t\r\n"), xml.size()));
    const bool comment = xml.starts_with(kOpen);
    if (!comment && !xml.starts_with("<?")) return {};
    const std::string_view close = comment ? kClose : "?>";
    const std::size_t end = xml.find(close);
    if (end == xml.npos) return {};
    if (comment && xml.substr(kOpen.size()).starts_with(kMark)) {
      return xml.substr(kOpen.size() + kMark.size(), end - kOpen.size() - kMark.size());
    }
    xml.remove_prefix(end + close.size());
  }
}

Result<Provenance> parse_comment(std::string_view comment, const std::string& path) {
  const auto corrupt = [&](const std::string& what) {
    return Status(StatusCode::kCorrupt,
                  path + ": the comment at its head: " + what + "; delete the comment");
  };
  if (comment.size() > kMostCommentBytes) return corrupt("it is too long");
  const nlohmann::json json = nlohmann::json::parse(comment, nullptr, false);
  if (!json.is_object()) return corrupt("it is not what cuface-model has written");
  Result<Provenance> source = provenance_from(json);
  return source.ok() ? source : corrupt(source.status().message());
}

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
                     : kind == ModelKind::kCascade ? kUnknownCascade
                                                   : kUnknownFile);
}

}  // namespace

Result<Provenance> provenance_of(const std::shared_ptr<const FileBytes>& file, ModelKind kind) {
  if (Container::looks_like(file->bytes())) {
    const Result<Container> container = Container::open(file);
    if (!container.ok()) return container.status();
    return container.value().provenance();
  }
  const std::span<const std::uint8_t> bytes = file->bytes();
  if (const std::string_view comment =
          head_comment({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      !comment.empty()) {
    return parse_comment(comment, file->path());
  }
  const std::string sha256 = sha256_of(bytes);
  return Provenance{std::filesystem::path(file->path()).filename().string(), sha256,
                    licence_of(sha256, kind)};
}

Provenance trained_provenance(const std::string& path, TrainingRecord training) {
  return {std::filesystem::path(path).filename().string(), "", std::string(kTrained),
          std::move(training)};
}

std::string provenance_comment(const Provenance& source) {
  // Names of files need not be UTF-8; what is not is replaced.
  std::string json = to_json(source).dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
  // XML allows no two hyphens in a comment.
  for (std::size_t at = 0; (at = json.find("--", at)) != json.npos; ++at) {
    json.replace(at + 1, 1, "\\u002d");
  }
  return std::string(kOpen) + std::string(kMark) + "\n" + json + "\n" + std::string(kClose) + "\n";
}

}  // namespace cuface
