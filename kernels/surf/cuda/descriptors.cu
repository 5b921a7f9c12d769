#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/surf/cuda/descriptors.h"
#include "kernels/surf/samples.h"

namespace cuface::cuda::surf {
namespace {

using cuface::surf::kMostCells;
using cuface::surf::kMostSide;
using cuface::surf::MipmapGradient;
using cuface::surf::SumsGradient;
using cuface::surf::TurnedGrid;

constexpr int kThreads = 128;
constexpr unsigned kMostBlocks = 1056;

/// Where gradients come from: gradient(number, keypoint, column, row, along, across).
struct Patches {
  const std::uint8_t* patches;
  DescriptorShape shape;

  struct Of {
    const std::uint8_t* patch;
    int pixels;
    __device__ void gradient(int column, int row, float& along, float& across) const {
      cuface::surf::window_gradient(patch + row * pixels + column, pixels, along, across);
    }
  };
  __device__ Of of(std::uint32_t number, const Keypoint&) const {
    const int pixels = shape.pixels();
    return {patches + static_cast<std::size_t>(number) * pixels * pixels, pixels};
  }
};

template <typename Gradient>
struct Turned {
  TurnedGrid grid;
  Gradient gradients;
  __device__ void gradient(int column, int row, float& along, float& across) const {
    grid.gradient(gradients, column, row, along, across);
  }
};

struct Sums {
  ImageView<const std::uint32_t> sums;
  DescriptorShape shape;
  __device__ Turned<SumsGradient> of(std::uint32_t, const Keypoint& k) const {
    return {TurnedGrid::of(k, shape.side()), SumsGradient(sums, cuface::surf::scale_of(k))};
  }
};

struct Means {
  MipmapView mipmap;
  DescriptorShape shape;
  __device__ Turned<MipmapGradient<MipmapView>> of(std::uint32_t, const Keypoint& k) const {
    return {TurnedGrid::of(k, shape.side()),
            MipmapGradient<MipmapView>(mipmap, cuface::surf::scale_of(k))};
  }
};

struct Gradients {
  float dx[kMostSide * kMostSide], dy[kMostSide * kMostSide];
  float sums[4 * kMostCells];
};

template <int kTeam>
__device__ inline void sync_team() {
  if constexpr (kTeam == kWarp) {
    __syncwarp();
  } else {
    static_assert(kTeam == kThreads);
    __syncthreads();
  }
}

/// kTeam threads a keypoint. They share gradients, and then have a cell's sums in one direction.
template <typename Source, int kTeam>
__global__ void __launch_bounds__(kThreads)
    describe_kernel(const __grid_constant__ Source source, const __grid_constant__ Tables tables,
                    const __grid_constant__ DeviceFloatFeatures out, std::uint64_t* counted) {
  constexpr int kTeams = kThreads / kTeam;
  __shared__ Gradients of_teams[kTeams];
  const int lane = static_cast<int>(threadIdx.x) % kTeam,
            team = static_cast<int>(threadIdx.x) / kTeam;
  Gradients& mine = of_teams[team];
  const DescriptorShape shape = source.shape;
  const int side = shape.side(), floats = shape.floats();
  const auto count = static_cast<std::uint32_t>(out.count());
  if (counted && blockIdx.x == 0 && threadIdx.x == 0) *counted += count;
  for (std::uint32_t i = blockIdx.x * kTeams + static_cast<std::uint32_t>(team); i < count;
       i += gridDim.x * kTeams) {
    const auto of = source.of(i, out.keypoint(i).keypoint);
    for (int at = lane; at < side * side; at += kTeam)
      of.gradient(at % side, at / side, mine.dx[at], mine.dy[at]);
    sync_team<kTeam>();
    const int cell = lane / 2, direction = lane % 2;
    if (cell < shape.cells * shape.cells)
      shape.add(direction == 0 ? mine.dx : mine.dy, tables.weights, tables.coding, cell,
                mine.sums[4 * cell + direction], mine.sums[4 * cell + 2 + direction]);
    sync_team<kTeam>();
    double squares = 0;
    for (int at = 0; at < floats; ++at)
      squares += static_cast<double>(mine.sums[at] * mine.sums[at]);
    const auto normalisation = cuface::surf::Normalisation::of(squares, tables.coding);
    float* descriptor = out.descriptor(i);
    for (int at = lane; at < floats; at += kTeam)
      descriptor[at] = normalisation.of(mine.sums[at], tables.coding);
    sync_team<kTeam>();
  }
}

/// Gradients of patches are next to nothing; those of the others are worth a block.
template <typename Source>
Status describe(const Source& source, const Tables& tables, int most,
                const DeviceFloatFeatures& out, std::uint64_t* counted, Launcher launch) {
  constexpr int kTeam = std::is_same_v<Source, Patches> ? kWarp : kThreads,
                kTeams = kThreads / kTeam;
  const auto blocks = static_cast<unsigned>((most + kTeams - 1) / kTeams);
  return launch("describing blobs", describe_kernel<Source, kTeam>,
                {std::clamp(blocks, 1u, kMostBlocks), kThreads}, source, tables, out, counted);
}

}  // namespace

Status describe_patches(const std::uint8_t* patches, const DescriptorShape& shape,
                        const Tables& tables, int most, const DeviceFloatFeatures& out,
                        std::uint64_t* counted, Launcher launch) {
  return describe(Patches{patches, shape}, tables, most, out, counted, launch);
}

Status describe_sums(const SummedPicture& picture, const DescriptorShape& shape,
                     const Tables& tables, int most, const DeviceFloatFeatures& out,
                     std::uint64_t* counted, Launcher launch) {
  return describe(Sums{picture.sums, shape}, tables, most, out, counted, launch);
}

Status describe_mipmap(const MipmapView& mipmap, const DescriptorShape& shape, const Tables& tables,
                       int most, const DeviceFloatFeatures& out, std::uint64_t* counted,
                       Launcher launch) {
  return describe(Means{mipmap, shape}, tables, most, out, counted, launch);
}

}  // namespace cuface::cuda::surf
