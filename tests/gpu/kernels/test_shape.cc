// The search by a shape model on CUDA against ShapeSearcher (kernels/shape/search.h), byte for
// byte: points, and what they cost.
#include <gtest/gtest.h>

#include <random>

#include "tests/gpu/kernels/shape_pair.h"

namespace cuface {
namespace {

using cuda::kMaxFaces;
using test::boxes_of_all_kinds;
using test::noise;
using test::PaddedPicture;
using test::ShapeInput;
using test::ShapeRef;

/// A random model after `change` of its constants; the tables are `random_shape`'s.
template <typename Change>
ShapeRef changed_model(unsigned seed, int points, int levels, Change change) {
  auto tables = std::make_shared<test::ShapeTables>();
  auto model = std::make_shared<ShapeModel>();
  test::random_shape(*model, *tables, seed, points, levels);
  change(*model, *tables);
  tables->show(*model);
  model->storage = tables;
  const Status valid = validate(*model);
  EXPECT_TRUE(valid.ok()) << valid.message();
  return model;
}

/// Of all kinds of profiles, constraints, pyramids, gradients and ends.
ShapeRef model_of_any_kind(unsigned seed, int levels) {
  std::mt19937 random(seed);
  const auto one_of = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  return changed_model(seed, 6 + one_of(5), levels, [&](ShapeModel& m, test::ShapeTables& t) {
    m.constraint = one_of(2) ? ShapeConstraint::kIterated : ShapeConstraint::kOnePass;
    m.pyramid = one_of(2) ? ShapePyramid::kGaussian : ShapePyramid::kLinear;
    m.iterations = 1 + one_of(3);
    m.rest = one_of(3) ? 0.1 * one_of(20) : 0;
    m.refits = one_of(4);
    if (m.refits == 0) t.refit_limits.clear();
    for (double& limit : t.refit_limits) limit = 0.1 * one_of(400);
    m.patch.gradient = one_of(3);
    m.patch.is_bilinear = one_of(4) > 0;
    m.patch.step = 1 + one_of(2);
    m.hat.step = 1 + one_of(3);
    m.line.step = 1 + one_of(2);
    m.missing_within = one_of(2) ? 0.1 : 0;
    m.window = one_of(2) ? 1 : 0.6;
    m.size = 40 + one_of(40);
    if (m.constraint == ShapeConstraint::kIterated) m.noise = 0.5 * (seed % 3);
    if (m.constraint != ShapeConstraint::kIterated || one_of(2)) return;
    // HAT descriptors of all points, which weigh by their costs.
    for (ShapeProfile& p : t.profiles) p = t.profiles[1];
    m.least_weight = 0.1;
  });
}

class ShapeCuda : public test::ShapePair {};

TEST_F(ShapeCuda, ModelsOfAllKinds) {
  const int models = test::under_tool() ? 12 : 120;
  int weighed = 0;
  for (int i = 0; i < models; ++i) {
    SCOPED_TRACE("model " + std::to_string(i));
    const auto seed = static_cast<unsigned>(i);
    const ShapeRef model = model_of_any_kind(seed, 1 + i % 4);
    weighed += model->least_weight < 1;
    const auto ours = make_cuda(*model);
    ASSERT_TRUE(ours);
    const int width = 90 + 7 * (i % 9), height = 70 + 5 * (i % 11);
    ShapeInput input{noise(width, height, seed, i % 3 ? 5 : 0, i % 2 ? 3 : 0),
                     boxes_of_all_kinds(test::under_tool() ? 4 : 9, width, height, seed)};
    ASSERT_NO_FATAL_FAILURE(compare(model, *ours, {input}, i % 5 == 0));
  }
  test::compared("calls", calls_, 120);
  test::compared("faces", faces_, 800);
  test::compared("of them refused", refused_, 30);
  test::compared("points that moved by over a pixel", moved_, 1500);
  test::compared("points searched again", refitted_, 150);
  test::compared("models whose points weigh by costs", weighed, 15);
}

/// The places of a point are searched in parts while there are blocks for it, as for one face here
/// on three multiprocessors.
TEST_F(ShapeCuda, PatchesAlone) {
  const std::vector<Box> boxes = {{30, 20, 70, 70}, {90, 60, 60, 60}, {40, 30, 80, 80}};
  for (const PatchRule& rule : {PatchRule{13, 2, 1, PatchRule::kMagnitude, true, 10},
                                PatchRule{13, 2, 1, PatchRule::kTurns, true, 10},
                                PatchRule{13, 2, 1, PatchRule::kTurns, true, 10, 4},
                                PatchRule{13, 2, 1, PatchRule::kForward, true, 10, 4},
                                PatchRule{13, 4, 1, PatchRule::kForward, true, 20, 2},
                                PatchRule{7, 5, 2, PatchRule::kTurns, false, 20}}) {
    const ShapeRef model = test::random_masm(7, 3, 2, rule);
    const auto ours = make_cuda(*model);
    ASSERT_TRUE(ours);
    for (const std::ptrdiff_t faces : {1, 3})
      ASSERT_NO_FATAL_FAILURE(
          compare(model, *ours, {{noise(160, 120, 4), {boxes.begin(), boxes.begin() + faces}}}));
  }
  EXPECT_EQ(faces_ - refused_, 24);
  EXPECT_GT(moved_, 15);
}

TEST_F(ShapeCuda, ConfidencesAndStartsOfATracker) {
  std::vector<shape::UsualCost> usual(8, {20, 15});
  const std::vector<double> offsets = {0, 1, -1, 0.5, 0, 0, -0.25, 2};
  constexpr int kKinds = 4;
  for (int kind = 0; kind < kKinds; ++kind) {
    SCOPED_TRACE("kind " + std::to_string(kind));
    auto model = std::make_shared<ShapeModel>(
        *changed_model(5, 8, 2, [&](ShapeModel& m, test::ShapeTables& t) {
          if (kind % 2 == 1) m.constraint = ShapeConstraint::kIterated;
          m.refits = kind < 2 ? 0 : 3;
          if (m.refits == 0) t.refit_limits.clear();
        }));
    const bool shape_counts = kind < kKinds - 1;
    usual.resize(shape_counts ? 9 : 8, {0.2, 0.3});
    model->usual_costs = usual;
    model->score_offsets = offsets;
    model->score_parts = {0.5, 3, 1.5, 0.6, shape_counts ? 2.0 : 0, -2, 5};
    model->confidence.first = -4;
    model->confidence.steps = 12;
    for (int i = 0; i < 12; ++i) model->confidence.at[i] = 1 - 0.08f * static_cast<float>(i);
    ASSERT_TRUE(validate(*model).ok()) << validate(*model).message();
    for (const bool follows : {false, true}) {
      const auto ours = make_cuda(*model, 4, follows);
      ASSERT_TRUE(ours);
      ShapeInput input{noise(150, 110, 3), boxes_of_all_kinds(6, 150, 110, 4)};
      for (std::size_t i = 0; follows && i < 8 * input.boxes.size(); ++i) {
        const double angle = 0.785 * static_cast<double>(i % 8) + 0.2, far = i < 8 ? 12 : 25;
        input.followed.push_back({static_cast<float>(70 - far * std::sin(angle)),
                                  static_cast<float>(60 - far * std::cos(angle))});
      }
      // A face that nobody followed.
      if (follows) input.followed[8 + 5].x = std::numeric_limits<float>::quiet_NaN();
      ASSERT_NO_FATAL_FAILURE(compare(model, *ours, {input}, false, 4));
    }
  }
  EXPECT_GE(followed_, 3);
  EXPECT_EQ(confidences_, kKinds * 96);
}

TEST_F(ShapeCuda, TheGraphOfAnElement) {
  const ShapeRef model = changed_model(5, 8, 2, [](ShapeModel& m, test::ShapeTables& t) {
    m.refits = 2;
    for (double& limit : t.refit_limits) limit = 15;
  });
  const auto ours = make_cuda(*model);
  ASSERT_TRUE(ours);
  test::Submitter submitter;
  for (unsigned round = 0; round < 4; ++round) {
    // Flat pictures cost the same everywhere; in the last round there is no face.
    ShapeInput input{round == 1 ? test::make_picture(120, 90, [](int, int) { return 100; })
                                : noise(120, 90, round),
                     boxes_of_all_kinds(round == 3 ? 0 : 5, 120, 90, round)};
    ASSERT_NO_FATAL_FAILURE(compare(model, *ours, {input}, false, kMaxFaces, &submitter));
  }
  EXPECT_EQ(submitter.built().graphs, 1) << "the same work each time";
}

TEST_F(ShapeCuda, NoFaceAndAllFaces) {
  const ShapeRef model = model_of_any_kind(3, 2);
  const auto ours = make_cuda(*model);
  ASSERT_TRUE(ours);
  for (const int faces : {0, 1, kMaxFaces}) {
    if (test::under_tool() && faces == kMaxFaces) continue;
    const ShapeInput input{noise(200, 150, 8), boxes_of_all_kinds(faces, 200, 150, 9)};
    ASSERT_NO_FATAL_FAILURE(compare(model, *ours, {input}));
  }
  EXPECT_GE(faces_, 1);
}

TEST_F(ShapeCuda, FramesOfSeveralStreams) {
  const ShapeRef model = model_of_any_kind(6, 2);
  constexpr int kRoom = 12;
  const auto ours = make_cuda(*model, kRoom);
  ASSERT_TRUE(ours);
  const int most = test::under_tool() ? 4 : cuda::ShapeSearcher::kMostFrames;
  for (const int count : {1, 3, most}) {
    std::vector<ShapeInput> inputs;
    for (int i = 0; i < count; ++i) {
      const int width = 100 + 9 * i, height = 80 + 5 * (i % 4);
      const auto seed = static_cast<unsigned>(10 + i);
      inputs.push_back(
          {noise(width, height, seed), boxes_of_all_kinds(i % 4, width, height, seed)});
    }
    ASSERT_NO_FATAL_FAILURE(compare(model, *ours, inputs, count == 3, kRoom));
  }
  EXPECT_GT(faces_ - refused_, 4);
}

/// Of one searcher no two searches are under way, but of several: none may keep another from having
/// all its blocks on the device.
TEST_F(ShapeCuda, SearchersBesideEachOther) {
  const int points = test::under_tool() ? 3 : 68, turns = test::under_tool() ? 1 : 250;
  const ShapeRef model = test::random_masm(2, points, test::under_tool() ? 1 : 4);
  struct Search {
    ShapeInput input;
    std::unique_ptr<cuda::ShapeSearcher> searcher;
    test::Stream stream;
    test::Submitter submitter;
    test::GuardedBytes luma, in, out;

    Status submit() {
      const cuda::ShapeFrame frame{input.picture.at(luma.data()), test::faces_at(in),
                                   test::faces_at(out)};
      return submitter(stream, [&](cuda::Launcher launch) {
        return searcher->enqueue({&frame, 1}, launch);
      });
    }
  };
  std::vector<std::unique_ptr<Search>> all;
  std::vector<test::Bytes> expected;
  for (const int faces : {1, 16, 1, 9}) {
    const auto seed = static_cast<unsigned>(all.size());
    ShapeInput input{noise(500, 400, seed), {}};
    for (int i = 0; i < (test::under_tool() ? 1 : faces); ++i)
      input.boxes.push_back({10.0f + 20 * static_cast<float>(i), 60, 180, 180});
    auto searcher = make_cuda(*model);
    ASSERT_TRUE(searcher);
    ASSERT_NO_FATAL_FAILURE(compare(model, *searcher, {input}));
    const test::Bytes in = input.block(points), out(in.size(), test::kCanary);
    all.emplace_back(new Search{input,
                                std::move(searcher),
                                {},
                                test::Submitter(),
                                test::GuardedBytes(input.picture.bytes),
                                test::GuardedBytes(in),
                                test::GuardedBytes(out)});
    ASSERT_TRUE(all.back()->submit().ok());
    expected.push_back(all.back()->out.get());
  }
  for (int turn = 0; turn < turns; ++turn)
    for (const auto& search : all) ASSERT_TRUE(search->submit().ok());
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_TRUE(all[i]->out.get() == expected[i]) << "searcher " << i;
}

/// The largest of each kind that a model may have, of few points.
TEST_F(ShapeCuda, TheLargestProfiles) {
  const auto fill = [](test::ShapeTables& t, int numbers) {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (int i = 0; i < numbers; ++i) t.numbers.push_back(uniform(random));
  };
  const auto one_kind = [](ShapeModel& m, test::ShapeTables& t, ProfileKind kind) {
    t.numbers.clear();
    for (ShapeProfile& p : t.profiles) p = {kind, 0};
    t.rules.clear();
    t.moves.clear();
    m.iterations = 1;
    m.refits = 0;
    t.refit_limits.clear();
  };
  const ShapeRef patch = changed_model(1, 3, 1, [&](ShapeModel& m, test::ShapeTables& t) {
    one_kind(m, t, ProfileKind::kPatch);
    m.patch = {kMaxPatchSide,
               test::under_tool() ? 4 : kMaxPatchReach,
               1,
               PatchRule::kMagnitude,
               true,
               10,
               4};
    // Of so many rows as there may be of work; of one more than a whole number of blocks, with the
    // likelihood's two.
    const int rows = test::under_tool() ? 15 : 575;
    t.numbers = {static_cast<double>(rows), 2};
    fill(t, static_cast<int>(PatchModel::numbers(m.patch, rows)) - 2);
  });
  const ShapeRef line = changed_model(2, 3, 1, [&](ShapeModel& m, test::ShapeTables& t) {
    one_kind(m, t, ProfileKind::kLine);
    m.line = {kMaxLineLength, kMaxLineReach, 1};
    fill(t, kMaxLineLength * (kMaxLineLength + 1));
  });
  const ShapeRef hat = changed_model(3, 3, 1, [&](ShapeModel& m, test::ShapeTables& t) {
    one_kind(m, t, ProfileKind::kHat);
    m.hat = {kMaxHatGrid, 3, kMaxHatBins, 33, 0, 8, 4, 0.5, 10};
    fill(t, 1 + m.hat.size());
  });
  for (const ShapeRef& model : {patch, line, hat}) {
    const auto ours = make_cuda(*model);
    ASSERT_TRUE(ours);
    const ShapeInput input{noise(160, 120, 4), {{30, 20, 70, 70}, {90, 60, 80, 80}}};
    ASSERT_NO_FATAL_FAILURE(compare(model, *ours, {input}));
  }
  EXPECT_EQ(faces_ - refused_, 6);
}

TEST_F(ShapeCuda, WhatIsRefused) {
  const ShapeRef model = model_of_any_kind(3, 1);
  auto bad = *model;
  bad.points = 0;
  EXPECT_EQ(cuda::DeviceShape::create(bad).status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(cuda::ShapeSearcher::create(nullptr).status().code(), StatusCode::kInvalidArgument);
  const auto device = cuda::DeviceShape::create(*model);
  ASSERT_TRUE(device.ok());
  EXPECT_EQ(cuda::ShapeSearcher::create(device.value(), 0).status().code(),
            StatusCode::kInvalidArgument);
  const ShapeRef large = changed_model(4, 8, 1, [](ShapeModel& m, test::ShapeTables& t) {
    m.iterations = 1;
    m.refits = 0;
    t.refit_limits.clear();
    m.hat = {3, 4, 8, kMaxHatPatch, 0, kMaxHatReach, 8, 0.5, 10};
  });
  const auto on_device = cuda::DeviceShape::create(*large);
  ASSERT_TRUE(on_device.ok()) << on_device.status().message();
  int most = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), cudaSuccess);
  const auto made = cuda::ShapeSearcher::create(on_device.value());
  if (cuda::shared_bytes(*on_device.value()) > static_cast<std::size_t>(most)) {
    EXPECT_EQ(made.status().code(), StatusCode::kUnsupported);
    EXPECT_NE(made.status().message().find("on the CPU"), std::string::npos);
  } else {
    EXPECT_TRUE(made.ok()) << made.status().message();
  }

  const auto ours = make_cuda(*model);
  ASSERT_TRUE(ours);
  test::GuardedBytes luma(noise(60, 50, 1).bytes), faces(test::block_of({}, model->points));
  const cuda::ShapeFrame good{
      {luma.data(), 60, 50, 60}, test::faces_at(faces), test::faces_at(faces)};
  const auto code = [&](const std::vector<cuda::ShapeFrame>& frames) {
    return ours->enqueue(frames, *stream_).code();
  };
  EXPECT_EQ(code({}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(std::vector(cuda::ShapeSearcher::kMostFrames + 1, good)),
            StatusCode::kInvalidArgument);
  for (const auto& change :
       std::vector<void (*)(cuda::ShapeFrame&)>{[](cuda::ShapeFrame& f) { f.luma.data = nullptr; },
                                                [](cuda::ShapeFrame& f) { f.luma.height = 0; },
                                                [](cuda::ShapeFrame& f) { f.in = nullptr; },
                                                [](cuda::ShapeFrame& f) { f.out = nullptr; }}) {
    cuda::ShapeFrame frame = good;
    change(frame);
    EXPECT_EQ(code({good, frame}), StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(code({good}), StatusCode::kOk);
}

}  // namespace
}  // namespace cuface
