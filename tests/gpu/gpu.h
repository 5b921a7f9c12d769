// What the tests of the CUDA versions share: is there a GPU, natural pictures without an image
// library, guarded device memory, times.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "kernels/common/cuda/graph.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/image.h"

namespace cuface::test {

inline bool has_gpu() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

/// Skips the test, with the reason, where no kernel can run.
#define CUFACE_NEEDS_GPU() \
  if (!cuface::test::has_gpu()) GTEST_SKIP() << "no NVIDIA GPU with a driver"

/// Under compute-sanitizer, where everything takes a hundred times as long? (tests/gpu/tools/run
/// says so.)
inline bool under_tool() { return std::getenv("CUFACE_GPU_TOOL") != nullptr; }

/// Under one of these?
template <typename... Names>
bool under_tool(const Names&... names) {
  const char* tool = std::getenv("CUFACE_GPU_TOOL");
  return tool && ((std::string(tool) == names) || ...);
}

/// How many of `all` random cases are tried: under a tool, which takes minutes, one of kUnderTool.
inline constexpr int kUnderTool = 30;
inline int cases(int all) { return under_tool() ? std::max(1, all / kUnderTool) : all; }

/// Says how much a test has compared. Fails below a minimum, which is that of all cases.
inline void compared(const char* what, long count, long minimum) {
  if (under_tool()) minimum = std::max(1L, minimum / kUnderTool);
  std::printf("compared: %ld %s, at least %ld\n", count, what, minimum);
  EXPECT_GE(count, minimum) << what;
}

struct GrayPicture {
  std::string name;
  int width = 0, height = 0;
  std::vector<std::uint8_t> pixels;

  ImageView<const std::uint8_t> view() const { return {pixels.data(), width, height, width}; }
};

/// The natural pictures of $CUFACE_GPU_DATA (tests/gpu/tools/pack makes them): NAME.gray, raw, and
/// sizes.txt with lines "name width height". Empty where there are none.
inline std::vector<GrayPicture> load_gray_pictures() {
  std::vector<GrayPicture> pictures;
  const char* folder = std::getenv("CUFACE_GPU_DATA");
  if (!folder) return pictures;
  std::ifstream sizes(std::string(folder) + "/sizes.txt");
  for (GrayPicture p; sizes >> p.name >> p.width >> p.height;) {
    std::ifstream file(std::string(folder) + "/" + p.name + ".gray", std::ios::binary);
    p.pixels.resize(static_cast<std::size_t>(p.width) * static_cast<std::size_t>(p.height));
    file.read(reinterpret_cast<char*>(p.pixels.data()),
              static_cast<std::streamsize>(p.pixels.size()));
    EXPECT_TRUE(file) << p.name << " is not as sizes.txt says";
    if (file) pictures.push_back(p);
  }
  return pictures;
}

#define CUFACE_CUDA_OK(call) \
  ASSERT_EQ((call), cudaSuccess) << cudaGetErrorString(cudaGetLastError())

/// What memory is filled with where only a kernel is to write.
inline constexpr std::uint8_t kCanary = 0xA5;

/// Bytes in device memory with guard bands of `kGuardByte` before and behind.
class GuardedBytes {
 public:
  static constexpr std::size_t kBand = 256;  ///< keeps what cudaMalloc aligned aligned
  static constexpr std::uint8_t kGuardByte = 0xC3;

  /// `bytes` as the first content.
  explicit GuardedBytes(const std::vector<std::uint8_t>& bytes) : size_(bytes.size()) {
    auto buffer = cuda::DeviceBuffer<std::uint8_t>::create(size_ + 2 * kBand);
    EXPECT_TRUE(buffer.ok()) << buffer.status().message();
    if (buffer.ok()) buffer_ = std::move(buffer.value());
    EXPECT_EQ(cudaMemset(buffer_.data(), kGuardByte, buffer_.size()), cudaSuccess);
    set(bytes);
  }
  /// `size` bytes of a canary.
  GuardedBytes(std::size_t size, std::uint8_t canary)
      : GuardedBytes(std::vector<std::uint8_t>(size, canary)) {}

  std::uint8_t* data() { return buffer_.data() + kBand; }
  std::size_t size() const { return size_; }

  void set(const std::vector<std::uint8_t>& bytes) {
    ASSERT_EQ(bytes.size(), size_);
    ASSERT_EQ(cudaMemcpy(data(), bytes.data(), size_, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // streams of their own do not wait for it
  }
  /// The content, once all work of the device is done; fails when a guard byte changed.
  std::vector<std::uint8_t> get() const {
    std::vector<std::uint8_t> all(buffer_.size());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << cudaGetErrorString(cudaGetLastError());
    EXPECT_EQ(cudaMemcpy(all.data(), buffer_.data(), all.size(), cudaMemcpyDeviceToHost),
              cudaSuccess);
    const auto begin = all.begin() + kBand, end = begin + static_cast<std::ptrdiff_t>(size_);
    EXPECT_EQ(std::count(all.begin(), begin, kGuardByte) + std::count(end, all.end(), kGuardByte),
              static_cast<std::ptrdiff_t>(2 * kBand))
        << "wrote outside of its memory";
    return {begin, end};
  }

 private:
  std::size_t size_;
  cuda::DeviceBuffer<std::uint8_t> buffer_;
};

/// A stream that lives as long as the test.
class Stream {
 public:
  Stream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }  // NOLINT(google-explicit-constructor)

 private:
  cudaStream_t stream_ = nullptr;
};

/// What `enqueue()` puts on the stream, as a graph that can be launched again and again.
template <typename Enqueue>
cudaGraphExec_t capture(cudaStream_t stream, Enqueue enqueue) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  enqueue();
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  if (graph) cudaGraphDestroy(graph);
  return exec;
}

/// An event that lives as long as the test.
class Event {
 public:
  Event() { EXPECT_EQ(cudaEventCreate(&event_), cudaSuccess); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return event_; }  // NOLINT(google-explicit-constructor)
  bool is_over() const { return cuda::is_over(event_); }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Submits what `enqueue(launcher)` launches as one graph, as an element of the plugin does.
class Submitter {
 public:
  explicit Submitter(cuda::GraphSet::Ifs ifs = cuda::GraphSet::Ifs::kConditional) : graphs_(ifs) {}

