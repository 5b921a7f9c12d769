// Networks in our own file format: what comes back, what is refused, and which kind a file is.
#include <cstring>

#include "models/cascade_file.h"
#include "models/forest_file.h"
#include "models/models.h"
#include "models/network_file.h"
#include "tests/fewer.h"
#include "tests/kernels/networks.h"
#include "tests/models/bad_cascade.h"
#include "tests/models/synthetic_forest.h"
#include "tests/models/temporary.h"
#include "tests/models/use_model.h"

namespace cuface::test {
namespace {

bool is_same(const NetworkModel& a, const NetworkModel& b) {
  const auto same_layer = [](const NetworkLayer& x, const NetworkLayer& y) {
    return x.op == y.op && x.input == y.input && x.other == y.other && x.channels == y.channels &&
           x.relu == y.relu && x.first_weight == y.first_weight;
  };
  const auto same_head = [](const NetworkHead& x, const NetworkHead& y) {
    return x.classes == y.classes && x.objects == y.objects && x.boxes == y.boxes &&
           x.points == y.points;
  };
  return a.name == b.name &&
         std::equal(a.layers.begin(), a.layers.end(), b.layers.begin(), b.layers.end(),
                    same_layer) &&
         std::equal(a.heads.begin(), a.heads.end(), b.heads.begin(), b.heads.end(), same_head) &&
         a.weights.size() == b.weights.size() &&
         std::memcmp(a.weights.data(), b.weights.data(), a.weights.size_bytes()) == 0;
}

TEST(NetworkFile, RoundTrip) {
  const TemporaryFolder folder;
  const auto model = random_yunet(7);
  const std::string path = folder / "n.cuface";
  ASSERT_TRUE(write_network_file(*model, {"random.onnx", "12ab", "none"}, path).ok());
  const auto loaded = load_network(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_TRUE(is_same(*model, *loaded.value()));
  EXPECT_TRUE(use(loaded.value()));
  EXPECT_EQ(load_network(path).value(), loaded.value()) << "one object a file";
  EXPECT_EQ(model_kind(path).value(), ModelKind::kNetwork);
  // The same bytes once more; they are the file's own, at an address for vectors.
  ASSERT_TRUE(
      write_network_file(*loaded.value(), {"random.onnx", "12ab", "none"}, folder / "m").ok());
  EXPECT_EQ(read_file(path), read_file(folder / "m"));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(loaded.value()->weights.data()) % 64, 0u);
  std::printf("%zu layers, %zu weights, %zu bytes\n", model->layers.size(), model->weights.size(),
              read_file(path).size());
}

/// As small as a network can be: a head of stride 2.
std::shared_ptr<const NetworkModel> smallest_network() {
  NetworkBuilder b(1);
  b.head(b.convolve_picture(1));
  return b.build();
}

TEST(NetworkFile, EveryTruncationAndEveryByte) {
  const TemporaryFolder folder;
  const auto model = smallest_network();
  const std::string path = folder / "random.cuface";
  ASSERT_TRUE(write_network_file(*model, {}, path).ok());
  ASSERT_TRUE(load_network(path).ok());
  const std::string good = read_file(path);
  int files = 0;
  const auto refused = [&](const std::string& content) {
    ++files;
    write_file(path, content);
    const auto loaded = load_network(path);
    return !loaded.ok() && loaded.status().message().rfind(path, 0) == 0;
  };
  for (std::size_t size = 0; size < good.size(); size += static_cast<std::size_t>(every())) {
    ASSERT_TRUE(refused(good.substr(0, size))) << size;
  }
  EXPECT_TRUE(refused(good + '\0'));
  for (std::size_t at = 0; at < good.size(); at += static_cast<std::size_t>(every())) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    ASSERT_TRUE(refused(bad)) << at;
  }
  std::printf("%d files\n", files);
  EXPECT_GT(files, 200);
}

/// Files of every kind, by their names.
class Kinds : public ::testing::Test {
 protected:
  Kinds() {
    write_file(folder_ / "cascade.xml", xml("0 -1 0 1.6", "0. 1.", kRects, "0.5", "24", ""));
    write_file(folder_ / "forest.dat", synthetic_dat(5, 2, 3, 2, 4, 1));
    write_file(folder_ / "text", "no model at all");
    write_file(folder_ / "named.onnx", "no model at all");
    write_file(folder_ / "model.pb", std::string("\x08\x07\x12\x04text", 8));
    const auto cascade = load_cascade(folder_ / "cascade.xml");
    const auto forest = load_forest(folder_ / "forest.dat");
    EXPECT_TRUE(cascade.ok() && forest.ok());
    EXPECT_TRUE(write_cascade_file(*cascade.value(), {}, folder_ / "cascade.cuface").ok());
    EXPECT_TRUE(write_forest_file(*forest.value(), {}, folder_ / "forest.cuface").ok());
    EXPECT_TRUE(write_network_file(*smallest_network(), {}, folder_ / "network.cuface").ok());
  }

