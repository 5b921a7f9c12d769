#include "models/train/mining_batch.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "kernels/generated/generated.h"

namespace cuface::train {

std::vector<std::size_t> MiningBatch::longest_first() const {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, std::ranges::greater(), [this](std::size_t i) {
    const SearchedPicture& of = searched[i];
    return of.is_searched && !of.too_many ? of.boxes.size() : SIZE_MAX;
  });
  return order;
}

MiningBatch MiningBatches::begin(std::vector<MiningItem> items, GpuMining* gpu,
                                 const StopFlag* stop) {
  MiningBatch batch;
  batch.status = guarded("looking for negatives", [&]() -> Status {
    batch.items = std::move(items);
    batch.pictures =
        std::vector<Result<MiningBatch::Picture>>(batch.items.size(), MiningBatch::Picture());
    return gpu && !batch.items.empty() ? begin(batch, *gpu, stop) : Status();
  });
  return batch;
}

Status MiningBatches::begin(MiningBatch& batch, GpuMining& gpu, const StopFlag* stop) {
  const std::vector<MiningItem>& items = batch.items;
  auto& pictures = batch.pictures;
  std::vector<std::size_t> to_decode;
  const auto load = [&](std::size_t at) {
    pictures[at] =
        guarded("looking for negatives", [&] { return backgrounds_.picture(items[at].picture); });
  };
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].generated) continue;
    if (backgrounds_.is_kept(items[i].picture))
      load(i);
    else
      to_decode.push_back(i);
  }
  decoders_.run(static_cast<int>(to_decode.size()),
                [&](int i, int) { load(to_decode[static_cast<std::size_t>(i)]); });
  std::vector<SearchTask> tasks;
  for (std::size_t i = 0; i < items.size(); ++i) {
    SearchTask task;
    int width = kGeneratedWidth, height = kGeneratedHeight;
    if (items[i].generated) {
      task.generated = items[i].picture;
    } else {
      if (!pictures[i].ok()) continue;  // look() says so, once it is its turn
      task.picture = pictures[i].value()->view();
      task.stays = backgrounds_.is_kept(items[i].picture);
      width = task.picture.width;
      height = task.picture.height;
    }
    const MiningPart of_pass(items[i], {bank_.width(), bank_.height()}, width, height);
    task.dx = of_pass.dx;
    task.dy = of_pass.dy;
    task.factor = of_pass.factor;
    tasks.push_back(task);
    batch.item_of.push_back(i);
  }
  CUFACE_TRY(gpu.begin(tasks, stop));
  batch.is_begun = true;
  return {};
}

void MiningBatches::finish(MiningBatch& batch, GpuMining* gpu) {
  batch.searched = std::vector<SearchedPicture>(batch.items.size());
  if (!gpu || !batch.is_begun) return;
  batch.status = guarded("looking for negatives", [&]() -> Status {
    std::vector<SearchedPicture> found;
    CUFACE_TRY(gpu->end(found));
    for (std::size_t i = 0; i < found.size(); ++i)
      batch.searched[batch.item_of[i]] = std::move(found[i]);
    return {};
  });
}

MinedWindows MiningBatches::look(const MiningBatch& batch, std::size_t at, MiningSearch& search) {
  MinedWindows out;
  const MiningItem& item = batch.items[at];
  const SearchedPicture& searched = batch.searched[at];
  const SearchedPicture* on_gpu = searched.is_searched ? &searched : nullptr;
  if (on_gpu && !on_gpu->too_many && on_gpu->boxes.empty()) {
    out.windows = on_gpu->windows;
    return out;
  }
  out.status = guarded("looking for negatives", [&]() -> Status {
    if (item.generated) {
      if (on_gpu && !on_gpu->pixels.empty()) {
        out = search.look(item, {nullptr, kGeneratedWidth, kGeneratedHeight, kGeneratedWidth},
                          on_gpu);
        return out.status;
      }
      const bool is_there = searched.generated.view().data != nullptr;
      const Image<std::uint8_t> made =
          is_there ? Image<std::uint8_t>() : generate_background(seed_, item.picture);
      out = search.look(item, (is_there ? searched.generated : made).view(), on_gpu);
      return out.status;
    }
    CUFACE_TAKE(picture, batch.pictures[at]);
    if (!picture) CUFACE_TRY(cuface::take(backgrounds_.picture(item.picture), picture));
    out = search.look(item, picture->view(), on_gpu);
    return out.status;
  });
  return out;
}

}  // namespace cuface::train
