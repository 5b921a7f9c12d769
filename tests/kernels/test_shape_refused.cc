// What cannot become a shape model is refused before it is learnt.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/shape_training/shape_training.h"

namespace cuface {
namespace {

TEST(ShapeRefused, WhatIsRefused) {
  ShapeOptions options;
  EXPECT_TRUE(validate(options, 68).ok());
  EXPECT_EQ(validate(options, 67).code(), StatusCode::kInvalidArgument);
  options.pull = -1;
  EXPECT_NE(validate(options, 68).message().find("--pull"), std::string::npos);
  options.pull = 1;
  EXPECT_NE(validate(options, 68).message().find("patches"), std::string::npos);
  options.pull = 0;
  options.weigh = true;
  EXPECT_NE(validate(options, 68).message().find("patches"), std::string::npos);
  options.weigh = false;
  options.floor = std::nan("");
  EXPECT_NE(validate(options, 68).message().find("--floor"), std::string::npos);
  options.floor = 0.1;
  for (const double noise : {-1.0, 1e-200, 101.0, std::nan("")}) {
    options.noise = noise;
    EXPECT_NE(validate(options, 68).message().find("--noise"), std::string::npos) << noise;
  }
  ShapeFaces faces;
  faces.landmarks = 68;
  EXPECT_EQ(train_shape(faces, {}).status().code(), StatusCode::kInvalidArgument);
}

// 68 patches of 169 gradients and all rows: 28,732 numbers each, which are 14.9 MiB a level.
TEST(ShapeRefused, AModelThatCouldNotBeReadIsRefusedBefore) {
  ShapeOptions options;
  options.profiles = ProfileKind::kPatch;
  options.levels = 5;
  EXPECT_TRUE(validate(options, 68).ok());
  constexpr std::size_t kLevel = 68u * (2 + 169 + 169 * 169);
  EXPECT_TRUE(check_model_size(options, 68, 4 * kLevel, 1).ok());
  EXPECT_EQ(check_model_size(options, 68, 5 * kLevel, 0).code(), StatusCode::kInvalidArgument);
  options.rows = PatchRows::kAll;
  const Status refused = validate(options, 68);
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  for (const char* word : {"74 MiB", "62 MiB", "--levels", "--rows residual"})
    EXPECT_NE(refused.message().find(word), std::string::npos) << refused.message();
  options.levels = 4;
  EXPECT_TRUE(validate(options, 68).ok());
}

// 68 patches of 13x13 on 25 places: 4,225 additions a row, and one of the gradients.
TEST(ShapeRefused, ASearchThatIsTooLongIsRefusedOnceItsRowsAreKnown) {
  ShapeOptions options;
  options.profiles = ProfileKind::kPatch;
  options.iterations = 20;
  const auto rows = [&](double of_level_0) {
    LearntTextures learnt;
    for (int i = 0; i < 68; ++i) {
      learnt.profiles.push_back({ProfileKind::kPatch, 0});
      learnt.numbers = {of_level_0, 0};
    }
    return check_model_work(options, 68, 1000, learnt);
  };
  // 20 x 68 x 4,225 x (rows + 1, and 2 on each of three levels) <= 2e9.
  EXPECT_TRUE(rows(341).ok());
  const Status refused = rows(342);
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("2.0 billion additions or more"), std::string::npos)
      << refused.message();
  // Of three faces two directions vary, so 167 rows are left on each level.
  EXPECT_TRUE(check_model_work(options, 68, 1000, {}).ok());
  EXPECT_TRUE(validate(options, 68).ok());
  EXPECT_FALSE(check_model_work(options, 68, 3, {}).ok());
  options.rows = PatchRows::kKept;
  EXPECT_TRUE(check_model_work(options, 68, 3, {}).ok());
}

/// Faces of five points, one in each of some pictures of noise; and options that take no time.
struct FewFaces {
  explicit FewFaces(std::size_t count) : picture(64, 64), pictures(count, picture.view()) {
    std::mt19937 random(7);
    for (int y = 0; y < 64; ++y)
      for (int x = 0; x < 64; ++x) picture.view().at(x, y) = static_cast<std::uint8_t>(random());
    for (std::size_t face = 0; face < count; ++face) {
      picture_of.push_back(static_cast<std::uint32_t>(face));
      boxes.push_back({8, 8, 48, 48});
      for (const Point& p : {Point{48, 24}, {40, 24}, {16, 24}, {24, 24}, {32, 44}})
        points.push_back({p.x + static_cast<float>(face % 4), p.y});
    }
    present.assign(points.size(), 1);
    options.profiles = ProfileKind::kLine;
    options.levels = 1;
    options.size = 20;
    options.confidence_folds = 0;
  }
  ShapeFaces faces(std::size_t unmirrored = 0) const {
    return {5, pictures, picture_of, boxes, points, present, {}, unmirrored};
  }
  Image<std::uint8_t> picture;
  std::vector<ImageView<const std::uint8_t>> pictures;
  std::vector<std::uint32_t> picture_of;
  std::vector<Box> boxes;
  std::vector<Point> points;
  std::vector<std::uint8_t> present;
  ShapeOptions options;
};

// Of three pictures the first and the third are fold 1 of 2. With their mirror images, which are
// pictures 4 and 6, two faces are left: were images in the folds of their own numbers, four.
TEST(ShapeRefused, AFaceAndItsMirrorImageAreInOneFold) {
  FewFaces few(6);
  few.options.confidence_folds = 2;
  const Status status = train_shape(few.faces(3), few.options).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("fold 1 of 2 there are 2 faces"), std::string::npos)
      << status.message();
  const auto alone = train_shape(few.faces(), few.options);
  EXPECT_TRUE(alone.ok()) << alone.status().message();
}

// What a checkpoint holds is not trusted.
TEST(ShapeRefused, WhatWasBegunMustFit) {
  const FewFaces few(4);
  const ShapeFaces faces = few.faces();
  const ShapeOptions& options = few.options;
  const auto whole = train_shape(faces, options);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  LearntTextures good{{whole.value()->profiles.begin(), whole.value()->profiles.end()},
                      {whole.value()->numbers.begin(), whole.value()->numbers.end()},
                      {}};
  const auto again = train_shape(faces, options, {}, good);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(std::ranges::equal(again.value()->numbers, whole.value()->numbers));
  const auto refused = [&](const auto& spoil) {
    LearntTextures spoilt = good;
    spoil(spoilt);
    return train_shape(faces, options, {}, spoilt).status().code();
  };
  using Code = StatusCode;
  EXPECT_EQ(refused([](auto& b) { b.profiles.pop_back(); }), Code::kInvalidArgument);
  EXPECT_EQ(refused([](auto& b) { b.profiles[2].kind = ProfileKind::kHat; }),
            Code::kInvalidArgument);
  EXPECT_EQ(refused([](auto& b) { b.profiles[2].first_number = 4'000'000'000u; }),
            Code::kInvalidArgument);
  EXPECT_EQ(refused([](auto& b) { b.numbers.clear(); }), Code::kInvalidArgument);
  EXPECT_EQ(refused([](auto& b) { b.refit_limits.push_back(1); }), Code::kInvalidArgument);
  EXPECT_EQ(refused([](auto& b) { b.numbers.pop_back(); }), Code::kCorrupt);
}

}  // namespace
}  // namespace cuface
