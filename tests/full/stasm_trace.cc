// Searches for one face with Stasm 4.1 itself and prints every step of it. Built by
// tests/full/stasm with Stasm's sources; nothing of ours is in it.
//
//   stasm_trace PICTURE.pgm START > TRACE
//
// START holds x and y of 77 points. A step's line is "step LEVEL ITERATION", then come, a line
// each: the modes' weights before and after, and of each point where it was, where it was
// suggested, and where the constraint put it. After 16 steps comes "end" and what Mod::ModSearch_
// itself returns. All numbers have 17 digits.
#include <cstdio>
#include <fstream>
#include <map>
#include <opencv2/opencv.hpp>
#include <set>
#include <sstream>

// The steps of the search are private.
#define private public
#include "stasm.h"
#undef private

namespace {

void print(const cv::Mat_<double>& row) {
  for (int i = 0; i < static_cast<int>(row.total()); ++i) std::printf("%.17g ", row(i));
  std::printf("\n");
}

void search(const stasm::Mod& mod, const stasm::Shape& start, const stasm::Image& picture) {
  const double scale = stasm::EYEMOUTH_DIST / stasm::EyeMouthDist(start);
  stasm::Image scaled;
  cv::resize(picture, scaled, cv::Size(), scale, scale, cv::INTER_LINEAR);
  stasm::Shape shape(start * scale * stasm::GetPyrScale(stasm::N_PYR_LEVS));
  for (int level = stasm::N_PYR_LEVS - 1; level >= 0; --level) {
    stasm::Image picture_of_level = scaled;
    if (level > 0) {
      const double part = stasm::GetPyrScale(level);
      cv::resize(scaled, picture_of_level, cv::Size(), part, part, cv::INTER_LINEAR);
    }
    shape *= stasm::PYR_RATIO;
    stasm::InitHatLevData(picture_of_level, level);
    stasm::VEC weights(stasm::NSIZE(mod.shapemod_.eigvals_), 1, 0.);
    for (int i = 0; i < stasm::SHAPEMODEL_ITERS; ++i) {
      const stasm::Shape before = shape.clone();
      const stasm::VEC weights_before = weights.clone();
      mod.SuggestShape_(shape, level, picture_of_level, stasm::Shape());
      const stasm::Shape suggested = shape.clone();
      shape = mod.shapemod_.ConformShapeToMod_(weights, shape, level);
      std::printf("step %d %d\n", level, i);
      print(weights_before);
      print(weights);
      for (int p = 0; p < shape.rows; ++p) {
        std::printf("%.17g %.17g %.17g %.17g %.17g %.17g\n", before(p, 0), before(p, 1),
                    suggested(p, 0), suggested(p, 1), shape(p, 0), shape(p, 1));
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const stasm::Image picture = cv::imread(argv[1], cv::IMREAD_GRAYSCALE);
  std::ifstream file(argv[2]);
  stasm::Shape start(stasm_NLANDMARKS, 2);
  for (double& value : start) file >> value;
  if (picture.empty() || !file) return 1;
  stasm::vec_Mod models;
  stasm::InitMods(models, ".");
  search(*models[0], start, picture);
  stasm::Shape end = models[0]->ModSearch_(start, picture);
  const double before = static_cast<double>(cv::getTickCount());
  end = models[0]->ModSearch_(start, picture);
  std::fprintf(stderr, "%.3f\n",
               1e3 * (static_cast<double>(cv::getTickCount()) - before) / cv::getTickFrequency());
  std::printf("end\n");
  for (int p = 0; p < end.rows; ++p) std::printf("%.17g %.17g\n", end(p, 0), end(p, 1));
  return 0;
}
