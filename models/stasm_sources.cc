#include "models/stasm_sources.h"

#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "models/stasm_text.h"
#include "models/tar_archive.h"

namespace cuface {
namespace {

constexpr int kPoints = 77;
constexpr std::size_t kCoordinates = 2 * kPoints;

/// What the spans of the model point into.
struct StasmTables {
  std::vector<double> mean_shape, eigenvalues, eigenvectors, weights, numbers;
  std::vector<ShapeNeighbours> neighbours;
  std::vector<ShapeProfile> profiles;
  std::vector<ShapeRule> rules;
  std::vector<ShapeMove> moves;
};

std::string two_digits(int n) { return std::string(n < 10 ? "0" : "") + std::to_string(n); }

class StasmReader {
 public:
  StasmReader(std::map<std::string, std::string_view> files, std::string path)
      : files_(std::move(files)), path_(std::move(path)) {}

  Status read() {
    CUFACE_TRY(read_constants());
    CUFACE_TRY(read_shapes());
    CUFACE_TRY(read_landmarks());
    CUFACE_TRY(read_profiles());
    return read_rules();
  }

  ShapeModel model;
  StasmTables tables;

 private:
  Result<StasmText> open(const std::string& name) const {
    const auto it = files_.find("src/" + name);
    if (it == files_.end()) {
      return Status(StatusCode::kCorrupt, path_ + ": not Stasm's sources: no file src/" + name);
    }
    return StasmText(it->second, path_ + ": src/" + name);
  }

  /// Of "static const int NAME = 4 * 2;".
  Status read_constant(const std::string& file, const std::string& declared, double& value) const {
    CUFACE_TAKE(text, open(file));
    CUFACE_TRY(text.skip_past("static const " + declared + " ="));
    return text.constant(value);
  }
  Status read_constant(const std::string& file, const std::string& declared, int& value) const {
    double found = 0;
    CUFACE_TRY(read_constant(file, declared, found));
    if (found != static_cast<int>(found)) {
      return {StatusCode::kCorrupt, path_ + ": src/" + file + ": " + declared + " is no integer"};
    }
    value = static_cast<int>(found);
    return {};
  }

  Status read_constants() {
    double ratio = 0, box_scale = 0, box_side = 0;
    CUFACE_TRY(read_constant("asm.h", "int EYEMOUTH_DIST", model.size));
    CUFACE_TRY(read_constant("asm.h", "double PYR_RATIO", ratio));
    CUFACE_TRY(read_constant("asm.h", "int N_PYR_LEVS", model.levels));
    CUFACE_TRY(read_constant("asm.h", "int SHAPEMODEL_ITERS", model.iterations));
    CUFACE_TRY(read_constant("shapemod.cpp", "int SHAPEHACK_MINPYRLEV", model.first_rule_level));
    CUFACE_TRY(read_constant("misc.h", "double XJITTER", model.missing_within));
    CUFACE_TRY(read_constant("startshape.cpp", "double FACERECT_SCALE_WHEN_NO_EYES", box_scale));
    CUFACE_TRY(read_constant("startshape.h", "int DET_FACE_WIDTH", box_side));
    CUFACE_TRY(read_constant("faceroi.h", "double ROI_FRAC", model.window));
    CUFACE_TRY(read_constant("classicdesc.h", "int CLASSIC_MAX_OFFSET", model.line.reach));
    CUFACE_TRY(read_constant("classicdesc.h", "int CLASSIC_SEARCH_RESOL", model.line.step));
    CUFACE_TRY(read_constant("hatdesc.h", "int HAT_MAX_OFFSET", model.hat.reach));
    CUFACE_TRY(read_constant("hatdesc.h", "int HAT_SEARCH_RESOL", model.hat.step));
    CUFACE_TRY(read_constant("hatdesc.h", "int HAT_PATCH_WIDTH", model.hat.patch));
    CUFACE_TRY(read_constant("hatdesc.h", "int HAT_PATCH_WIDTH_ADJ", model.hat.patch_change));
    CUFACE_TRY(read_constant("hat.cpp", "int GRIDHEIGHT", model.hat.rows));
    CUFACE_TRY(read_constant("hat.cpp", "int GRIDWIDTH", model.hat.columns));
    CUFACE_TRY(read_constant("hat.cpp", "int BINS_PER_HIST", model.hat.bins));
    CUFACE_TRY(read_constant("hat.cpp", "double WINDOW_SIGMA", model.hat.sigma));
    CUFACE_TRY(read_constant("hat.cpp", "double FINAL_SCALE", model.hat.length));
    if (ratio != 2 || box_side < 1 || model.levels < 1 || model.levels > kMaxShapeLevels) {
      return {StatusCode::kUnsupported, path_ + ": src/asm.h: a pyramid that is not known"};
    }
    model.start_scale = box_scale / box_side;
    model.points = kPoints;
    return {};
  }

