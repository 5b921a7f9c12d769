// Shape models in our own file format: what comes back, and what is refused.
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>

#include "models/confidence_json.h"
#include "models/models.h"
#include "models/scheme_json.h"
#include "models/shape_file.h"
#include "tests/fewer.h"
#include "tests/kernels/shape_models.h"
#include "tests/models/bad_file.h"
#include "tests/models/mend_checksums.h"

namespace cuface::test {
namespace {

ShapeModel load_written(const ShapeModel& model, const std::string& path) {
  EXPECT_TRUE(write_shape_file(model, {}, path).ok());
  const auto loaded = load_shape(path);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? *loaded.value() : ShapeModel();
}

TEST(ShapeFile, RoundTrip) {
  const TemporaryFolder folder;
  const auto model = random_shape_model(3);
  const std::string path = folder / "s.cuface";
  ASSERT_TRUE(write_shape_file(*model, {"random.tar", "12ab", "none"}, path).ok());
  const auto loaded = load_shape(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(load_shape(path).value(), loaded.value()) << "one object a file";
  EXPECT_EQ(model_kind(path).value(), ModelKind::kShape);
  ASSERT_TRUE(write_shape_file(*loaded.value(), {"random.tar", "12ab", "none"}, folder / "m").ok());
  EXPECT_EQ(read_file(path), read_file(folder / "m"));
  EXPECT_EQ(loaded.value()->name, "random");
  EXPECT_EQ(loaded.value()->hat.patch_change, -3);
  EXPECT_TRUE(std::ranges::equal(loaded.value()->numbers, model->numbers));
  EXPECT_EQ(loaded.value()->rules[1].against[0].point, 4);
  EXPECT_EQ(loaded.value()->patch.side, 5);
  EXPECT_EQ(loaded.value()->patch.q, 20);
  EXPECT_EQ(loaded.value()->rest, 0.1);
  EXPECT_EQ(loaded.value()->noise, 0);
  ShapeModel noisy = *model;
  noisy.constraint = ShapeConstraint::kIterated;
  noisy.noise = 1.5;
  EXPECT_EQ(load_written(noisy, folder / "n").noise, 1.5);
  EXPECT_EQ(loaded.value()->refit_limits.size(), 8u);
}

// As many numbers as a training may give.
TEST(ShapeFile, TheLargestModelIsRead) {
  const TemporaryFolder folder;
  ShapeModel model;
  ShapeTables tables;
  random_shape(model, tables, 2);
  tables.numbers.resize(kMaxShapeNumbers);
  tables.show(model);
  EXPECT_EQ(load_written(model, folder / "s").numbers.size(), kMaxShapeNumbers);
  EXPECT_GT(std::filesystem::file_size(folder / "s"), std::uintmax_t{60} << 20);
  tables.numbers.push_back(0);
  tables.show(model);
  EXPECT_EQ(validate(model).code(), StatusCode::kCorrupt);
}

TEST(ShapeFile, TheSchemeComesWithTheModel) {
  const TemporaryFolder folder;
  ShapeModel model = *random_shape_model(3);
  EXPECT_EQ(load_written(model, folder / "n").scheme.points, 8) << "of which nothing is known";
  model.scheme.points = 8;
  model.scheme.eyes = {1, 3, 2};
  model.scheme.low = {7, LowPoint::kNose};
  model.scheme.mouth = {5, 2};
  model.scheme.jaw = {0, 1};
  model.scheme.size = {1, 4, 6};
  model.scheme.curves = 2;
  model.scheme.curve[0] = {1, 2, 0};
  model.scheme.curve[1] = {3, 6, 1};
  const LandmarkScheme s = load_written(model, folder / "s").scheme;
  EXPECT_EQ(to_json(s), to_json(model.scheme));
  EXPECT_EQ(s.curve[1].last, 6);
  EXPECT_EQ(s.low.kind, LowPoint::kNose);
  model.scheme.curve[1].last = 8;
  ASSERT_TRUE(write_shape_file(model, {}, folder / "bad").ok());
  EXPECT_EQ(load_shape(folder / "bad").status().code(), StatusCode::kCorrupt);
  EXPECT_NE(load_shape(folder / "bad").status().message().find("curve 1"), std::string::npos);
}

TEST(ShapeFile, ConfidencesComeWithTheModel) {
  const TemporaryFolder folder;
  ShapeModel model = *random_shape_model(3);
  EXPECT_FALSE(load_written(model, folder / "n").confidence.is_known());
  std::vector<shape::UsualCost> usual(8, {2, 0.5});
  model.usual_costs = usual;
  model.confidence = {-3, 3, {1, 0.5f, 0.25f}};
  EXPECT_TRUE(load_written(model, folder / "o").score_offsets.empty());
  std::vector<double> moved{1, -2, 0, 0, 0, 0, 0, 0.125};
  model.score_offsets = moved;
  model.score_parts = {0.5, 3, 1, 0.25, 2, -1, 5};
  usual.push_back({1, 0.25});  // of the shape
  model.usual_costs = usual;
  const ShapeModel loaded = load_written(model, folder / "s");
  EXPECT_EQ(to_json(loaded.confidence, loaded.score_parts),
            to_json(model.confidence, model.score_parts));
  EXPECT_EQ(std::vector(loaded.score_offsets.begin(), loaded.score_offsets.end()), moved);
  ASSERT_EQ(loaded.usual_costs.size(), 9u);
  EXPECT_EQ(loaded.usual_costs[7].spread, 0.5);
  EXPECT_EQ(loaded.usual_costs[8].spread, 0.25);
  const std::function<void()> faults[] = {
      [&] { usual[3].spread = 0; },
      [&] { usual[3].spread = std::nan(""); },
      [&] { usual[3].spread = -1; },
      [&] { usual[3].middle = HUGE_VAL; },
      [&] { model.usual_costs = {}; },
      [&] { model.usual_costs = std::span(usual).subspan(1); },
      [&] { model.confidence = {}; },
      [&] { model.confidence.at[2] = 0.75f; },
      [&] { moved[1] = std::nan(""); },
      [&] { moved[1] = 1e4; },
      [&] { model.score_offsets = std::span(moved).subspan(1); },
      [&] {
        model.usual_costs = {};
        model.confidence = {};
      },
      [&] { model.score_parts.own = -1; },
      [&] { model.score_parts.around = 1e4; },
      [&] { model.score_parts.face = std::nan(""); },
      [&] { model.score_parts.reach = 0; },
      [&] { model.score_parts.reach = HUGE_VAL; },
      [&] { model.score_parts.shape = 0; },
      [&] { model.score_parts.least = 1; },
      [&] { model.score_parts.most = std::nan(""); },
      [&] { model.score_parts.shape = std::nan(""); },
      [&] { model.usual_costs = std::span(usual).first(8); },
  };
  for (const auto& fault : faults) {
    const ShapeModel before = model;
    const auto costs = usual;
    const auto offsets = moved;
    fault();
    ASSERT_TRUE(write_shape_file(model, {}, folder / "bad").ok());
    EXPECT_EQ(load_shape(folder / "bad").status().code(), StatusCode::kCorrupt) << &fault - faults;
    model = before;
    usual = costs;
    model.usual_costs = usual;
    moved = offsets;
    model.score_offsets = moved;
  }
}

TEST(ShapeFile, AnotherKindIsNamed) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_shape_file(*random_shape_model(1), {}, folder / "s").ok());
  EXPECT_NE(
      load_forest(folder / "s").status().message().find("a shape model, not a landmark model"),
      std::string::npos);
  write_file(folder / "stasm.tar", "text");
  EXPECT_EQ(load_shape(folder / "stasm.tar").status().code(), StatusCode::kUnsupported);
  EXPECT_NE(load_shape(folder / "stasm.tar").status().message().find("cuface-model convert"),
            std::string::npos);
  write_file(folder / "c.xml", "<opencv_storage/>");
  EXPECT_NE(load_shape(folder / "c.xml").status().message().find("not a shape model"),
            std::string::npos);
}

TEST(ShapeFile, TruncatedAndFlipped) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_shape_file(*random_shape_model(5), {}, folder / "s").ok());
  const std::string good = read_file(folder / "s");
  Feeder<ShapeModel> feeder(load_shape, "s.cuface");
  ASSERT_TRUE(feeder.feed(good, "good"));
  EXPECT_GE(feeder.feed_truncations(good, "shape"), 100 / every());
  feeder.feed_flips(good, "shape", kFlips / 4, kNoMend);
  const Fed damaged = feeder.take();
  EXPECT_EQ(damaged.loaded, 1) << "the good one";
  constexpr int kMended = 80;  // few are refused, so never fewer; each good one makes its tables
  feeder.feed_flips(good, "mended", kMended, mend_checksums);
  const Fed mended = feeder.take();
  EXPECT_GT(mended.loaded, kMended / 16);
  EXPECT_GT(mended.refused, kMended / 16);
}

