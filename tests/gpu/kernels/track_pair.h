// Trackers on CUDA and on the CPU side by side: told the same, and every field of every frame
// compared, bit for bit.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernels/track/track.h"
#include "kernels/track/track_cuda.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/moving_faces.h"

namespace cuface::test {

inline constexpr int kTrackCapacity = 68;
inline const float kNan = std::numeric_limits<float>::quiet_NaN();

inline void find_by_cascade(Face& face, int windows) {
  face.neighbors = windows;
  face.confidence = detection_confidence(windows);
}

/// Without windows, and with keypoints.
inline void find_by_network(Face& face, float score) {
  face.neighbors = -1;
  face.confidence = score;
  face.has_keypoints = true;
  for (int i = 0; i < kFaceKeypoints; ++i) {
    const float part = 0.25f * static_cast<float>(i);
    face.keypoints[i] = {face.box.x + face.box.w * part, face.box.y + face.box.h * (1 - part)};
  }
  face.roll = roll_of_eyes(face.keypoints[0], face.keypoints[1]);
}

inline FaceList detections(const std::vector<Box>& boxes) {
  FaceList list;
  list.searched = true;
  for (const Box& b : boxes) {
    Face f;
    f.box = b;
    find_by_cascade(f, 17 + static_cast<int>(list.faces.size()) % 20);
    list.faces.push_back(f);
  }
  return list;
}

/// What all comparisons of one test have seen.
struct TrackSeen {
  int frames = 0, faces = 0, tracked = 0, moved_far = 0, landmarks = 0, wanted = 0, revived = 0,
      tentative = 0, bands = 0, followed = 0, cuts = 0, held = 0, keypoints = 0;
  std::array<int, kLossCount> lost{};
  std::size_t most = 0;
};

/// Both trackers, told the same.
class TrackPair {
 public:
  TrackPair(const TrackConfig& config, int width, int height, TrackSeen& seen,
            int capacity = kTrackCapacity)
      : picture(width, height, 1, 5),
        faces(cuda::device_faces_bytes(capacity), kCanary),
        feedback(cuda::device_faces_bytes(capacity), kCanary),
        out(cuda::device_faces_bytes(capacity), kCanary),
        capacity_(capacity),
        seen_(seen) {
    for (int i = 0; i < 2; ++i) {
      host_pyramids_[i] = std::make_shared<GaussianPyramid>(width, height);
      auto made = cuda::GaussianPyramid::create(width, height);
      EXPECT_TRUE(made.ok()) << made.status().message();
      pyramids_[i] = std::move(made.value());
    }
    auto host = Tracker::create(Backend::kCpu, config, width, height);
    auto device = cuda::Tracker::create(config, width, height);
    EXPECT_TRUE(host.ok() && device.ok()) << device.status().message();
    cpu = std::move(host.value());
    gpu = std::move(device.value());
  }

  /// What the reference makes of a frame, into `expected`; and the device's inputs for it.
  void tell(const Grey& frame, const FaceList* found, const FaceList* fed, std::uint64_t number,
            double elapsed) {
    TrackInput input;
    input.pyramid = host_pyramids_[turn_ = 1 - turn_];
    input.pyramid->build(frame.view());
    input.faces = found;
    input.feedback = fed;
    input.frame = number;
    input.elapsed = elapsed;
    ASSERT_TRUE(cpu->enqueue(input, expected).ok());
    picture.set(frame.view());
    if (found) faces.set(pack_faces(*found, capacity_));
    if (fed) feedback.set(pack_faces(*fed, capacity_));
    out.set(std::vector<std::uint8_t>(out.size(), kCanary));
  }

  cuda::TrackerInputs inputs(bool with_faces, bool with_feedback, std::uint64_t number,
                             double elapsed) {
    cuda::TrackerInputs in;
    in.pyramid = begun(picture);
    if (with_faces) in.faces = reinterpret_cast<const cuda::DeviceFaces*>(faces.data());
    if (with_feedback) in.feedback = reinterpret_cast<const cuda::DeviceFaces*>(feedback.data());
    in.frame = number;
    in.elapsed = elapsed;
    in.room = capacity_;
    return in;
  }
  /// The pyramid whose turn it is, with another picture.
  std::shared_ptr<cuda::GaussianPyramid> begun(DevicePicture& other) {
    EXPECT_TRUE(pyramids_[turn_]->begin(other.view()).ok());
    return pyramids_[turn_];
  }
  int turn() const { return turn_; }
  void take_turns() { turn_ = 1 - turn_; }
  const std::shared_ptr<GaussianPyramid>& host_pyramid() const { return host_pyramids_[turn_]; }
  cuda::DeviceFaces* device_out() { return reinterpret_cast<cuda::DeviceFaces*>(out.data()); }

