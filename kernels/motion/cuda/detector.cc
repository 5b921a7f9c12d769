#include "kernels/motion/cuda/detector.h"

#include <utility>
#include <vector>

#include "kernels/common/bits.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/common/try.h"
#include "kernels/motion/counted.h"
#include "kernels/motion/half.h"

namespace cuface::cuda {
namespace {

Status invalid(const char* what) { return {StatusCode::kInvalidArgument, what}; }

constexpr std::size_t kCells = std::size_t{kMostMotionCells} * kMostMotionCells;

}  // namespace

Result<MotionDetector> MotionDetector::create(const MotionConfig& config, int width, int height) {
  MotionDetector made;
  CUFACE_TRY(take(plan_motion(config, width, height), made.plan_));
  const int words = words_of(width);
  const std::size_t map = static_cast<std::size_t>(words) * static_cast<std::size_t>(height);
  const MotionMethod method = made.plan_.config.method;
  const bool edges = method == MotionMethod::kEdges;
  const bool background = method == MotionMethod::kBackground;
  // What the background has is half as wide and as high.
  const int found_width = background ? cuface::motion::half_size(width) : width;
  const int found_height = background ? cuface::motion::half_size(height) : height;
  const int found_words = words_of(found_width);
  const std::size_t found_map =
      static_cast<std::size_t>(found_words) * static_cast<std::size_t>(found_height);
  const std::size_t pixels = found_map * kWordBits;
  constexpr auto kSlots = static_cast<std::size_t>(References::kSlots);
  ScratchLayout layout;
  using Words = ScratchPart<std::uint64_t>;
  Words kept = layout.add<std::uint64_t>(map), mask = layout.add<std::uint64_t>(map);
  auto cell_pixels = layout.add<std::uint32_t>(kCells);
  const auto words_if = [&](bool is) { return layout.add<std::uint64_t>(is ? found_map : 0); };
  const auto slots_if = [&](bool is) { return layout.add<std::uint64_t>(is ? kSlots * map : 0); };
  Words maps = slots_if(edges), widened = slots_if(edges),
        hollow = slots_if(edges && !config.symmetric), found = words_if(!edges),
        moved = words_if(background), near = words_if(background), before = words_if(background);
  auto pictures =
      layout.add<std::uint8_t>(method == MotionMethod::kDifference ? kSlots * pixels : 0);
  constexpr int kOthers = cuface::motion::kModes - 1, kBytePlanes = 2 * kOthers + 5;
  auto first = layout.add<std::uint32_t>(background ? pixels : 0);
  auto means = layout.add<std::uint16_t>(background ? kOthers * pixels : 0);
  auto bytes = layout.add<std::uint8_t>(background ? kBytePlanes * pixels : 0);

  CUFACE_TRY(take(DeviceBuffer<std::byte>::create(layout.bytes()), made.bytes_));
  CUFACE_TRY(take(DeviceBuffer<motion::MotionMemory>::create(1), made.memory_));
  CUFACE_TRY(check(cudaMemset(made.bytes_.data(), 0, made.bytes_.size()), "clearing motion"));
  CUFACE_TRY(
      check(cudaMemset(made.memory_.data(), 0, sizeof(motion::MotionMemory)), "clearing motion"));
  std::byte* all = made.bytes_.data();
  for (Words* part : {&kept, &mask, &maps, &widened, &hollow, &found, &moved, &near, &before})
    part->bind(all);
  cell_pixels.bind(all);
  pictures.bind(all);
  first.bind(all);
  means.bind(all);
  bytes.bind(all);

  const auto view_of = [](const Words& part, int wide, int high) {
    return ImageView<std::uint64_t>{part.data(), wide, high,
                                    wide * static_cast<std::ptrdiff_t>(sizeof(std::uint64_t))};
  };
  const auto whole = [&](const Words& part) { return view_of(part, words, height); };
  const auto view = [&](const Words& part) { return view_of(part, found_words, found_height); };
  made.kept_ = kept.data();
  made.cell_pixels_ = cell_pixels.data();
  CUFACE_TAKE(early, motion::follow_can_be_early());
  const auto slots = [&](const Words& part) {
    return motion::Slots<std::uint64_t>{part.data(), words, height};
  };
  made.views_ = {whole(kept),    {cell_pixels.data(), 0, 0},
                 whole(mask),    slots(maps),
                 slots(widened), slots(hollow),
                 view(found),    view(moved),
                 view(near),     view(before),
                 early};
  made.pictures_ = {pictures.data(), words * kWordBits, height};
  motion::ModeSlots& planes = made.planes_;
  planes.stride = found_words * kWordBits;
  std::uint8_t* next = bytes.data();
  const auto plane = [&] { return std::exchange(next, next + (background ? pixels : 0)); };
  planes.first = first.data();
  for (int k = 1; k < cuface::motion::kModes; ++k) {
    planes.mean[k] = means.data() + (background ? static_cast<std::size_t>(k - 1) * pixels : 0);
    planes.weight[k] = plane();
    planes.spread[k] = plane();
  }
  for (int i = 0; i < 2; ++i) {
    planes.restless[i] = plane();
    planes.grey[i] = plane();
  }
  planes.flags = plane();
  CUFACE_TRY(made.ignore({}));
  return Result<MotionDetector>(std::move(made));
}

Status MotionDetector::ignore(ImageView<const std::uint8_t> pixels) {
  if (pixels.data && (pixels.width != plan_.width || pixels.height != plan_.height))
    return invalid("a mask of another size than the pictures");
  cuface::motion::CountedPixels counted(plan_);
  counted.ignore(pixels);
  const cuface::motion::Bits kept = counted.kept();
  std::vector<std::uint64_t> words;
  for (int y = 0; y < kept.height; ++y)
    words.insert(words.end(), kept.row(y), kept.row(y) + kept.width);
  if (plan_.config.method == MotionMethod::kEdges)
    views_.kept.data = pixels.data || plan_.config.border > 0 ? kept_ : nullptr;
  CUFACE_TRY(check(cudaDeviceSynchronize(), "waiting for frames before"));
  CUFACE_TRY(
      check(cudaMemcpy(kept_, words.data(), words.size() * sizeof words[0], cudaMemcpyHostToDevice),
            "uploading what is ignored"));
  motion::Counted& sums = views_.counted;
  sums.pixels = 0;
  sums.cells = 0;
  for (std::size_t i = 0; i < kCells; ++i) {
    sums.pixels += counted.cell_pixels()[i];
    sums.cells += counted.cell_pixels()[i] > 0;
  }
  CUFACE_TRY(check(cudaMemcpy(cell_pixels_, counted.cell_pixels(), kCells * sizeof(std::uint32_t),
                              cudaMemcpyHostToDevice),
                   "uploading the pixels of cells"));
  return check(cudaDeviceSynchronize(), "uploading what is ignored");
}

void MotionDetector::forget() {
  references_ = {};
  frame_.forget = 1;
}

motion::MotionFrame MotionDetector::next(std::int64_t time) {
  motion::MotionFrame frame = frame_;
  frame_.forget = frame_.finish = 0;
  frame.time = time;
  if (plan_.config.method == MotionMethod::kBackground) return frame;
  const References::Choice slots = references_.choose(time, plan_.config.interval);
  frame.now = slots.now;
  frame.then = slots.then;
  return frame;
}

Status MotionDetector::enqueue(ImageView<const std::uint8_t> picture, std::int64_t time,
                               MotionResult* out, Launcher launch) {
  if (plan_.config.method == MotionMethod::kEdges)
    return invalid("a grey picture for the method edges");
  if (picture.width != plan_.width || picture.height != plan_.height)
    return invalid("a picture of another size than planned");
  const motion::MotionFrame frame = next(time);
  if (plan_.config.method == MotionMethod::kBackground)
    CUFACE_TRY(motion::look_at_background(picture, frame, planes_, views_, memory_.data(), launch));
  else
    CUFACE_TRY(motion::differ(picture, frame, pictures_, views_, memory_.data(), launch));
  return motion::finish_mask(plan_, views_, memory_.data(), out, counters_, launch);
}

Status MotionDetector::enqueue(ImageView<const std::uint64_t> edges, std::int64_t time,
                               MotionResult* out, Launcher launch) {
  if (plan_.config.method != MotionMethod::kEdges)
    return invalid("a bit map of edges for another method");
  if (edges.width != words_of(plan_.width) || edges.height != plan_.height)
    return invalid("a picture of another size than planned");
  return motion::mask_edges(edges, plan_, next(time), views_, memory_.data(), out, counters_,
                            launch);
}

}  // namespace cuface::cuda