/// A model with one thing wrong: refused, also from a file.
TEST(ShapeFile, WhatIsOutOfRange) {
  struct Fault {
    const char* what;
    std::function<void(ShapeModel&, ShapeTables&)> make;
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr auto kIterated = ShapeConstraint::kIterated;
  const Fault faults[] = {
      {"2 points", [](auto& m, auto&) { m.points = 2; }},
      {"300 points", [](auto& m, auto&) { m.points = 300; }},
      {"17 modes of 8 points", [](auto& m, auto&) { m.modes = 17; }},
      {"no level", [](auto& m, auto&) { m.levels = 0; }},
      {"7 levels", [](auto& m, auto&) { m.levels = 7; }},
      {"21 iterations", [](auto& m, auto&) { m.iterations = 21; }},
      {"no size", [](auto& m, auto&) { m.size = 0; }},
      {"size NaN", [](auto& m, auto&) { m.size = kNan; }},
      {"measured by no point", [](auto& m, auto&) { m.size_below = 8; }},
      {"a point below 0", [](auto& m, auto&) { m.size_left = -1; }},
      {"limit", [](auto& m, auto&) { m.mode_limit = -1; }},
      {"noise below 0", [](auto& m, auto&) { m.noise = -1, m.constraint = kIterated; }},
      {"noise NaN", [](auto& m, auto&) { m.noise = kNan, m.constraint = kIterated; }},
      {"no square", [](auto& m, auto&) { m.noise = 1e-200, m.constraint = kIterated; }},
      {"much noise", [](auto& m, auto&) { m.noise = 101, m.constraint = kIterated; }},
      {"noise in one pass", [](auto& m, auto&) { m.noise = 1; }},
      {"no weight", [](auto& m, auto&) { m.least_weight = 0; }},
      {"weight NaN", [](auto& m, auto&) { m.least_weight = kNan; }},
      {"weights of lines", [](auto& m, auto&) { m.least_weight = 0.5; }},
      {"start", [](auto& m, auto&) { m.start_scale = 0; }},
      {"a huge window", [](auto& m, auto&) { m.start_scale = 2e-6; }},
      {"window", [](auto& m, auto&) { m.window = 5; }},
      {"even profile", [](auto& m, auto&) { m.line.length = 4; }},
      {"long profile", [](auto& m, auto&) { m.line.length = 65; }},
      {"line reach", [](auto& m, auto&) { m.line.reach = 33; }},
      {"line step", [](auto& m, auto&) { m.line.step = 0; }},
      {"hat step", [](auto& m, auto&) { m.hat.step = 0; }},
      {"hat rows", [](auto& m, auto&) { m.hat.rows = 17; }},
      {"hat bins", [](auto& m, auto&) { m.hat.bins = 1; }},
      {"even patch", [](auto& m, auto&) { m.hat.patch = 12; }},
      {"vanishing patch", [](auto& m, auto&) { m.hat.patch_change = -10; }},
      {"sigma", [](auto& m, auto&) { m.hat.sigma = 0; }},
      {"much work",
       [](auto& m, auto&) {
         m.iterations = 20;
         m.hat.reach = 32;
         m.hat.step = 1;
         m.hat.patch = 63;
         m.hat.patch_change = 0;
       }},
      {"mean NaN", [](auto&, auto& t) { t.mean_shape[3] = kNan; }},
      {"mean short", [](auto&, auto& t) { t.mean_shape.pop_back(); }},
      {"eigenvalue below 0", [](auto&, auto& t) { t.eigenvalues[1] = -1; }},
      {"eigenvector infinite", [](auto&, auto& t) { t.eigenvectors[7] = HUGE_VAL; }},
      {"weight", [](auto&, auto& t) { t.weights[0] = -1; }},
      {"number NaN", [](auto&, auto& t) { t.numbers.back() = kNan; }},
      {"number huge", [](auto&, auto& t) { t.numbers[0] = 1e7; }},
      {"numbers short", [](auto&, auto& t) { t.numbers.pop_back(); }},
      {"neighbour", [](auto&, auto& t) { t.neighbours[2].next = 8; }},
      {"mirrored", [](auto&, auto& t) { t.neighbours[2].mirrored = -1; }},
      {"kind of profile", [](auto&, auto& t) { t.profiles[2].kind = static_cast<ProfileKind>(3); }},
      {"iterated otherwise", [](auto& m, auto&) { m.constraint = ShapeConstraint{2}; }},
      {"another pyramid", [](auto& m, auto&) { m.pyramid = ShapePyramid{-1}; }},
      {"rest", [](auto& m, auto&) { m.rest = kNan; }},
      {"refits", [](auto& m, auto&) { m.refits = 51; }},
      {"refits without limits", [](auto&, auto& t) { t.refit_limits.clear(); }},
      {"limits without refits", [](auto& m, auto&) { m.refits = 0; }},
      {"refit limit", [](auto&, auto& t) { t.refit_limits[1] = kNan; }},
      {"no rule of patches", [](auto& m, auto&) { m.patch.side = 0; }},
      {"an even patch", [](auto& m, auto&) { m.patch.side = 6; }},
      {"a wide patch", [](auto& m, auto&) { m.patch.side = 33; }},
      {"patch reach", [](auto& m, auto&) { m.patch.reach = 17; }},
      {"patch step", [](auto& m, auto&) { m.patch.step = 0; }},
      {"patch gradient", [](auto& m, auto&) { m.patch.gradient = 3; }},
      {"patch q", [](auto& m, auto&) { m.patch.q = 0; }},
      {"patch likelihood", [](auto& m, auto&) { m.patch.likelihood = -1; }},
      {"rows of a patch", [](auto&, auto& t) { t.numbers[t.profiles[2].first_number] = 26; }},
      {"half a row", [](auto&, auto& t) { t.numbers[t.profiles[2].first_number] = 2.5; }},
      {"edge below 1", [](auto&, auto& t) { t.numbers[t.profiles[2].first_number + 1] = 0.5; }},
      {"far profile", [](auto&, auto& t) { t.profiles[2].first_number = 4'000'000'000u; }},
      {"profiles short", [](auto&, auto& t) { t.profiles.pop_back(); }},
      {"axis", [](auto&, auto& t) { t.rules[0].axis = 2; }},
      {"unit", [](auto&, auto& t) { t.rules[0].shift_unit = -1; }},
      {"term", [](auto&, auto& t) { t.rules[1].against[2].point = 8; }},
      {"term NaN", [](auto&, auto& t) { t.rules[1].measure[2].weight = kNan; }},
      {"limit NaN", [](auto&, auto& t) { t.rules[1].limit = kNan; }},
      {"skip", [](auto&, auto& t) { t.rules[1].skip = -1; }},
      {"moves", [](auto&, auto& t) { t.rules[1].moves = 4'000'000'000u; }},
      {"first move", [](auto&, auto& t) { t.rules[1].first_move = 4'000'000'000u; }},
      {"moved point", [](auto&, auto& t) { t.moves[0].point = 8; }},
      {"factor", [](auto&, auto& t) { t.moves[0].factor = kNan; }},
      {"65 rules", [](auto&, auto& t) { t.rules.resize(65); }},
  };
  const TemporaryFolder folder;
  for (const Fault& fault : faults) {
    ShapeModel model;
    ShapeTables tables;
    random_shape(model, tables, 2);
    ASSERT_TRUE(validate(model).ok());
    fault.make(model, tables);
    tables.show(model);
    EXPECT_EQ(validate(model).code(), StatusCode::kCorrupt) << fault.what;
    ASSERT_TRUE(write_shape_file(model, {}, folder / "bad").ok());
    const auto loaded = load_shape(folder / "bad");
    EXPECT_EQ(loaded.status().code(), StatusCode::kCorrupt) << fault.what;
  }
}

}  // namespace
}  // namespace cuface::test
