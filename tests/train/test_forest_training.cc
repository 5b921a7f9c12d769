// A forest's training around kernels/grow: any threads, any interruption, an early end, files.
#include <dlib/image_processing/shape_predictor.h>
#include <gtest/gtest.h>

#include "models/box_map.h"
#include "models/models.h"
#include "models/train/forest_job.h"
#include "models/train/small_model.h"
#include "tests/models/mend_checksums.h"
#include "tests/models/temporary.h"
#include "tests/train/drawn_faces.h"

namespace cuface::train {
namespace {

using test::read_file;

class TrainForest : public testing::Test {
 protected:
  static ForestJob new_job(const std::string& output) {
    ForestJob job;
    job.options = drawn_forest_options();
    job.inputs.images = "/drawn";
    job.output = output;
    return job;
  }
  static FaceSet& faces() {
    static FaceSet set = drawn_faces(60);
    return set;
  }
  static FaceSet& others() {
    static FaceSet set = drawn_faces(40, 1000);
    return set;
  }
  static TrainedForest train(ForestWatch watch = {}, GrownForest begun = {}) {
    watch.spreads = true;
    auto trained = train_forest(faces(), nullptr, drawn_forest_options(), watch, std::move(begun));
    EXPECT_TRUE(trained.ok()) << trained.status().message();
    return trained.ok() ? std::move(trained.value()) : TrainedForest{};
  }
  /// What would be written.
  std::string bytes(const TrainedForest& trained, const char* name = "m.cuface") const {
    const ForestJob job = new_job(folder_ / name);
    const Status status = write_forest(job, trained.model);
    EXPECT_TRUE(status.ok()) << status.message();
    return read_file(job.output);
  }
  const std::string& undisturbed() const {
    static const std::string all = bytes(train());
    return all;
  }

