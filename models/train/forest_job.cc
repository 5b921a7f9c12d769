#include "models/train/forest_job.h"

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "models/box_map.h"
#include "models/dlib_dat_writer.h"
#include "models/forest_file.h"
#include "models/provenance.h"
#include "models/train/job_options.h"
#include "models/train/program.h"

namespace cuface::train {
namespace {

using Json = nlohmann::json;

constexpr Choice<PaddingMode> kPaddings[] = {
    {PaddingMode::kLandmarkRelative, "landmark-relative", "landmark_relative"},
    {PaddingMode::kBoundingBoxRelative, "bounding-box-relative", "bounding_box_relative"}};
constexpr Choice<ForestDraws> kDraws[] = {{ForestDraws::kOwn, "own", "own"},
                                          {ForestDraws::kDlib, "dlib", "dlib"}};
constexpr Choice<bool> kBad[] = {{false, "stop", "stop"}, {true, "skip", "skip"}};

/// "glasses=4,children=2"
Option weights_option(std::map<std::string, int>& weights) {
  return {"weights",
          nullptr,
          "GROUP=N,...",
          "a face of that group counts as so many, 1 to 255",
          [&weights](const std::string& text) {
            std::map<std::string, int> read;
            for (std::size_t at = 0; at < text.size();) {
              const std::size_t end = std::min(text.find(',', at), text.size());
              const std::size_t equals = text.rfind('=', end);
              int weight = 0;
              if (equals == std::string::npos || equals <= at) return false;
              const auto result =
                  std::from_chars(text.data() + equals + 1, text.data() + end, weight);
              if (result.ec != std::errc() || result.ptr != text.data() + end || weight < 1 ||
                  weight > 255)
                return false;
              read[text.substr(at, equals - at)] = weight;
              at = end + 1;
            }
            weights = std::move(read);
            return true;
          },
          [&weights] {
            std::string text;
            for (const auto& [group, weight] : weights)
              text += (text.empty() ? "" : ",") + group + "=" + std::to_string(weight);
            return text;
          }};
}

/// The inputs' paths and hashes, and the outputs, by name.
std::vector<Option> place_options(ForestJob& job) {
  ForestInputs& in = job.inputs;
  return {text_option("images", "PATH", in.images, ""),
          text_option("validation", "PATH", in.validation, ""),
          text_option("output", "FILE", job.output, ""),
          option("done", nullptr, job.done, ""),
          text_option("five", "FILE", job.five, ""),
          option("five-done", nullptr, job.five_done, ""),
          option("images-hash", nullptr, "N", in.images_hash, ""),
          option("validation-hash", nullptr, "N", in.validation_hash, ""),
          option("images-count", nullptr, "N", in.images_count, ""),
          option("validation-count", nullptr, "N", in.validation_count, "")};
}

}  // namespace

std::vector<Option> forest_options(ForestOptions& o) {
  return {
      option("cascade-depth", nullptr, "N", o.cascade_depth, "regression stages"),
      option("tree-depth", nullptr, "N", o.tree_depth, "splits from a tree's root to a leaf"),
      option("num-trees-per-cascade-level", nullptr, "N", o.num_trees_per_cascade_level,
             "trees of a stage"),
      option("nu", nullptr, "X", o.nu, "how much a tree learns, above 0 to 1"),
      option("oversampling-amount", nullptr, "N", o.oversampling_amount,
             "starting shapes for each face"),
      option("oversampling-translation-jitter", nullptr, "X", o.oversampling_translation_jitter,
             "how far these are moved, in box sides"),
      option("feature-pool-size", nullptr, "N", o.feature_pool_size, "pixels of a stage"),
      option("lambda", nullptr, "X", o.lambda, "the smaller, the closer the pixels of a split"),
      option("num-test-splits", nullptr, "N", o.num_test_splits, "splits tried for each"),
      option("feature-pool-region-padding", nullptr, "X", o.feature_pool_region_padding,
             "pixels lie so much beyond the box"),
      option("padding-mode", nullptr, "landmark-relative|bounding-box-relative", o.padding_mode,
             kPaddings, "the box of the mean shape, or the face's own, too"),
      text_option("random-seed", "TEXT", o.random_seed, "of all that is drawn at random"),
      option("random", nullptr, "own|dlib", o.draws, kDraws,
             "dlib: its model with num_threads 0, by its draws and its sums, on the CPU"),
  };
}

std::vector<Option> face_options(ForestInputs& in) {
  return {
      option("points", nullptr, "N", in.faces.points,
             "points of a face; 0 = as many as the labels have"),
      text_option("boxes", "CASCADE|pipeline", in.faces.detector,
                  "a detector's cascade, whose boxes take the place of the labels'; pipeline: "
                  "those of the labels are a detector's or tracker's of ours"),
      option("bad", nullptr, "stop|skip", in.faces.skip_bad, kBad,
             "what to do at a picture or a face that cannot be used"),
      option("mirror", nullptr, in.faces.mirror, "take each face mirrored, too"),
      text_option("mirror-table", "FILE", in.faces.mirror_table,
                  "for each point the one that it becomes; known for 68 and 5"),
      weights_option(in.faces.weights),
      option("patience", nullptr, "N", in.patience,
             "stages without a smaller error of validation that end the training"),
  };
}

TrainingRecord training_record(const ForestJob& job) {
  TrainingRecord record;
  const ForestInputs& in = job.inputs;
  record.add("program", std::string("cuface-train ") + kVersion + " (" + kCommit + ")");
  record.add("images", std::to_string(in.images_count) + " faces, xxh64 " + as_hex(in.images_hash));
  if (!in.validation.empty()) {
    record.add("validation",
               std::to_string(in.validation_count) + " faces, xxh64 " + as_hex(in.validation_hash));
  }
  ForestJob copy{job.options, job.inputs, {}, false, {}};
  for (const Option& option : forest_options(copy.options)) record.add(option.name, option.get());
  // The pixels, boxes and points that these led to are in the hash.
  record.add("mirror", in.faces.mirror ? "yes" : "no");
  record.add("boxes", in.faces.detector.empty()
                          ? "labels"
                          : std::filesystem::path(in.faces.detector).filename().string());
  if (!in.validation.empty()) record.add("patience", std::to_string(in.patience));
  return record;
}

Status write_forest_checkpoint(const std::string& path, const ForestJob& job) {
  ForestJob places{job.options, job.inputs, job.output, job.done, {}, job.five, job.five_done};
  const Json head = {{"program", std::string(kVersion) + " (" + kCommit + ")"},
                     {"options", as_json(forest_options(places.options))},
                     {"face-options", as_json(face_options(places.inputs))},
                     {"places", as_json(place_options(places))}};
  const GrownForest& f = job.forest;
  return write_checkpoint(path, kForestName, head,
                          {block_of("mean_shape", std::span<const float>(f.mean_shape)),
                           block_of("anchors", std::span<const std::uint32_t>(f.anchors)),
                           block_of("deltas", std::span<const float>(f.deltas)),
                           block_of("splits", std::span<const ForestSplit>(f.splits)),
                           block_of("leaves", std::span<const float>(f.leaves))});
}

Result<ForestJob> read_forest_job(const Checkpoint& file) {
  return guarded(file.path(), [&]() -> Result<ForestJob> {
    CUFACE_TRY(file.expect(kForestName));
    ForestJob job;
    CUFACE_TRY(read_options(file, "options", forest_options(job.options)));
    CUFACE_TRY(read_options(file, "face-options", face_options(job.inputs)));
    CUFACE_TRY(read_options(file, "places", place_options(job)));
    if (const Status status = validate(job.options); !status.ok())
      return file.damaged(status.message());
    const auto copy = [](const auto& from, auto& to) { to.assign(from.begin(), from.end()); };
    copy(file.record<float>("mean_shape"), job.forest.mean_shape);
    copy(file.record<std::uint32_t>("anchors"), job.forest.anchors);
    copy(file.record<float>("deltas"), job.forest.deltas);
    copy(file.record<ForestSplit>("splits"), job.forest.splits);
    copy(file.record<float>("leaves"), job.forest.leaves);
    return job;
  });
}

Status write_forest(const ForestJob& job, std::shared_ptr<const ForestModel> model) {
  const std::filesystem::path path(job.output);
  if (path.extension() == ".dat") return write_dlib_dat(*model, job.output);
  ForestModel named = *model;
  named.name = path.stem().string();
  // With boxes of a detector or tracker of ours there is nothing to map.
  if (job.inputs.faces.detector.empty()) named.box_maps = dlib_box_maps();
  return write_forest_file(named, trained_provenance(job.output, training_record(job)), job.output);
}

}  // namespace cuface::train