  /// What is said about the file behind its path.
  template <typename Load>
  std::string message(Load load, const std::string& name) const {
    const auto loaded = load(folder_ / name);
    EXPECT_FALSE(loaded.ok()) << name;
    const std::string start = folder_ / name + ": ";
    EXPECT_EQ(loaded.status().message().rfind(start, 0), 0u) << loaded.status().message();
    return loaded.status().message().substr(start.size());
  }

  const TemporaryFolder folder_;
};

TEST_F(Kinds, AreToldApart) {
  for (const char* name : {"cascade.xml", "cascade.cuface", "text"}) {
    EXPECT_EQ(model_kind(folder_ / name).value(), ModelKind::kCascade) << name;
  }
  for (const char* name : {"forest.dat", "forest.cuface"}) {
    EXPECT_EQ(model_kind(folder_ / name).value(), ModelKind::kForest) << name;
  }
  for (const char* name : {"network.cuface", "named.onnx", "model.pb"}) {
    EXPECT_EQ(model_kind(folder_ / name).value(), ModelKind::kNetwork) << name;
  }
  EXPECT_EQ(model_kind(folder_ / "missing").status().code(), StatusCode::kNotFound);
  write_file(folder_ / "cut", read_file(folder_ / "network.cuface").substr(0, 400));
  EXPECT_EQ(model_kind(folder_ / "cut").status().code(), StatusCode::kCorrupt);
}

TEST_F(Kinds, AnotherKindIsNamed) {
  const std::string network = ", not a face-detection network";
  EXPECT_EQ(message(load_network, "cascade.xml"), "a Haar cascade" + network);
  EXPECT_EQ(message(load_network, "cascade.cuface"), "a Haar cascade" + network);
  EXPECT_EQ(message(load_network, "forest.dat"), "a landmark model" + network);
  EXPECT_EQ(message(load_network, "forest.cuface"), "a landmark model" + network);
  EXPECT_EQ(message(load_cascade, "network.cuface"),
            "a face-detection network, not a Haar cascade");
  EXPECT_EQ(message(load_forest, "network.cuface"),
            "a face-detection network, not a landmark model");
  EXPECT_NE(message(load_network, "text").find("another kind of file"), std::string::npos);
}

TEST_F(Kinds, AnOnnxFileNamesTheCommand) {
  for (const char* name : {"named.onnx", "model.pb"}) {
    const std::string ours = std::string(name).substr(0, 5) + ".cuface";
    EXPECT_NE(message(load_network, name)
                  .find("cuface-model convert " + (folder_ / name) + " " + (folder_ / ours)),
              std::string::npos)
        << message(load_network, name);
  }
  EXPECT_EQ(load_network(folder_ / "named.onnx").status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(load_network(folder_ / "missing.onnx").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace cuface::test
