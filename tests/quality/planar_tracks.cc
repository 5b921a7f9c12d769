// Tracks of flat objects over seeded clips with truth: three printed pictures that rest, move, are
// covered in part, leave and come back, and rest where they began.
//   planar_tracks FIRST COUNT     a line of JSON a clip, whose numbers are their seeds
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/planar_video.h"

namespace cuface {
namespace {

struct Track {
  std::vector<std::array<cv::Point2d, 4>> first, last;  ///< corners at rest
  int visible = 0;                                      ///< frames with 40 % of it to be seen
  int tracked = 0;                                      ///< and where it was known
  int lost = 0;                                         ///< times it was lost then
  int wrong = 0;          ///< frames with a corner more than 10 px away
  int latest_return = 0;  ///< frames from 40 % to be seen until it was found again
  std::uint64_t first_id = 0;
  bool same_id = true;
  std::vector<double> errors;
};

cv::Point2d mean_of(const std::vector<std::array<cv::Point2d, 4>>& all, std::size_t corner) {
  cv::Point2d sum;
  for (const auto& one : all) sum += one[corner];
  return sum * (1.0 / static_cast<double>(all.size()));
}

/// Root mean square distance of the corners from their means.
double tremble(const std::vector<std::array<cv::Point2d, 4>>& all) {
  double sum = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    const cv::Point2d mean = mean_of(all, k);
    for (const auto& one : all) sum += (one[k] - mean).dot(one[k] - mean);
  }
  return std::sqrt(sum / (4.0 * static_cast<double>(all.size())));
}

nlohmann::ordered_json run(unsigned clip) {
  const test::PlanarClip scene(clip);
  test::PlanarVideo video(scene.objects);
  std::vector<Track> tracks(scene.objects.size());
  std::vector<int> since(tracks.size(), 0);
  for (int n = 0; n < test::PlanarClip::kFrames; ++n) {
    std::vector<bool> was;
    for (std::size_t i = 0; i < tracks.size(); ++i) was.push_back(video.pose(i).visible);
    video.next(scene.frame(n));
    for (std::size_t i = 0; i < tracks.size(); ++i) {
      const PlanarPose& pose = video.pose(i);
      const cv::Matx33d truth = scene.map(i, n);
      Track& track = tracks[i];
      const bool can_be_seen = scene.seen(i, n) >= 0.4;
      track.visible += can_be_seen;
      track.tracked += can_be_seen && pose.visible;
      track.lost += can_be_seen && was[i] && (!pose.visible || pose.found);
      since[i] = can_be_seen && !pose.visible ? since[i] + 1 : 0;
      track.latest_return = std::max(track.latest_return, since[i]);
      if (!pose.visible) continue;
      if (track.first_id == 0) track.first_id = video.id(i);
      track.same_id = track.same_id && track.first_id == video.id(i);
      std::array<cv::Point2d, 4> corners;
      double error = 0;
      const cv::Mat& picture = scene.objects[i];
      for (std::size_t k = 0; k < 4; ++k) {
        corners[k] = {pose.corners[k].x, pose.corners[k].y};
        const cv::Point2d is = test::carried(truth, k == 1 || k == 2 ? picture.cols - 0.5 : -0.5,
                                             k >= 2 ? picture.rows - 0.5 : -0.5);
        error = std::max(error, cv::norm(corners[k] - is));
      }
      track.wrong += error > 10;
      track.errors.push_back(error);
      if (n < test::PlanarClip::kRest) track.first.push_back(corners);
      if (n >= test::PlanarClip::kFrames - test::PlanarClip::kRest) track.last.push_back(corners);
    }
  }
  nlohmann::ordered_json result = {{"clip", clip}};
  for (Track& track : tracks) {
    double drift = 0;
    for (std::size_t k = 0; k < 4; ++k)
      drift = std::max(drift, cv::norm(mean_of(track.first, k) - mean_of(track.last, k)));
    std::ranges::sort(track.errors);
    const auto number = [](double v) { return std::round(1000 * v) / 1000; };
    result["objects"].push_back(
        {{"visible", track.visible},
         {"tracked", track.tracked},
         {"lost", track.lost},
         {"wrong", track.wrong},
         {"latest_return", track.latest_return},
         {"same_id", track.same_id},
         {"tremble_px", number(std::max(tremble(track.first), tremble(track.last)))},
         {"first_to_last_px", number(drift)},
         {"median_error_px", number(track.errors[track.errors.size() / 2])},
         {"largest_error_px", number(track.errors.back())}});
  }
  return result;
}

}  // namespace
}  // namespace cuface

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "planar_tracks FIRST COUNT\n");
    return 2;
  }
  cv::setNumThreads(1);
  const auto first = static_cast<unsigned>(std::atoi(argv[1]));
  for (unsigned clip = first; clip < first + static_cast<unsigned>(std::atoi(argv[2])); ++clip) {
    std::printf("%s\n", cuface::run(clip).dump().c_str());
    std::fflush(stdout);
  }
  return 0;
}