  Status read_shapes() {
    CUFACE_TAKE(text, open("MOD_1/mh/yaw00_shapemodel.mh"));
    CUFACE_TRY(text.expect("namespace stasm {"));
    CUFACE_TRY(text.expect("static const double yaw00_meanshapedata[77*2] ="));
    CUFACE_TRY(text.numbers(kCoordinates, tables.mean_shape));
    CUFACE_TRY(
        text.expect("; static const cv::Mat yaw00_meanshape(77, 2, CV_64FC1, (double "
                    "*)yaw00_meanshapedata);"));
    std::vector<double> values, vectors;
    CUFACE_TRY(text.expect("static const double yaw00_eigvalsdata[154*1] ="));
    CUFACE_TRY(text.numbers(kCoordinates, values));
    CUFACE_TRY(
        text.expect("; static const cv::Mat yaw00_eigvals(154, 1, CV_64FC1, (double "
                    "*)yaw00_eigvalsdata);"));
    CUFACE_TRY(text.expect("static const double yaw00_eigvecsdata[154*154] ="));
    CUFACE_TRY(text.numbers(kCoordinates * kCoordinates, vectors));
    CUFACE_TRY(
        text.expect("; static const cv::Mat yaw00_eigvecs(154, 154, CV_64FC1, (double "
                    "*)yaw00_eigvecsdata); }"));
    CUFACE_TRY(text.end());

    CUFACE_TAKE(built, open("MOD_1/initasm.cpp"));
    CUFACE_TRY(built.skip_past("yaw00_meanshape, yaw00_eigvals, yaw00_eigvecs,"));
    CUFACE_TRY(built.integer(model.modes));
    CUFACE_TRY(built.expect(","));
    CUFACE_TRY(built.number(model.mode_limit));
    CUFACE_TRY(
        built.expect(", SHAPEHACKS_DEFAULT | SHAPEHACKS_SHIFT_TEMPLE_OUT, YAW00_DESCMODS, "
                     "NELEMS(YAW00_DESCMODS));"));
    if (model.modes < 1 || model.modes > static_cast<int>(kCoordinates)) {
      return built.wrong("a number of modes that cannot be");
    }
    const auto modes = static_cast<std::ptrdiff_t>(model.modes);
    tables.eigenvalues.assign(values.begin(), values.begin() + modes);
    for (auto row = vectors.begin(); row != vectors.end(); row += kCoordinates) {
      tables.eigenvectors.insert(tables.eigenvectors.end(), row, row + modes);
    }
    return {};
  }

