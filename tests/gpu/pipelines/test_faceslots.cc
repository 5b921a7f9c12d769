// Where faces live on the GPU. When the GPU refuses something, nothing half made is used, nothing
// stays behind, and who asks again gets it. Results that others keep leave for host memory. Against
// a runtime without a GPU (fake/runtime.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gst/faces/cuda/devicefaceresult.h"
#include "tests/gpu/pipelines/fake/runtime.h"

namespace cuface::gst {
namespace {

namespace fake = test::fake;

constexpr int kLandmarks = 5;

Result<std::shared_ptr<DeviceSlots>> make_slots() {
  return DeviceSlots::create({}, cuda::device_faces_bytes(kLandmarks));
}

Result<FaceListRef> read_list(const std::shared_ptr<const DeviceFaceResult>& result) {
  return FaceResult(result, 640, 360).read();
}

class SlotsOnFake : public testing::Test {
 protected:
  void SetUp() override { fake::mend(); }
  void TearDown() override {
    fake::mend();
    EXPECT_EQ(fake::live(), fake::Live{});
  }

  static void expect_whole(const DeviceSlots::Slot& slot) {
    EXPECT_TRUE(fake::is_allocated(slot.bytes, cuda::device_faces_bytes(kLandmarks)));
    EXPECT_TRUE(fake::is_event(slot.ready));
  }
  /// Takes slots until there are none for the moment.
  static void take_all(DeviceSlots& slots, std::vector<DeviceSlots::Slot>& taken) {
    fake::fail("cudaMalloc");
    while (true) {
      const auto slot = slots.take();
      if (!slot.ok()) break;
      taken.push_back(slot.value());
    }
    fake::mend();
  }
};

TEST_F(SlotsOnFake, AFailureWhileGrowingLeavesNoSlotInFreedMemory) {
  for (const std::string refused : {"cudaMalloc", "cudaMemsetAsync", "cudaStreamSynchronize",
                                    "cudaStreamCreateWithFlags", "cudaEventCreateWithFlags"}) {
    for (int after = 0;
         after < (refused == "cudaEventCreateWithFlags" ? int{DeviceSlots::kChunk} : 1); ++after) {
      auto made = make_slots();
      ASSERT_TRUE(made.ok());
      DeviceSlots& slots = *made.value();
      std::vector<DeviceSlots::Slot> taken;
      take_all(slots, taken);
      const std::size_t first = taken.size();
      ASSERT_GE(first, 1u);
      const fake::Live before = fake::live();

      fake::fail(refused, after);
      EXPECT_FALSE(slots.take().ok()) << refused << " after " << after;
      EXPECT_EQ(fake::live(), before) << refused << " after " << after << ": something stays";
      take_all(slots, taken);
      EXPECT_EQ(taken.size(), first) << refused << " after " << after << ": half made slots";

      const auto next = slots.take();
      ASSERT_TRUE(next.ok()) << next.status().message();
      taken.push_back(next.value());
      take_all(slots, taken);
      EXPECT_EQ(taken.size(), 2 * first);
      for (const DeviceSlots::Slot& slot : taken) expect_whole(slot);
    }
    EXPECT_EQ(fake::live(), fake::Live{}) << refused;
  }
}

TEST_F(SlotsOnFake, AFailureAtTheStartLeavesNothing) {
  for (const char* refused : {"cudaMalloc", "cudaMemsetAsync", "cudaEventCreateWithFlags"})
    for (int after = 0; after < 2; ++after) {
      fake::fail(refused, after);
      EXPECT_FALSE(make_slots().ok()) << refused;
      EXPECT_EQ(fake::live(), fake::Live{}) << refused << " after " << after;
      fake::mend();
    }
}

std::shared_ptr<DeviceStream> make_stream() {
  auto stream = DeviceStream::create({});
  EXPECT_TRUE(stream.ok());
  return stream.value();
}

/// Faces that the last submission on a stream has written, with ids from `first_id` on.
std::shared_ptr<DeviceFaceResult> written(const std::shared_ptr<DeviceSlots>& slots, int faces,
                                          const std::shared_ptr<DeviceStream>& stream,
                                          int first_id = 1) {
  auto made = DeviceResult::create<DeviceFaceResult>(slots);
  EXPECT_TRUE(made.ok());
  const auto& result = made.value();
  cuda::DeviceFaces* list = result->slot();
  result->set_detector(std::make_shared<const std::string>("frontal"));
  result->set_producer(640, 360, stream);
  list->count = faces;
  list->landmarks_per_face = kLandmarks;
  for (int i = 0; i < faces; ++i) {
    list->faces[i].id = static_cast<std::uint64_t>(first_id + i);
    for (int p = 0; p < kLandmarks; ++p)
      list->landmarks_of(i)[p] = {static_cast<float>(i), static_cast<float>(p)};
  }
  return result;
}

/// With few faces and with so many that their points take a second copy.
TEST_F(SlotsOnFake, AReadThatFailsIsNoEmptyListAndIsTriedAgain) {
  for (const int faces : {0, 2, 20})
    for (const std::string refused :
         {"cudaStreamCreateWithFlags", "cudaMallocHost", "cudaEventCreateWithFlags",
          "cudaMemcpyAsync", "cudaEventRecord", "cudaEventSynchronize"}) {
      auto slots = make_slots();
      ASSERT_TRUE(slots.ok());
      const auto result = written(slots.value(), faces, make_stream());
      const int copies = faces > 4 && refused == "cudaMemcpyAsync" ? 2 : 1;
      for (int after = 0; after < copies; ++after) {
        fake::fail(refused, after);
        EXPECT_FALSE(read_list(result).ok()) << refused << " after " << after;
        fake::mend();
      }
      const auto read = read_list(result);
      ASSERT_TRUE(read.ok()) << refused << ": " << read.status().message();
      ASSERT_NE(read.value(), nullptr);
      EXPECT_EQ(read.value()->width, 640);
      EXPECT_EQ(read.value()->detector, "frontal");
      ASSERT_EQ(read.value()->faces.size(), static_cast<std::size_t>(faces)) << refused;
      ASSERT_EQ(read.value()->landmarks.size(), static_cast<std::size_t>(faces * kLandmarks));
      if (faces > 0) {
        EXPECT_EQ(read.value()->landmarks.back().x, static_cast<float>(faces - 1));
        EXPECT_EQ(read.value()->landmarks.back().y, static_cast<float>(kLandmarks - 1));
      }
      fake::fail("cudaMemcpyAsync");  // what is read once stays
      EXPECT_TRUE(read_list(result).ok());
      EXPECT_EQ(read_list(result).value(), read.value());
      fake::mend();
    }
}

/// Each part of what reads is made once, however often another one was refused.
TEST_F(SlotsOnFake, ReadsThatFailLeaveNothingBehind) {
  auto slots = make_slots();
  ASSERT_TRUE(slots.ok());
  const auto result = written(slots.value(), 1, make_stream());
  fake::Live most;
  for (int round = 0; round < 5; ++round) {
    fake::fail("cudaMallocHost");
    EXPECT_FALSE(read_list(result).ok());
    fake::mend();
    if (round == 0) most = fake::live();
    EXPECT_EQ(fake::live(), most) << "round " << round;
  }
  EXPECT_TRUE(read_list(result).ok());
}

class Kept : public SlotsOnFake {
 protected:
  static constexpr std::size_t kResults = 10 * DeviceSlots::kChunk;

