// The experiments of active shape models [S3.01 - S3.20]: the search for the landmarks of a face of
// 300 pixels in pictures of many sizes. tests/eval/run runs it; $CUFACE_SHAPE_MODEL is the model.
#include <cmath>

#include "kernels/shape/search.h"
#include "models/models.h"
#include "tests/eval/search.h"
#include "tests/models/landmark_rows.h"

namespace cuface::eval {
namespace {

constexpr const char* kPixels = "pixels of the picture";
constexpr float kFace = 300;

/// A face, and where it is.
struct Portrait {
  cv::Mat picture;
  Box box;
};

/// Of the first labelled face, scaled; made up where --quick is given.
Portrait portrait(const Program& program) {
  if (program.quick())
    return {test::smooth_noise(400, 400, 60, Program::kSeed), {50, 50, 300, 300}};
  for (const test::LandmarkRow& row : test::landmark_rows()) {
    if (!row.human) continue;
    const cv::Mat read = row.picture();
    const Box around = test::box_around(row.truth);
    const float scale = kFace / around.w;
    const Box box{scale * around.x, scale * around.y, kFace, kFace};
    return {scaled(read, {cvRound(scale * static_cast<float>(read.cols)),
                          cvRound(scale * static_cast<float>(read.rows))}),
            box};
  }
  program.fail("no test data: set CUFACE_DATA");
}

/// What a face's search takes, part by part, as often as it was run.
struct Parts {
  double levels = 0, search = 0, constraint = 0;
  int iterations = 0;
};

/// FaceSearch::run() without refits, in parts. Places between pixels are cut to so many parts of a
/// pixel, as a texture unit cuts them; 0: they are not. Gives the landmarks.
std::vector<Point> search_in_parts(const ShapeModel& model, shape::FaceSearch& search,
                                   const Portrait& face, double cut, Parts& parts) {
  std::vector<ShapePoint> points(static_cast<std::size_t>(model.points)), before, at;
  const Rect window =
      shape::start_in_window(model, face.box, face.picture.cols, face.picture.rows, points);
  const double scale = search.factor(points), coarsest = std::ldexp(1.0, 1 - model.levels);
  const cv::Mat part = face.picture(cv::Rect(window.x, window.y, window.w, window.h));
  const auto timed = [](double& sum, const auto& run) {
    const double begin = bench::thread_us();
    run();
    sum += bench::thread_us() - begin;
  };
  timed(parts.levels, [&] { (void)search.set_picture(test::view_of(part), scale); });
  for (ShapePoint& p : points) p = {p.x * scale * coarsest, p.y * scale * coarsest};
  for (int level = model.levels - 1; level >= 0; --level) {
    timed(parts.levels, [&] { search.start_level(level); });
    double moved = HUGE_VAL;
    for (int i = 0; i < model.iterations && moved > model.rest; ++i, ++parts.iterations) {
      before = at = points;
      if (cut > 0)
        for (ShapePoint& p : at) p = {std::round(p.x * cut) / cut, std::round(p.y * cut) / cut};
      points = at;
      timed(parts.search, [&] { search.suggest(points); });
      for (std::size_t k = 0; k < points.size(); ++k) {
        points[k].x += before[k].x - at[k].x;
        points[k].y += before[k].y - at[k].y;
      }
      timed(parts.constraint, [&] { search.constraint().run(points); });
      moved = 0;
      for (std::size_t k = 0; k < points.size(); ++k)
        moved = std::max(
            {moved, std::abs(points[k].x - before[k].x), std::abs(points[k].y - before[k].y)});
    }
    for (ShapePoint& p : points) p = level > 0 ? ShapePoint{2 * p.x, 2 * p.y} : p;
  }
  std::vector<Point> out;
  for (const ShapePoint& p : points)
    out.push_back(
        {static_cast<float>(p.x / scale + window.x), static_cast<float>(p.y / scale + window.y)});
  return out;
}

/// The face in the middle of a picture of 4:3 with so many pixels; its rim goes on to all sides.
Portrait framed(const Portrait& face, double pixels) {
  const int width = static_cast<int>(std::lround(std::sqrt(pixels * 4 / 3)));
  const int height = static_cast<int>(std::lround(pixels / width));
  const auto before = [](int size, float middle) {
    return cvRound(static_cast<float>(size) / 2 - middle);
  };
  const int left = before(width, face.box.x + face.box.w / 2);
  const int top = before(height, face.box.y + face.box.h / 2);
  Portrait out{cv::Mat(height, width, CV_8UC1), face.box};
  out.box.x += static_cast<float>(left);
  out.box.y += static_cast<float>(top);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      out.picture.at<std::uint8_t>(y, x) =
          face.picture.at<std::uint8_t>(std::clamp(y - top, 0, face.picture.rows - 1),
                                        std::clamp(x - left, 0, face.picture.cols - 1));
    }
  }
  return out;
}

/// S3.E2: shares of a search's time, in percent.
Json shares(const ShapeModel& model, shape::FaceSearch& search, const Portrait& face) {
  Parts parts;
  for (int i = 0; i < 15; ++i) (void)search_in_parts(model, search, face, 0, parts);
  const double whole = (parts.levels + parts.search + parts.constraint) / 100;
  return {{"search", parts.search / whole},
          {"constraint", parts.constraint / whole},
          {"levels", parts.levels / whole}};
}

