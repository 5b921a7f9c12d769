// A job in a checkpoint: settings and inputs by name in the head, all else in records.
#include <algorithm>
#include <cmath>

#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "models/train/cascade_job.h"
#include "models/train/job_options.h"
#include "models/train/program.h"

namespace cuface::train {
namespace {

using Json = nlohmann::json;

/// A MiningPosition.
struct MiningRow {
  std::uint64_t next_picture, next_generated, pictures, generated;
  std::int64_t windows, passed;
};
/// A stage that is done, or the last one, which has begun.
struct StageRow {
  std::uint32_t done, trees;
  float threshold, hit_rate, false_alarm;
  std::uint32_t end, positives, negatives;
  MiningRow mining;
  double mining_seconds, boosting_seconds, prepare_seconds, search_seconds;
  std::uint64_t bytes;
};
static_assert(sizeof(StageRow) == 120 && sizeof(MiningRow) == 48);
/// Nodes and leaves of a tree.
struct TreeRow {
  std::uint32_t nodes, leaves;
};
struct NodeRow {
  std::int32_t feature;
  float threshold;
  std::int32_t left, right;
};
static_assert(sizeof(NodeRow) == sizeof(HaarNode));

MiningRow row_of(const MiningPosition& p) {
  return {p.next_picture, p.next_generated, p.pictures, p.generated, p.windows, p.passed};
}
MiningPosition position_of(const MiningRow& r) {
  MiningPosition p;
  p.next_picture = r.next_picture, p.next_generated = r.next_generated;
  p.pictures = r.pictures, p.generated = r.generated;
  p.windows = r.windows, p.passed = r.passed;
  return p;
}

/// The records of a state, while they are written.
struct Rows {
  std::vector<StageRow> stages;
  std::vector<TreeRow> trees;
  std::vector<NodeRow> nodes;
  std::vector<float> leaves;

  void add(const BoostedStage& stage, const StageRecord& r, bool done) {
    stages.push_back({done ? 1u : 0u, static_cast<std::uint32_t>(stage.trees.size()),
                      stage.threshold, stage.hit_rate, stage.false_alarm,
                      static_cast<std::uint32_t>(stage.end), r.positives, r.negatives,
                      row_of(r.mining), r.mining_seconds, r.boosting_seconds, r.prepare_seconds,
                      r.search_seconds, r.bytes});
    for (const WeakTree& tree : stage.trees) {
      trees.push_back({static_cast<std::uint32_t>(tree.nodes.size()),
                       static_cast<std::uint32_t>(tree.leaves.size())});
      for (const HaarNode& n : tree.nodes)
        nodes.push_back({n.feature, n.threshold, n.left, n.right});
      leaves.insert(leaves.end(), tree.leaves.begin(), tree.leaves.end());
    }
  }
};

/// Takes a state out of its records.
class StateReader {
 public:
  StateReader(const Checkpoint& file, std::size_t features)
      : file_(file),
        features_(features),
        trees_(file.record<TreeRow>("trees")),
        nodes_(file.record<NodeRow>("nodes")),
        leaves_(file.record<float>("leaves")) {}

  Status read(CascadeState& out) {
    const std::span<const StageRow> rows = file_.record<StageRow>("stages");
    if (rows.size() > kMaxCascadeStages) return file_.damaged("it has too many stages");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const StageRow& row = rows[i];
      BoostedStage stage;
      CUFACE_TRY(read(row, stage));
      const bool done = row.done == 1;
      if (!done && i + 1 < rows.size()) return file_.damaged("two of its stages have begun");
      StageRecord record{
          row.positives,        row.negatives,       position_of(row.mining), row.mining_seconds,
          row.boosting_seconds, row.prepare_seconds, row.search_seconds,      row.bytes};
      out.records.push_back(record);
      if (done) {
        out.stages.push_back(std::move(stage));
      } else {
        out.begun.trees = std::move(stage.trees);
        // For whoever shows it; train_stage() finds them again.
        out.begun.hit_rate = stage.hit_rate;
        out.begun.false_alarm = stage.false_alarm;
      }
    }
    if (!trees_.empty() || !nodes_.empty() || !leaves_.empty())
      return file_.damaged("it has more trees than its stages");
    const std::span<const MiningRow> position = file_.record<MiningRow>("position");
    if (position.size() != 1) return file_.damaged("it does not say where mining stands");
    out.position = position_of(position[0]);
    const std::span<const std::uint8_t> pixels = file_.record<std::uint8_t>("negatives");
    if (pixels.size() % out.negatives.size().pixels() != 0)
      return file_.damaged("its negative samples are not whole windows");
    out.negatives.add(pixels);
    return {};
  }

