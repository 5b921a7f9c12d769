// Doing a job: faces read, a shape learnt, checkpoints and the model written, everything told.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kernels/common/try.h"
#include "models/provenance.h"
#include "models/shape_file.h"
#include "models/train/command.h"
#include "models/train/job_files.h"
#include "models/train/shape/shape_job.h"

namespace cuface::train {
namespace {

class JobRunner {
 public:
  JobRunner(ShapeJob& job, const RunOptions& options, bool resumed)
      : job_(job),
        options_(options),
        resumed_(resumed),
        run_(options, [this] { return write_shape_checkpoint(options_.checkpoint, job_); }) {}

  Result<int> work() {
    CUFACE_TRY(check_output("a shape model", job_.output, {".cuface"}));
    for (const std::string& note : idle_options(job_)) run_.progress().warn(note);
    const Every loading(0);
    CUFACE_TRY(load());
    const double load_seconds = loading.since();
    CUFACE_TRY(run_.save());
    const Every training(0);
    Result<std::shared_ptr<const ShapeModel>> trained = train();
    if (!trained.ok()) {
      CUFACE_TRY(run_.keep(trained.status()));
      return run_.tell_stopped(std::to_string(levels()) + " levels");
    }
    ShapeModel model = *trained.value();
    model.name = std::filesystem::path(job_.output).stem().string();
    CUFACE_TRY(write_shape_file(model, trained_provenance(job_.output, training_record(job_)),
                                job_.output));
    job_.done = true;
    CUFACE_TRY(run_.save());
    CUFACE_TRY(write_report(model, training.since(), load_seconds));
    std::printf("%s: written (shape model, %d points, %d modes, %d levels)\n", job_.output.c_str(),
                model.points, model.modes, model.levels);
    return kDone;
  }

 private:
  std::size_t levels() const {
    return faces_.landmarks
               ? job_.textures.profiles.size() / static_cast<std::size_t>(faces_.landmarks)
               : 0;
  }

  Status load() {
    FaceOptions options = job_.faces;
    options.threads = options_.threads;
    CUFACE_TRY(take(load_faces(job_.images, options, run_.stop()), faces_));
    for (const std::string& note : faces_.notes) run_.progress().warn(note);
    run_.progress().tell(job_.images + ": " + std::to_string(faces_.boxes.size()) + " faces of " +
                         std::to_string(faces_.landmarks) + " points in " +
                         std::to_string(faces_.pictures.size()) + " pictures");
    const std::uint64_t hash = faces_.hash();
    if (resumed_) CUFACE_TRY(expect_same("images", job_.images, job_.images_hash, hash));
    job_.images_hash = hash;
    job_.images_count = faces_.boxes.size();
    return {};
  }

  Result<std::shared_ptr<const ShapeModel>> train() {
    std::vector<ImageView<const std::uint8_t>> views;
    for (Image<std::uint8_t>& picture : faces_.pictures) views.push_back(picture.view());
    const ShapeFaces faces{faces_.landmarks,  views,
                           faces_.picture_of, faces_.boxes,
                           faces_.points,     faces_.present,
                           faces_.where,      job_.faces.mirror ? views.size() / 2 : 0};
    ShapeRun run;
    run.threads = options_.threads;
    run.stop = run_.stop();
    run.note = [&](const std::string& note) { run_.progress().tell(note); };
    run.watch = [&](const LearntTextures& textures) {
      job_.textures = textures;
      run_.progress().tell("level " + std::to_string(levels()) + " of " +
                           std::to_string(job_.options.levels) + " done");
      run_.save_now_and_then(false);
    };
    return train_shape(faces, job_.options, run, job_.textures);
  }

  Status write_report(const ShapeModel& model, double seconds, double load_seconds) const {
    nlohmann::json report = {{"training", kShapeName},
                             {"output", job_.output},
                             {"modes", model.modes},
                             {"training_seconds", seconds}};
    if (model.patch.side > 0) {
      for (int level = 0; level < model.levels; ++level) {
        std::vector<int> rows;
        for (int i = 0; i < model.points; ++i)
          rows.push_back(static_cast<int>(model.numbers[model.profile(level, i).first_number]));
        std::ranges::sort(rows);
        report["rows"].push_back(
            {{"least", rows.front()}, {"median", rows[rows.size() / 2]}, {"most", rows.back()}});
      }
    }
    const TrainingRecord record = training_record(job_);
    for (const TrainingRecord::Line& line : record.lines())
      report["settings"][line.name] = line.value;
    return run_.write_report(std::move(report), load_seconds);
  }

  ShapeJob& job_;
  const RunOptions& options_;
  const bool resumed_;
  JobRun run_;
  FaceSet faces_;
};

}  // namespace

int run_shape_job(ShapeJob& job, const RunOptions& run, bool resumed) {
  JobRunner runner(job, run, resumed);
  return exit_status(runner.work());
}

}  // namespace cuface::train
