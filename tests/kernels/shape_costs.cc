// What patches cost, and where points are moved to, for tests/kernels/test_shape_twin.py.
//
//   shape_costs costs NAME=VALUE ... < doubles   side, reach, step, gradient, bilinear, q, edge,
//       rows, width, height, points, float, perhaps likelihood; in: mean, matrix, likelihood and
//       base where there is one, points, picture. Out, of each point: the cost of each offset, then
//       dx, dy and cost of the best
//   shape_costs constrain NAME=VALUE ... < doubles   points, modes, limit, perhaps least; in:
//       mean shape, eigenvalues, eigenvectors, weights, points, and what each costs where least is
//       there. Out: points, weights of the modes
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "kernels/shape/search.h"

namespace {

using namespace cuface;

std::map<std::string, double> settings;
int integer(const char* name) { return static_cast<int>(settings[name]); }
std::size_t count(const char* name) { return static_cast<std::size_t>(settings[name]); }

std::vector<double> read(std::size_t n) {
  std::vector<double> out(n);
  if (std::fread(out.data(), sizeof(double), n, stdin) != n) std::exit(1);
  return out;
}
void write(std::span<const double> values) {
  std::fwrite(values.data(), sizeof(double), values.size(), stdout);
}

int costs() {
  ShapeModel model;
  PatchRule& rule = model.patch;
  rule = {integer("side"),           integer("reach"), integer("step"),       integer("gradient"),
          settings["bilinear"] != 0, settings["q"],    settings["likelihood"]};
  std::vector<double> numbers{settings["rows"], settings["edge"]};
  for (const double v : read(PatchModel::numbers(rule, integer("rows")) - 2)) numbers.push_back(v);
  const std::vector<double> points = read(2 * count("points"));
  Image<std::uint8_t> picture(integer("width"), integer("height"));
  for (int y = 0; y < picture.height(); ++y) {
    const std::vector<double> row = read(count("width"));
    for (int x = 0; x < picture.width(); ++x)
      picture.view().at(x, y) = static_cast<std::uint8_t>(row[static_cast<std::size_t>(x)]);
  }
  model.numbers = numbers;
  const std::vector<ShapeProfile> profiles{{ProfileKind::kPatch, 0}};
  model.profiles = profiles;
  PatchReference reference(rule, numbers);
  const int strongest =
      settings["edge"] > 0 ? texture::strongest_sobel_square({picture.view()}) : 0;
  reference.set_picture(picture.view(), strongest);
  const auto matchers = shape::patch_matchers(
      model, settings["float"] != 0 ? ShapeArithmetic::kFloat : ShapeArithmetic::kDouble, 1);
  PatchMatcher& matcher = *matchers.at(0);
  matcher.set_picture(picture.view(), strongest);
  std::vector<double> out;
  for (std::size_t i = 0; i < points.size(); i += 2) {
    const ShapePoint point{points[i], points[i + 1]};
    for (int dy = -rule.reach; dy <= rule.reach; dy += rule.step)
      for (int dx = -rule.reach; dx <= rule.reach; dx += rule.step)
        out.push_back(reference.cost(point, dx, dy, 0));
    const TextureMatch best = matcher.match(point, 0);
    for (const double v : {1.0 * best.dx, 1.0 * best.dy, best.cost}) out.push_back(v);
  }
  write(out);
  return 0;
}

int constrain() {
  ShapeModel model;
  model.points = integer("points");
  model.modes = integer("modes");
  model.mode_limit = settings["limit"];
  model.first_rule_level = kMaxShapeLevels;
  model.constraint = ShapeConstraint::kIterated;
  const std::size_t n = 2 * count("points"), modes = count("modes");
  const std::vector<double> mean = read(n), values = read(modes), vectors = read(n * modes);
  const std::vector<double> weights = read(n / 2), given = read(n);
  model.mean_shape = mean;
  model.eigenvalues = values;
  model.eigenvectors = vectors;
  model.weights = weights;
  if (settings.contains("noise")) model.noise = settings["noise"];
  if (settings.contains("least")) model.least_weight = settings["least"];
  const std::vector<double> costs = read(model.least_weight < 1 ? n / 2 : 0);
  std::vector<ShapePoint> points(n / 2);
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = {given[2 * i], given[2 * i + 1]};
  shape::Constraint constraint(model);
  constraint.start_level(integer("level"));
  constraint.run(points, costs);
  for (const ShapePoint& p : points) write(std::vector<double>{p.x, p.y});
  write(constraint.weights());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    const std::string text = argv[i];
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) return 2;
    settings[text.substr(0, equals)] = std::atof(text.c_str() + equals + 1);
  }
  const std::string what = argc > 1 ? argv[1] : "";
  return what == "costs" ? costs() : what == "constrain" ? constrain() : 2;
}
