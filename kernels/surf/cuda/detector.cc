#include "kernels/surf/cuda/detector.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernels/common/cuda/tables.h"
#include "kernels/common/try.h"
#include "kernels/surf/cuda/descriptors.h"
#include "kernels/surf/cuda/find.h"
#include "kernels/surf/cuda/patches.h"
#include "kernels/surf/cuda/strongest.h"

namespace cuface::cuda {
namespace {

using cuface::surf::LayerPlan;
using cuface::surf::WaveletBox;

Status invalid(const std::string& what) { return {StatusCode::kInvalidArgument, what}; }

surf::Layer layer_of(const LayerPlan& plan, int words_of_row) {
  surf::Layer out{};
  out.scale = plan;
  out.across = plan.across;
  out.down = plan.down;
  const auto at = [&](int x, int y) { return y * words_of_row + x; };
  const WaveletBox *xx = plan.xx, *yy = plan.yy, *xy = plan.xy;
  const int columns[4] = {xx[0].x0, xx[1].x0, xx[2].x0, xx[2].x1},
            rows[4] = {yy[0].y0, yy[1].y0, yy[2].y0, yy[2].y1},
            quarters[4] = {xy[0].x0, xy[0].x1, xy[1].x0, xy[1].x1};
  for (int i = 0; i < 4; ++i) {
    out.xx[0][i] = at(columns[i], xx[0].y0);
    out.xx[1][i] = at(columns[i], xx[0].y1);
    out.yy[i][0] = at(yy[0].x0, rows[i]);
    out.yy[i][1] = at(yy[0].x1, rows[i]);
    for (int k = 0; k < 4; ++k) out.xy[i][k] = at(quarters[k], quarters[i]);
    out.of_xy[i] = xy[i].weight;
  }
  for (int i = 0; i < 3; ++i) {
    out.of_xx[i] = xx[i].weight;
    out.of_yy[i] = yy[i].weight;
  }
  return out;
}

}  // namespace

Result<SurfDetector> SurfDetector::create(const SurfConfig& config, int width, int height,
                                          int most_given, ScratchLayout& layout) {
  CUFACE_TRY(validate(config));
  CUFACE_TRY(cuface::surf::validate_size(width, height));
  if (most_given < 0 || most_given > kMostKeypoints)
    return invalid("0 to " + std::to_string(kMostKeypoints) + " keypoints can be given");
  SurfDetector made(config);
  made.width_ = width;
  made.height_ = height;
  made.shape_ = cuface::surf::shape_of(config);
  made.most_ = static_cast<std::size_t>(most_given);
  made.integral_.plan(width, height, false, layout, false);
  if (most_given == 0) {
    made.plan_layers();
    made.most_ = std::min(made.most_found_, static_cast<std::size_t>(config.max_keypoints));
    made.found_ = layout.add<surf::Found>(made.most_found_);
    made.responses_ = layout.add<float>(made.most_found_);
    made.chosen_ = layout.add<surf::Chosen>(made.most_found_);
  }
  made.counts_ = layout.add<std::uint32_t>(surf::kCounts);
  const auto pixels = static_cast<std::size_t>(made.shape_.pixels());
  if (made.is_patch()) {
    made.windows_ = layout.add<surf::Window>(made.most_);
    made.parts_ = layout.add<surf::WindowPart>(made.most_ * pixels);
    made.patches_ = layout.add<std::uint8_t>(made.most_ * pixels * pixels);
  }
  if (config.sampling == SurfSampling::kMipmap) made.mipmap_.plan(width, height, layout);
  CUFACE_TRY(made.upload_tables());
  return Result<SurfDetector>(std::move(made));
}

void SurfDetector::plan_layers() {
  octaves_.count = config_.octaves;
  octaves_.layers = config_.layers;
  octaves_.threshold = config_.threshold;
  const auto half = [](int n) { return static_cast<std::size_t>((n + 1) / 2); };
  for (int i = 0; i < config_.octaves; ++i) {
    const int columns = width_ >> i, rows = height_ >> i;
    const auto tiles = [](int n) { return (n + surf::kTile - 1) / surf::kTile; };
    octaves_.all[i] = {columns, rows, tiles(columns), octaves_.tiles};
    octaves_.tiles += static_cast<std::uint32_t>(tiles(columns) * tiles(rows));
    // Of two places beside each other, in any direction, one is a maximum at most.
    most_found_ += half(columns) * half(rows) * half(config_.layers);
  }
}

Status SurfDetector::upload_tables() {
  CUFACE_TRY(take(upload(cuface::surf::ring_samples()), ring_));
  CUFACE_TRY(take(upload(cuface::surf::descriptor_weights(shape_)), weights_));
  std::vector<surf::Layer> layers;
  const auto add = [&](int octave, int words_of_row) {
    for (int i = 0; i < octaves_.layers + 2; ++i)
      layers.push_back(layer_of(LayerPlan(octave, i, width_, height_), words_of_row));
  };
  for (int octave = 0; octave < octaves_.count; ++octave) add(octave, integral_.words_of_row());
  if (octaves_.count > 0) add(0, surf::kCopyPitch);
  return take(upload(layers), layers_);
}

void SurfDetector::bind(std::byte* scratch) {
  integral_.bind(scratch);
  mipmap_.bind(scratch);
  counts_.bind(scratch);
  found_.bind(scratch);
  responses_.bind(scratch);
  chosen_.bind(scratch);
  windows_.bind(scratch);
  parts_.bind(scratch);
  patches_.bind(scratch);
}

Status SurfDetector::validate_picture(ImageView<const std::uint8_t> grey) const {
  if (grey.data && grey.width == width_ && grey.height == height_) return {};
  return invalid("the picture has another size");
}

surf::BlobWork SurfDetector::work() const {
  std::uint32_t* counts = counts_.data();
  return {
      found_.data(), responses_.data(), counts,         chosen_.data(),
      counts + 1,    windows_.data(),   parts_.data(),  static_cast<std::uint32_t>(parts_.size()),
      counts + 2,    counts + 4,        patches_.data()};
}

surf::Tables SurfDetector::tables() const {
  return {ring_.data(), static_cast<std::int32_t>(ring_.size()), weights_.data(),
          config_.orientation, cuface::surf::coding_of(config_)};
}

Status SurfDetector::enqueue_sums(ImageView<const std::uint8_t> grey, Launcher launch) const {
  const Zeros zeros{reinterpret_cast<uint4*>(counts_.data()),
                    surf::kCounts * sizeof(std::uint32_t) / sizeof(uint4)};
  return integral_.enqueue(grey, nullptr, zeros, launch);
}

Status SurfDetector::enqueue(ImageView<const std::uint8_t> grey, std::byte* out, Launcher launch,
                             std::uint64_t* counted) const {
  CUFACE_TRY(validate_picture(grey));
  if (octaves_.count == 0) return invalid("made for given keypoints");
  const DeviceFloatFeatures list{out, floats()};
  const surf::SummedPicture picture{grey, integral_.sums()};
  const int most = static_cast<int>(most_), pixels = is_patch() ? shape_.pixels() : 0;
  CUFACE_TRY(enqueue_sums(grey, launch));
  if (octaves_.tiles > 0)
    CUFACE_TRY(surf::find(octaves_, layers_.data(), picture.sums, config_.upright, tables(), work(),
                          launch));
  CUFACE_TRY(surf::choose(most, work(), launch));
  CUFACE_TRY(surf::place(picture, tables(), config_.upright, most, pixels, work(), list, launch));
  return enqueue_descriptors(picture, most, list, counted, launch);
}

Status SurfDetector::describe(ImageView<const std::uint8_t> grey, const DeviceKeypoints& given,
                              std::byte* out, Launcher launch, std::uint64_t* counted) const {
  CUFACE_TRY(validate_picture(grey));
  if (given.most < 0 || static_cast<std::size_t>(given.most) > most_)
    return invalid("more keypoints may be given than planned");
  const DeviceFloatFeatures list{out, floats()};
  const surf::SummedPicture picture{grey, integral_.sums()};
  CUFACE_TRY(enqueue_sums(grey, launch));
  CUFACE_TRY(surf::admit(picture, tables(), config_.upright, given,
                         is_patch() ? shape_.pixels() : 0, work(), list, launch));
  return enqueue_descriptors(picture, given.most, list, counted, launch);
}

Status SurfDetector::enqueue_descriptors(const surf::SummedPicture& picture, int most,
                                         const DeviceFloatFeatures& out, std::uint64_t* counted,
                                         Launcher launch) const {
  switch (config_.sampling) {
    case SurfSampling::kIntegral:
      return surf::describe_sums(picture, shape_, tables(), most, out, counted, launch);
    case SurfSampling::kMipmap:
      CUFACE_TRY(mipmap_.enqueue(picture.grey, launch));
      return surf::describe_mipmap(mipmap_.view(picture.grey), shape_, tables(), most, out, counted,
                                   launch);
    case SurfSampling::kPatch:
      break;
  }
  CUFACE_TRY(surf::resize_windows(picture, shape_.pixels(), config_.upright, most, work(), launch));
  return surf::describe_patches(patches_.data(), shape_, tables(), most, out, counted, launch);
}

}  // namespace cuface::cuda
