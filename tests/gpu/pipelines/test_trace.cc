// The trace counts what it must, seen without a GPU: against a libcuda.so.1 that does nothing
// (fake/).
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudautils.h>
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/gpu/pipelines/trace.h"

namespace cuface::test {
namespace {

using trace::Call;
using trace::Caller;
using trace::Kind;
using Word = std::uintptr_t;

template <typename... A>
int call(void* function, A... arguments) {
  return reinterpret_cast<int (*)(A...)>(function)(arguments...);
}

void call_as_plugin(std::function<void()> what) {
  static void* const plugin = dlopen(CUFACE_FAKE_PLUGIN, RTLD_NOW);
  ASSERT_NE(plugin, nullptr) << dlerror();
  reinterpret_cast<void (*)(void (*)(void*), void*)>(dlsym(plugin, "call_from_plugin"))(
      [](void* data) { (*static_cast<std::function<void()>*>(data))(); }, &what);
}

class Trace : public testing::Test {
 protected:
  void SetUp() override {
    cuda_ = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    ASSERT_NE(cuda_, nullptr) << dlerror();
    ASSERT_NE(dlsym(cuda_, "next_handle"), nullptr) << "another libcuda.so.1 than the fake";
  }
  void* found(const char* name) {
    void* function = dlsym(cuda_, name);
    EXPECT_NE(function, nullptr) << name;
    return function;
  }
  void* cuda_ = nullptr;
};

TEST_F(Trace, CountsEveryKindWithSizesThreadsAndMarks) {
  const Word p = 0x5000, stream = 0x30;
  Word made = 0;
  CUDA_MEMCPY2D plane{};
  plane.WidthInBytes = 640;
  plane.Height = 360;
  std::size_t pitch = 0;
  trace::start();
  trace::mark(7);
  EXPECT_EQ(call(found("cuGraphLaunch"), p, stream), 0);
  EXPECT_EQ(call(found("cuMemcpyDtoHAsync_v2"), p, p, std::size_t{4096}, stream), 0);
  EXPECT_EQ(call(found("cuMemcpyDtoHAsync_v2_ptsz"), p, p, std::size_t{8192}, stream), 0);
  EXPECT_EQ(call(found("cuMemcpy2DAsync_v2"), &plane, stream), 0);
  EXPECT_EQ(call(found("cuStreamSynchronize"), stream), 0);
  EXPECT_EQ(call(found("cuEventQuery"), p), 0);
  EXPECT_EQ(call(found("cuMemAllocPitch_v2"), &made, &pitch, std::size_t{500}, std::size_t{10}, 4u),
            0);
  std::thread([&] { EXPECT_EQ(call(found("cuMemFree_v2"), made), 0); }).join();
  trace::mark(0);
  const std::vector<Call> calls = trace::stop();

  struct Expected {
    std::string name;
    Kind kind;
    std::uint64_t bytes, mark;
  };
  const Expected expected[] = {
      {"cuGraphLaunch", Kind::kGraph, 0, 7},         {"cuMemcpyDtoHAsync", Kind::kCopy, 4096, 7},
      {"cuMemcpyDtoHAsync", Kind::kCopy, 8192, 7},   {"cuMemcpy2DAsync", Kind::kCopy, 640 * 360, 7},
      {"cuStreamSynchronize", Kind::kWait, 0, 7},    {"cuEventQuery", Kind::kQuery, 0, 7},
      {"cuMemAllocPitch", Kind::kAllocate, 5120, 7}, {"cuMemFree", Kind::kFree, 0, 0},
  };
  ASSERT_EQ(calls.size(), std::size(expected));
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i].name, expected[i].name);
    EXPECT_EQ(calls[i].kind, expected[i].kind) << calls[i].name;
    EXPECT_EQ(calls[i].bytes, expected[i].bytes) << calls[i].name;
    EXPECT_EQ(calls[i].mark, expected[i].mark) << calls[i].name;
    EXPECT_EQ(calls[i].caller, Caller::kTest) << calls[i].name;
    EXPECT_EQ(calls[i].thread == calls[0].thread, i + 1 < calls.size()) << calls[i].name;
  }
}

TEST_F(Trace, AllArgumentsAndTheResultComeThrough) {
  const int sum =
      2 + 3 * 3 + 5 * 4 + 7 * 5 + 11 * 6 + 13 * 7 + 17 * 8 + 19 * 9 + 23 * 0x30 + 29 * 11 + 31 * 12;
  EXPECT_EQ(call(found("cuLaunchKernel"), Word{2}, 3u, 4u, 5u, 6u, 7u, 8u, 9u, Word{0x30}, Word{11},
                 Word{12}),
            sum);
}

