// The tables of confidences that come with the sources: they are those that tests/full/confidence
// has written beside its results. Files that users give are refused where they are wrong.
#include <cstdlib>
#include <fstream>

#include "models/confidence_json.h"
#include "models/stasm_sources.h"
#include "tests/models/synthetic_stasm.h"
#include "tests/models/temporary.h"

namespace cuface::test {
namespace {

using Json = nlohmann::json;

class ConfidenceFile : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::getenv("CUFACE_SOURCE_ROOT"))
      GTEST_SKIP() << "CUFACE_SOURCE_ROOT is not set (meson test does)";
  }
  static std::string source(const std::string& name) {
    return std::string(std::getenv("CUFACE_SOURCE_ROOT")) + "/" + name;
  }
  static Json results(const std::string& name) {
    std::ifstream file(source("docs/results/" + name + ".json"));
    return Json::parse(file);
  }
};

TEST_F(ConfidenceFile, TheForestsAreThoseMeasured) {
  const Json measured = results("confidence"), &goals = measured["goals"];
  EXPECT_EQ(to_json(default_confidence(68)), measured["table"]);
  EXPECT_FALSE(default_confidence(5).is_known()) << "nobody has calibrated it";
  EXPECT_LT(measured["largest_difference_to_the_product"], 1e-5);
  const Json& as_used = measured["samples=4"];
  EXPECT_GE(as_used["roc_area"], goals["roc_area"]);
  EXPECT_LE(as_used["reliability_error"], goals["reliability_error"]);
  EXPECT_GE(as_used["good_above_0_8"], goals["good_above_0_8"]);
}

TEST_F(ConfidenceFile, StasmsAreThoseMeasured) {
  const auto loaded = load_shape_confidence(source("models/stasm-confidence.json"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const Json measured = results("confidence-stasm"), &goals = measured["goals"];
  EXPECT_EQ(to_json(loaded.value().table, loaded.value().parts), measured["table"]);
  EXPECT_LT(measured["largest_difference_to_the_product"], 1e-5);
  EXPECT_GE(measured["all"]["roc_area"], goals["roc_area"]);
  EXPECT_LE(measured["all"]["reliability_error"], goals["reliability_error"]);
  EXPECT_GE(measured["all"]["good_above_0_8"], goals["good_above_0_8"]);
  const std::string tar = stasm_archive(stasm_files());
  const auto parsed = parse_stasm_sources(
      {reinterpret_cast<const std::uint8_t*>(tar.data()), tar.size()}, "stasm.tar");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  ShapeModel model = *parsed.value();
  model.confidence = loaded.value().table;
  model.usual_costs = loaded.value().usual_costs;
  model.score_offsets = loaded.value().offsets;
  model.score_parts = loaded.value().parts;
  EXPECT_EQ(validate(model).message(), "");
}

TEST_F(ConfidenceFile, TrainedModelsReachTheGoals) {
  const Json measured = results("confidence-trained"), &goals = measured["goals"];
  EXPECT_GE(measured["all"]["points"], 200000);
  EXPECT_GE(measured["all"]["roc_area"], goals["roc_area"]);
  EXPECT_LE(measured["all"]["reliability_error"], goals["reliability_error"]);
  EXPECT_GE(measured["all"]["good_above_0_8"], goals["good_above_0_8"]);
  const Json covered = results("confidence-covered"), &weighed = covered["weighed_by_cost"];
  EXPECT_GE(weighed["roc_area_of_covered"], covered["goals"]["roc_area_of_covered"]);
  EXPECT_LT(weighed["visible_error_beside_uncovered"],
            covered["all_weigh_the_same"]["visible_error_beside_uncovered"]);
}

TEST_F(ConfidenceFile, AShapeModelsFileIsRefusedWithItsName) {
  const TemporaryFolder folder;
  const std::string path = folder / "t.json";
  const auto said = [&](const std::string& text) {
    write_file(path, text);
    const auto loaded = load_shape_confidence(path);
    return loaded.ok() ? "" : loaded.status().message();
  };
  const auto with = [](const std::string& costs) {
    return R"({"first": 0, "at": [1, 0.5], "usual_costs": )" + costs + "}";
  };
  const auto and_more = [](const std::string& more) {
    return R"({"first": 0, "at": [1, 0.5], "usual_costs": [[1, 0.5]], )" + more + "}";
  };
  EXPECT_EQ(said(with("[[1, 0.5], [2, 1]]")), "");
  EXPECT_EQ(said(and_more(R"("offsets": [0.5])")), "");
  EXPECT_EQ(said(and_more(R"("parts": {"own": 0, "around": 4, "face": 1, "reach": 0.5})")), "");
  EXPECT_EQ(said(and_more(R"("parts": {"own": 0, "around": 4, "face": 0, "reach": 0.5, "shape": 1,)"
                          R"("least": -1, "most": 4})")),
            "");
  const std::pair<std::string, const char*> bad[] = {
      {"7", "not a list"},
      {R"({"first": 0, "at": [1]})", "not a list"},
      {with("7"), "not a list"},
      {with("{}"), "not a list"},
      {with("[7]"), "not two numbers"},
      {with("[[1, 0.5], [2]]"), "not two numbers"},
      {with("[[1, 0.5, 0.5]]"), "not two numbers"},
      {with(R"([["1", 0.5]])"), "not two numbers"},
      {with("[[1, null]]"), "not two numbers"},
      {R"({"first": 0, "at": [0.5, 1], "usual_costs": []})", "rise"},
      {R"({"first": 0, "usual_costs": []})", "\"first\" and \"at\""},
      {and_more(R"("more": 1)"), "\"first\" and \"at\""},
      {and_more(R"("offsets": 7)"), "not a list"},
      {and_more(R"("offsets": ["1"])"), "no number"},
      {and_more(R"("offsets": [null])"), "no number"},
      {and_more(R"("parts": 7)"), "members"},
      {and_more(R"("parts": {"own": 0, "around": 4, "face": 1})"), "members"},
      {and_more(R"("parts": {"own": 0, "around": 4, "face": 1, "far": 1})"), "\"reach\""},
      {and_more(R"("parts": {"own": 0, "around": 4, "shape": 1, "reach": 1})"), "\"face\""},
      {and_more(R"("parts": {"own": 0, "around": 4, "face": 1, "reach": 1, "shape": 1})"),
       "members"},
      {and_more(R"("parts": {"own": 0, "around": 4, "face": 1, "reach": 1, "shape": 1,)"
                R"("least": -1, "most": null})"),
       "\"most\""},
      {and_more(R"("parts": {"own": 0, "around": "4", "face": 1, "reach": 1})"), "\"around\""},
  };
  for (const auto& [text, why] : bad) {
    const std::string message = said(text);
    EXPECT_EQ(message.rfind(path + ": ", 0), 0u) << text << ": " << message;
    EXPECT_NE(message.find(why), std::string::npos) << text << ": " << message;
  }
}

}  // namespace
}  // namespace cuface::test
