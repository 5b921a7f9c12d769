// Landmark models as dlib's file: byte for byte what dlib writes.
#include <dlib/image_processing/shape_predictor.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <sstream>

#include "models/dlib_dat.h"
#include "models/dlib_dat_writer.h"
#include "models/forest_file.h"
#include "models/models.h"
#include "tests/models/synthetic_forest.h"
#include "tests/models/temporary.h"

namespace cuface {
namespace {

TEST(DatWriter, WritesDlibsBytes) {
  const std::string bytes = test::synthetic_dat(68, 3, 5, 4, 300, 7);
  const auto model = parse_dlib_dat(test::as_bytes(bytes), "model.dat");
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_TRUE(dlib_dat_bytes(*model.value()) == bytes);
}

// Floats that dlib spells in another way than most.
TEST(DatWriter, SpellsEveryFloatAsDlibDoes) {
  const float least = std::numeric_limits<float>::denorm_min();
  const float most = std::numeric_limits<float>::max();
  dlib::matrix<float, 0, 1> mean(2);
  mean = 0.5f, -0.0f;
  dlib::impl::regression_tree tree;
  tree.splits.push_back({0, 1, -256.0f});
  for (const float value : {0.0f, 1.0f, -1.0f, 65536.0f, least, -least, most, -most, 0.1f,
                            -16777217.0f, 1.17549435e-38f, 3e-42f}) {
    tree.leaf_values.resize(2);
    for (auto& leaf : tree.leaf_values) {
      leaf.set_size(2);
      leaf = value, -value;
    }
    const dlib::shape_predictor predictor(mean, {{tree}}, {{{0.25f, 0}, {value, -1}}});
    std::ostringstream out;
    serialize(predictor, out);
    const auto model = parse_dlib_dat(test::as_bytes(out.str()), "model.dat");
    ASSERT_TRUE(model.ok()) << value << ": " << model.status().message();
    EXPECT_TRUE(dlib_dat_bytes(*model.value()) == out.str()) << value;
  }
}

TEST(DatWriter, DlibAndOurLoaderReadTheFile) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "written.dat";
  const auto model = test::synthetic_forest(5, 2, 3, 2, 20, 8);
  ASSERT_TRUE(write_dlib_dat(*model, path).ok());
  dlib::shape_predictor predictor;
  dlib::deserialize(path) >> predictor;
  EXPECT_EQ(predictor.num_parts(), 5u);
  const auto loaded = load_forest(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_TRUE(dlib_dat_bytes(*loaded.value()) == dlib_dat_bytes(*model));
}

TEST(DatWriter, RefusesWhatDlibDoesNotKnow) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "written.dat";
  const auto model = test::synthetic_forest(5, 2, 3, 2, 20, 9);
  EXPECT_EQ(write_dlib_dat(*compact_forest(*model), path).code(), StatusCode::kUnsupported);
  ForestModel bad = *model;
  bad.pool = 0;
  EXPECT_EQ(write_dlib_dat(bad, path).code(), StatusCode::kCorrupt);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(write_dlib_dat(*model, folder / "none/written.dat").code(), StatusCode::kIo);
}

}  // namespace
}  // namespace cuface