  template <typename Enqueue>
  Status operator()(cudaStream_t stream, const Enqueue& enqueue) {
    list_.clear();
    if (Status s = enqueue(cuda::Launcher(list_)); !s.ok()) return s;
    return graphs_.submit(list_, stream);
  }
  const cuda::GraphSet::Built& built() const { return graphs_.built(); }

 private:
  cuda::LaunchList list_;
  cuda::GraphSet graphs_;
};

/// The median time on the device of `enqueue()` in microseconds. Under a tool it only runs once.
template <typename Enqueue>
double median_us(cudaStream_t stream, Enqueue enqueue, int rounds = 101) {
  if (under_tool()) {
    enqueue();
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    return 0;
  }
  cudaEvent_t begin = nullptr, end = nullptr;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::vector<double> times;
  for (int i = -10; i < rounds; ++i) {
    cudaEventRecord(begin, stream);
    enqueue();
    cudaEventRecord(end, stream);
    cudaEventSynchronize(end);
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    if (i >= 0) times.push_back(1e3 * static_cast<double>(ms));
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[static_cast<std::size_t>(rounds / 2)];
}

/// The same of a list as a graph, as elements launch it.
inline double median_us(cudaStream_t stream, cuda::LaunchList list) {
  cuda::GraphSet graphs;
  return median_us(stream, [&] { EXPECT_TRUE(graphs.submit(list, stream).ok()); });
}

/// The pictures that times are stated of: 1280x720, 1920x1080 and 640x360.
inline bool is_timed(const GrayPicture& picture) {
  return picture.name == "mosaic720" || picture.name == "mosaic1080" || picture.name == "pexels_00";
}

/// One line that tests/gpu/tools/run collects into its results; none under a tool.
inline void report_time(const std::string& what, const std::string& size, double us) {
  if (under_tool()) return;
  std::printf("{\"what\":\"%s\",\"size\":\"%s\",\"us\":%.2f}\n", what.c_str(), size.c_str(), us);
}

/// The same of the reference on this machine's processor, one thread: the median of a few.
template <typename Reference>
void report_cpu_time(const std::string& what, const std::string& size, Reference reference,
                     int rounds = 7) {
  if (under_tool()) return;
  std::vector<double> times;
  for (int i = -1; i < rounds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    reference();
    const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - begin;
    if (i >= 0) times.push_back(us.count());
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  std::printf("{\"what\":\"%s\",\"size\":\"%s\",\"CPU us\":%.2f}\n", what.c_str(), size.c_str(),
              times[static_cast<std::size_t>(rounds / 2)]);
}

/// Reports the median time of each kernel of `list` (no if in it), in order: a graph with an event
/// behind each, so the figures hold a microsecond or so of the events.
inline void report_parts(const std::string& what, const std::string& size,
                         const cuda::LaunchList& list, cudaStream_t stream, int rounds = 51) {
  if (under_tool()) return;
  const auto& entries = list.entries();
  std::vector<cudaEvent_t> events(entries.size() + 1);
  for (cudaEvent_t& event : events) ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  const auto record = [&](std::size_t i) {
    EXPECT_EQ(cudaEventRecordWithFlags(events[i], stream, cudaEventRecordExternal), cudaSuccess);
  };
  const cudaGraphExec_t graph = capture(stream, [&] {
    std::vector<void*> arguments;
    record(0);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      list.argument_pointers(entries[i], arguments);
      EXPECT_TRUE(cuda::launch_kernel(entries[i].what, entries[i].kernel, entries[i].shape,
                                      arguments.data(), stream, false, entries[i].cooperative)
                      .ok());
      record(i + 1);
    }
  });
  std::vector<std::vector<float>> times(entries.size());
  for (int round = -5; round < rounds; ++round) {
    EXPECT_EQ(cudaGraphLaunch(graph, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    for (std::size_t i = 0; i < entries.size() && round >= 0; ++i) {
      float ms = 0;
      EXPECT_EQ(cudaEventElapsedTime(&ms, events[i], events[i + 1]), cudaSuccess);
      times[i].push_back(ms);
    }
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::nth_element(times[i].begin(), times[i].begin() + rounds / 2, times[i].end());
    report_time(what + " part " + std::to_string(i + 1) + " " + entries[i].what, size,
                times[i][static_cast<std::size_t>(rounds / 2)] * 1000.0);
  }
  CUFACE_CUDA_OK(cudaGraphExecDestroy(graph));
  for (cudaEvent_t event : events) CUFACE_CUDA_OK(cudaEventDestroy(event));
}

}  // namespace cuface::test
