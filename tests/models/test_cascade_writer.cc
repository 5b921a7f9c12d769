// Cascades that we write: read back the same bits, and OpenCV finds the same with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/objdetect.hpp>
#include <random>

#include "kernels/boost/boost.h"
#include "kernels/detect/detect.h"
#include "models/cascade_file.h"
#include "models/cascade_writer.h"
#include "models/cascade_xml.h"
#include "models/models.h"
#include "models/provenance.h"
#include "tests/data.h"
#include "tests/kernels/boost_samples.h"
#include "tests/kernels/pictures.h"
#include "tests/models/bad_cascade.h"
#include "tests/models/cascade_bits.h"
#include "tests/models/temporary.h"

namespace cuface {
namespace {

using test::bits_of;
using test::TemporaryFolder;

Provenance some_source() {
  TrainingRecord training;
  EXPECT_TRUE(training.add("program", "cuface-train 0.0.0"));
  EXPECT_TRUE(training.add("positives", "0123456789abcdef"));
  EXPECT_TRUE(training.add("seed", "18446744073709551615"));
  EXPECT_TRUE(training.add("settings", "--a --- \"b\" <c> & -->"));
  return trained_provenance("face.xml", training);
}

Provenance source_in(const std::string& path) {
  const auto file = ModelFile::open(path);
  EXPECT_TRUE(file.ok()) << file.status().message();
  const auto bytes = file.value().read(std::size_t{1} << 24);
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  const auto source = provenance_of(bytes.value(), ModelKind::kCascade);
  EXPECT_TRUE(source.ok()) << source.status().message();
  return source.ok() ? source.value() : Provenance{};
}

/// Stages of drawn windows, so that there are features and trees of every kind.
CascadeModel trained(FeatureMode mode, FeatureWeights weights, int depth) {
  constexpr int kSide = 12;
  const FeatureBank bank = FeatureBank::create(kSide, kSide, mode, weights).value();
  BoostOptions options;
  options.max_depth = depth;
  options.min_hit_rate = 0.98f;
  std::vector<BoostedStage> stages;
  for (int i = 0; i < 2; ++i) {
    options.max_false_alarm = i == 0 ? 0.4f : 0.2f;
    const test::DrawnSamples samples = test::drawn_samples(kSide, 100 + 10 * i, 100);
    auto stage = train_stage(bank, samples.view(), options);
    EXPECT_TRUE(stage.ok()) << stage.status().message();
    stages.push_back(stage.value());
  }
  return make_cascade(bank, stages).value();
}

/// One tree a leaf pair: as many numbers as fit.
CascadeModel with_numbers(const std::vector<float>& numbers) {
  CascadeModel m;
  m.window_width = m.window_height = 24;
  m.features.push_back({false, 2, {{0, 0, 24, 24, -1}, {6, 6, 12, 12, 4}}});
  for (std::size_t i = 0; i + 3 < numbers.size(); i += 4) {
    const int n = static_cast<int>(m.trees.size());
    m.trees.push_back({n, 1, 2 * n, 2});
    m.nodes.push_back({0, numbers[i], 0, -1});
    m.leaves.insert(m.leaves.end(), {numbers[i + 1], numbers[i + 2]});
    if (m.stages.size() < kMaxCascadeStages) m.stages.push_back({n, 0, numbers[i + 3]});
    ++m.stages.back().tree_count;
  }
  return m;
}

void expect_read_back(const CascadeModel& model, const TemporaryFolder& folder) {
  for (const char* name : {"c.xml", "c.cuface"}) {
    const Status written = write_cascade(folder / name, model, some_source());
    ASSERT_TRUE(written.ok()) << written.message();
    const auto read = load_cascade(folder / name);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(bits_of(*read.value()), bits_of(model)) << name;
    EXPECT_EQ(source_in(folder / name).training, some_source().training) << name;
  }
}

TEST(CascadeWriter, AllNumbersComeBack) {
  const TemporaryFolder folder;
  std::vector<float> numbers = {0.0f,
                                -0.0f,
                                1.0f,
                                16777216.0f,
                                123456784384.0f,  // shorter without an exponent
                                std::numeric_limits<float>::max(),
                                std::numeric_limits<float>::lowest(),
                                std::numeric_limits<float>::min(),
                                std::numeric_limits<float>::denorm_min(),
                                0.1f,
                                1e10f,
                                -1e-10f};
  std::mt19937 random(38);
  while (numbers.size() < 200'000) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isfinite(value)) numbers.push_back(value);
  }
  std::size_t compared = 0;
  constexpr std::size_t kOfOne = 100'000;  // the reader's limit of elements is near
  for (std::size_t at = 0; at < numbers.size(); at += kOfOne) {
    const std::vector<float> some(numbers.begin() + static_cast<std::ptrdiff_t>(at),
                                  numbers.begin() + static_cast<std::ptrdiff_t>(at + kOfOne));
    const CascadeModel model = with_numbers(some);
    expect_read_back(model, folder);
    compared += model.leaves.size() + model.nodes.size() + model.stages.size();
  }
  EXPECT_GT(compared, 150'000u);
}

// OpenCV takes a number without a point or an exponent for an integer of 32 bits.
TEST(CascadeWriter, NoFloatLooksLikeAnInteger) {
  const std::string text =
      cascade_xml(with_numbers({4294967296.0f, 123456784384.0f, 3.0f, 16777216.0f}), some_source());
  const cv::FileStorage storage(text, cv::FileStorage::READ | cv::FileStorage::MEMORY);
  const cv::FileNode stage = storage.getFirstTopLevelNode()["stages"][0];
  EXPECT_EQ(static_cast<float>(stage["stageThreshold"]), 16777216.0f);
  const cv::FileNode tree = stage["weakClassifiers"][0];
  EXPECT_EQ(static_cast<float>(tree["internalNodes"][3]), 4294967296.0f);
  EXPECT_EQ(static_cast<float>(tree["leafValues"][0]), 123456784384.0f);
}

TEST(CascadeWriter, DebiansCascadesComeBack) {
  CUFACE_NEEDS_CASCADES();
  const TemporaryFolder folder;
  int files = 0;
  for (const std::string& path : test::haar_cascades()) {
    SCOPED_TRACE(path);
    const auto model = load_cascade(path);
    ASSERT_TRUE(model.ok()) << model.status().message();
    expect_read_back(*model.value(), folder);
    ++files;
  }
  EXPECT_EQ(files, 17);
}

/// Faces as the windows of boost_samples.h draw them, among clutter.
cv::Mat picture_with_faces(int side) {
  constexpr int kWidth = 160, kHeight = 120;
  cv::Mat picture(kHeight, kWidth, CV_8UC1);
  cv::RNG random(5);
  random.fill(picture, cv::RNG::UNIFORM, 60, 200);
  cv::blur(picture, picture, {3, 3});
  for (std::uint32_t i = 0; i < 30; ++i) {
    std::vector<std::uint8_t> window = test::drawn_window(side, i % 3 != 0, 1000 + i);
    const cv::Mat small(side, side, CV_8UC1, window.data());
    cv::Mat large;
    const int size = side + static_cast<int>(i);
    cv::resize(small, large, {size, size});
    large.copyTo(picture(
        cv::Rect(random.uniform(0, kWidth - size), random.uniform(0, kHeight - size), size, size)));
  }
  return picture;
}

using Found = std::vector<std::array<int, 5>>;

Found ours(const std::string& path, const cv::Mat& picture, int min_neighbors) {
  const auto model = load_cascade(path);
  EXPECT_TRUE(model.ok()) << model.status().message();
  DetectConfig config;
  config.min_neighbors = min_neighbors;
  config.max_faces = 1 << 20;
  auto detector =
      Detector::create(Backend::kCpu, model.value(), config, picture.cols, picture.rows);
  EXPECT_TRUE(detector.ok()) << detector.status().message();
  DetectResult result;
  const ImageView<const std::uint8_t> view{picture.data, picture.cols, picture.rows,
                                           static_cast<std::ptrdiff_t>(picture.step)};
  EXPECT_TRUE(detector.value()->enqueue(view, result).ok());
  Found found;
  for (const Detection& d : result.faces) {
    found.push_back({d.box.x, d.box.y, d.box.w, d.box.h, d.neighbors});
  }
  std::sort(found.begin(), found.end());
  return found;
}

Found opencvs(const std::string& path, const cv::Mat& picture, int min_neighbors) {
  cv::CascadeClassifier classifier;
  EXPECT_TRUE(classifier.load(path));
  std::vector<cv::Rect> boxes;
  std::vector<int> neighbors;
  classifier.detectMultiScale(picture, boxes, neighbors, 1.1, min_neighbors);
  Found found;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    found.push_back({boxes[i].x, boxes[i].y, boxes[i].width, boxes[i].height, neighbors[i]});
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(CascadeWriter, OpenCvFindsTheSameWithWhatWasTrained) {
  const TemporaryFolder folder;
  const cv::Mat picture = picture_with_faces(12);
  std::size_t raw = 0, grouped = 0, tilted = 0, deep = 0;
  const struct {
    FeatureMode mode;
    FeatureWeights weights;
    int depth;
  } kinds[] = {{FeatureMode::kBasic, FeatureWeights::kOpenCv, 1},
               {FeatureMode::kAll, FeatureWeights::kZeroMean, 1},
               {FeatureMode::kAll, FeatureWeights::kOpenCv, 3}};
  for (const auto& kind : kinds) {
    const CascadeModel model = trained(kind.mode, kind.weights, kind.depth);
    tilted += model.has_tilted();
    deep += model.nodes.size() > model.trees.size();
    expect_read_back(model, folder);
    for (const int min_neighbors : {0, 3}) {
      const Found want = opencvs(folder / "c.xml", picture, min_neighbors);
      EXPECT_EQ(ours(folder / "c.xml", picture, min_neighbors), want);
      EXPECT_EQ(ours(folder / "c.cuface", picture, min_neighbors), want);
      (min_neighbors == 0 ? raw : grouped) += want.size();
    }
  }
  EXPECT_GT(raw, 300u);
  EXPECT_GT(grouped, 10u);
  EXPECT_EQ(tilted, 2u);
  EXPECT_EQ(deep, 1u);
}

TEST(CascadeWriter, WhatNobodyWouldReadIsNotWritten) {
  const TemporaryFolder folder;
  const CascadeModel good = with_numbers({0, -1, 1, 0});
  EXPECT_EQ(write_cascade(folder / "c.yml", good, {}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(write_cascade(folder / "no/c.xml", good, {}).code(), StatusCode::kIo);
  CascadeModel bad = good;
  bad.leaves[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(write_cascade(folder / "c.xml", bad, {}).code(), StatusCode::kCorrupt);
  // Sound, but its XML is larger than what is read.
  const CascadeModel large = with_numbers(std::vector<float>(4 * kMaxCascadeTrees));
  const Status refused = write_cascade(folder / "c.xml", large, {});
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("larger than any"), std::string::npos) << refused.message();
  EXPECT_TRUE(write_cascade(folder / "c.cuface", large, {}).ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "c.xml"));
}

TEST(TrainingRecord, IsSoundWhateverIsAdded) {
  TrainingRecord record;
  EXPECT_FALSE(record.add("", "v"));
  EXPECT_FALSE(record.add("Name", "v"));
  EXPECT_FALSE(record.add("na me", "v"));
  EXPECT_FALSE(record.add(std::string(TrainingRecord::kMostNameBytes + 1, 'a'), "v"));
  EXPECT_TRUE(record.add("a-1", "\x01 \xff\n\x7f" + std::string(1000, 'v')));
  ASSERT_EQ(record.lines().size(), 1u);
  EXPECT_EQ(record.lines()[0].value.substr(0, 7), "? ???vv");
  EXPECT_EQ(record.lines()[0].value.size(), TrainingRecord::kMostValueBytes);
  while (record.lines().size() < TrainingRecord::kMostLines) {
    ASSERT_TRUE(record.add("more", std::string(TrainingRecord::kMostValueBytes, '-')));
  }
  EXPECT_FALSE(record.add("more", "v"));
  // The largest record can be written and read, in both formats.
  const TemporaryFolder folder;
  for (const char* name : {"c.xml", "c.cuface"}) {
    const Status written =
        write_cascade(folder / name, with_numbers({0, -1, 1, 0}), trained_provenance("c", record));
    ASSERT_TRUE(written.ok()) << written.message();
    EXPECT_EQ(source_in(folder / name).training, record);
  }
}

TEST(TrainingRecord, HostileOnesAreRefused) {
  const auto of = [](const std::string& text) {
    return TrainingRecord::from_json(nlohmann::json::parse(text));
  };
  EXPECT_TRUE(of("[]").ok());
  EXPECT_TRUE(of(R"([["seed","1"],["seed",""]])").ok());
  const std::string line = R"(["a","b"],)";
  std::string many;
  for (std::size_t i = 0; i < TrainingRecord::kMostLines; ++i) many += line;
  const std::string bad[] = {
      "7",
      "{}",
      "\"seed\"",
      "[1]",
      "[[]]",
      R"([["seed"]])",
      R"([["seed","1","2"]])",
      R"([["seed",1]])",
      R"([[1,"seed"]])",
      R"([["seed",["1"]]])",
      R"([["","1"]])",
      R"([["Seed","1"]])",
      R"([["seed","\u0000"]])",
      R"([["seed","\u001b[2J"]])",
      R"([["seed","\u00e4"]])",
      "[[\"seed\",\"" + std::string(TrainingRecord::kMostValueBytes + 1, 'v') + "\"]]",
      "[[\"" + std::string(TrainingRecord::kMostNameBytes + 1, 'n') + "\",\"\"]]",
      "[" + many + line.substr(0, line.size() - 1) + "]",
  };
  for (const std::string& text : bad) {
    const auto record = of(text);
    ASSERT_FALSE(record.ok()) << text;
    EXPECT_EQ(record.status().code(), StatusCode::kCorrupt);
  }
}

TEST(TrainingRecord, TheCommentsOfXmlFiles) {
  const TemporaryFolder folder;
  const std::string body = test::xml(test::kNodes, test::kLeaves, test::kRects);
  const std::size_t root = body.find("<opencv_storage>");
  const auto source = [&](const std::string& comment) {
    test::write_file(folder / "c.xml", body.substr(0, root) + comment + body.substr(root));
    EXPECT_TRUE(load_cascade(folder / "c.xml").ok()) << comment;
    const auto file = ModelFile::open(folder / "c.xml");
    return provenance_of(file.value().read(std::size_t{1} << 24).value(), ModelKind::kCascade);
  };
  const std::string good = provenance_comment(some_source());
  EXPECT_EQ(good.substr(4, good.size() - 8).find("--"), std::string::npos) << good;
  for (const std::string& comment : {good, "<!-- another's -->\n" + good, " \n" + good}) {
    ASSERT_TRUE(source(comment).ok());
    EXPECT_EQ(source(comment).value().training, some_source().training);
  }
  // Not ours: the file itself is the source.
  const std::string mark = good.substr(0, good.find('\n') + 1);
  for (const std::string& comment : {std::string(), std::string("<!-- { } -->")}) {
    ASSERT_TRUE(source(comment).ok());
    EXPECT_EQ(source(comment).value().file, "c.xml");
    EXPECT_EQ(source(comment).value().sha256.size(), 64u);
  }
  for (const std::string& json :
       {std::string(), std::string("{"), std::string("[]"), std::string(R"({"training":7})"),
        std::string(R"({"training":[["a"]]})"), std::string(300'000, ' ') + "{}"}) {
    const auto found = source(mark + json + "-->\n");
    ASSERT_FALSE(found.ok()) << json;
    EXPECT_EQ(found.status().code(), StatusCode::kCorrupt);
    EXPECT_EQ(found.status().message().rfind(folder / "c.xml: the comment", 0), 0u);
  }
}

}  // namespace
}  // namespace cuface
