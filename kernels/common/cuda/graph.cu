#include <cuda.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/common/cuda/graph.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/try.h"

namespace cuface::cuda {
namespace {

using Kind = LaunchList::Kind;

__global__ void condition_kernel(cudaGraphConditionalHandle handle, const std::int32_t* run) {
  cudaGraphSetConditional(handle, *run != 0);
}

using GraphLaunch = CUresult(CUDAAPI*)(CUgraphExec, CUstream);

/// The driver's own function, null where the runtime does not tell: what the runtime's does before
/// it calls that costs the host half as much again.
GraphLaunch driver_graph_launch() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuGraphLaunch", &function, 12000,
                                                             cudaEnableDefault, &found);
#else
  const cudaError_t error =
      cudaGetDriverEntryPoint("cuGraphLaunch", &function, cudaEnableDefault, &found);
#endif
  const bool ok = check(error, "looking for a function of the driver").ok() &&
                  found == cudaDriverEntryPointSuccess;
  return ok ? reinterpret_cast<GraphLaunch>(function) : nullptr;
}

/// `kernel` may start when `before`, a kernel, allows it.
Status add_early_edge(cudaGraph_t graph, cudaGraphNode_t before, cudaGraphNode_t kernel) {
#if CUDART_VERSION >= 12030
  cudaGraphEdgeData edge = {};
  edge.from_port = cudaGraphKernelNodePortProgrammatic;
  edge.type = cudaGraphDependencyTypeProgrammatic;
#if CUDART_VERSION >= 13000
  const cudaError_t error = cudaGraphAddDependencies(graph, &before, &kernel, &edge, 1);
#else
  const cudaError_t error = cudaGraphAddDependencies_v2(graph, &before, &kernel, &edge, 1);
#endif
#else
  const cudaError_t error = cudaGraphAddDependencies(graph, &before, &kernel, 1);
#endif
  return check(error, "making a CUDA graph");
}

/// Whether the entries are the same altogether, arguments included.
bool equal(const LaunchList& a, const LaunchList& b, std::size_t i) {
  const LaunchList::Entry &x = a.entries()[i], &y = b.entries()[i];
  return x.shape == y.shape && x.event == y.event && x.bytes == y.bytes &&
         (x.bytes == 0 || std::memcmp(a.argument_bytes(x), b.argument_bytes(y), x.bytes) == 0);
}

/// Whether a graph made of `a` can stand for `b`. Nodes inside of an if are never changed.
bool fits(const LaunchList& a, const LaunchList& b) {
  if (a.variant() != b.variant() || a.entries().size() != b.entries().size()) return false;
  for (std::size_t i = 0; i < a.entries().size(); ++i) {
    const LaunchList::Entry &x = a.entries()[i], &y = b.entries()[i];
    if (x.kind != y.kind || x.inside != y.inside || x.kernel != y.kernel || x.bytes != y.bytes ||
        x.early != y.early || x.cooperative != y.cooperative || x.run != y.run || x.part != y.part)
      return false;
    if (x.inside && !equal(a, b, i)) return false;
  }
  return true;
}

enum class Place { kOutside, kInPart, kInIf };

/// Every if has its end, and there is nothing but kernels and parts of kernels between.
Status validate(const LaunchList& list, Place place = Place::kOutside) {
  bool open = place == Place::kInIf;
  for (const LaunchList::Entry& entry : list.entries()) {
    if (entry.kind == Kind::kPart) {
      if (place != Place::kOutside)
        return {StatusCode::kInvalidArgument, "graph: a part in a part"};
      CUFACE_TRY(validate(*entry.part, open ? Place::kInIf : Place::kInPart));
      continue;
    }
    if (open && entry.kind != Kind::kKernel &&
        (entry.kind != Kind::kEndIf || place == Place::kInIf))
      return {StatusCode::kInvalidArgument, "graph: only kernels can be conditional"};
    if (!open && entry.kind == Kind::kEndIf)
      return {StatusCode::kInvalidArgument, "graph: the end of an if without one"};
    if (entry.kind == Kind::kIf) open = true;
    if (entry.kind == Kind::kEndIf) open = false;
  }
  if (open != (place == Place::kInIf) || list.entries().empty())
    return {StatusCode::kInvalidArgument, "graph: an if without end, or no work"};
  return {};
}

}  // namespace