  Status read_landmarks() {
    CUFACE_TAKE(names, open("stasm_landmarks.h"));
    CUFACE_TRY(names.expect("enum stasm_LANDMARKS_77 {"));
    for (int i = 0; i < kPoints; ++i) {
      std::string_view name;
      if (i > 0) CUFACE_TRY(names.expect(","));
      CUFACE_TRY(names.word(name));
      if (!points_.emplace(name, i).second) return names.wrong("a landmark's name comes twice");
    }
    CUFACE_TRY(names.expect("};"));

    CUFACE_TAKE(text, open("landtab_muct77.h"));
    CUFACE_TRY(text.expect("static const LANDMARK_INFO LANDMARK_INFO_TAB[77] = {"));
    for (int i = 0; i < kPoints; ++i) {
      int mirrored = 0, previous = 0, next = 0;
      double weight = 0;
      CUFACE_TRY(text.expect("{"));
      for (int* value : {&mirrored, &previous, &next}) {
        CUFACE_TRY(text.integer(*value));
        CUFACE_TRY(text.expect(","));
      }
      CUFACE_TRY(text.number(weight));
      CUFACE_TRY(text.skip_past("},", false));  // what training alone uses
      tables.weights.push_back(weight);
      tables.neighbours.push_back({previous < 0 ? (i + kPoints - 1) % kPoints : previous,
                                   next < 0 ? (i + 1) % kPoints : next,
                                   mirrored < 0 ? i : mirrored});
    }
    CUFACE_TRY(text.expect("};"));
    CUFACE_TRY(text.end());

    // Of the 17 points that Stasm measures faces by: the pupils, and the bottom of the lips.
    CUFACE_TAKE(seventeen, open("shape17.cpp"));
    std::vector<int> places;
    CUFACE_TRY(seventeen.skip_past("static const int stasm77_tab[17] = {"));
    for (int i = 0; i < 17; ++i) {
      if (i > 0) CUFACE_TRY(seventeen.expect(","));
      CUFACE_TRY(seventeen.integer(places.emplace_back()));
    }
    CUFACE_TRY(seventeen.expect("};"));
    model.size_left = places[0];
    model.size_right = places[1];
    model.size_below = places[16];
    return {};
  }

  Status read_profiles() {
    CUFACE_TAKE(list, open("MOD_1/mh/yaw00.mh"));
    CUFACE_TRY(list.skip_past("YAW00_DESCMODS[] = {"));
    for (int level = 0; level < model.levels; ++level) {
      for (int i = 0; i < kPoints; ++i) {
        const std::string place = "lev" + std::to_string(level) + "_p" + two_digits(i);
        if (level + i > 0) CUFACE_TRY(list.expect(","));
        const bool is_hat = list.is_next("&yaw00_" + place + "_hat");
        CUFACE_TRY(list.expect("&yaw00_" + place + (is_hat ? "_hat" : "_classic")));
        tables.profiles.push_back({is_hat ? ProfileKind::kHat : ProfileKind::kLine,
                                   static_cast<std::uint32_t>(tables.numbers.size())});
        CUFACE_TRY(is_hat ? read_hat(place) : read_line(place));
      }
    }
    CUFACE_TRY(list.expect("};"));
    return {};
  }

  Status read_line(const std::string& place) {
    CUFACE_TAKE(text, open("MOD_1/mh/yaw00_" + place + "_classic.mh"));
    std::vector<double> mean, inverse;
    int length = 0;
    CUFACE_TRY(text.expect("namespace stasm { static const double yaw00_" + place + "_prof["));
    CUFACE_TRY(text.integer(length));
    if (model.line.length == 0) model.line.length = length;
    if (length < 3 || length > kMaxLineLength || length != model.line.length) {
      return text.wrong("a profile of another length");
    }
    const std::string n = std::to_string(length);
    const auto count = static_cast<std::size_t>(length);
    CUFACE_TRY(text.expect("] ="));
    CUFACE_TRY(text.numbers(count, mean));
    CUFACE_TRY(text.expect("; static const double yaw00_cov_" + place + "[" + n + "*" + n + "] ="));
    CUFACE_TRY(text.numbers(count * count, inverse));
    CUFACE_TRY(text.expect("; static const ClassicDescMod yaw00_" + place + "_classic(" + n +
                           ", yaw00_" + place + "_prof, yaw00_cov_" + place + "); }"));
    tables.numbers.insert(tables.numbers.end(), mean.begin(), mean.end());
    tables.numbers.insert(tables.numbers.end(), inverse.begin(), inverse.end());
    return text.end();
  }

