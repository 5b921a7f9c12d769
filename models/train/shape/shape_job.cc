#include "models/train/shape/shape_job.h"

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "models/provenance.h"
#include "models/train/job_options.h"
#include "models/train/program.h"

namespace cuface::train {
namespace {

using Json = nlohmann::json;

constexpr Choice<ProfileKind> kProfiles[] = {{ProfileKind::kHat, "hats", "hats"},
                                             {ProfileKind::kPatch, "patches", "patches"},
                                             {ProfileKind::kLine, "lines", "lines"}};
constexpr Choice<PatchRows> kRows[] = {{PatchRows::kResidual, "residual", "residual"},
                                       {PatchRows::kKept, "kept", "kept"},
                                       {PatchRows::kAll, "all", "all"}};
constexpr Choice<int> kGradients[] = {{PatchRule::kForward, "forward", "forward"},
                                      {PatchRule::kMagnitude, "magnitude", "magnitude"},
                                      {PatchRule::kTurns, "turns", "turns"}};
constexpr Choice<bool> kBad[] = {{false, "stop", "stop"}, {true, "skip", "skip"}};

std::vector<Option> place_options(ShapeJob& job) {
  return {text_option("images", "PATH", job.images, ""),
          text_option("output", "FILE", job.output, ""),
          option("images-hash", nullptr, "N", job.images_hash, ""),
          option("images-count", nullptr, "N", job.images_count, "")};
}

/// Numbers of a text, with this between them.
bool read_numbers(const std::string& text, char between, std::initializer_list<int*> to) {
  const char *at = text.data(), *end = at + text.size();
  std::size_t left = to.size();
  for (int* value : to) {
    const auto result = std::from_chars(at, end, *value);
    if (result.ec != std::errc() || *value < 0) return false;
    at = result.ptr;
    if (--left > 0 && (at == end || *at++ != between)) return false;
  }
  return at == end;
}

}  // namespace

std::vector<Option> shape_options(ShapeJob& job) {
  ShapeOptions& o = job.options;
  return {
      option("profiles", nullptr, "hats|patches|lines", o.profiles, kProfiles,
             "what is compared around a point"),
      option("points", nullptr, "N", job.faces.points,
             "points of a face; 0 = as many as the labels have"),
      text_option("boxes", "CASCADE", job.faces.detector,
                  "a detector's cascade, whose boxes take the place of the labels'"),
      option("bad", nullptr, "stop|skip", job.faces.skip_bad, kBad,
             "what to do at a picture or a face that cannot be used"),
      option("mirror", nullptr, job.faces.mirror, "take each face mirrored, too"),
      text_option("mirror-table", "FILE", job.faces.mirror_table,
                  "for each point the one that it becomes; known for 68 and 5"),
      text_option("size-points", "LEFT,RIGHT,BELOW", job.size_points,
                  "points that measure a face: two eyes and the mouth"),
      option("size", nullptr, "X", o.size, "pixels between these on the finest level"),
      option("levels", nullptr, "N", o.levels, "of the pyramid, each half the one before"),
      option("iterations", nullptr, "N", o.iterations,
             "on each level, at most; 0 = 4 of patches, 5 of others"),
      option("rest", nullptr, "X", o.rest, "pixels by which points move where a level ends"),
      option("variance", nullptr, "X", o.variance, "of shapes that is kept"),
      option("mode-limit", nullptr, "X", o.mode_limit, "standard deviations a mode may have"),
      option("noise", nullptr, "X", o.noise,
             "pixels a found point is off, so that modes count less; 0 = none"),
      option("least-weight", nullptr, "X", o.least_weight,
             "of a point that is unlikely, in the constraint; 1 = all weigh the same"),
      option("window", nullptr, "X", o.window, "box sides from its middle that are searched"),
      option("patch", nullptr, "N", o.patch.side, "gradients in a row of a patch"),
      option("reach", nullptr, "N", o.patch.reach, "pixels a patch is looked for, either way"),
      option("gradient", nullptr, "forward|magnitude|turns", o.patch.gradient, kGradients,
             "what a patch has of each pixel"),
      option("bilinear", nullptr, o.patch.is_bilinear, "patches lie between pixels"),
      option("q", nullptr, "X", o.patch.q, "a gradient g counts as g / (|g| + q)"),
      option("rows", nullptr, "residual|kept|all", o.rows, kRows,
             "which part of a patch is compared"),
      option("pull", nullptr, "X", o.pull,
             "how much a likelihood counts beside a patch's distance; 0 = none"),
      option("weigh", nullptr, o.weigh, "points weigh by how near one search finds them"),
      option("patch-variance", nullptr, "X", o.patch_variance, "of patches that a subspace keeps"),
      option("floor", nullptr, "X", o.floor, "least variance of a direction, in their mean"),
      option("edge", nullptr, "X", o.edge, "weight of edges at a face's boundary; 0 = none"),
      text_option("edge-points", "FIRST-LAST", job.edge_points,
                  "points of the boundary; the scheme's jaw without"),
      option("line", nullptr, "N", o.line.length, "gradients of a line"),
      option("line-reach", nullptr, "N", o.line.reach, "pixels a line is looked for, either way"),
      option("hat", nullptr, "N", o.hat.patch, "pixels of a HAT descriptor on the finest level"),
      option("hat-reach", nullptr, "N", o.hat.reach, "pixels it is looked for, either way"),
      option("displaced", nullptr, "N", o.displaced, "samples away from each landmark"),
      option("target", nullptr, "X", o.target, "pixels from a landmark that count as little off"),
      option("ridge", nullptr, "X", o.ridge, "penalty on a regression's coefficients"),
      option("inside", nullptr, "X", o.inside,
             "share of what is compared that must be in the picture"),
      option("refits", nullptr, "N", o.refits, "how often costly points are searched for again"),
      option("refit-share", nullptr, "X", o.refit_share, "share of training costs below that"),
      option("confidence-folds", nullptr, "N", o.confidence_folds,
             "trainings without a part of the pictures, for confidences; 0 = none"),
  };
}

std::vector<std::string> idle_options(ShapeJob job) {
  struct Used {
    const char* name;
    bool hats, patches, lines;
  };
  constexpr Used kUsed[] = {
      {"patch", false, true, false},       {"reach", false, true, false},
      {"gradient", false, true, false},    {"bilinear", false, true, false},
      {"q", false, true, false},           {"rows", false, true, false},
      {"edge", false, true, false},        {"patch-variance", false, true, false},
      {"edge-points", false, true, false}, {"refit-share", false, true, false},
      {"floor", false, true, true},        {"line", false, false, true},
      {"line-reach", false, false, true},  {"hat", true, false, false},
      {"hat-reach", true, false, false},   {"displaced", true, true, false},
      {"target", true, true, false},       {"ridge", true, true, false}};
  ShapeJob defaults;
  const std::vector<Option> given = shape_options(job), usual = shape_options(defaults);
  std::vector<std::string> idle;
  for (const Used& used : kUsed) {
    const ProfileKind kind = job.options.profiles;
    const bool counts = kind == ProfileKind::kHat     ? used.hats
                        : kind == ProfileKind::kPatch ? used.patches
                                                      : used.lines;
    for (std::size_t i = 0; i < given.size() && !counts; ++i)
      if (std::string_view(given[i].name) == used.name && given[i].get() != usual[i].get())
        idle.push_back(std::string("--") + given[i].name + " says nothing of " + given[0].get() +
                       "; did you want --profiles " +
                       (used.hats      ? "hats"
                        : used.patches ? "patches"
                                       : "lines") +
                       "?");
  }
  return idle;
}

Status read_point_options(ShapeJob& job) {
  ShapeOptions& o = job.options;
  if (!job.size_points.empty() &&
      !read_numbers(job.size_points, ',', {&o.size_left, &o.size_right, &o.size_below})) {
    return {StatusCode::kInvalidArgument, "--size-points must be three numbers: 36,45,66"};
  }
  if (!job.edge_points.empty() &&
      !read_numbers(job.edge_points, '-', {&o.edge_first, &o.edge_last}))
    return {StatusCode::kInvalidArgument, "--edge-points must be two numbers: 0-16"};
  return {};
}

TrainingRecord training_record(ShapeJob job) {
  TrainingRecord record;
  record.add("program", std::string("cuface-train ") + kVersion + " (" + kCommit + ")");
  record.add("images",
             std::to_string(job.images_count) + " faces, xxh64 " + as_hex(job.images_hash));
  if (!job.faces.detector.empty())
    job.faces.detector = std::filesystem::path(job.faces.detector).filename().string();
  if (!job.faces.mirror_table.empty())
    job.faces.mirror_table = std::filesystem::path(job.faces.mirror_table).filename().string();
  for (const Option& option : shape_options(job)) record.add(option.name, option.get());
  return record;
}

Status write_shape_checkpoint(const std::string& path, const ShapeJob& job) {
  ShapeJob copy = job;
  copy.textures = {};
  const Json head = {{"program", std::string(kVersion) + " (" + kCommit + ")"},
                     {"options", as_json(shape_options(copy))},
                     {"places", as_json(place_options(copy))},
                     {"done", job.done}};
  const LearntTextures& t = job.textures;
  return write_checkpoint(path, kShapeName, head,
                          {block_of("profiles", std::span<const ShapeProfile>(t.profiles)),
                           block_of("numbers", std::span<const double>(t.numbers)),
                           block_of("refit_limits", std::span<const double>(t.refit_limits))});
}

Result<ShapeJob> read_shape_job(const Checkpoint& file) {
  return guarded(file.path(), [&]() -> Result<ShapeJob> {
    CUFACE_TRY(file.expect(kShapeName));
    ShapeJob job;
    CUFACE_TRY(read_options(file, "options", shape_options(job)));
    CUFACE_TRY(read_options(file, "places", place_options(job)));
    if (const Status status = read_point_options(job); !status.ok())
      return file.damaged(status.message());
    const auto done = file.head().find("done");
    if (done == file.head().end() || !done->is_boolean())
      return file.damaged("it does not say whether the training is done");
    job.done = done->get<bool>();
    const auto copy = [](const auto& from, auto& to) { to.assign(from.begin(), from.end()); };
    copy(file.record<ShapeProfile>("profiles"), job.textures.profiles);
    copy(file.record<double>("numbers"), job.textures.numbers);
    copy(file.record<double>("refit_limits"), job.textures.refit_limits);
    return job;
  });
}

}  // namespace cuface::train
