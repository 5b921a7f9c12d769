// The nearest legal shape of a face, by one block, with its tables in shared memory.
#pragma once

#include <cuda_pipeline.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/common/lanes.h"
#include "kernels/shape/cuda/once.cuh"
#include "kernels/shape/cuda/search.h"

namespace cuface::cuda {

constexpr int kShapeThreads = 256;  // of a block that looks for points, and constrains faces

/// What the constraint reads of a model, of one level.
struct LevelTables {
  shape::ConstraintTables model;
  shape::ConstraintLevel level;

  __device__ LevelTables(const ShapeTables& t, int number)
      : model(t.constraint),
        level{t.means + number * model.points,
              t.limits + number * model.modes,
              t.centres[number],
              t.mean_squares[number],
              number,
              t.parts + number * model.points * parts(),
              t.grams + static_cast<std::ptrdiff_t>(number) * parts() * parts(),
              t.moments + number * shape::ConstraintLevel::kMoments * parts()} {}
  // nvcc 13.0 makes a copy of all this out of what `t` has at the same place.
  LevelTables(const LevelTables&) = delete;
  LevelTables& operator=(const LevelTables&) = delete;
  __device__ int parts() const { return shape::ConstraintMemory::parts_of(model.modes); }
};

/// Shared memory for what a block reads again and again: the model of the patch that it looks for,
/// or tables of the constraint.
struct Staged {
  std::byte* memory;
  std::size_t room;        ///< 0: read from where they are
  bool is_filled = false;  ///< or will be

  /// For all threads of a block, behind a barrier; whoever reads waits for the copies.
  template <typename T>
  __device__ void copy(T* to, const T* from, int count) {
    for (int i = static_cast<int>(threadIdx.x); i < count; i += kShapeThreads)
      __pipeline_memcpy_async(to + i, from + i, sizeof(T));
    __pipeline_commit();
  }
  /// A patch's model, which is on its way here if there is room.
  __device__ DevicePatch patch(const DevicePatch& from, int words_of_block) {
    constexpr int kWordsOfRows = sizeof(texture::PatchUnits) / sizeof(PatchWords);
    static_assert(sizeof(texture::PatchUnits) % sizeof(PatchWords) == 0);
    const int words = from.blocks * words_of_block, of_rows = from.blocks * kWordsOfRows;
    if (sizeof(PatchWords) * static_cast<std::size_t>(words + of_rows) > room) return from;
    auto* const to = reinterpret_cast<PatchWords*>(memory);
    if (!is_filled) {
      copy(to, from.words, words);
      copy(to + words, reinterpret_cast<const PatchWords*>(from.rows), of_rows);
      is_filled = true;
    }
    return {to, reinterpret_cast<const texture::PatchUnits*>(to + words), from.blocks, from.edge,
            from.base};
  }
  /// Before another model or level comes here.
  __device__ void clear() {
    wait();
    is_filled = false;
  }
  /// For what is on its way. Also before the block ends: copies would go to the next one's memory.
  __device__ void wait() const {
    if (!is_filled) return;
    __pipeline_wait_prior(0);
    __syncthreads();
  }
  __device__ bool has_room_for(const shape::ConstraintTables& c) const {
    return table_bytes(c) <= room;
  }
  /// Begins to copy those of a level where there is room.
  __device__ void copy_tables(const ShapeTables& t, int level) {
    if (!has_room_for(t.constraint)) return;
    LevelTables tables(t, level);
    keep(tables, [&](auto* to, const auto* from, int count) { copy(to, from, count); });
    is_filled = true;
  }
  /// What copy_tables() has copied.
  __device__ void read_tables(LevelTables& tables) const {
    keep(tables, [](auto*, const auto*, int) {});
    wait();
  }
  /// take(to, from, count) for all tables, which are in this memory then.
  template <typename Take>
  __device__ void keep(LevelTables& tables, Take take) const {
    shape::ConstraintTables& c = tables.model;
    shape::ConstraintLevel& level = tables.level;
    std::byte* free = memory;
    const auto all = [&](auto*& from, int count) {
      using T = std::remove_cvref_t<decltype(*from)>;
      auto* const to = reinterpret_cast<T*>(free);
      take(to, from, count);
      from = to;
      free += sizeof(T) * static_cast<unsigned>(count);
    };
    if (c.kind == ShapeConstraint::kIterated) {
      const int parts = tables.parts();
      all(level.parts, c.points * parts);
      all(level.gram, parts * parts);
      all(level.moments, shape::ConstraintLevel::kMoments * parts);
    } else {
      all(level.mean, c.points);
      all(c.eigenvectors, 2 * c.points * c.modes);
    }
    all(c.weights, c.points);
    all(level.limits, c.modes);
  }
  CUFACE_HD static std::size_t table_bytes(const shape::ConstraintTables& c) {
    const int parts = shape::ConstraintMemory::parts_of(c.modes);
    const int doubles = c.kind == ShapeConstraint::kIterated
                            ? (2 * c.points + parts + shape::ConstraintLevel::kMoments) * parts
                            : 2 * c.points * (1 + c.modes);
    return sizeof(double) * static_cast<std::size_t>(doubles + c.points + c.modes);
  }
};

/// What a block shares that constrains a face, where it has looked for a point before.
struct ShapeMemory {
  int points, modes;
  bool is_iterated;