  Status read_hat(const std::string& place) {
    CUFACE_TAKE(text, open("MOD_1/mh/yaw00_" + place + "_hat.mh"));
    const std::string n = std::to_string(model.hat.size());
    double intercept = 0;
    std::vector<double> coefficients;
    CUFACE_TRY(text.expect("namespace stasm {"));
    // The first file has the function that all of them call.
    const std::string fit = "static double yaw00_" + place + "_hatfit(const double* const d) {";
    if (text.is_next("static double linmod(")) {
      CUFACE_TRY(text.skip_past(fit));
    } else {
      CUFACE_TRY(text.expect(fit));
    }
    CUFACE_TRY(text.expect("const double intercept ="));
    CUFACE_TRY(text.number(intercept));
    CUFACE_TRY(text.expect("; static const double coef[" + n + "] ="));
    CUFACE_TRY(text.numbers(static_cast<std::size_t>(model.hat.size()), coefficients));
    CUFACE_TRY(text.expect("; return -linmod(d, intercept, coef, " + n +
                           "); } static const HatDescMod yaw00_" + place + "_hat(yaw00_" + place +
                           "_hatfit); }"));
    tables.numbers.push_back(intercept);
    tables.numbers.insert(tables.numbers.end(), coefficients.begin(), coefficients.end());
    return text.end();
  }

  /// A landmark by its name; an unknown one becomes a point that validate() refuses.
  std::int32_t point(const char* name) const {
    const auto it = points_.find(name);
    return it == points_.end() ? -1 : it->second;
  }
  ShapeTerm term(const char* name, double weight) const { return {point(name), 0, weight}; }

  /// Ends the rule, whose moves are the last of the list.
  void add_rule(ShapeRule rule) {
    rule.moves = static_cast<std::uint32_t>(tables.moves.size()) - rule.first_move;
    tables.rules.push_back(rule);
  }
  ShapeRule new_rule(ShapeRule::Axis axis) const {
    ShapeRule rule;
    rule.axis = axis;
    rule.first_move = static_cast<std::uint32_t>(tables.moves.size());
    return rule;
  }
  void move_all(const char* first, const char* last) {
    for (std::int32_t i = point(first); i <= point(last); ++i) tables.moves.push_back({i, 0, 1});
  }