  /// The device's output against `expected`.
  void check(std::uint64_t number) {
    const auto bytes = out.get();
    ASSERT_TRUE(holds_faces(bytes, expected.faces)) << "frame " << number;
    const auto* got = reinterpret_cast<const cuda::DeviceFaces*>(bytes.data());
    ASSERT_EQ(got->lost, expected.lost) << "frame " << number;
    ASSERT_EQ(got->search_wanted, expected.search_wanted) << "frame " << number;
    ASSERT_EQ(got->frame, number);
    ASSERT_EQ(got->overflow, 0);
    ++seen_.frames;
    seen_.wanted += bool{expected.search_wanted};
    seen_.tentative += expected.search_wanted && !expected.faces.faces.empty();
    seen_.bands += expected.search_wanted.is_part();
    seen_.faces += got->count;
    seen_.landmarks += got->count * got->landmarks_per_face;
    seen_.followed += got->count * got->followed_per_face;
    seen_.most = std::max(seen_.most, expected.faces.faces.size());
    for (int i = 0; i < kLossCount; ++i) {
      seen_.lost[static_cast<std::size_t>(i)] += expected.lost_by[static_cast<std::size_t>(i)];
    }
    // A detection that confirms no track any more, and starts one in the place.
    const auto is_new = [&](const Face& f) { return f.age == 0 && !ids_.count(f.id); };
    seen_.cuts += expected.lost > 0 &&
                  std::any_of(expected.faces.faces.begin(), expected.faces.faces.end(), is_new);
    std::set<std::uint64_t> now;
    for (const Face& f : expected.faces.faces) {
      now.insert(f.id);
      seen_.tracked += f.origin == Origin::kTracked;
      seen_.keypoints += f.origin == Origin::kTracked && f.has_keypoints;
      for (const Face& b : before_) {
        seen_.moved_far += f.id == b.id && f.origin == Origin::kTracked &&
                           std::hypot(f.box.x - b.box.x, f.box.y - b.box.y) > 5;
      }
      seen_.revived += ever_.count(f.id) && !ids_.count(f.id);
    }
    ever_.insert(now.begin(), now.end());
    ids_ = now;
    before_ = expected.faces.faces;
  }

  void step(cudaStream_t stream, const Grey& frame, const FaceList* found = nullptr,
            const FaceList* fed = nullptr, double elapsed = 0.04) {
    const std::uint64_t number = count++;
    tell(frame, found, fed, number, elapsed);
    ASSERT_TRUE(gpu->enqueue(inputs(found, fed, number, elapsed), device_out(), stream).ok());
    check(number);
  }

  /// A frame whose picture is not looked at.
  void pass_gap(cudaStream_t stream) {
    const std::uint64_t number = count++;
    cpu->pass_gap(expected);
    out.set(std::vector<std::uint8_t>(out.size(), kCanary));
    ASSERT_TRUE(gpu->pass_gap(number, capacity_, device_out(), stream).ok());
    check(number);
    ++seen_.held;
  }

  std::unique_ptr<Tracker> cpu;
  std::unique_ptr<cuda::Tracker> gpu;
  TrackOutput expected;
  std::uint64_t count = 0;
  DevicePicture picture;
  GuardedBytes faces, feedback, out;

 private:
  int capacity_;
  TrackSeen& seen_;
  // Of this frame and the one before.
  std::shared_ptr<GaussianPyramid> host_pyramids_[2];
  std::shared_ptr<cuda::GaussianPyramid> pyramids_[2];
  int turn_ = 0;
  std::set<std::uint64_t> ids_, ever_;
  std::vector<Face> before_;
};

class TrackCudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    stream_.emplace();
  }
  std::optional<Stream> stream_;
  TrackSeen seen_;
};

#define STEP(...) ASSERT_NO_FATAL_FAILURE(__VA_ARGS__)

/// Landmarks spread over a face.
inline void add_landmarks(FaceList& list, const MovingFaces& world, const Pose& pose, int n) {
  list.landmarks_per_face = n;
  for (int i = 0; i < n; ++i) {
    list.landmarks.push_back(
        world.point_of(pose, -0.3 + 0.6 * (i % 9) / 8, -0.3 + 0.6 * (i / 9) / 8));
  }
}

}  // namespace cuface::test