 private:
  Status read(const StageRow& row, BoostedStage& stage) {
    const bool sound =
        row.done <= 1 && row.end <= static_cast<std::uint32_t>(StageEnd::kNoBetterSplit) &&
        row.trees <= trees_.size() && std::isfinite(row.threshold) && row.hit_rate >= 0 &&
        row.hit_rate <= 1 && row.false_alarm >= 0 && row.false_alarm <= 1;
    if (!sound) return file_.damaged("a stage is not one");
    stage.threshold = row.threshold;
    stage.hit_rate = row.hit_rate;
    stage.false_alarm = row.false_alarm;
    stage.end = static_cast<StageEnd>(row.end);
    for (std::uint32_t t = 0; t < row.trees; ++t) {
      const TreeRow& tree = take(trees_, 1).front();
      if (tree.nodes > nodes_.size() || tree.leaves > leaves_.size())
        return file_.damaged("a tree is not whole");
      WeakTree& to = stage.trees.emplace_back();
      for (const NodeRow& n : take(nodes_, tree.nodes)) {
        if (n.feature < 0 || static_cast<std::size_t>(n.feature) >= features_)
          return file_.damaged("a tree has a feature that is not in the window");
        to.nodes.push_back({n.feature, n.threshold, n.left, n.right});
      }
      const std::span<const float> leaves = take(leaves_, tree.leaves);
      to.leaves.assign(leaves.begin(), leaves.end());
    }
    return {};
  }
  template <typename T>
  static std::span<const T> take(std::span<const T>& from, std::size_t count) {
    const std::span<const T> first = from.first(count);
    from = from.subspan(count);
    return first;
  }

  const Checkpoint& file_;
  const std::size_t features_;
  std::span<const TreeRow> trees_;
  std::span<const NodeRow> nodes_;
  std::span<const float> leaves_;
};

/// The inputs' paths and hashes, and the output, by name.
std::vector<Option> place_options(CascadeJob& job) {
  CascadeInputs& in = job.inputs;
  return {option("positives", nullptr, "PATH", in.positives, ""),
          option("negatives", nullptr, "PATH", in.negatives, ""),
          option("output", nullptr, "FILE", job.output, ""),
          option("positives-hash", nullptr, "N", in.positives_hash, ""),
          option("negatives-hash", nullptr, "N", in.negatives_hash, ""),
          option("positives-count", nullptr, "N", in.positives_count, ""),
          option("negatives-count", nullptr, "N", in.negatives_count, "")};
}

}  // namespace

Status write_cascade_checkpoint(const std::string& path, const CascadeJob& job) {
  CascadeJob places{job.settings, job.inputs, job.output, job.end};
  const Json head = {{"program", std::string(kVersion) + " (" + kCommit + ")"},
                     {"settings", as_json(settings_options(places.settings))},
                     {"input-options", as_json(input_options(places.inputs))},
                     {"places", as_json(place_options(places))},
                     {"end", static_cast<std::uint32_t>(job.end)}};
  const CascadeState& state = job.state;
  Rows rows;
  for (std::size_t i = 0; i < state.stages.size(); ++i)
    rows.add(state.stages[i], state.records[i], true);
  if (state.records.size() > state.stages.size())
    rows.add(state.begun, state.records.back(), false);
  const MiningRow position = row_of(state.position);
  return write_checkpoint(path, kCascadeName, head,
                          {block_of("stages", std::span<const StageRow>(rows.stages)),
                           block_of("trees", std::span<const TreeRow>(rows.trees)),
                           block_of("nodes", std::span<const NodeRow>(rows.nodes)),
                           block_of("leaves", std::span<const float>(rows.leaves)),
                           block_of("position", std::span(&position, 1)),
                           block_of("negatives", state.negatives.pixels())});
}

Result<CascadeJob> read_cascade_job(const Checkpoint& file) {
  return guarded(file.path(), [&]() -> Result<CascadeJob> {
    CUFACE_TRY(file.expect(kCascadeName));
    CascadeJob job;
    CUFACE_TRY(read_options(file, "settings", settings_options(job.settings)));
    CUFACE_TRY(read_options(file, "input-options", input_options(job.inputs)));
    CUFACE_TRY(read_options(file, "places", place_options(job)));
    if (const Status status = validate(job.settings); !status.ok())
      return file.damaged(status.message());
    const auto end = file.head().find("end");
    if (end == file.head().end() || !end->is_number_unsigned() ||
        end->get<std::uint64_t>() > static_cast<std::uint64_t>(JobEnd::kTooFewNegatives))
      return file.damaged("it does not say how the training ended");
    job.end = static_cast<JobEnd>(end->get<std::uint32_t>());
    CUFACE_TAKE(bank, FeatureBank::create(job.settings.size.width, job.settings.size.height,
                                          job.settings.features, job.settings.weights));
    job.state = CascadeState(job.settings.size);
    CUFACE_TRY(StateReader(file, bank.count()).read(job.state));
    if (job.state.negatives.count() > job.settings.negatives)
      return file.damaged("it has more negative samples than a stage takes");
    if (job.state.stages.empty()) return job;
    const auto model = make_cascade(bank, job.state.stages);
    if (!model.ok()) return file.damaged(model.status().message());
    return job;
  });
}

}  // namespace cuface::train