  const test::TemporaryFolder folder_;
};

TEST_F(TrainForest, LearnsWhereTheFeaturesAre) {
  std::vector<StageError> told;
  ForestWatch watch;
  watch.stage = [&](const GrownForest&, const StageError& error) { told.push_back(error); };
  const TrainedForest trained = train(watch);
  ASSERT_EQ(told.size(), 4u);
  EXPECT_EQ(told.back().stage, 4);
  EXPECT_LT(told.back().training, told.front().training);
  // The mean shape in the box, without a tree, is what learning starts from.
  auto untrained = std::make_shared<ForestModel>(*trained.model);
  std::vector<float> none(untrained->leaves.size());
  untrained->leaves = none;
  const double before = mean_error(untrained, others(), 2).value();
  const double after = mean_error(trained.model, others(), 2).value();
  EXPECT_LT(after, 0.7 * before) << before;
  EXPECT_FALSE(trained.early);
}

TEST_F(TrainForest, ThreadsDoNotCount) {
  for (const int threads : {1, 2, 5}) {
    ForestWatch watch;
    watch.threads = threads;
    const TrainedForest trained = train(watch);
    EXPECT_EQ(bytes(trained), undisturbed()) << threads;
    EXPECT_EQ(mean_error(trained.model, others(), threads).value(),
              mean_error(trained.model, others(), 1).value());
  }
}

// Stopped after these trees, and gone on with from a checkpoint.
TEST_F(TrainForest, ResumedItIsTheSame) {
  const std::string path = folder_ / "checkpoint";
  for (const std::size_t stop_at : {1u, 14u, 15u, 16u, 40u, 60u}) {
    StopFlag stop;
    ForestJob job = new_job(folder_ / "m.cuface");
    ForestWatch watch;
    watch.stop = &stop;
    watch.tree = [&](const GrownForest& forest) {
      if (forest.trees(job.options) != stop_at) return;
      job.forest = forest;
      stop.raise();
    };
    const auto stopped = train_forest(faces(), nullptr, job.options, watch);
    EXPECT_EQ(stopped.ok(), stop_at == 60);
    ASSERT_TRUE(write_forest_checkpoint(path, job).ok());
    const auto checkpoint = Checkpoint::read(path);
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    auto read = read_forest_job(checkpoint.value());
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read.value().options, job.options);
    EXPECT_EQ(read.value().forest.trees(job.options), stop_at);
    EXPECT_EQ(bytes(train({}, std::move(read.value().forest))), undisturbed()) << stop_at;
  }
}

TEST_F(TrainForest, ACheckpointOfOtherFacesIsRefused) {
  GrownForest forest = train().forest;
  const auto other = train_forest(others(), nullptr, drawn_forest_options(), {}, forest);
  EXPECT_EQ(other.status().code(), StatusCode::kInvalidArgument);
}

// Each value of a checkpoint's head and records may lie.
TEST_F(TrainForest, ADamagedCheckpointIsRefused) {
  ForestJob job = new_job(folder_ / "m.cuface");
  ASSERT_TRUE(write_forest_checkpoint(folder_ / "good", job).ok());
  const std::string good = read_file(folder_ / "good");
  int refused = 0;
  for (const auto& [from, to] : {std::pair{"\"nu\":\"0.1\"", "\"nu\":\"9.1\""},
                                 std::pair{"\"done\":\"no\"", "\"done\":\"ja\""},
                                 std::pair{"\"five-done\":\"no\"", "\"five-done\":12345"},
                                 std::pair{"\"kind\":\"forest\"", "\"kind\":\"foresX\""},
                                 std::pair{"\"random\":\"own\"", "\"random\":\"owe\""}}) {
    std::string bad = good;
    const std::size_t at = bad.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    bad.replace(at, std::string(from).size(), to);
    test::mend_checksums(bad);
    test::write_file(folder_ / "bad", bad);
    const auto checkpoint = Checkpoint::read(folder_ / "bad");
    if (!checkpoint.ok()) {
      ++refused;
      continue;
    }
    const auto read = read_forest_job(checkpoint.value());
    EXPECT_FALSE(read.ok()) << to;
    EXPECT_NE(read.status().message().find(folder_ / "bad"), std::string::npos);
    ++refused;
  }
  EXPECT_EQ(refused, 5);
}

TEST_F(TrainForest, ValidationEndsItEarlyAndResumesAlike) {
  ForestOptions options = drawn_forest_options();
  options.cascade_depth = 12;
  options.num_trees_per_cascade_level = 10;
  // Faces that teach nothing: the points are another head's.
  FaceSet wrong = drawn_faces(30, 500);
  std::rotate(wrong.points.begin(), wrong.points.begin() + 5 * kHeadPoints, wrong.points.end());
  std::rotate(wrong.boxes.begin(), wrong.boxes.begin() + 5, wrong.boxes.end());
  ForestWatch watch;
  watch.spreads = true;
  std::vector<GrownForest> seen;
  watch.stage = [&](const GrownForest& forest, const StageError&) { seen.push_back(forest); };
  const auto all = train_forest(wrong, &others(), options, watch);
  ASSERT_TRUE(all.ok()) << all.status().message();
  const TrainedForest& trained = all.value();
  ASSERT_TRUE(trained.early);
  ASSERT_GE(trained.errors.size(), 3u);
  const auto best = std::min_element(
      trained.errors.begin(), trained.errors.end(),
      [](const StageError& a, const StageError& b) { return a.validation < b.validation; });
  EXPECT_EQ(trained.model->stages, best->stage);
  EXPECT_EQ(trained.errors.back().stage, best->stage + 2);
  EXPECT_EQ(mean_error(trained.model, others(), 2).value(), best->validation);
  watch.stage = nullptr;
  EXPECT_FALSE(trained.model->leaf_spreads.empty());
  for (GrownForest begun : seen) {
    begun.spreads.clear();  // as a checkpoint has it
    const auto again = train_forest(wrong, &others(), options, watch, begun);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(bytes(again.value()), bytes(trained));
    EXPECT_TRUE(again.value().early);
  }
}

// Of all options' defaults, and of others that leave less room.
TEST_F(TrainForest, FivePointsFitAMegabyte) {
  FaceSet all = drawn_faces(12);
  const std::vector<Point> points = all.points;
  FaceSet small = with_five_points(all);
  ASSERT_EQ(small.points.size(), 12u * 5);
  for (std::size_t face = 0; face < 12; ++face) {
    EXPECT_EQ(small.points[face * 5].x, points[face * kHeadPoints + 45].x);
    EXPECT_EQ(small.points[face * 5 + 4].y, points[face * kHeadPoints + 33].y);
  }
  for (const int depth : {4, 5, 2}) {
    ForestOptions options;
    options.tree_depth = depth;
    options.oversampling_amount = 1;
    options = small_options(options);
    ForestWatch watch;
    watch.spreads = true;
    const auto trained = train_forest(small, nullptr, options, watch);
    ASSERT_TRUE(trained.ok()) << trained.status().message();
    const std::string file = bytes(trained.value());
    EXPECT_LE(file.size(), kMostSmallBytes);
    EXPECT_TRUE(file.size() > kMostSmallBytes * 9 / 10 ||
                options.num_trees_per_cascade_level == 500)
        << file.size() << ", depth " << depth;
  }
}

TEST_F(TrainForest, DlibAndOurLoadersFindTheSamePoints) {
  const TrainedForest trained = train();
  bytes(trained, "m.dat");
  bytes(trained, "m.cuface");
  dlib::shape_predictor predictor;
  dlib::deserialize(folder_ / "m.dat") >> predictor;
  const auto dat = load_forest(folder_ / "m.dat"), ours = load_forest(folder_ / "m.cuface");
  ASSERT_TRUE(dat.ok() && ours.ok()) << dat.status().message() << ours.status().message();
  EXPECT_EQ(box_map_for(*ours.value(), "yunet"), box_map_for(*dat.value(), "yunet"));
  int points = 0;
  for (std::size_t face = 0; face < 20; ++face) {
    const ImageView<const std::uint8_t> view = others().pictures[face].view();
    const Rect r{static_cast<int>(others().boxes[face].x), static_cast<int>(others().boxes[face].y),
                 static_cast<int>(others().boxes[face].w),
                 static_cast<int>(others().boxes[face].h)};
    const Box box{static_cast<float>(r.x), static_cast<float>(r.y), static_cast<float>(r.w),
                  static_cast<float>(r.h)};
    dlib::array2d<unsigned char> picture(view.height, view.width);
    for (int y = 0; y < view.height; ++y)
      for (int x = 0; x < view.width; ++x) picture[y][x] = view.at(x, y);
    const auto shape = predictor(picture, dlib::rectangle(r.x, r.y, r.x + r.w - 1, r.y + r.h - 1));
    for (const auto& model : {dat.value(), ours.value()}) {
      std::vector<Point> found(kHeadPoints);
      const auto landmarker = Landmarker::create(Backend::kCpu, model);
      ASSERT_TRUE(landmarker.value()->enqueue(view, {&box, 1}, found).ok());
      for (unsigned i = 0; i < kHeadPoints; ++i, ++points) {
        // dlib rounds its points.
        ASSERT_EQ(std::lround(found[i].x), shape.part(i).x());
        ASSERT_EQ(std::lround(found[i].y), shape.part(i).y());
      }
    }
  }
  EXPECT_EQ(points, 2 * 20 * kHeadPoints);
}

TEST_F(TrainForest, AModelForOurDetectorNeedsNoBoxMap) {
  const TrainedForest trained = train();
  ForestJob job = new_job(folder_ / "m.cuface");
  for (const char* boxes : {"/x/haarcascade_frontalface_alt.xml", kPipelineBoxes}) {
    job.inputs.faces.detector = boxes;
    ASSERT_TRUE(write_forest(job, trained.model).ok());
    const auto model = load_forest(job.output);
    ASSERT_TRUE(model.ok()) << model.status().message();
    EXPECT_EQ(box_map_for(*model.value(), "haarcascade_frontalface_alt"), BoxMap{});
    EXPECT_EQ(box_map_for(*model.value(), "yunet"), BoxMap{});
  }
}

}  // namespace
}  // namespace cuface::train
