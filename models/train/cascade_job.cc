#include "models/train/cascade_job.h"

#include <nlohmann/json.hpp>

#include "models/train/job_options.h"
#include "models/train/program.h"

namespace cuface::train {
namespace {

using Json = nlohmann::json;

constexpr Choice<FeatureMode> kFeatures[] = {{FeatureMode::kBasic, "basic", "BASIC"},
                                             {FeatureMode::kCore, "core", "CORE"},
                                             {FeatureMode::kAll, "all", "ALL"}};
constexpr Choice<FeatureWeights> kWeights[] = {
    {FeatureWeights::kZeroMean, "zero-mean", "zero-mean"},
    {FeatureWeights::kOpenCv, "opencv", "opencv"}};
constexpr Choice<Boosting> kBoostings[] = {{Boosting::kDiscrete, "discrete", "DAB"},
                                           {Boosting::kReal, "real", "RAB"},
                                           {Boosting::kLogit, "logit", "LB"},
                                           {Boosting::kGentle, "gentle", "GAB"}};
constexpr Choice<bool> kBad[] = {{false, "stop", "stop"}, {true, "skip", "skip"}};

}  // namespace

std::vector<Option> settings_options(CascadeSettings& s) {
  return {
      option("size", nullptr, "WxH", s.size, "window of the detector"),
      option("stages", "numStages", "N", s.stages, "stages of the cascade"),
      option("negatives-per-stage", "numNeg", "N", s.negatives, "negative samples of each stage"),
      option("generated", nullptr, "N", s.generated,
             "backgrounds that a stage may draw itself where the others do not suffice"),
      option("features", "mode", "basic|core|all", s.features, kFeatures, "kinds of features"),
      option("weights", nullptr, "zero-mean|opencv", s.weights, kWeights,
             "weights of features with three parts"),
      option("boosting", "bt", "discrete|real|logit|gentle", s.boost.boosting, kBoostings,
             "kind of boosting"),
      option("min-hit-rate", "minHitRate", "R", s.boost.min_hit_rate,
             "share of its positives that a stage lets through"),
      option("max-false-alarm-rate", "maxFalseAlarmRate", "R", s.boost.max_false_alarm,
             "share of its negatives that a stage may let through"),
      option("weight-trim-rate", "weightTrimRate", "R", s.boost.weight_trim_rate,
             "share of the weights that a tree looks at"),
      option("max-depth", "maxDepth", "N", s.boost.max_depth, "depth of a tree, 1 to 4"),
      option("max-weak-count", "maxWeakCount", "N", s.boost.max_weak_count,
             "most trees of a stage"),
      option("seed", nullptr, "N", s.seed, "of all that is drawn at random"),
  };
}

std::vector<Option> input_options(CascadeInputs& inputs) {
  return {
      option("bad", nullptr, "stop|skip", inputs.skip_bad, kBad,
             "what to do at a picture or a box that cannot be used"),
      option("align", nullptr, inputs.align, "turn faces with labelled eyes upright"),
      option("mirror", nullptr, inputs.mirror, "take each positive mirrored, too"),
  };
}

TrainingRecord training_record(const CascadeJob& job) {
  TrainingRecord record;
  record.add("program", std::string("cuface-train ") + kVersion + " (" + kCommit + ")");
  record.add("positives", std::to_string(job.inputs.positives_count) + " windows, xxh64 " +
                              as_hex(job.inputs.positives_hash));
  record.add("backgrounds", std::to_string(job.inputs.negatives_count) + " pictures, xxh64 " +
                                as_hex(job.inputs.negatives_hash));
  CascadeSettings settings = job.settings;
  for (const Option& option : settings_options(settings)) record.add(option.name, option.get());
  return record;
}

Json job_report(const CascadeJob& job) {
  Json report = {{"training", "cascade"}, {"output", job.output}};
  const TrainingRecord record = training_record(job);
  for (const TrainingRecord::Line& line : record.lines())
    report["settings"][line.name] = line.value;
  report["end"] = job.end == JobEnd::kAllStages         ? "all stages"
                  : job.end == JobEnd::kTooFewNegatives ? "too few negatives"
                                                        : "not yet";
  double mining = 0, boosting = 0, hit_rate = 1;
  std::size_t trees = 0;
  report["stages"] = Json::array();
  for (std::size_t i = 0; i < job.state.stages.size(); ++i) {
    const BoostedStage& stage = job.state.stages[i];
    const StageRecord& r = job.state.records[i];
    report["stages"].push_back({{"trees", stage.trees.size()},
                                {"hit_rate", stage.hit_rate},
                                {"false_alarms", stage.false_alarm},
                                {"positives", r.positives},
                                {"negatives", r.negatives},
                                {"backgrounds", r.mining.pictures},
                                {"generated_backgrounds", r.mining.generated},
                                {"windows", r.mining.windows},
                                {"windows_passed", r.mining.passed},
                                {"boosting_bytes", r.bytes},
                                {"boosting_on_gpu", r.on_gpu},
                                {"mining_on_gpu", r.mined_on_gpu},
                                {"mining_seconds", r.mining_seconds},
                                {"prepare_seconds", r.prepare_seconds},
                                {"search_seconds", r.search_seconds},
                                {"boosting_seconds", r.boosting_seconds}});
    mining += r.mining_seconds;
    boosting += r.boosting_seconds;
    hit_rate *= static_cast<double>(stage.hit_rate);
    trees += stage.trees.size();
  }
  report["trees"] = trees;
  report["hit_rate"] = hit_rate;
  report["mining_seconds"] = mining;
  report["boosting_seconds"] = boosting;
  return report;
}

}  // namespace cuface::train