/// S3.E3: thousands of numbers of the model that are loaded in one iteration of a level, in the
/// mean. "naive": each place loads its point's matrix and mean. "once": a point's are loaded once
/// for all places, its matrix for all faces, as `cuda/points.cu` does.
Json loads(const ShapeModel& model) {
  const auto places = static_cast<double>(model.patch.across() * model.patch.across());
  double matrices = 0, means = 0;
  for (const ShapeProfile& p : model.profiles) {
    const double* const numbers = model.numbers.data() + p.first_number;
    matrices += PatchModel::at(numbers, model.patch).rows * model.patch.size();
    means += model.patch.size();
  }
  matrices /= model.levels;
  means /= model.levels;
  const auto saved = [&](double faces) {
    return 100 * (1 - (matrices + faces * means) / (faces * places * (matrices + means)));
  };
  return {{"naive", places * (matrices + means) / 1000},
          {"once", (matrices + means) / 1000},
          {"saved", saved(1)},
          {"saved of 16", saved(16)}};
}

/// [S3.12]: what comes of places that are cut: iterations and the mean error of all labelled faces,
/// in percent of the distance between the outer corners of the eyes.
Json cut_places(const Program& program, const ShapeModel& model, shape::FaceSearch& search) {
  Json out = Json::object();
  for (const auto& [name, cut] : {std::pair{"float", 0.0}, {"256", 256.0}, {"whole", 1.0}}) {
    Parts parts;
    double error = 0;
    int faces = 0;
    if (program.quick()) {
      (void)search_in_parts(model, search, portrait(program), cut, parts);
      faces = 1;
    } else {
      for (const test::LandmarkRow& row : test::landmark_rows()) {
        if (!row.human) continue;
        const auto found = search_in_parts(
            model, search, {row.picture(), test::box_around(row.truth)}, cut, parts);
        error += test::nme_percent(found, row.truth);
        ++faces;
      }
    }
    out[name] = {{"iterations", static_cast<double>(parts.iterations) / faces},
                 {"error_percent", error / faces}};
  }
  return out;
}

void measure(Program& program) {
  const char* const path = std::getenv("CUFACE_SHAPE_MODEL");
  if (!path) program.fail("set CUFACE_SHAPE_MODEL to a file of cuface-train shape");
  const auto model = made(load_shape(path));
  const Portrait face = portrait(program);
  std::vector<Point> points(static_cast<std::size_t>(model->points));
  const auto search = [&](const Portrait& in, ShapeSearcher& searcher) {
    return [&, in] { (void)searcher.enqueue(test::view_of(in.picture), {&in.box, 1}, points); };
  };

  constexpr double kLeast = 640 * 480, kMost = 1920 * 1080;
  std::vector<double> sizes;
  for (int i = 0; i < 19; ++i) sizes.push_back(std::round(kLeast + i * (kMost - kLeast) / 18));
  const auto searcher = made(ShapeSearcher::create(Backend::kCpu, model));
  const auto of_size = [&](double x) {
    const Portrait in = framed(face, x);
    return program.measure(x, search(in, *searcher), {});
  };
  program.add("S3.E1", "patches, one face", kPixels, "", sizes, of_size);

  const std::vector<double> few = {sizes.front(), sizes[6], sizes[12], sizes.back()};
  program.add("S3.E4", "grey", kPixels, kGreyPeer, few,
              [&](double x) { return grey_point(program, x, framed(face, x).picture); });
  DetectConfig config;
  config.min_size = 100;
  program.add("S3.E4", "detect, from 100 px", kPixels, "cv::CascadeClassifier", few, [&](double x) {
    return search_point(program, x, framed(face, x).picture, "frontalface_default", config, true);
  });
  program.add("S3.E4", "patches, one face", kPixels, "", few, of_size);

  shape::FaceSearch in_parts(*model, ShapeArithmetic::kFloat);
  if (program.wants("S3.E2"))
    program.note("shares", shares(*model, in_parts, framed(face, kLeast)));
  if (program.wants("S3.E3")) {
    program.note("loads", loads(*model));
    program.note("cut_places", cut_places(program, *model, in_parts));
  }

  // Each step of the way to what elements use.
  const auto reference =
      made(ShapeSearcher::create(Backend::kCpu, model, ShapeArithmetic::kDouble));
  const Portrait least = framed(face, kLeast);
  const std::string best = simd::chosen();
  program.add("S3.E5", "in double, place by place", "faces", "", {1},
              [&](double x) { return program.measure(x, search(least, *reference), {}); });
  program.add("S3.E5", "in float, likeliest place first", "faces", "", {1}, [&](double x) {
    (void)simd::force("scalar");
    const Json point = program.measure(x, search(least, *searcher), {});
    (void)simd::force(best);
    return point;
  });
  program.add("S3.E5", "in vectors of rows", "faces", "", {1},
              [&](double x) { return program.measure(x, search(least, *searcher), {}); });
}

}  // namespace
}  // namespace cuface::eval

int main(int argc, char** argv) {
  cuface::eval::Program program(argc, argv);
  cuface::eval::measure(program);
  return program.finish();
}