  void SetUp() override {
    SlotsOnFake::SetUp();
    auto slots = make_slots();
    ASSERT_TRUE(slots.ok());
    slots_ = slots.value();
    stream_ = make_stream();
    // What reads, once and for all.
    EXPECT_TRUE(read_list(written(slots_, 1, stream_)).ok());
  }
  void TearDown() override {
    kept_.clear();
    slots_.reset();
    stream_.reset();
    SlotsOnFake::TearDown();
  }
  void keep(std::size_t results) {
    for (std::size_t i = 0; i < results; ++i)
      kept_.push_back(written(slots_, 1, stream_, static_cast<int>(kept_.size() + 1)));
  }
  void expect_all_readable() {
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      const auto read = read_list(kept_[i]);
      ASSERT_TRUE(read.ok()) << i;
      ASSERT_EQ(read.value()->faces.size(), 1u) << i;
      EXPECT_EQ(read.value()->faces[0].id, i + 1);
    }
  }
  std::size_t left() const {
    return static_cast<std::size_t>(std::count_if(
        kept_.begin(), kept_.end(), [](const auto& kept) { return !kept->in_stream(); }));
  }

  std::shared_ptr<DeviceSlots> slots_;
  std::shared_ptr<DeviceStream> stream_;
  std::vector<std::shared_ptr<DeviceFaceResult>> kept_;
};

TEST_F(Kept, ResultsTakeNoMoreMemoryOfTheGpuHoweverManyThereAre) {
  const fake::Live before = fake::live();
  keep(kResults);
  EXPECT_EQ(fake::live(), before);
  EXPECT_EQ(slots_->moved(), kResults - DeviceSlots::kChunk);
  EXPECT_EQ(left(), kResults - DeviceSlots::kChunk);
  for (std::size_t i = 0; i < kResults; ++i)
    EXPECT_EQ(kept_[i]->in_stream() == nullptr, i < left()) << "not the oldest ones, " << i;
  expect_all_readable();
}

TEST_F(Kept, OnesThatAreReadAndGoAreNeverMoved) {
  for (std::size_t i = 0; i < kResults; ++i) {
    keep(1);
    if (kept_.size() == DeviceSlots::kChunk) kept_.erase(kept_.begin());
  }
  EXPECT_EQ(slots_->moved(), 0u);
}

TEST_F(Kept, TheOldestOfAllMayStayForever) {
  const fake::Live before = fake::live();
  keep(1);
  for (std::size_t i = 0; i < kResults; ++i) written(slots_, 1, stream_);
  EXPECT_EQ(slots_->moved(), 0u);
  EXPECT_NE(kept_[0]->in_stream(), nullptr);
  keep(kResults);
  EXPECT_EQ(fake::live(), before);
  EXPECT_EQ(kept_[0]->in_stream(), nullptr);
}

TEST_F(Kept, TheYoungStayWhereTheyAre) {
  keep(DeviceSlots::kChunk);
  for (const auto& result : kept_) EXPECT_TRUE(result->keep_slot());  // so that only the new may go
  const fake::Live before = fake::live();
  keep(DeviceSlots::kYoung);
  EXPECT_EQ(slots_->moved(), 0u);
  EXPECT_GT(fake::live().blocks, before.blocks);
  expect_all_readable();
}

TEST_F(Kept, OnesThatOtherStreamsUseStayWhereTheyAre) {
  keep(DeviceSlots::kChunk);
  for (std::size_t i = 0; i < DeviceSlots::kChunk; i += 2) EXPECT_TRUE(kept_[i]->keep_slot());
  keep(kResults);
  for (std::size_t i = 0; i < DeviceSlots::kChunk; ++i) {
    EXPECT_EQ(kept_[i]->in_stream() != nullptr, i % 2 == 0) << i;
    EXPECT_EQ(kept_[i]->keep_slot(), i % 2 == 0) << i;
  }
  expect_all_readable();
}

/// Who takes a slot does not wait for the GPU's work.
TEST_F(Kept, OnesThatAreNotOverStayWhereTheyAre) {
  stream_->count_submission();
  const fake::Live before = fake::live();
  keep(DeviceSlots::kChunk + 1);
  EXPECT_EQ(slots_->moved(), 0u);
  EXPECT_GT(fake::live().blocks, before.blocks);
  ++*stream_->over().told;
  expect_all_readable();
}

TEST_F(Kept, OneThatCannotBeReadStaysWhereItIs) {
  keep(DeviceSlots::kChunk);
  fake::fail("cudaMemcpyAsync");
  keep(1);
  EXPECT_EQ(slots_->moved(), 1u);
  EXPECT_NE(kept_[0]->in_stream(), nullptr);
  EXPECT_EQ(kept_[1]->in_stream(), nullptr);
  fake::mend();
  expect_all_readable();
}

TEST_F(Kept, AReaderInAnotherThreadGetsWhatMoves) {
  std::mutex mutex;
  std::deque<std::pair<int, std::shared_ptr<DeviceFaceResult>>> queue;
  bool begun = false, over = false;
  int wrong = 0, got = 0;
  std::thread reader([&] {
    for (bool go_on = true; go_on; std::this_thread::yield()) {
      std::pair<int, std::shared_ptr<DeviceFaceResult>> next;
      {
        const std::lock_guard lock(mutex);
        go_on = !over || !queue.empty();
        begun = begun || queue.size() > 2 * DeviceSlots::kChunk;  // so that some have to move
        if (!begun || queue.empty()) continue;
        next = std::move(queue.front());
        queue.pop_front();
      }
      const auto read = read_list(next.second);
      ++got;
      wrong += !read.ok() || read.value()->faces.size() != 1 ||
               read.value()->faces[0].id != static_cast<std::uint64_t>(next.first);
    }
  });
  const fake::Live before = fake::live();
  for (int id = 1; id <= 20000; ++id) {
    auto result = written(slots_, 1, stream_, id);
    const std::lock_guard lock(mutex);
    queue.emplace_back(id, std::move(result));
  }
  {
    const std::lock_guard lock(mutex);
    over = true;
  }
  reader.join();
  EXPECT_EQ(got, 20000);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(fake::live(), before);
  EXPECT_GE(slots_->moved(), 1u);
}

}  // namespace
}  // namespace cuface::gst
