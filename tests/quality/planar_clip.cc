// The faces of a printed box in a filmed clip, cut from one frame each by marks of hand: followed
// by ORB's or SURF's keypoints, or found by OpenCV's SIFT and findHomography on each frame for
// itself, or aligned with it by OpenCV's findTransformECC, which takes all pixels.
//   planar_clip MARKS orb|surf|opencv|aligned [backwards|returning] < FRAMES
// FRAMES: grey ones in a row. Gives a line of JSON a face. backwards: from the last frame on, and
// told from the first on. returning: to the last frame and back to the first, told as they came.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <opencv2/calib3d.hpp>
#include <opencv2/features2d.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/video/tracking.hpp>
#include <string>
#include <vector>

#include "tests/planar_video.h"

namespace cuface {
namespace {

using Json = nlohmann::ordered_json;

/// Of the peer: Lowe's ratio, and the tracker's px of RANSAC. It asks for ten inliers, where the
/// tracker takes six that agree and looks at the picture then.
constexpr float kRatio = 0.8f;
constexpr double kThreshold = 3;
constexpr int kLeast = 10;

/// The outer corners of a picture, as PlanarPose has them.
std::vector<cv::Point2f> corners_of(cv::Size size) {
  const float right = static_cast<float>(size.width) - 0.5f;
  const float bottom = static_cast<float>(size.height) - 0.5f;
  return {{-0.5f, -0.5f}, {right, -0.5f}, {right, bottom}, {-0.5f, bottom}};
}

std::vector<cv::Point2f> points_of(const Json& corners) {
  std::vector<cv::Point2f> out;
  for (const Json& corner : corners) out.emplace_back(corner.at(0), corner.at(1));
  return out;
}

cv::Mat cut(const cv::Mat& frame, const Json& face) {
  const cv::Size size(face.at("size").at(0), face.at("size").at(1));
  const auto from = points_of(face.at("reference").at("corners"));
  cv::Mat out;
  cv::warpPerspective(frame, out, cv::getPerspectiveTransform(from, corners_of(size)), size);
  return out;
}

template <typename Points>
Json listed(const Points& points) {
  Json out = Json::array();
  for (const auto& p : points) out.push_back({p.x, p.y});
  return out;
}

/// Each frame's corners of each picture, or null; how often it was lost, and its ids.
struct Track {
  Json corners = Json::array();
  int lost = 0;
  std::vector<std::uint64_t> ids;
};

std::vector<Track> follow(const std::vector<cv::Mat>& pictures, const std::vector<cv::Mat>& frames,
                          const PlanarSearchConfig& search) {
  std::vector<Track> tracks(pictures.size());
  test::PlanarVideo video(pictures, search, frames[0].size());
  for (const cv::Mat& frame : frames) {
    video.next(frame);
    for (std::size_t i = 0; i < tracks.size(); ++i) {
      const PlanarPose& pose = video.pose(i);
      Track& track = tracks[i];
      const bool was = !track.corners.empty() && !track.corners.back().is_null();
      track.lost += was && (!pose.visible || pose.found);
      track.corners.push_back(pose.visible ? listed(pose.corners) : Json());
      if (pose.visible && (track.ids.empty() || track.ids.back() != video.id(i)))
        track.ids.push_back(video.id(i));
    }
  }
  return tracks;
}

struct Described {
  std::vector<cv::KeyPoint> keypoints;
  cv::Mat descriptors;
};

Json place(const Described& picture, const Described& frame, cv::Size size) {
  std::vector<std::vector<cv::DMatch>> matches;
  cv::BFMatcher(cv::NORM_L2).knnMatch(picture.descriptors, frame.descriptors, matches, 2);
  std::vector<cv::Point2f> from, to, corners;
  for (const auto& m : matches) {
    if (m.size() < 2 || m[0].distance >= kRatio * m[1].distance) continue;
    from.push_back(picture.keypoints[static_cast<std::size_t>(m[0].queryIdx)].pt);
    to.push_back(frame.keypoints[static_cast<std::size_t>(m[0].trainIdx)].pt);
  }
  if (from.size() < kLeast) return {};
  cv::Mat inliers;
  const cv::Mat map = cv::findHomography(from, to, cv::RANSAC, kThreshold, inliers);
  if (map.empty() || cv::countNonZero(inliers) < kLeast) return {};
  cv::perspectiveTransform(corners_of(size), corners, map);
  return listed(corners);
}

std::vector<Track> find(const std::vector<cv::Mat>& pictures, const std::vector<cv::Mat>& frames) {
  const cv::Ptr<cv::SIFT> sift = cv::SIFT::create();
  const auto described = [&](const cv::Mat& grey) {
    Described out;
    sift->detectAndCompute(grey, {}, out.keypoints, out.descriptors);
    return out;
  };
  std::vector<Described> known;
  for (const cv::Mat& picture : pictures) known.push_back(described(picture));
  std::vector<Track> tracks(pictures.size());
  for (const cv::Mat& frame : frames) {
    const Described seen = described(frame);
    for (std::size_t i = 0; i < tracks.size(); ++i)
      tracks[i].corners.push_back(place(known[i], seen, pictures[i].size()));
  }
  return tracks;
}

/// Beside `picture` as it lies at `start`; null where they do not become alike.
Json align(const cv::Mat& picture, const cv::Mat& frame, const Json& start) {
  constexpr double kLeastCorrelation = 0.8;
  if (start.is_null()) return {};
  auto corners = points_of(start);
  cv::Mat map;
  cv::getPerspectiveTransform(corners_of(picture.size()), corners).convertTo(map, CV_32F);
  const cv::TermCriteria end(cv::TermCriteria::COUNT + cv::TermCriteria::EPS, 100, 1e-6);
  try {
    if (cv::findTransformECC(picture, frame, map, cv::MOTION_HOMOGRAPHY, end, cv::noArray(), 5) <
        kLeastCorrelation)
      return {};
  } catch (const cv::Exception&) {  // it does not converge
    return {};
  }
  cv::perspectiveTransform(corners_of(picture.size()), corners, map);
  return listed(corners);
}

/// Begins each frame where the picture was on the frame before, and by `found` where that fails.
std::vector<Track> aligned(const std::vector<cv::Mat>& pictures, const std::vector<cv::Mat>& frames,
                           std::vector<Track> found) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    Json before;
    for (std::size_t n = 0; n < frames.size(); ++n) {
      Json& corners = found[i].corners.at(n);
      before = align(pictures[i], frames[n], before);
      if (before.is_null()) before = align(pictures[i], frames[n], corners);
      corners = before;
    }
  }
  return found;
}

}  // namespace
}  // namespace cuface

