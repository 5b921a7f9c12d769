// Kernels that are evidently right, one behind the other in a CUDA graph, in a conditional node of
// it or plainly: why tests/gpu/tools/run does not believe compute-sanitizer's racecheck and synccheck
// about conditional nodes. Of such a node's kernels they know the last one's blocks and shared
// memory, and take these for all: a barrier of 128 threads before a kernel of one thread is
// "divergent", a block's own shared memory is raced for, and racecheck may crash. They are clean
// about the same graph without the node. (2025.3 and 2026.4; their notes say: no CUDA dynamic
// parallelism.)
//
//   conditional_nodes node|plain KERNEL ...     KERNEL: reverse or one
//
// Ends with 0 when the values are as they must be, with 1 when not, with 2 when CUDA fails.
#include <cuda_runtime.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr int kThreads = 128, kBlocks = 60, kLaunches = 4;

__global__ void __launch_bounds__(kThreads) reverse_kernel(int* values) {
  __shared__ int copy[kThreads];
  int* mine = values + blockIdx.x * kThreads;
  copy[threadIdx.x] = mine[threadIdx.x];
  __syncthreads();
  mine[threadIdx.x] = copy[kThreads - 1 - threadIdx.x];
}

__global__ void one_kernel(int* count) { *count += 1; }

__global__ void condition_kernel(cudaGraphConditionalHandle handle) {
  cudaGraphSetConditional(handle, 1);
}

#define OK(call)                                                \
  if (const cudaError_t error = (call); error != cudaSuccess) { \
    std::printf("%s: %s\n", #call, cudaGetErrorString(error));  \
    return 2;                                                   \
  }

int run(bool in_node, const std::vector<std::string>& kernels) {
  int *values = nullptr, *count = nullptr;
  std::vector<int> host(kThreads * kBlocks);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<int>(i);
  OK(cudaMalloc(&values, host.size() * sizeof(int)));
  OK(cudaMalloc(&count, sizeof(int)));
  OK(cudaMemcpy(values, host.data(), host.size() * sizeof(int), cudaMemcpyHostToDevice));
  OK(cudaMemset(count, 0, sizeof(int)));

  cudaGraph_t graph = nullptr;
  OK(cudaGraphCreate(&graph, 0));
  cudaGraph_t into = graph;
  if (in_node) {
    cudaGraphConditionalHandle handle = 0;
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 0, cudaGraphCondAssignDefault));
    void* arguments[] = {&handle};
    cudaKernelNodeParams setter = {};
    setter.func = reinterpret_cast<void*>(condition_kernel);
    setter.gridDim = setter.blockDim = dim3(1);
    setter.kernelParams = arguments;
    cudaGraphNode_t set = nullptr, node = nullptr;
    OK(cudaGraphAddKernelNode(&set, graph, nullptr, 0, &setter));
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = cudaGraphCondTypeIf;
    params.conditional.size = 1;
#if CUDART_VERSION >= 13000
    OK(cudaGraphAddNode(&node, graph, &set, nullptr, 1, &params));
#else
    OK(cudaGraphAddNode(&node, graph, &set, 1, &params));
#endif
    into = params.conditional.phGraph_out[0];
  }
  cudaGraphNode_t last = nullptr;
  int reversals = 0;
  for (const std::string& name : kernels) {
    const bool reverses = name == "reverse";
    reversals += reverses;
    void* arguments[] = {reverses ? &values : &count};
    cudaKernelNodeParams kernel = {};
    kernel.func =
        reverses ? reinterpret_cast<void*>(reverse_kernel) : reinterpret_cast<void*>(one_kernel);
    kernel.gridDim = dim3(reverses ? kBlocks : 1);
    kernel.blockDim = dim3(reverses ? kThreads : 1);
    kernel.kernelParams = arguments;
    cudaGraphNode_t node = nullptr;
    OK(cudaGraphAddKernelNode(&node, into, &last, last ? 1 : 0, &kernel));
    last = node;
  }
  cudaGraphExec_t exec = nullptr;
  OK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < kLaunches; ++i) OK(cudaGraphLaunch(exec, nullptr));

  std::vector<int> got(host.size());
  int ones = 0, wrong = 0;
  OK(cudaMemcpy(got.data(), values, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  OK(cudaMemcpy(&ones, count, sizeof(int), cudaMemcpyDeviceToHost));
  const bool turned = reversals * kLaunches % 2 != 0;
  for (int i = 0; i < kThreads * kBlocks; ++i) {
    const int in_block = i % kThreads, first = i - in_block;
    wrong +=
        got[static_cast<std::size_t>(i)] != first + (turned ? kThreads - 1 - in_block : in_block);
  }
  wrong += ones != (static_cast<int>(kernels.size()) - reversals) * kLaunches;
  std::printf("%d values of %zu are wrong\n", wrong, got.size() + 1);
  return wrong ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  return run(std::string(argv[1]) == "node", {argv + 2, argv + argc});
}
