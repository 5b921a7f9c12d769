// The search schedule and the joining of two detectors' faces on the GPU, against the same on the
// CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/common/cuda/runtime.h"
#include "tests/gpu/kernels/search_lists.h"

namespace cuface::test {
namespace {

TEST_F(SearchCuda, DecidesAsTheCpuDoes) {
  SearchSchedule wish;
  auto seen = cuda::PinnedBuffer<cuda::ScheduleSeen>::create(1);
  ASSERT_TRUE(seen.ok());
  *seen.value().data() = {};
  std::uint64_t last_seen = 0;
  HostFaces asker;
  int searched = 0, skipped = 0, wished = 0, too_late = 0, parts = 0, active = 0, tentative = 0,
      unmoved = 0, news = 0;
  // Few are enough for none of what is counted.
  for (int i = 0; i < std::max(frames_, 600); ++i) {
    const bool restart = i == 0 || chance(50);
    // For a while nothing but what moves is searched.
    const bool calm = i / 40 % 2 == 1;
    const bool tracker = calm || chance(2);
    SearchRequest ask;
    ask.asked = chance(calm ? 60 : 12);
    ask.bands = !chance(3);
    ask.step.search = chance(12);
    if (chance(2)) ask.step.band = {below(7), 7};
    ask.step.active = chance(4);
    ask.active_parts = tracker && chance(3);
    ask.motion = tracker && (calm || chance(2));
    ask.soon = ask.motion && chance(calm ? 30 : 5);
    ask.late = chance(6);
    ask.searchable = !ask.late && !chance(5);
    const int found = chance(3) ? 0 : 1 + below(3);
    asker->search_wanted = calm && !chance(20) ? SearchRegion{}
                           : chance(10)        ? kWholePicture
                           : chance(3)         ? SearchRegion{}
                                               : SearchRegion{below(6), 6};
    asker->count = below(2);
    put(asker_, asker);
    HostFaces result = random_faces(found, 0);

    if (restart) wish = {};
    SearchRequest told = ask;
    if (tracker) told.tracker_asks(asker->search_wanted);
    told.follows = tracker && asker->count > 0;
    const SearchRegion what = wish.next(told);
    bool run = what.count > 0;
    wished += run && !what.is_part() && !ask.step.search && !told.asked;
    (what.active_only ? active : parts) += what.is_part();
    tentative += what.count == 6;
    (run ? searched : skipped)++;

    const auto frame = static_cast<std::uint64_t>(i);
    const cuda::SearchBegin begin{restart, ask, frame, tracker ? faces(asker_) : nullptr};
    ASSERT_TRUE(cuda::begin_search(state_, begin, nullptr).ok());
    std::int32_t ran = -1;
    ASSERT_EQ(cudaMemcpy(&ran, &state_->run, sizeof ran, cudaMemcpyDeviceToHost), cudaSuccess);
    ASSERT_EQ(ran, !run ? 0 : begins_search(told, what) ? 1 : 2) << "frame " << i;
    SearchRegion decided;
    ASSERT_EQ(cudaMemcpy(&decided, &state_->what, sizeof decided, cudaMemcpyDeviceToHost),
              cudaSuccess);
    ASSERT_EQ(decided, what) << "frame " << i;
    std::int32_t put_off = -1;
    ASSERT_EQ(cudaMemcpy(&put_off, &state_->skipped, sizeof put_off, cudaMemcpyDeviceToHost),
              cudaSuccess);
    ASSERT_EQ(put_off, wish.skipped(told)) << "frame " << i;
    too_late += put_off;

    cuda::Activity::State moved;
    moved.cells = 40;
    moved.changed_cells = chance(3) ? 0 : 1 + below(chance(3) ? 40 : 8);
    moved_->set(bytes_of(moved));
    const bool told_of_moves = !chance(4);
    const bool unchanged = told_of_moves && what.only_if_changed() && moved.changed_cells == 0;
    unmoved += unchanged;
    run = run && !unchanged;
    if (!run) result->count = 0;  // as cuda::Detector does
    put(found_, result);
    ASSERT_TRUE(cuda::end_search(state_, nullptr, faces(found_), faces(out_), 0, nullptr,
                                 i % 4 ? seen.value().data() : nullptr,
                                 told_of_moves ? moved_state() : nullptr)
                    .ok());
    ASSERT_EQ(cudaMemcpy(&ran, &state_->run, sizeof ran, cudaMemcpyDeviceToHost), cudaSuccess);
    ASSERT_EQ(ran != 0, run) << "frame " << i;
    HostFaces out = get(out_);
    ASSERT_EQ(out->count, run ? found : 0);
    ASSERT_EQ(out->searched, run && !what.is_part());
    ASSERT_EQ(out->part, run && what.is_part() && !what.only_new() ? what : SearchRegion{});
    ASSERT_EQ(out->landmarks_per_face, 0);
    ASSERT_EQ(out->lost, 0);
    ASSERT_EQ(out->search_wanted, SearchRegion{});
    ASSERT_EQ(out->frame, frame);
    if (run && told_of_moves && what.only_if_changed())
      wish.searched(what, found > 0, motion_pause(what, moved.changed_cells, moved.cells));
    else if (run)
      wish.searched(what, found > 0);
    news += run && what.only_new();
    // What the host sees of it: get() has waited.
    if (i % 4) last_seen = frame;
    ASSERT_EQ(seen.value().data()->frame, last_seen) << "frame " << i;
    if (i % 4) {
      const SearchSchedule& host = seen.value().data()->wish;
      ASSERT_EQ(host.wanted, wish.wanted) << "frame " << i;
      ASSERT_EQ(host.active_wanted, wish.active_wanted) << "frame " << i;
      ASSERT_EQ(host.put_off, wish.put_off) << "frame " << i;
      ASSERT_EQ(host.pause, wish.pause) << "frame " << i;
      ASSERT_EQ(host.rest, wish.rest) << "frame " << i;
    }
  }
  compared("frames searched", searched, 50);
  compared("parts of pictures searched", parts, 50);
  compared("active parts searched", active, 50);
  compared("bands of faces in doubt searched", tentative, 50);
  compared("frames not searched", skipped, 50);
  compared("searches wished for", wished, 10);
  compared("searches left out, as nothing has moved", unmoved, 30);
  compared("searches of what is new", news, 30);
  compared("searches skipped on late frames", too_late, 20);
}

TEST_F(SearchCuda, TellsWhomIsFollowedAsTheCpuDoes) {
  int told = 0, turned = 0, only_active = 0;
  for (int i = 0; i < frames_ / 4; ++i) {
    const int landmarks = chance(3) ? 0 : chance(3) ? 3 : kLandmarks;
    const bool carried = chance(2);
    HostFaces asker = random_faces(chance(4) ? cuda::kMaxFaces : below(6), landmarks);
    asker->followed_per_face = 0;
    asker->search_wanted = chance(4) ? kWholePicture : SearchRegion{};
    if (carried) std::swap(asker->landmarks_per_face, asker->followed_per_face);
    if (landmarks > 0 && asker->count > 0 && chance(4))
      asker->landmarks()[2].x = std::numeric_limits<float>::quiet_NaN();
    put(asker_, asker);
    cuda::SearchBegin begin{true, {}, 7, faces(asker_)};
    begin.verify = chance(2);
    begin.ask.active_parts = !chance(4);
    begin.ask.motion = chance(3);
    begin.ask.step.active = true;
    begin.scale_x = chance(2) ? 1.0f : 0.37f;
    begin.scale_y = chance(2) ? 1.0f : 1.91f;
    if (chance(2)) {
      begin.scheme_points = kLandmarks;
      begin.eyes = {1, 3, 2};
    }
    const Eyes eyes = begin.scheme_points == landmarks ? begin.eyes : known_scheme(landmarks).eyes;
    ASSERT_TRUE(cuda::begin_search(state_, begin, nullptr).ok());
    cuda::FollowedFaces got;
    ASSERT_EQ(
        cudaMemcpy(static_cast<void*>(&got), &state_->followed, sizeof got, cudaMemcpyDeviceToHost),
        cudaSuccess);
    SearchRegion what;
    ASSERT_EQ(cudaMemcpy(&what, &state_->what, sizeof what, cudaMemcpyDeviceToHost), cudaSuccess);
    ASSERT_EQ(got.count, begin.verify || what.active_only ? asker->count : 0);
    only_active += !begin.verify && what.active_only;
    for (int f = 0; f < got.count; ++f) {
      const Followed want = followed_face(asker->faces[f], asker->landmarks() + f * landmarks, eyes,
                                          begin.scale_x, begin.scale_y);
      ASSERT_EQ(got.faces[f].box, want.box) << i;
      ASSERT_EQ(got.faces[f].roll, want.roll) << i;
      ++told;
      turned += want.roll != asker->faces[f].roll;
    }
  }
  compared("faces told", told, 500);
  compared("of them turned by their landmarks", turned, 200);
  compared("lists for active parts alone", only_active, 30);
}

// A network has no parts.
TEST_F(SearchCuda, SearchesTheWholeWhereSomethingHasMoved) {
  for (const SearchRegion& due :
       {SearchRegion{}, kWholePicture, kActiveParts, kChangedParts, kNewParts})
    for (const int changed : {0, 1, 40}) {
      cuda::SearchState state{};
      state.what = due;
      state.run = due.count;
      state.pause = kUsualPause;
      ASSERT_EQ(cudaMemcpy(state_, &state, sizeof state, cudaMemcpyHostToDevice), cudaSuccess);
      cuda::Activity::State moved;
      moved.changed_cells = changed;
      moved.cells = 50;
      moved_->set(bytes_of(moved));
      ASSERT_TRUE(cuda::search_whole(state_, moved_state(), nullptr).ok());
      ASSERT_EQ(
          cudaMemcpy(static_cast<void*>(&state), state_, sizeof state, cudaMemcpyDeviceToHost),
          cudaSuccess);
      const bool none = due.only_if_changed() && changed == 0;
      EXPECT_EQ(state.run, none ? 0 : due.count);
      EXPECT_EQ(state.what, none ? SearchRegion{} : due.only_if_changed() ? kWholePicture : due);
      if (state.run == 0) continue;
      HostFaces nobody = random_faces(0, 0);
      put(found_, nobody);
      ASSERT_TRUE(cuda::end_search(state_, nullptr, faces(found_), faces(out_), 0, nullptr).ok());
      ASSERT_EQ(
          cudaMemcpy(static_cast<void*>(&state), state_, sizeof state, cudaMemcpyDeviceToHost),
          cudaSuccess);
      const std::int32_t pause =
          due.only_if_changed() ? network_pause(due, changed, moved.cells) : kUsualPause;
      EXPECT_EQ(state.wish.pause, pause);
      EXPECT_EQ(state.wish.rest, kNetworkRest);
    }
}

TEST_F(SearchCuda, JoinsTwoDetectorsAsTheCpuDoes) {
  int joined = 0, kept = 0, full = 0, confident = 0;
  for (int i = 0; i < frames_; ++i) {
    const bool due = !chance(4);
    const bool many = chance(8);
    const int landmarks = chance(2) ? kLandmarks : 0;
    HostFaces before = random_faces(many ? 50 + below(15) : below(10), landmarks);
    HostFaces found = random_faces(many ? 50 + below(15) : below(10), 0);
    put(before_, before);
    put(found_, found);
    out_->set(std::vector<std::uint8_t>(out_->size(), kCanary));
    SearchRequest ask;
    ask.asked = due;
    const cuda::SearchBegin begin{true, ask, 7, nullptr};
    ASSERT_TRUE(cuda::begin_search(state_, begin, nullptr).ok());
    ASSERT_TRUE(
        cuda::end_search(state_, faces(before_), faces(found_), faces(out_), kLandmarks, nullptr)
            .ok());
    HostFaces out = get(out_);

    std::vector<Face> expected(before->faces, before->faces + before->count);
    if (due) {
      FaceList list, add;
      list.faces = expected;
      add.faces.assign(found->faces, found->faces + found->count);
      merge_faces(add, list);
      expected = list.faces;
      full += expected.size() > cuda::kMaxFaces;
      joined += static_cast<int>(expected.size()) != before->count + found->count;
      if (expected.size() > cuda::kMaxFaces) expected.resize(cuda::kMaxFaces);
    }
    ASSERT_EQ(out->count, static_cast<int>(expected.size())) << i;
    ASSERT_EQ(out->searched, before->searched || due);
    ASSERT_EQ(out->part, before->part);
    for (int f = 0; f < out->count; ++f) {
      const Face& a = out->faces[f];
      const Face& b = expected[static_cast<std::size_t>(f)];
      ASSERT_EQ(a.id, b.id);
      ASSERT_EQ(a.box, b.box);
      ASSERT_EQ(a.confidence, b.confidence);
      ASSERT_EQ(a.neighbors, b.neighbors);
      ASSERT_EQ(a.age, b.age);
    }
    const auto* behind = reinterpret_cast<const std::uint8_t*>(out->faces + out->count);
    ASSERT_TRUE(std::all_of(behind, reinterpret_cast<const std::uint8_t*>(out->landmarks()),
                            [](std::uint8_t b) { return b == kCanary; }))
        << "wrote behind the last face";
    ASSERT_EQ(get(before_).bytes, before.bytes) << "its input was written to";
    ASSERT_EQ(get(found_).bytes, found.bytes) << "its input was written to";
    ASSERT_EQ(out->landmarks_per_face, due ? 0 : landmarks);
    if (!due && landmarks > 0 && before->count > 0) {
      ++kept;
      ASSERT_EQ(std::memcmp(out->landmarks(), before->landmarks(),
                            sizeof(Point) * static_cast<std::size_t>(before->count * landmarks)),
                0);
    }
    ASSERT_EQ(out->has_confidences, !due && before->has_confidences);
    if (out->has_confidences && before->count > 0) {
      ++confident;
      ASSERT_EQ(std::memcmp(out->confidences_of(0), before->confidences_of(0),
                            sizeof(float) * static_cast<std::size_t>(before->count * landmarks)),
                0);
    }
  }
  compared("lists with confidences kept", confident, 10);
  compared("lists in which faces met", joined, 100);
  compared("lists with landmarks kept", kept, 20);
  compared("lists too long", full, 5);
}

}  // namespace
}  // namespace cuface::test
