// What work is told by messages: each submission its own, also when the host is far ahead, and
// never an old one.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/common/cuda/mailbox.h"
#include "kernels/luma/luma_cuda.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/spin.h"

namespace cuface::test {
namespace {

using cuda::Launcher;
using Bytes = std::vector<std::uint8_t>;

constexpr int kWidth = 64, kHeight = 16;
constexpr std::size_t kBytes = std::size_t{kWidth} * kHeight;

/// A picture of one grey, which the luma of a frame copies.
class Plane {
 public:
  explicit Plane(std::uint8_t grey) : bytes_(kBytes, grey) {}
  FrameView frame() {
    FrameView frame;
    frame.width = kWidth;
    frame.height = kHeight;
    frame.component[0].data = bytes_.data();
    frame.component[0].stride = kWidth;
    return frame;
  }
  ImageView<std::uint8_t> view() { return {bytes_.data(), kWidth, kHeight, kWidth}; }
  Bytes get() const { return bytes_.get(); }
  const std::uint8_t* data() { return bytes_.data(); }

 private:
  GuardedBytes bytes_;
};

/// An element whose frame's address is another each time.
class Element {
 public:
  Element() {
    auto post = cuda::Mailbox::create();
    EXPECT_TRUE(post.ok()) << post.status().message();
    post_ = std::move(post.value());
  }
  void fill(Plane& from, Plane& to) {
    list_.clear();
    list_.use(post_.get());
    add(from, to);
  }
  void add(Plane& from, Plane& to) {
    EXPECT_TRUE(cuda::luma(from.frame(), to.view(), Launcher(list_)).ok());
  }
  Launcher launcher() { return Launcher(list_); }
  void submit() {
    const Status submitted = graphs_.submit(list_, stream);
    EXPECT_TRUE(submitted.ok()) << submitted.message();
  }
  const cuda::GraphSet::Built& built() const { return graphs_.built(); }

  const Stream stream;

