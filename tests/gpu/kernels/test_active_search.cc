// Searches by the map of active parts on CUDA against the CPU's: windows, faces, times.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/common/cuda/mailbox.h"
#include "kernels/detect/cuda/schedule.h"
#include "kernels/faces/counters_cuda.h"
#include "kernels/luma/luma_cuda.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/changes.h"
#include "tests/gpu/kernels/detect_pair.h"
#include "tests/gpu/kernels/random_cascade.h"

namespace cuface {
namespace {

using test::GuardedBytes;
using test::Model;
using test::padded;
using test::Pair;
using test::part_of;
using test::Picture;
using test::real_cascades;
using test::shared;
using test::smooth;

class ActiveSearchCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    Pair::restart();
  }
  test::Changes changes_;
};

// Each picture differs from the one before in some places; faces that nobody has found are
// followed.
TEST_F(ActiveSearchCuda, SearchesOfActivePartsAreTheCpus) {
  std::vector<std::pair<Model, DetectConfig>> searches;
  DetectConfig config;
  config.active_parts = true;
  config.min_neighbors = 1;
  searches.emplace_back(shared(test::random_cascade(11, 20, 20, 13, false)), config);
  searches.emplace_back(shared(test::random_cascade(36, 24, 16, 12, true)), config);
  config.step = 1;
  searches.emplace_back(shared(test::random_cascade(11, 20, 20, 13, false, 1)), config);
  config.step = 2;
  searches.emplace_back(shared(test::random_cascade(20, 18, 37, 5, true)), config);
  config.step = 0;
  config.detect_scale = 2;
  searches.emplace_back(shared(test::random_cascade(12, 24, 16, 12, false)), config);
  config.detect_scale = 1;
  config.verify = true;
  searches.emplace_back(shared(test::random_cascade(11, 20, 20, 13, false)), config);
  for (const Model& model : real_cascades())
    if (model->name == "haarcascade_frontalface_alt")
      for (const int neighbors : {0, 3}) {
        DetectConfig plain;
        plain.active_parts = true;
        plain.min_neighbors = neighbors;
        plain.verify = neighbors > 0;
        searches.emplace_back(model, plain);
      }
  std::vector<Picture> pictures = {smooth(400, 300, 4, 31), smooth(130, 90, 3, 32),
                                   smooth(60, 24, 3, 33), smooth(1201, 450, 5, 34, 3, 5)};
  const auto natural = test::load_gray_pictures();
  for (std::size_t i = 0; i < natural.size() && i < (test::under_tool() ? 1 : 4); ++i)
    pictures.push_back(part_of(natural[i], 960, 720));
  if (test::under_tool()) pictures.erase(pictures.begin() + 3);
  const int rounds = test::under_tool() ? 3 : 9;
  long parts = 0, moved = 0, searched = 0;
  for (const auto& [model, settings] : searches)
    for (const Picture& first : pictures) {
      Picture picture = first;
      Pair pair(model, settings, picture.width, picture.height);
      for (int round = 0; round < rounds; ++round) {
        SCOPED_TRACE(model->name + " " + std::to_string(picture.width) + "x" +
                     std::to_string(picture.height) + " scale " +
                     std::to_string(settings.detect_scale) + " round " + std::to_string(round));
        // The first one is of parts, all of it being new.
        constexpr SearchRegion kParts[] = {kActiveParts, kNewParts, kChangedParts, kNewParts};
        const SearchRegion what = round % 5 == 3 ? kWholePicture : kParts[searched++ % 4];
        pair.search_band(what);
        pair.follow(
            changes_.followed(round == 0 ? 0 : changes_.below(6), picture.width, picture.height));
        pair.check(picture);
        if (HasFatalFailure()) return;
        parts += what.is_part();
        moved += what.only_if_changed();
        if (round % 4 != 2) changes_.change(picture, 1 + changes_.below(4), 100);
      }
    }
  test::compared("searches of active parts", parts, test::under_tool() ? 50 : 200);
  test::compared("of them of what has moved", moved, test::under_tool() ? 30 : 120);
  test::compared("looks that found nothing moved", Pair::unchanged, 10);
  test::compared("cells that are on", Pair::cells_on, 10'000);
  test::compared("cells that are off", Pair::cells_off, test::under_tool() ? 100 : 10'000);
  test::compared("raw windows", Pair::raw_compared, test::under_tool() ? 1'000 : 50'000);
  test::compared("faces", Pair::faces_compared, test::under_tool() ? 50 : 1'000);
}

// Nothing changes and nobody is followed. Then a face that fills half the height is.
TEST_F(ActiveSearchCuda, Times) {
  const auto pictures = test::load_gray_pictures();
  const auto models = real_cascades();
  if (pictures.empty() || models.empty())
    GTEST_SKIP() << "no pictures or cascades: set CUFACE_GPU_DATA and CUFACE_MODEL_PATH";
  for (const test::GrayPicture& picture : pictures)
    for (const Model& model : models) {
      if (model->name != "haarcascade_frontalface_alt" ||
          (picture.name != "mosaic720" && picture.name != "mosaic1080"))
        continue;
      const Picture whole = padded(picture.pixels, picture.width, picture.height);
      GuardedBytes in(whole.bytes);
      const auto side = static_cast<float>(picture.height) / 2;
      const Followed face{{side, side / 2, side, side}, {}};
      for (const bool smart : {false, true}) {
        DetectConfig config;
        config.min_size = 24;
        config.active_parts = smart;
        Pair pair(model, config, picture.width, picture.height);
        const auto time = [&](const std::string& what) {
          pair.check(whole);
          const auto enqueue = [&] { EXPECT_TRUE(pair.enqueue(whole.at(in.data())).ok()); };
          const cudaGraphExec_t graph = test::capture(pair.stream(), enqueue);
          test::report_time("detect " + what, picture.name, test::median_us(pair.stream(), [&] {
                              EXPECT_EQ(cudaGraphLaunch(graph, pair.stream()), cudaSuccess);
                            }));
          CUFACE_CUDA_OK(cudaGraphExecDestroy(graph));
        };
        pair.search_band(kWholePicture);
        time(smart ? "whole, smart" : "whole");
        if (!smart) continue;
        pair.search_band(kActiveParts);
        time("active parts: none");
        test::report_parts("active parts: none", picture.name, pair.launches(whole.at(in.data())),
                           pair.stream());
        pair.search_band(kActiveParts);
        pair.follow({face});
        time("active parts: a large face");
      }
    }
}

/// search=motion before a still picture, as cufacedetect submits a frame.
TEST_F(ActiveSearchCuda, TimeOfAFrameThatHasNotChanged) {
  constexpr int kWidth = 480, kHeight = 272;
  const test::Stream stream;
  DetectConfig config;
  config.active_parts = true;
  auto detector = cuda::Detector::create(shared(test::random_cascade(36, 24, 16, 12, true)), config,
                                         kWidth, kHeight);
  auto post = cuda::Mailbox::create();
  auto luma = cuda::DeviceImage<std::uint8_t>::create(kWidth, kHeight);
  auto state = cuda::DeviceBuffer<cuda::SearchState>::create(1);
  auto seen = cuda::PinnedBuffer<cuda::ScheduleSeen>::create(1);
  auto counters = cuda::TallyBuffer<cuda::FaceCounters>::create();
  auto over = cuda::TallyBuffer<std::uint64_t>::create();
  ASSERT_TRUE(detector.ok() && post.ok() && luma.ok() && state.ok() && seen.ok() && counters.ok() &&
              over.ok());
  const Picture picture = smooth(kWidth, kHeight, 3, 41);
  GuardedBytes in(picture.bytes), lists[4] = {{cuda::device_faces_bytes(0), 0},
                                              {cuda::device_faces_bytes(0), 0},
                                              {cuda::device_faces_bytes(0), 0},
                                              {cuda::device_faces_bytes(0), 0}};
  const auto list_at = [&](int i) { return reinterpret_cast<cuda::DeviceFaces*>(lists[i].data()); };
  cuda::DeviceFaces *found = list_at(0), *out = list_at(1), *to = list_at(2), *before = list_at(3);
  FrameView frame;
  frame.width = kWidth;
  frame.height = kHeight;
  frame.component[0] = {in.data(), picture.stride};
  cuda::SearchState* at = state.value().data();
  const auto enqueue = [&](std::uint64_t number, cuda::Launcher launch) -> Status {
    SearchRequest ask;
    ask.motion = ask.active_parts = true;
    CUFACE_TRY(cuda::begin_search(at, {number == 0, ask, number, before}, launch));
    CUFACE_TRY(cuda::luma(frame, luma.value().view(), launch));
    CUFACE_TRY(detector.value()->enqueue(std::as_const(luma.value()).view(), &at->run, found,
                                         launch, &at->what, &at->followed));
    CUFACE_TRY(cuda::end_search(at, nullptr, found, out, 0, launch, seen.value().data(),
                                detector.value()->activity().state()));
    cuda::CountedWork work;
    work.searched = &at->run;
    work.over = over.value().get();
    return cuda::count_faces(out, work, counters.value().get(), launch, {{{out}}, {{to}}});
  };
  // As an element's clock measures it: from event to event of the graph.
  const test::Event begin, end;
  cuda::LaunchList list;
  cuda::GraphSet graphs;
  std::vector<float> times;
  const std::uint64_t frames = test::under_tool() ? 3 : 101;
  for (std::uint64_t i = 0; i < frames; ++i) {
    list.clear();
    list.use(post.value().get());
    ASSERT_TRUE(cuda::Launcher(list).record(begin).ok());
    ASSERT_TRUE(enqueue(i, cuda::Launcher(list)).ok());
    ASSERT_TRUE(cuda::Launcher(list).record(end).ok());
    ASSERT_TRUE(graphs.submit(list, stream).ok());
    CUFACE_CUDA_OK(cudaStreamSynchronize(stream));
    CUFACE_CUDA_OK(cudaEventElapsedTime(&times.emplace_back(), begin, end));
  }
  std::ranges::sort(times);
  test::report_time("a frame that has not changed", "480x272", 1000.0 * times[times.size() / 2]);
  EXPECT_EQ(counters.value().told()->searches, 1u);
  EXPECT_EQ(*over.value().told(), frames);
}

}  // namespace
}  // namespace cuface