/// One list as a graph: each node behind the one before.
class GraphSet::Graph {
 public:
  explicit Graph(const LaunchList& list) : list_(list), nodes_(list.entries().size()) {}
  ~Graph() {
    // A graph that is running is freed when it is over.
    if (exec_) cudaGraphExecDestroy(exec_);
    if (graph_) cudaGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Status build(Ifs ifs, Built& built) {
    conditional_ = ifs == Ifs::kConditional;
    CUFACE_TRY(check(cudaGraphCreate(&graph_, 0), "making a CUDA graph"));
    built.nodes = built.conditional = 0;
    End end;
    end.into = graph_;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const LaunchList::Entry& entry = list_.entries()[i];
      if (entry.kind != Kind::kPart) {
        CUFACE_TRY(add(list_, entry, end, nodes_[i], built));
        continue;
      }
      cudaGraphNode_t never_set = nullptr;
      for (const LaunchList::Entry& of_part : entry.part->entries())
        CUFACE_TRY(add(*entry.part, of_part, end, never_set, built));
    }
    return check(cudaGraphInstantiate(&exec_, graph_, 0), "making a CUDA graph");
  }

  bool fits(const LaunchList& list) const { return cuda::fits(list_, list); }

  /// Of what it does now, and of nothing that any graph did before.
  std::uint64_t number() const { return number_; }

  /// Sets what differs.
  Status update(const LaunchList& list, Built& built) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const LaunchList::Entry& entry = list.entries()[i];
      if (equal(list_, list, i)) continue;
      number_ = next_number();
      if (entry.kind == Kind::kEvent) {
        CUFACE_TRY(
            check(cudaGraphExecEventRecordNodeSetEvent(exec_, nodes_[i], entry.event), entry.what));
      } else {
        const cudaKernelNodeParams params = kernel_params(list, entry);
        CUFACE_TRY(check(cudaGraphExecKernelNodeSetParams(exec_, nodes_[i], &params), entry.what));
      }
      list_.assign(i, list);
      ++built.set;
    }
    return {};
  }

  Status launch(cudaStream_t stream) {
    static const GraphLaunch straight = driver_graph_launch();
    if (straight && straight(exec_, stream) == CUDA_SUCCESS) return {};
    return check(cudaGraphLaunch(exec_, stream), "launching a CUDA graph");
  }

 private:
  static std::uint64_t next_number() {
    static std::atomic<std::uint64_t> last = 0;
    return ++last;
  }

  /// Where a graph that is being made ends.
  struct End {
    cudaGraph_t into = nullptr;  ///< the graph, or the body of an if
    cudaGraphNode_t last = nullptr, outside = nullptr;
  };

  /// Adds the node of an entry of `list`, if it has one.
  Status add(const LaunchList& list, const LaunchList::Entry& entry, End& end,
             cudaGraphNode_t& node, Built& built) {
    auto& [into, last, outside] = end;
    switch (entry.kind) {
      case Kind::kKernel: {
        const cudaKernelNodeParams params = kernel_params(list, entry);
        const bool early = entry.early && last;
        CUFACE_TRY(
            check(cudaGraphAddKernelNode(&node, into, &last, last && !early ? 1 : 0, &params),
                  entry.what));
        if (early) CUFACE_TRY(add_early_edge(into, last, node));
        if (entry.cooperative) {
          cudaKernelNodeAttrValue value = {};
          value.cooperative = 1;
          CUFACE_TRY(
              check(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeCooperative, &value),
                    entry.what));
        }
        if (into != graph_) ++built.conditional;
        last = node;
        break;
      }
      case Kind::kEvent:
        CUFACE_TRY(check(cudaGraphAddEventRecordNode(&node, into, &last, last ? 1 : 0, entry.event),
                         entry.what));
        last = node;
        break;
      case Kind::kIf:
        if (!conditional_) return {};
        CUFACE_TRY(add_if(entry.run, last, outside, into));
        last = nullptr;
        ++built.nodes;  // the kernel that sets the condition
        break;
      case Kind::kEndIf:
        if (conditional_) last = outside;
        into = graph_;
        return {};
      case Kind::kPart:
        return {};
    }
    ++built.nodes;
    return {};
  }

  cudaKernelNodeParams kernel_params(const LaunchList& list, const LaunchList::Entry& entry) {
    list.argument_pointers(entry, pointers_);
    cudaKernelNodeParams params = {};
    params.func = const_cast<void*>(entry.kernel);
    params.gridDim = entry.shape.grid;
    params.blockDim = entry.shape.block;
    params.sharedMemBytes = static_cast<unsigned>(entry.shape.shared);
    params.kernelParams = pointers_.data();
    return params;
  }

  /// A kernel that sets the condition, and behind it the conditional node; `body` gets its nodes.
  Status add_if(const std::int32_t* run, cudaGraphNode_t last, cudaGraphNode_t& node,
                cudaGraph_t& body) {
    cudaGraphConditionalHandle handle = 0;
    CUFACE_TRY(
        check(cudaGraphConditionalHandleCreate(&handle, graph_, 0, cudaGraphCondAssignDefault),
              "making a conditional node"));
    void* arguments[] = {&handle, &run};
    cudaKernelNodeParams setter = {};
    setter.func = reinterpret_cast<void*>(condition_kernel);
    setter.gridDim = setter.blockDim = dim3(1);
    setter.kernelParams = arguments;
    cudaGraphNode_t set = nullptr;
    CUFACE_TRY(check(cudaGraphAddKernelNode(&set, graph_, &last, last ? 1 : 0, &setter),
                     "making a conditional node"));
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = cudaGraphCondTypeIf;
    params.conditional.size = 1;
#if CUDART_VERSION >= 13000
    const cudaError_t added = cudaGraphAddNode(&node, graph_, &set, nullptr, 1, &params);
#else
    const cudaError_t added = cudaGraphAddNode(&node, graph_, &set, 1, &params);
#endif
    CUFACE_TRY(check(added, "making a conditional node"));
    body = params.conditional.phGraph_out[0];
    return {};
  }

  LaunchList list_;                     ///< what the executable graph does
  std::vector<cudaGraphNode_t> nodes_;  ///< per entry
  std::vector<void*> pointers_;
  std::uint64_t number_ = next_number();
  bool conditional_ = true;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

