// The graphs that elements submit: events inside of them, and one replayed over other pictures,
// frames and slots for faces, with and without its conditional part.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/detect/cuda/schedule.h"
#include "kernels/faces/counters_cuda.h"
#include "kernels/luma/luma_cuda.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/detect_pair.h"

namespace cuface::test {
namespace {

using cuda::DeviceFaces;
using cuda::Launcher;
using Ifs = cuda::GraphSet::Ifs;

/// The Y plane of a frame.
FrameView plane(ImageView<const std::uint8_t> picture, bool full_range) {
  FrameView frame;
  frame.width = picture.width;
  frame.height = picture.height;
  frame.full_range = full_range;
  frame.component[0].data = const_cast<std::uint8_t*>(picture.data);
  frame.component[0].stride = picture.stride;
  return frame;
}

Model shared(CascadeModel model) { return std::make_shared<const CascadeModel>(std::move(model)); }

class GraphCuda : public testing::Test {
 protected:
  void SetUp() override { CUFACE_NEEDS_GPU(); }
};

/// A frame's memory is given back when its event, recorded in the middle of a graph, is over.
TEST_F(GraphCuda, AnEventIsPendingFromTheLaunchUntilTheWorkBeforeItIsOver) {
  constexpr int kSide = 4096;
  const int many = test::under_tool("racecheck") ? 8 : test::under_tool() ? 40 : 400;
  const Stream stream, other;
  auto big = cuda::DeviceImage<std::uint8_t>::create(kSide, kSide);
  auto copy = cuda::DeviceImage<std::uint8_t>::create(kSide, kSide);
  ASSERT_TRUE(big.ok() && copy.ok());
  CUFACE_CUDA_OK(cudaMemset(big.value().view().data, 77, std::size_t{kSide} * kSide));
  CUFACE_CUDA_OK(cudaDeviceSynchronize());
  const FrameView frame = plane(std::as_const(big.value()).view(), true);
  const auto work = [&](Launcher launch, int count) {
    Status s;
    for (int i = 0; i < count && s.ok(); ++i) s = cuda::luma(frame, copy.value().view(), launch);
    return s;
  };
  Submitter submit;
  const std::array<test::Event, 2> early, late;
  const test::Event behind_early, behind_late;  // in another stream
  for (std::size_t round = 0; round < 6; ++round) {
    const std::size_t now = round % 2;
    const Status submitted = submit(stream, [&](Launcher launch) {
      if (Status s = work(launch, 1); !s.ok()) return s;
      if (Status s = launch.record(early[now]); !s.ok()) return s;
      if (Status s = work(launch, many); !s.ok()) return s;
      return launch.record(late[now]);
    });
    ASSERT_TRUE(submitted.ok()) << submitted.message();
    EXPECT_FALSE(late[now].is_over()) << "round " << round;
    CUFACE_CUDA_OK(cudaStreamWaitEvent(other, early[now], 0));
    CUFACE_CUDA_OK(cudaEventRecord(behind_early, other));
    CUFACE_CUDA_OK(cudaStreamWaitEvent(other, late[now], 0));
    CUFACE_CUDA_OK(cudaEventRecord(behind_late, other));
    EXPECT_TRUE(round == 0 || late[1 - now].is_over()) << "that of the round before";
    CUFACE_CUDA_OK(cudaEventSynchronize(early[now]));
    CUFACE_CUDA_OK(cudaEventSynchronize(behind_early));
    EXPECT_FALSE(behind_late.is_over()) << "round " << round << ": a stream did not wait";
    EXPECT_FALSE(late[now].is_over()) << "round " << round << ": the first event came last";
    CUFACE_CUDA_OK(cudaEventSynchronize(behind_late));
    EXPECT_TRUE(late[now].is_over()) << "round " << round << ": a stream did not wait";
    float ms = 0;
    CUFACE_CUDA_OK(cudaEventElapsedTime(&ms, early[now], late[now]));
    EXPECT_GT(ms, 0.2f);
    EXPECT_LT(ms, 10'000.0f);
  }
  EXPECT_EQ(submit.built().graphs, 1);
  EXPECT_EQ(submit.built().nodes, many + 3);
  EXPECT_EQ(submit.built().set, 5u * 2);  // the events of all rounds but the first
}

/// A frame of a decoder: its own memory, its own address.
struct DecodedFrame {
  Picture picture;
  bool full_range;
  GuardedBytes memory;

  DecodedFrame(Picture p, bool full)
      : picture(std::move(p)), full_range(full), memory(picture.bytes) {}
  FrameView on_device() { return plane(picture.at(memory.data()), full_range); }
  /// What the CPU makes of it.
  Image<std::uint8_t> luma() const {
    Image<std::uint8_t> out(picture.width, picture.height);
    cuface::luma(plane(picture.view(), full_range), out.view());
    return out;
  }
};

/// What cufacedetect submits for a frame, and the same on the CPU.
class DetectElement {
 public:
  static constexpr int kWidth = 240, kHeight = 180;

  explicit DetectElement(Ifs ifs) : submitter_(ifs), found_(cuda::device_faces_bytes(0), kCanary) {
    DetectConfig config;
    config.min_neighbors = 1;
    config.verify = true;
    const Model model = shared(random_cascade(36, 24, 16, 12, true));
    auto gpu = cuda::Detector::create(model, config, kWidth, kHeight);
    auto luma = cuda::DeviceImage<std::uint8_t>::create(kWidth, kHeight);
    auto state = cuda::DeviceBuffer<cuda::SearchState>::create(1);
    auto counters = cuda::TallyBuffer<cuda::FaceCounters>::create();
    EXPECT_TRUE(gpu.ok() && luma.ok() && state.ok() && counters.ok());
    gpu_ = std::move(gpu.value());
    luma_ = std::move(luma.value());
    state_ = std::move(state.value());
    counters_ = std::move(counters.value());
    cpu_ = std::move(Detector::create(Backend::kCpu, model, config, kWidth, kHeight).value());
  }

  Status submit(DecodedFrame& frame, const cuda::SearchBegin& begin, const DeviceFaces* before,
                DeviceFaces* out) {
    return submitter_(stream_, [&](Launcher launch) {
      auto* found = reinterpret_cast<DeviceFaces*>(found_.data());
      const std::int32_t* run = &state_.data()->run;
      if (Status s = launch.record(used_); !s.ok()) return s;
      if (Status s = cuda::luma(frame.on_device(), luma_.view(), launch); !s.ok()) return s;
      if (Status s = launch.record(used_); !s.ok()) return s;
      if (Status s = cuda::begin_search(state_.data(), begin, launch); !s.ok()) return s;
      if (Status s = gpu_->enqueue(std::as_const(luma_).view(), run, found, launch,
                                   &state_.data()->what, &state_.data()->followed);
          !s.ok())
        return s;
      if (Status s = cuda::end_search(state_.data(), before, found, out, 0, launch); !s.ok())
        return s;
      return cuda::count_faces(out, {run, false}, counters_.get(), launch);
    });
  }

  /// The faces of the frame as the CPU finds them.
  FaceList expect(const DecodedFrame& frame, const cuda::SearchBegin& begin, FaceList before) {
    if (begin.restart) wish_ = {};
    const SearchRegion what = wish_.next(begin.ask);
    if (what.count > 0) {
      DetectResult result;
      const Image<std::uint8_t> picture = frame.luma();
      EXPECT_TRUE(cpu_->enqueue(picture.view(), result, what).ok());
      merge_faces(faces_from_detections(result, what, "", kWidth, kHeight), before);
      if (before.faces.size() > cuda::kMaxFaces) before.faces.resize(cuda::kMaxFaces);
      wish_.searched(what, !before.faces.empty());
      searches += begins_search(begin.ask, what);
      parts += what.is_part();
    }
    faces += before.faces.size();
    return before;
  }

  const cuda::GraphSet::Built& built() const { return submitter_.built(); }
  const cuda::FaceCounters& counters() const { return *counters_.told(); }

  std::uint64_t searches = 0, faces = 0, parts = 0;  ///< of the CPU

 private:
  Stream stream_;
  test::Event used_;
  Submitter submitter_;
  GuardedBytes found_;
  std::unique_ptr<cuda::Detector> gpu_;
  std::unique_ptr<Detector> cpu_;
  cuda::DeviceImage<std::uint8_t> luma_;
  cuda::DeviceBuffer<cuda::SearchState> state_;
  cuda::TallyBuffer<cuda::FaceCounters> counters_;
  SearchSchedule wish_;
};

void expect_faces(const std::vector<std::uint8_t>& bytes, const FaceList& expected,
                  std::uint64_t number) {
  DeviceFaces got;
  std::memcpy(static_cast<void*>(&got), bytes.data(), sizeof got);
  ASSERT_EQ(got.count, static_cast<int>(expected.faces.size())) << "frame " << number;
  EXPECT_EQ(got.frame, number);
  EXPECT_EQ(got.searched, expected.searched) << "frame " << number;
  EXPECT_EQ(got.landmarks_per_face, 0);
  for (int i = 0; i < got.count; ++i) {
    const Face& e = expected.faces[static_cast<std::size_t>(i)];
    EXPECT_EQ(got.faces[i].box, e.box) << "frame " << number << " face " << i;
    EXPECT_EQ(got.faces[i].neighbors, e.neighbors);
    EXPECT_EQ(got.faces[i].confidence, e.confidence);
    EXPECT_EQ(got.faces[i].id, e.id);
  }
  const auto behind = bytes.begin() + offsetof(DeviceFaces, faces) +
                      static_cast<std::ptrdiff_t>(sizeof(Face)) * got.count;
  EXPECT_EQ(std::count(behind, bytes.end(), kCanary), bytes.end() - behind);
}

/// Faces of a detector before, at an address of their own.
FaceList faces_before(int frame) {
  FaceList list;
  for (int i = 0; i < 3; ++i) {
    Face face;
    face.id = 0;
    face.confidence = 0.25f * static_cast<float>(i);
    face.neighbors = i;
    face.origin = Origin::kDetected;
    face.box = {static_cast<float>(20 * i + frame % 50), 30.0f, 40.0f, 40.0f};
    list.faces.push_back(face);
  }
  return list;
}

class GraphIfsCuda : public GraphCuda, public testing::WithParamInterface<Ifs> {};

TEST_P(GraphIfsCuda, OneDetectionGraphOverPicturesFramesAndSlots) {
  const bool conditional = GetParam() == Ifs::kConditional;
  if (conditional && test::under_tool("racecheck", "synccheck"))
    GTEST_SKIP() << "racecheck and synccheck report faults of any conditional node "
                    "(conditional_nodes.cu); the same kernels run without one";
  constexpr int kFrames = 120, kAtOnce = 4;
  DetectElement element(GetParam());
  const auto picture = [](int radius, unsigned seed, int lead, int padding) {
    return smooth(DetectElement::kWidth, DetectElement::kHeight, radius, seed, lead, padding);
  };
  const auto one_colour = [](std::uint8_t value) {
    return flat(DetectElement::kWidth, DetectElement::kHeight, value);
  };
  std::vector<std::unique_ptr<DecodedFrame>> frames;
  for (bool full : {true, false}) {
    frames.push_back(std::make_unique<DecodedFrame>(one_colour(16), full));  // 0 faces
    frames.push_back(std::make_unique<DecodedFrame>(picture(3, 41, 0, 16), full));
    frames.push_back(std::make_unique<DecodedFrame>(picture(6, 42, 16, 32), full));
    frames.push_back(std::make_unique<DecodedFrame>(one_colour(235), full));
    frames.push_back(std::make_unique<DecodedFrame>(picture(0, 43, 3, 5), full));  // bytes
  }
  struct Turn {
    GuardedBytes out, before;
    FaceList expected;
    std::uint64_t number = 0;
    Turn() : out(cuda::device_faces_bytes(0), kCanary), before(out.size(), 0) {}
  };
  std::array<Turn, kAtOnce> turns;
  int none = 0, many = 0, skipped = 0;
  for (int first = 0; first < kFrames; first += kAtOnce) {
    for (Turn& turn : turns)  // before anything runs: this waits for the device
      turn.out.set(std::vector<std::uint8_t>(turn.out.size(), kCanary));
    for (int i = first; i < first + kAtOnce; ++i) {
      Turn& turn = turns[static_cast<std::size_t>(i - first)];
      turn.number = static_cast<std::uint64_t>(1000 + i);
      FaceList before;
      const bool has_before = i % 11 == 5 && i == first;  // set() waits
      if (has_before) {
        before = faces_before(i);
        std::vector<std::uint8_t> bytes(turn.before.size());
        auto* list = reinterpret_cast<DeviceFaces*>(bytes.data());
        list->count = static_cast<std::int32_t>(before.faces.size());
        std::copy(before.faces.begin(), before.faces.end(), list->faces);
        turn.before.set(bytes);
      }
      DecodedFrame& frame = *frames[static_cast<std::size_t>(i * 7 / 3) % frames.size()];
      SearchRequest ask;
      ask.asked = i % 3 == 0;
      ask.searchable = i % 8 != 6;
      ask.follows = !has_before;
      ask.step.band = {i % 5, 5};
      const cuda::SearchBegin begin{i == 0 || i == 60, ask, turn.number, nullptr};
      const Status submitted = element.submit(
          frame, begin, has_before ? reinterpret_cast<DeviceFaces*>(turn.before.data()) : nullptr,
          reinterpret_cast<DeviceFaces*>(turn.out.data()));
      ASSERT_TRUE(submitted.ok()) << submitted.message();
      turn.expected = element.expect(frame, begin, before);
      none += turn.expected.searched && turn.expected.faces.empty();
      many += turn.expected.searched && turn.expected.faces.size() > 5;
      skipped += !turn.expected.searched;
    }
    for (Turn& turn : turns) {
      expect_faces(turn.out.get(), turn.expected, turn.number);
      if (HasFatalFailure()) return;
    }
  }
  for (const auto& frame : frames) EXPECT_EQ(frame->memory.get(), frame->picture.bytes);
  EXPECT_EQ(element.counters().searches, element.searches);
  EXPECT_EQ(element.counters().faces, element.faces);
  EXPECT_EQ(element.built().graphs, 2) << "one for each of luma's two kernels";
  if (conditional) {
    EXPECT_GE(element.built().conditional, 5);
  } else {
    EXPECT_EQ(element.built().conditional, 0);
  }
  EXPECT_GT(none, 10);
  EXPECT_GT(many, 10);
  EXPECT_GT(skipped, 10);
  EXPECT_GT(element.parts, 10u);
  std::printf(
      "%d frames: %d without faces, %d with more than 5, %d not searched; %d nodes, %d of "
      "them conditional\n",
      kFrames, none, many, skipped, element.built().nodes, element.built().conditional);
}

INSTANTIATE_TEST_SUITE_P(Ifs, GraphIfsCuda, testing::Values(Ifs::kConditional, Ifs::kLaunched),
                         [](const auto& info) {
                           return info.param == Ifs::kConditional ? "Conditional" : "Launched";
                         });

TEST_F(GraphCuda, RefusesListsThatAreNoGraph) {
  const Stream stream;
  const test::Event event;
  const auto flag = cuda::DeviceBuffer<std::int32_t>::create(1);
  ASSERT_TRUE(flag.ok());
  const auto code = [&](const auto& fill) {
    Submitter submit;
    return submit(stream, [&](Launcher launch) { return fill(launch), Status(); }).code();
  };
  EXPECT_EQ(code([](Launcher) {}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([&](Launcher l) { l.begin_if(flag.value().data()); }),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code([&](Launcher l) { l.end_if(); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([&](Launcher l) {
              l.begin_if(flag.value().data());
              static_cast<void>(l.record(event));
              l.end_if();
            }),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cuface::test
