// Many streams at a time, each with the tracker and the landmarks of one face.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/landmarks/cuda/landmarker.h"
#include "kernels/track/track_cuda.h"
#include "models/forest_file.h"
#include "models/models.h"
#include "tests/data.h"
#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/landmarks_inputs.h"
#include "tests/gpu/spin.h"

namespace cuface::test {

/// The model of 68 points, or a random one of its size where it is not there; a small one under a
/// tool.
struct Model68 {
  ModelRef model;
  bool real = false;
};
inline Model68 model_of_68_points() {
  if (under_tool()) return {random_forest({68, 2, 500, 4, 500}, 50)};
  auto loaded = load_forest(model_dir() + "/shape_predictor_68_face_landmarks.cuface");
  if (loaded.ok()) return {loaded.value(), true};
  return {random_forest({68, 15, 500, 4, 500}, 50)};
}

inline constexpr int kStreamLandmarks = 68;

/// What culktrack and cufacelandmark submit for a frame: a graph each.
class OneFace {
 public:
  OneFace(std::shared_ptr<const cuda::DeviceForest> forest, int width, int height)
      : found_(detection()),
        tracked_(cuda::device_faces_bytes(kStreamLandmarks), kCanary),
        marked_(cuda::device_faces_bytes(kStreamLandmarks), kCanary) {
    auto tracker = cuda::Tracker::create({}, width, height);
    for (auto& pyramid : pyramids_) {
      auto made = cuda::GaussianPyramid::create(width, height);
      EXPECT_TRUE(made.ok());
      pyramid = std::move(made.value());
    }
    auto landmarker = cuda::Landmarker::create(std::move(forest), 0);
    EXPECT_TRUE(tracker.ok() && landmarker.ok());
    tracker_ = std::move(tracker.value());
    landmarker_ = std::move(landmarker.value());
  }

  void submit(ImageView<const std::uint8_t> luma) {
    const Status tracked = track_(stream, [&](cuda::Launcher launch) {
      cuda::TrackerInputs in;
      in.pyramid = pyramids_[frame_ % 2];
      launch.set_variant(static_cast<int>(frame_ % 2));
      if (Status s = in.pyramid->begin(luma); !s.ok()) return s;
      if (frame_ == 0) in.faces = faces_at(found_);
      in.frame = ++frame_;
      in.elapsed = 0.04;
      in.room = kStreamLandmarks;
      return tracker_->enqueue(in, faces_at(tracked_), launch);
    });
    const Status marked = mark_(stream, [&](cuda::Launcher launch) {
      return landmarker_->enqueue(luma, faces_at(tracked_), BoxMap{}, faces_at(marked_), launch);
    });
    EXPECT_TRUE(tracked.ok() && marked.ok()) << tracked.message() << marked.message();
  }
  Bytes result() const { return marked_.get(); }

  const Stream stream;
  const Event end;

 private:
  static Bytes detection() {
    Bytes bytes = block_of({{40, 20, 100, 100}}, kStreamLandmarks);
    auto* faces = reinterpret_cast<cuda::DeviceFaces*>(bytes.data());
    faces->landmarks_per_face = faces->followed_per_face = 0;  // else the tracker follows those
    return bytes;
  }

  GuardedBytes found_, tracked_, marked_;
  std::shared_ptr<cuda::GaussianPyramid> pyramids_[2];
  std::unique_ptr<cuda::Tracker> tracker_;
  std::unique_ptr<cuda::Landmarker> landmarker_;
  Submitter track_, mark_;
  std::uint64_t frame_ = 0;
};

/// So many of them, all on the same pictures: a camera that moves to and fro.
class Streams {
 public:
  Streams(std::size_t count, const std::shared_ptr<const cuda::DeviceForest>& forest,
          const TimedPicture& picture)
      : now_(picture.now.width, picture.now.height), then_(now_.view().width, now_.view().height) {
    now_.set(picture.now.view());
    then_.set(picture.next.view());
    for (std::size_t i = 0; i < count; ++i)
      chains_.push_back(std::make_unique<OneFace>(forest, picture.now.width, picture.now.height));
  }

  /// One frame of each. The time of all in microseconds: with its submission by one thread, or
  /// without, by a GPU that is kept busy until all of it is there.
  double frame(bool with_submission) {
    const auto luma = ++frames_ % 2 ? now_.view() : then_.view();
    if (!with_submission) {
      EXPECT_EQ(spin(5000, stream_), cudaSuccess);
    }
    EXPECT_EQ(cudaEventRecord(begin_, stream_), cudaSuccess);
    for (const auto& chain : chains_) {
      EXPECT_EQ(cudaStreamWaitEvent(chain->stream, begin_, 0), cudaSuccess);
      chain->submit(luma);
      EXPECT_EQ(cudaEventRecord(chain->end, chain->stream), cudaSuccess);
      EXPECT_EQ(cudaStreamWaitEvent(stream_, chain->end, 0), cudaSuccess);
    }
    EXPECT_EQ(cudaEventRecord(end_, stream_), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(end_), cudaSuccess);
    float ms = 0;
    EXPECT_EQ(cudaEventElapsedTime(&ms, begin_, end_), cudaSuccess);
    return 1000.0 * static_cast<double>(ms);
  }
  double median_us(bool with_submission) {
    const int rounds = under_tool() ? 2 : 51;
    std::vector<double> times;
    for (int i = -4; i < rounds; ++i)
      if (const double us = frame(with_submission); i >= 0) times.push_back(us);
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
    return times[static_cast<std::size_t>(rounds / 2)];
  }
  std::vector<Bytes> results() const {
    std::vector<Bytes> all;
    for (const auto& chain : chains_) all.push_back(chain->result());
    return all;
  }

 private:
  DevicePicture now_, then_;
  std::vector<std::unique_ptr<OneFace>> chains_;
  const Stream stream_;
  const Event begin_, end_;
  int frames_ = 0;
};

}  // namespace cuface::test