  Status read_rules() {
    CUFACE_TAKE(text, open("shapehacks.cpp"));
    const auto constant = [&](const char* name, double& value) {
      return read_constant("shapehacks.cpp", std::string("double ") + name, value);
    };
    double mouth_shift = 0, chin_down = 0, chin_down_shift = 0, chin_up = 0, chin_up_shift = 0;
    double temple = 0, temple_shift = 0, mouth_limit = 0, left_part = 0, right_part = 0;
    CUFACE_TRY(constant("SHIFT_MOUTH_FROM_NOSE_FRAC", mouth_shift));
    CUFACE_TRY(constant("CHIN_DOWN_RATIO", chin_down));
    CUFACE_TRY(constant("CHIN_DOWN_SHIFT", chin_down_shift));
    CUFACE_TRY(constant("CHIN_UP_RATIO", chin_up));
    CUFACE_TRY(constant("CHIN_UP_SHIFT", chin_up_shift));
    CUFACE_TRY(constant("TEMPLE_RATIO", temple));
    CUFACE_TRY(constant("TEMPLE_SHIFT", temple_shift));
    CUFACE_TRY(text.skip_past("if (nosemouth_gap <"));
    CUFACE_TRY(text.number(mouth_limit));
    CUFACE_TRY(text.expect("* eyemouth)"));
    CUFACE_TRY(text.skip_past("shape(L_LJawMouthline, IX) -="));
    CUFACE_TRY(text.number(left_part));
    CUFACE_TRY(text.expect("* xadjust; }"));
    CUFACE_TRY(text.skip_past("shape(L_RJawMouthline, IX) +="));
    CUFACE_TRY(text.number(right_part));
    CUFACE_TRY(text.expect("* xadjust; }"));

    ShapeRule mouth_down = new_rule(ShapeRule::kY);  // too close to the nose
    mouth_down.measure[0] = term("L_CTopOfTopLip", 1);
    mouth_down.measure[1] = term("L_CNoseBase", -1);
    mouth_down.limit = mouth_limit;
    mouth_down.shift = mouth_shift;
    move_all("L_LMouthCorner", "L_LMouth76");
    add_rule(mouth_down);

    ShapeRule lip_down = new_rule(ShapeRule::kY);  // the lower lip above the upper
    lip_down.measure[0] = term("L_CTopOfBotLip", 1);
    lip_down.measure[1] = term("L_CTopOfTopLip", -1);
    lip_down.shift_unit = ShapeRule::kTerms;
    lip_down.shift = 1;
    move_all("L_RMouthCorner", "L_LMouth76");
    add_rule(lip_down);

    for (const bool down : {true, false}) {  // the chin too close to the mouth, or too far from it
      const double sign = down ? 1 : -1;
      ShapeRule chin = new_rule(ShapeRule::kY);
      chin.measure[0] = term("L_CTipOfChin", sign);
      chin.measure[1] = term("L_CTopOfTopLip", -0.5 * sign);
      chin.measure[2] = term("L_CBotOfBotLip", -0.5 * sign);
      chin.limit_unit = ShapeRule::kTerms;
      chin.against[0] = term("L_CTopOfTopLip", 0.5);
      chin.against[1] = term("L_CBotOfBotLip", 0.5);
      chin.against[2] = term("L_CNoseBase", -1);
      chin.limit = down ? chin_down : -chin_up;
      chin.shift = down ? chin_down_shift : -chin_up_shift;
      chin.skip = down ? 1 : 0;
      move_all("L_LJaw04", "L_RJaw08");
      add_rule(chin);
    }

    for (const bool left : {true, false}) {  // the side of the face too close to the eye
      ShapeRule side = new_rule(ShapeRule::kX);
      side.measure[0] = left ? term("L_LEyeOuter", 1) : term("L_RTemple", 1);
      side.measure[1] = left ? term("L_LTemple", -1) : term("L_REyeOuter", -1);
      side.limit = temple;
      side.shift_unit = ShapeRule::kTerms;
      side.shift = left ? -temple_shift : temple_shift;
      for (const char* name : left ? std::vector{"L_LTemple", "L_LJaw01", "L_LJawNoseline"}
                                   : std::vector{"L_RTemple", "L_RJaw11", "L_RJawNoseline"}) {
        tables.moves.push_back({point(name), 0, 1});
      }
      tables.moves.push_back(
          {point(left ? "L_LJawMouthline" : "L_RJawMouthline"), 0, left ? left_part : right_part});
      add_rule(side);
    }
    return {};
  }

  const std::map<std::string, std::string_view> files_;
  const std::string path_;
  std::map<std::string_view, int> points_;
};

}  // namespace

Result<std::shared_ptr<const ShapeModel>> parse_stasm_sources(std::span<const std::uint8_t> bytes,
                                                              const std::string& path) {
  return guarded(path, [&]() -> Result<std::shared_ptr<const ShapeModel>> {
    CUFACE_TAKE(files, read_tar(bytes, path));
    StasmReader reader(std::move(files), path);
    CUFACE_TRY(reader.read());
    auto tables = std::make_shared<const StasmTables>(std::move(reader.tables));
    auto model = std::make_shared<ShapeModel>(reader.model);
    model->name = std::filesystem::path(path).stem().string();
    model->mean_shape = tables->mean_shape;
    model->eigenvalues = tables->eigenvalues;
    model->eigenvectors = tables->eigenvectors;
    model->weights = tables->weights;
    model->neighbours = tables->neighbours;
    model->profiles = tables->profiles;
    model->numbers = tables->numbers;
    model->rules = tables->rules;
    model->moves = tables->moves;
    model->storage = tables;
    model->scheme = known_scheme(mean_points(*model));
    if (const Status status = validate(*model); !status.ok()) {
      return Status(status.code(), path + ": not a usable shape model: " + status.message());
    }
    return std::shared_ptr<const ShapeModel>(std::move(model));
  });
}

}  // namespace cuface