int main(int argc, char** argv) {
  using namespace cuface;
  const std::string kind = argc >= 3 ? argv[2] : "";
  const std::string order = argc == 4 ? argv[3] : "";
  const bool backwards = order == "backwards", returning = order == "returning";
  const bool by_peer = kind == "opencv" || kind == "aligned";
  if ((kind != "orb" && kind != "surf" && !by_peer) || argc > 3 + (backwards || returning)) {
    std::fprintf(stderr,
                 "planar_clip MARKS orb|surf|opencv|aligned [backwards|returning] < FRAMES\n");
    return 2;
  }
  cv::setNumThreads(1);
  cv::setRNGSeed(0);
  PlanarSearchConfig search;
  if (kind == "surf") search.features = test::kSurfFeatures;
  if (!validate(search).ok()) return 3;  // built without SURF
  std::ifstream file(argv[1]);
  const Json marks = Json::parse(file);
  std::vector<cv::Mat> frames, pictures;
  for (cv::Mat frame(marks.at("height"), marks.at("width"), CV_8U);
       std::fread(frame.data, 1, frame.total(), stdin) == frame.total();)
    frames.push_back(frame.clone());
  for (const Json& face : marks.at("faces")) {
    const int n = face.at("reference").at("frame").get<int>() - marks.at("first").get<int>();
    pictures.push_back(cut(frames.at(static_cast<std::size_t>(n)), face));
  }
  if (backwards) std::ranges::reverse(frames);
  for (std::size_t n = returning ? frames.size() : 0; n-- > 0;) frames.push_back(frames[n]);
  auto tracks = by_peer ? find(pictures, frames) : follow(pictures, frames, search);
  if (kind == "aligned") tracks = aligned(pictures, frames, std::move(tracks));
  for (Track& track : tracks) {
    if (backwards) std::ranges::reverse(track.corners);
    const Json line = {{"corners", track.corners}, {"lost", track.lost}, {"ids", track.ids}};
    std::printf("%s\n", line.dump().c_str());
  }
  return 0;
}