  CUFACE_HD explicit ShapeMemory(const shape::ConstraintTables& c)
      : points(c.points), modes(c.modes), is_iterated(c.kind == ShapeConstraint::kIterated) {}
  using Lent = shape::ConstraintMemory;
  using Sums = OrderedSums<Lent::kSums>;
  CUFACE_HD std::size_t bytes() const {
    const std::size_t kind =
        is_iterated ? sizeof(double) * static_cast<std::size_t>(Lent::products_of(modes))
                    : sizeof(Sums);
    return (sizeof(ShapePoint) * 3 + sizeof(double)) * static_cast<std::size_t>(points) +
           2 * sizeof(shape::Affine) +
           sizeof(double) *
               (Lent::kSums * Lent::kParts + (1 + Lent::kParts) * static_cast<std::size_t>(modes)) +
           kind;
  }

  __device__ ShapePoint* shape(void* memory) const { return static_cast<ShapePoint*>(memory); }
  __device__ ShapePoint* before(void* memory) const { return shape(memory) + points; }
  __device__ double* costs(void* memory) const {
    return reinterpret_cast<double*>(before(memory) + 2 * points);
  }
  __device__ Lent lent(void* memory, double* sums_of_face) const {
    ShapePoint* const modelled = before(memory) + points;
    auto* const back = reinterpret_cast<shape::Affine*>(costs(memory) + points);
    auto* const sum_parts = reinterpret_cast<double*>(back + 2);
    double* const weights = sum_parts + Lent::kSums * Lent::kParts;
    double* const parts = weights + modes;
    double* const rest = parts + Lent::kParts * modes;
    return {modelled,      weights,     parts,    reinterpret_cast<Sums*>(rest),
            sum_parts,     back,        back + 1, rest,
            costs(memory), sums_of_face};
  }
};

/// By all threads of a block, when all points of a face have been looked for in a round.
template <bool kStaged>
__device__ void constrain(const ShapeTables& t, const ShapeWork& work, int number, int round,
                          void* memory, const Staged& staged) {
  const BlockLanes lanes;
  const int stage = stage_of(t, round);
  const bool is_last = stage_of(t, round + 1) != stage;
  LevelTables tables(t, stage > 0 ? stage : 0);
  const shape::ConstraintTables& c = tables.model;
  const ShapeMemory layout(c);
  ShapePoint *const legal = layout.shape(memory), *const before = layout.before(memory);
  double* const costs = layout.costs(memory);
  FaceJob& job = work.jobs[number];
  const int points = c.points;
  double* const weights = work.weights + number * c.modes;
  const int sums_of_face = shape::ConstraintMemory::weighed_sums_of(c.modes);
  const shape::ConstraintMemory lent =
      layout.lent(memory, work.sums_of_faces + number * sums_of_face);
  const bool one_pass = c.kind == ShapeConstraint::kOnePass;
  if (one_pass) lanes.each(c.modes, [&](int k) { lent.weights[k] = weights[k]; });
  const bool is_bad = lanes.any(points, [&](int i) {
    before[i] = when_there(work.points_of(number, round)[i]);
    const FoundPoint found = when_there(work.found_of(number, round)[i]);
    legal[i] = found.to;
    costs[i] = work.costs[number * points + i] = found.cost;
    return t.refits > 0 && found.cost > t.refit_limits[i];
  });
  if constexpr (kStaged) staged.read_tables(tables);
  shape::Constrain<BlockLanes>{lanes, c, tables.level, lent, legal}.run();
  const bool moved = stage >= 0 && t.rest > 0 && lanes.any(points, [&](int i) {
    const auto is_near = [&](double a, double b) { return std::abs(a - b) <= t.rest; };
    return !(is_near(legal[i].x, before[i].x) && is_near(legal[i].y, before[i].y));
  });
  const bool ends = is_last || (stage >= 0 && t.rest > 0 && !moved);
  const bool refits = stage <= 0 && is_bad;
  const double finer = ends && stage > 0 ? 2 : 1;
  if (one_pass || (stage <= 0 && t.costs > points))
    lanes.each(c.modes, [&](int k) { weights[k] = ends && stage > 0 ? 0 : lent.weights[k]; });
  const bool is_refit = stage == FaceJob::kRefit;
  const std::int32_t then = is_refit    ? (is_last || !refits ? FaceJob::kFound : stage)
                            : !ends     ? stage
                            : stage > 0 ? stage - 1
                            : refits    ? FaceJob::kRefit
                                        : FaceJob::kFound;
  const int next = then == stage ? round + 1 : first_round(t, then);
  lanes.each(points, [&](int i) {
    put(ShapePoint{legal[i].x * finer, legal[i].y * finer}, work.points_of(number, next)[i]);
    for (int rests = round + 1; rests < next; ++rests) skip(work.points_of(number, rests)[i]);
  });
  lanes.once([&] {
    job.stage = then;
    if (!is_refit && then == FaceJob::kRefit) atomicOr(work.counts + ShapeWork::kRefits, 1);
  });
}

}  // namespace cuface::cuda
