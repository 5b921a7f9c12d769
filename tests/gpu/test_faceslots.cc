// Where faces live on the GPU, when the GPU refuses something: nothing half made is used, nothing
// stays behind, and who asks again gets it. Against a runtime without a GPU (fake/runtime.h).
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gst/base/cuda/faceslots.h"
#include "tests/gpu/fake/runtime.h"

namespace cuface::gst {
namespace {

namespace fake = test::fake;

constexpr int kLandmarks = 5;

class FaceSlotsOnFake : public testing::Test {
 protected:
  void SetUp() override { fake::mend(); }
  void TearDown() override {
    fake::mend();
    EXPECT_EQ(fake::live(), fake::Live{});
  }

  static void expect_whole(const FaceSlots::Slot& slot) {
    EXPECT_TRUE(fake::is_allocated(slot.faces, cuda::device_faces_bytes(kLandmarks)));
    EXPECT_TRUE(fake::is_event(slot.ready));
  }
  /// Takes slots until there are none for the moment.
  static void take_all(FaceSlots& slots, std::vector<FaceSlots::Slot>& taken) {
    fake::fail("cudaMalloc");
    while (true) {
      const auto slot = slots.take();
      if (!slot.ok()) break;
      taken.push_back(slot.value());
    }
    fake::mend();
  }
};

TEST_F(FaceSlotsOnFake, AFailureWhileGrowingLeavesNoSlotInFreedMemory) {
  for (const std::string refused : {"cudaMalloc", "cudaMemsetAsync", "cudaStreamSynchronize",
                                    "cudaStreamCreateWithFlags", "cudaEventCreateWithFlags"}) {
    for (int after = 0; after < (refused == "cudaEventCreateWithFlags" ? 16 : 1); ++after) {
      auto made = FaceSlots::create({}, kLandmarks);
      ASSERT_TRUE(made.ok());
      FaceSlots& slots = *made.value();
      std::vector<FaceSlots::Slot> taken;
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
      for (const FaceSlots::Slot& slot : taken) expect_whole(slot);
    }
    EXPECT_EQ(fake::live(), fake::Live{}) << refused;
  }
}

TEST_F(FaceSlotsOnFake, AFailureAtTheStartLeavesNothing) {
  for (const char* refused : {"cudaMalloc", "cudaMemsetAsync", "cudaEventCreateWithFlags"})
    for (int after = 0; after < 2; ++after) {
      fake::fail(refused, after);
      EXPECT_FALSE(FaceSlots::create({}, kLandmarks).ok()) << refused;
      EXPECT_EQ(fake::live(), fake::Live{}) << refused << " after " << after;
      fake::mend();
    }
}

/// Faces that a submission has written.
std::shared_ptr<DeviceFacesResult> written(const std::shared_ptr<FaceSlots>& slots, int faces) {
  auto stream = ChainStream::create({});
  auto made = DeviceFacesResult::create(slots);
  EXPECT_TRUE(stream.ok() && made.ok());
  const auto& result = made.value();
  result->describe(640, 360, std::make_shared<const std::string>("frontal"), stream.value());
  cuda::DeviceFaces* list = result->slot();
  list->count = faces;
  list->landmarks_per_face = kLandmarks;
  for (int i = 0; i < faces; ++i) {
    list->faces[i].id = static_cast<std::uint64_t>(i + 1);
    for (int p = 0; p < kLandmarks; ++p)
      list->landmarks_of(i)[p] = {static_cast<float>(i), static_cast<float>(p)};
  }
  return result;
}

/// With few faces and with so many that their points take a second copy.
TEST_F(FaceSlotsOnFake, AReadThatFailsIsNoEmptyListAndIsTriedAgain) {
  for (const int faces : {0, 2, 20})
    for (const std::string refused :
         {"cudaStreamCreateWithFlags", "cudaMallocHost", "cudaEventCreateWithFlags",
          "cudaMemcpyAsync", "cudaEventRecord", "cudaEventSynchronize"}) {
      auto slots = FaceSlots::create({}, kLandmarks);
      ASSERT_TRUE(slots.ok());
      const auto result = written(slots.value(), faces);
      const int copies = faces > 4 && refused == "cudaMemcpyAsync" ? 2 : 1;
      for (int after = 0; after < copies; ++after) {
        fake::fail(refused, after);
        EXPECT_FALSE(result->read().ok()) << refused << " after " << after;
        fake::mend();
      }
      const auto read = result->read();
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
      EXPECT_TRUE(result->read().ok());
      EXPECT_EQ(result->read().value(), read.value());
      fake::mend();
    }
}

/// Each part of what reads is made once, however often another one was refused.
TEST_F(FaceSlotsOnFake, ReadsThatFailLeaveNothingBehind) {
  auto slots = FaceSlots::create({}, kLandmarks);
  ASSERT_TRUE(slots.ok());
  const auto result = written(slots.value(), 1);
  fake::Live most;
  for (int round = 0; round < 5; ++round) {
    fake::fail("cudaMallocHost");
    EXPECT_FALSE(result->read().ok());
    fake::mend();
    if (round == 0) most = fake::live();
    EXPECT_EQ(fake::live(), most) << "round " << round;
  }
  EXPECT_TRUE(result->read().ok());
}

}  // namespace
}  // namespace cuface::gst