TEST_F(Trace, SeesWhatIsFoundByGetProcAddressAndByTheCudaRuntime) {
  void* address = nullptr;
  int status = -1;
  ASSERT_EQ(call(found("cuGetProcAddress_v2"), "cuGraphLaunch", &address, 13000, Word{0}, &status),
            0);
  trace::start();
  EXPECT_EQ(call(address, Word{1}, Word{2}), 0);
  int devices = 0;
  EXPECT_NE(cudaGetDeviceCount(&devices), cudaSuccess);  // static cudart, as in the plugin
  const std::vector<Call> calls = trace::stop();
  const auto count = [&](const std::string& name) {
    return std::count_if(calls.begin(), calls.end(), [&](const Call& c) { return c.name == name; });
  };
  EXPECT_EQ(count("cuGraphLaunch"), 1);
  EXPECT_GE(count("cuInit"), 1) << "the runtime finds the driver by a way that is not traced";
}

TEST_F(Trace, KnowsThePluginOnTheStackAlsoBelowGStreamer) {
  trace::start();
  EXPECT_EQ(call(found("cuGraphLaunch"), Word{1}, Word{2}), 0);
  call_as_plugin([&] { EXPECT_EQ(call(found("cuGraphLaunch"), Word{1}, Word{2}), 0); });
  call_as_plugin([] {
    ASSERT_TRUE(gst_cuda_load_library());
    CuInit(0);
  });
  const std::vector<Call> calls = trace::stop();
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].caller, Caller::kTest);
  EXPECT_EQ(calls[1].caller, Caller::kElements);
  EXPECT_EQ(calls[2].caller, Caller::kElements);
  EXPECT_STREQ(calls[2].name, "cuInit");
}

TEST_F(Trace, KnowsWhatThePluginHasNotFreed) {
  Word block = 0, event = 0, graph = 0, of_others = 0;
  call_as_plugin([&] {
    call(found("cuMemAlloc_v2"), &block, std::size_t{1000});
    call(found("cuEventCreate"), &event, 0u);
    call(found("cuGraphInstantiateWithFlags"), &graph, Word{1}, Word{0});
  });
  call(found("cuMemAlloc_v2"), &of_others, std::size_t{50});
  trace::Live expected;
  expected.blocks = expected.events = expected.graphs = 1;
  expected.bytes = 1000;
  EXPECT_EQ(trace::live(), expected) << trace::text(trace::live());
  EXPECT_EQ(trace::ever(), expected) << trace::text(trace::ever());
  EXPECT_EQ(trace::blocks_by_size(), (std::map<std::uint64_t, long>{{1000, 1}}));
  EXPECT_EQ(trace::live(Caller::kTest).bytes, 50u) << trace::text(trace::live(Caller::kTest));
  call(found("cuMemFree_v2"), block);  // whoever does it
  call(found("cuEventDestroy_v2"), event);
  call(found("cuGraphExecDestroy"), graph);
  EXPECT_EQ(trace::live(), trace::Live{}) << trace::text(trace::live());
  EXPECT_EQ(trace::ever(), expected) << trace::text(trace::ever());
  EXPECT_TRUE(trace::blocks_by_size().empty());
  call(found("cuMemFree_v2"), of_others);
}

TEST_F(Trace, HooksSubmissionsButNotTheirOwnNorCaptures) {
  std::vector<std::string> seen;
  trace::before_submission([&](const Call& c, CUstream stream) {
    seen.push_back(std::string(c.name) + std::to_string(reinterpret_cast<Word>(stream)));
    call(found("cuGraphLaunch"), Word{1}, Word{9});
  });
  trace::start();
  call(found("cuGraphLaunch"), Word{1}, Word{0x30});
  call(found("cuGraphLaunch"), Word{1}, Word{0x40});  // captured
  call(found("cuStreamSynchronize"), Word{0x30});
  trace::before_submission({});
  call(found("cuGraphLaunch"), Word{1}, Word{0x30});
  const std::vector<Call> calls = trace::stop();
  EXPECT_EQ(seen, std::vector<std::string>{"cuGraphLaunch48"});
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[0].kind, Kind::kGraph);
  EXPECT_EQ(calls[1].kind, Kind::kCapture);
}

TEST_F(Trace, RefusesOneFunctionUntilToldToStop) {
  trace::refuse("cuGraphLaunch");
  trace::start();
  EXPECT_EQ(call(found("cuGraphLaunch"), Word{1}, Word{0x30}), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(call(found("cuStreamSynchronize"), Word{0x30}), CUDA_SUCCESS);
  EXPECT_EQ(trace::refused(), 1);
  trace::refuse("");
  EXPECT_EQ(call(found("cuGraphLaunch"), Word{1}, Word{0x30}), CUDA_SUCCESS);
  EXPECT_EQ(trace::stop().size(), 2u);
  EXPECT_EQ(trace::refused(), 0);
}

}  // namespace
}  // namespace cuface::test
