// The counting and the delivery of faces on the GPU, against the same on the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/cuda/runtime.h"
#include "kernels/faces/counters_cuda.h"
#include "tests/gpu/kernels/search_lists.h"

namespace cuface::test {
namespace {

TEST_F(SearchCuda, CountsInPinnedMemory) {
  auto counters = cuda::TallyBuffer<cuda::FaceCounters>::create();
  ASSERT_TRUE(counters.ok());
  auto wants = cuda::PinnedBuffer<std::int32_t>::create(1);
  ASSERT_TRUE(wants.ok());
  std::int32_t wanted = *wants.value().data() = 7;  // as long as nobody is told
  long wishes = 0, confident = 0;
  cuda::FaceCounters expected{};
  SearchRequest ask;
  ask.asked = true;
  const cuda::SearchBegin begin{true, ask, 0, nullptr};
  ASSERT_TRUE(cuda::begin_search(state_, begin, nullptr).ok());  // searched
  for (int i = 0; i < frames_; ++i) {
    HostFaces some = random_faces(below(65), chance(2) ? kLandmarks : 0);
    some->followed_per_face = 0;
    some->overflow = chance(3);
    some->search_wanted = chance(2) ? kWholePicture : SearchRegion{};
    const bool told = chance(2);
    const bool searches = chance(2), tracks = chance(2), skips = chance(2);
    put(found_, some);
    const cuda::CountedWork work{searches ? &state_->run : nullptr, tracks,
                                 skips ? &state_->run : nullptr,
                                 told ? wants.value().data() : nullptr};
    out_->set(std::vector<std::uint8_t>(out_->size(), kCanary));
    cuda::Delivery delivery;
    delivery.from.list[0] = faces(found_);
    delivery.to.list[0] = faces(out_);
    ASSERT_TRUE(
        cuda::count_faces(faces(found_), work, counters.value().get(), nullptr, delivery).ok());
    // What the list has, and nothing more.
    const auto points = static_cast<std::size_t>(some->count * points_per_face(*some.operator->()));
    std::vector<std::uint8_t> want(out_->size(), kCanary);
    std::copy_n(
        some.bytes.begin(),
        offsetof(cuda::DeviceFaces, faces) + static_cast<std::size_t>(some->count) * sizeof(Face),
        want.begin());
    std::copy_n(some.bytes.begin() + sizeof(cuda::DeviceFaces),
                points * (sizeof(Point) + (some->has_confidences ? sizeof(float) : 0)),
                want.begin() + sizeof(cuda::DeviceFaces));
    ASSERT_EQ(out_->get(), want) << "delivered, list " << i;
    confident += some->has_confidences && points > 0;
    if (told) {
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      wanted = some->search_wanted.count > 0;
      wishes += wanted;
    }
    ASSERT_EQ(*wants.value().data(), wanted) << i;
    expected.searches += searches;
    expected.skipped_searches += skips;
    expected.overflows += searches && some->overflow;
    expected.faces += static_cast<std::uint64_t>(some->count);
    if (tracks) expected.lost_tracks += 3;
    for (int f = 0; f < some->count; ++f)
      expected.last_id = std::max(expected.last_id, some->faces[f].id);
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const cuda::FaceCounters& got = *counters.value().told();
  EXPECT_EQ(got.searches, expected.searches);
  EXPECT_EQ(got.skipped_searches, expected.skipped_searches);
  EXPECT_EQ(got.overflows, expected.overflows);
  EXPECT_EQ(got.faces, expected.faces);
  EXPECT_EQ(got.lost_tracks, expected.lost_tracks);
  EXPECT_EQ(got.last_id, expected.last_id);
  compared("faces counted", static_cast<long>(got.faces), 5000);
  compared("wishes for a search told", wishes, 300);
  compared("lists with confidences delivered", confident, 100);
}

}  // namespace
}  // namespace cuface::test