GraphSet::GraphSet(Ifs ifs) : ifs_(ifs) {}
GraphSet::~GraphSet() = default;
GraphSet::GraphSet(GraphSet&&) noexcept = default;
GraphSet& GraphSet::operator=(GraphSet&&) noexcept = default;

Status GraphSet::submit(LaunchList& list, cudaStream_t stream) {
  CUFACE_TRY(prepare(list));
  const Status launched = graphs_.front()->launch(stream);
  if (launched.ok()) list.submitted();
  return launched;
}

/// Puts the graph that does what the list says in front.
Status GraphSet::prepare(LaunchList& list) {
  const auto find = [&](const auto& is_it) {
    const auto known = std::find_if(graphs_.begin(), graphs_.end(), is_it);
    if (known == graphs_.end()) return false;
    graphs_.splice(graphs_.begin(), graphs_, known);
    return true;
  };
  const std::uint64_t number = list.launched_as();
  if (number && find([&](const auto& graph) { return graph->number() == number; })) return {};
  if (find([&](const auto& graph) { return graph->fits(list); })) {
    CUFACE_TRY(graphs_.front()->update(list, built_));
    list.set_launched_as(graphs_.front()->number());
    return {};
  }
  CUFACE_TRY(validate(list));
  auto made = std::make_unique<Graph>(list);
  if (Status as_asked = made->build(ifs_, built_); !as_asked.ok()) {
    if (ifs_ == Ifs::kLaunched) return as_asked;
    // Perhaps a driver that does not take conditional nodes.
    made = std::make_unique<Graph>(list);
    CUFACE_TRY(made->build(Ifs::kLaunched, built_));
  }
  ++built_.graphs;
  graphs_.push_front(std::move(made));
  if (graphs_.size() > kMost) graphs_.pop_back();
  list.set_launched_as(graphs_.front()->number());
  return {};
}

}  // namespace cuface::cuda