 private:
  std::unique_ptr<cuda::Mailbox> post_;
  cuda::LaunchList list_;
  cuda::GraphSet graphs_;
};

std::uint8_t grey_of(int i) { return static_cast<std::uint8_t>(i + 1); }

class PostCuda : public testing::Test {
 protected:
  void SetUp() override { CUFACE_NEEDS_GPU(); }
};

TEST_F(PostCuda, EachSubmissionHasItsOwn) {
  constexpr int kFrames = 90;
  constexpr auto kRing = static_cast<int>(cuda::Mailbox::kRing);
  std::vector<std::unique_ptr<Plane>> frames, copies;
  for (int i = 0; i < kFrames; ++i) {
    frames.push_back(std::make_unique<Plane>(grey_of(i)));
    copies.push_back(std::make_unique<Plane>(std::uint8_t{0}));
  }
  Plane luma(0);
  Element element;
  const auto play = [&](int first, int end) {
    for (int i = first; i < end; ++i) {
      const auto n = static_cast<std::size_t>(i);
      element.fill(*frames[n], luma);
      element.submit();
      CUFACE_CUDA_OK(cudaMemcpyAsync(copies[n]->view().data, luma.data(), kBytes,
                                     cudaMemcpyDeviceToDevice, element.stream));
    }
  };
  ASSERT_EQ(spin(1, element.stream), cudaSuccess);  // the first launch of a kernel loads it
  // One after the other, more than the ring holds.
  for (int i = 0; i < 2 * kRing + 5; ++i) {
    play(i, i + 1);
    CUFACE_CUDA_OK(cudaStreamSynchronize(element.stream));
  }
  EXPECT_EQ(element.built().graphs, 1);
  EXPECT_EQ(element.built().set, 0u) << "an argument was set";
  // As many as it holds while the GPU takes none.
  ASSERT_EQ(spin(20'000, element.stream), cudaSuccess);
  play(2 * kRing + 5, 3 * kRing + 5);
  EXPECT_EQ(element.built().graphs, 1);
  EXPECT_EQ(element.built().set, 0u);
  // The others are told by arguments, and none waits.
  play(3 * kRing + 5, 4 * kRing + 5);
  const int graphs = element.built().graphs;
  if (!under_tool()) {  // where the host is slower than the GPU
    EXPECT_EQ(graphs, 2);
  }
  CUFACE_CUDA_OK(cudaStreamSynchronize(element.stream));
  play(4 * kRing + 5, kFrames);
  EXPECT_EQ(element.built().graphs, graphs);
  long equal = 0;
  for (int i = 0; i < kFrames; ++i) {
    ASSERT_EQ(copies[static_cast<std::size_t>(i)]->get(), Bytes(kBytes, grey_of(i)))
        << "frame " << i << " read another";
    ++equal;
  }
  compared("frames", equal, kFrames);
}

TEST_F(PostCuda, WhatHasNoRoomIsAnArgument) {
  constexpr std::size_t kParts = 12;
  Element element;
  std::vector<std::unique_ptr<Plane>> from, to;
  for (std::size_t i = 0; i < 2 * kParts; ++i) {
    from.push_back(std::make_unique<Plane>(grey_of(static_cast<int>(i))));
    to.push_back(std::make_unique<Plane>(std::uint8_t{0}));
  }
  for (std::size_t round = 0; round < 2; ++round) {
    const std::size_t first = round * kParts;
    element.fill(*from[first], *to[0]);
    for (std::size_t i = 1; i < kParts; ++i) element.add(*from[first + i], *to[i]);
    element.submit();
    for (std::size_t i = 0; i < kParts; ++i)
      ASSERT_EQ(to[i]->get(), Bytes(kBytes, grey_of(static_cast<int>(first + i)))) << i;
  }
  EXPECT_EQ(element.built().graphs, 1);
  EXPECT_GT(element.built().set, 0u);
  EXPECT_LT(element.built().set, kParts) << "nothing went by the post";
}

/// As when an element fails on a frame.
TEST_F(PostCuda, WhatIsNotSubmittedIsNotTold) {
  Element element;
  Plane first(1), dropped(2), second(3), luma(0);
  element.fill(first, luma);
  element.submit();
  EXPECT_EQ(luma.get(), first.get());
  element.fill(dropped, luma);
  element.fill(second, luma);
  element.submit();
  EXPECT_EQ(luma.get(), second.get());
}

/// Work whose message has not come must not go by the last one: its frame may be another's by now.
TEST_F(PostCuda, WorkWithoutAMessageEndsInAnError) {
  if (under_tool()) GTEST_SKIP() << "the tool reports the error that is wanted";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto submits = [](int times) {
    Element element;
    Plane frame(1), luma(0);
    element.fill(frame, luma);
    for (int i = 0; i < times; ++i) element.submit();
    std::_Exit(cudaStreamSynchronize(element.stream) == cudaSuccess ? 0 : 42);
  };
  EXPECT_EXIT(submits(1), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(submits(2), testing::ExitedWithCode(42), "");
}

/// A copy of one picture to another, as a part; counts how often it is collected.
int collected = 0;
constexpr auto collect_copy = [](const Plane* from, const Plane* to, Launcher launch) {
  ++collected;
  return cuda::luma(const_cast<Plane*>(from)->frame(), const_cast<Plane*>(to)->view(), launch);
};

TEST_F(PostCuda, APartIsCollectedOnceForTheSameArguments) {
  Plane one(1), two(2), luma(0), behind(0);
  const Stream stream;
  Submitter submit;
  cuda::Repeated<const Plane*, const Plane*> repeated;
  const auto run = [&](const Plane& from) {
    const Status submitted = submit(stream, [&](Launcher launch) {
      const Plane *source = &from, *target = &luma;
      if (Status s = launch.repeat(repeated, collect_copy, source, target); !s.ok()) return s;
      return cuda::luma(luma.frame(), behind.view(), launch);
    });
    EXPECT_TRUE(submitted.ok()) << submitted.message();
    EXPECT_EQ(behind.get(), from.get());
  };
  collected = 0;
  for (int i = 0; i < 4; ++i) run(one);
  EXPECT_EQ(collected, 1);
  EXPECT_EQ(submit.built().graphs, 1);
  for (int i = 0; i < 3; ++i) run(two);
  EXPECT_EQ(collected, 2);
  EXPECT_EQ(submit.built().graphs, 2) << "what a part does is never set anew";
  EXPECT_EQ(submit.built().nodes, 2);
  EXPECT_EQ(submit.built().set, 0u);
  const Plane *source = &one, *target = &luma;
  ASSERT_TRUE(Launcher(stream).repeat(repeated, collect_copy, source, target).ok());
  EXPECT_EQ(collected, 3) << "on a stream it is launched each time";
  EXPECT_EQ(luma.get(), one.get());
}

/// As cufacedetect's search with a network: a kernel that is told the frame, and a part.
TEST_F(PostCuda, MessagesAndPartsMayBeConditional) {
  if (under_tool("racecheck", "synccheck"))
    GTEST_SKIP() << "kernels in conditional nodes: the tool is wrong (conditional_nodes.cu)";
  constexpr int kRounds = 12;
  Element element;
  Plane before(200), first(0), second(0), third(0);
  cuda::Repeated<const Plane*, const Plane*> repeated;
  const Plane *source = &second, *target = &third;
  GuardedBytes run(sizeof(std::int32_t), 0);
  const auto* flag = reinterpret_cast<const std::int32_t*>(run.data());
  std::vector<std::unique_ptr<Plane>> frames;
  for (int i = 0; i < kRounds; ++i) frames.push_back(std::make_unique<Plane>(grey_of(i)));
  std::uint8_t expected = 0;
  int ran = 0;
  for (int i = 0; i < kRounds; ++i) {
    const bool runs = i % 3 != 1;
    run.set(Bytes(sizeof(std::int32_t), runs));
    element.fill(before, first);
    const Launcher launch = element.launcher();
    launch.begin_if(flag);
    element.add(*frames[static_cast<std::size_t>(i)], second);
    ASSERT_TRUE(launch.repeat(repeated, collect_copy, source, target).ok());
    launch.end_if();
    element.submit();
    if (runs) expected = grey_of(i);
    ran += runs;
    ASSERT_EQ(third.get(), Bytes(kBytes, expected)) << "round " << i;
  }
  EXPECT_EQ(ran, 8);
  EXPECT_EQ(element.built().graphs, 1);
  EXPECT_EQ(element.built().conditional, 2);
  EXPECT_EQ(element.built().set, 0u) << "an argument was set";
}

TEST_F(PostCuda, PartsThatAreNoGraphAreRefused) {
  const Stream stream;
  Plane from(1), to(0);
  const auto flag = cuda::DeviceBuffer<std::int32_t>::create(1);
  ASSERT_TRUE(flag.ok());
  const auto part = [&](const auto& fill) {
    auto list = std::make_shared<cuda::LaunchList>();
    fill(*list);
    return list;
  };
  const auto copy = [&](cuda::LaunchList& list) {
    EXPECT_TRUE(cuda::luma(from.frame(), to.view(), Launcher(list)).ok());
  };
  const auto with_if = [&](cuda::LaunchList& list) {
    list.add_if(flag.value().data());
    copy(list);
    list.add_end_if();
  };
  const auto code = [&](const std::shared_ptr<cuda::LaunchList>& of, bool conditional) {
    cuda::LaunchList list;
    cuda::GraphSet graphs;
    if (conditional) list.add_if(flag.value().data());
    list.add_part(of);
    if (conditional) list.add_end_if();
    return graphs.submit(list, stream).code();
  };
  for (const bool conditional : {false, true}) {
    EXPECT_EQ(code(part(copy), conditional), StatusCode::kOk) << conditional;
    EXPECT_EQ(code(part([&](auto& list) { list.add_part(part(copy)); }), conditional),
              StatusCode::kInvalidArgument)
        << "a part in a part";
    EXPECT_EQ(code(part([](auto&) {}), conditional), StatusCode::kInvalidArgument) << "no work";
    EXPECT_EQ(code(part([](auto& list) { list.add_end_if(); }), conditional),
              StatusCode::kInvalidArgument)
        << "an end of the if around it";
  }
  EXPECT_EQ(code(part(with_if), false), StatusCode::kOk);
  EXPECT_EQ(code(part(with_if), true), StatusCode::kInvalidArgument) << "an if in an if";
  CUFACE_CUDA_OK(cudaStreamSynchronize(stream));
}

}  // namespace
}  // namespace cuface::test
