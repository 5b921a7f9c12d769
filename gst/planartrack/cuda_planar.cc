#include "gst/planartrack/cuda_planar.h"

#include <optional>
#include <utility>

#include "gst/base/cuda/deviceframe.h"
#include "gst/planartrack/pose.h"
#include "gst/references/cuda_keypoints.h"
#include "kernels/common/try.h"
#include "kernels/planar/cuda/objects.h"

namespace cuface::gst {
namespace {

using Names = std::shared_ptr<const std::vector<MatchedPicture>>;

static_assert(sizeof(cuda::PlanarCounts) <= sizeof(Counts));

/// How a list in device memory is read: as much of it as there is.
DeviceSlots::Decoder decoder(Names names, int width, int height) {
  const auto list = [](const std::byte* bytes) {
    return reinterpret_cast<const cuda::DevicePlanarObjects*>(bytes);
  };
  return {sizeof(cuda::DevicePlanarObjects),
          [list](const std::byte* bytes) {
            return cuda::device_planar_bytes(static_cast<std::size_t>(list(bytes)->count));
          },
          [list, names, width, height](const std::byte* bytes) -> std::shared_ptr<const void> {
            auto planar = std::make_shared<FramePlanar>();
            planar->width = width;
            planar->height = height;
            planar->pictures = *names;
            for (int i = 0; i < list(bytes)->count; ++i) {
              const cuda::DevicePlanarObject& one = list(bytes)->all()[i];
              planar->objects.push_back(object_of(one.pose, one.picture, one.id));
            }
            return planar;
          }};
}

class CudaPlanarFinder final : public DevicePlanarFinder {
 public:
  explicit CudaPlanarFinder(cuda::PlanarObjects objects) : objects_(std::move(objects)) {}

  Result<const FrameFeatures*> find(Frame& frame, const FeaturesFound& found) override {
    CUFACE_TRY(take(keypoints_on_device(frame, found), known_));
    return known_.outline;
  }

  Result<PlanarFound> look(Frame& frame, const ReferencePictures& references,
                           std::uint64_t number) override {
    DeviceFrame& device = *frame.device();
    CUFACE_TRY(prepare(device, references));
    CUFACE_TAKE(launch, device.launcher());
    CUFACE_TAKE(pyramid, device.pyramid());
    CUFACE_TRY(device.keep(objects_.before()));
    CUFACE_TAKE(result, new_result(frame));
    CUFACE_TRY(objects_.enqueue(std::move(pyramid), known_.bytes, number, list_of(*result),
                                counts(device), launch));
    return submit(frame, std::move(result));
  }

  Result<PlanarFound> rest(Frame& frame) override {
    DeviceFrame& device = *frame.device();
    CUFACE_TAKE(launch, device.launcher());
    CUFACE_TAKE(result, new_result(frame));
    CUFACE_TRY(objects_.rest(list_of(*result), counts(device), launch));
    return submit(frame, std::move(result));
  }

  void lose() override { objects_.lose(); }
  Result<std::vector<std::uint64_t>> ids() const override { return objects_.ids(); }

  Status begin(const ReferencePictures& references, int width, int height) {
    names_ = std::make_shared<const std::vector<MatchedPicture>>(references.names());
    description_ = references.descriptions();
    return objects_.resize(width, height);
  }

 private:
  Status prepare(DeviceFrame& device, const ReferencePictures& references) {
    const bool is_new = references.descriptions() != description_;
    if (!is_new && known_.most == most_) return {};
    CUFACE_TRY(device.settle());
    if (is_new) {
      std::vector<const Features*> features;
      for (const auto& picture : references.pictures()) features.push_back(&picture.found);
      CUFACE_TRY(objects_.describe(features));
      names_ = std::make_shared<const std::vector<MatchedPicture>>(references.names());
      description_ = references.descriptions();
    }
    most_ = known_.most;
    return objects_.expect(most_);
  }

  Result<std::shared_ptr<RawDeviceResult>> new_result(Frame& frame) {
    const auto count = static_cast<std::size_t>(objects_.count());
    CUFACE_TAKE(slots, frame.device()->slots(cuda::device_planar_bytes(count)));
    CUFACE_TAKE(result, DeviceResult::create<RawDeviceResult>(std::move(slots)));
    result->set_decoder(decoder(names_, frame.width(), frame.height()));
    return result;
  }
  static cuda::DevicePlanarObjects* list_of(RawDeviceResult& result) {
    return reinterpret_cast<cuda::DevicePlanarObjects*>(result.written());
  }
  static cuda::PlanarCounts* counts(const DeviceFrame& device) {
    return reinterpret_cast<cuda::PlanarCounts*>(device.counters());
  }

  static Result<PlanarFound> submit(Frame& frame, std::shared_ptr<RawDeviceResult> result) {
    PlanarFound found(result, frame.width(), frame.height());
    CUFACE_TRY(frame.device()->submit_result<FramePlanar>(std::move(result)));
    return found;
  }

  cuda::PlanarObjects objects_;
  Names names_;
  int description_ = 0;  ///< of the references
  KeypointList known_;   ///< of find()
  int most_ = 0;         ///< keypoints that the objects expect
};

}  // namespace

bool can_match_on_gpu(const Frame& frame, const FeaturesFound& found) {
  return list_on_device(frame, found) != nullptr;
}

DevicePlanarResult make_device_planar_finder(const ReferencePictures& references,
                                             const PlanarSearchConfig& config, int width,
                                             int height, const std::vector<std::uint64_t>& ids) {
  std::vector<PlanarObjects::Reference> pictures;
  for (const ReferencePictures::Picture& picture : references.pictures())
    pictures.push_back({picture.grey.view(), &picture.found});
  auto made = cuda::PlanarObjects::create(pictures, config, ids);
  if (!made.ok()) return Status(made.status().code(), "reference: " + made.status().message());
  auto finder = std::make_unique<CudaPlanarFinder>(std::move(made.value()));
  CUFACE_TRY(finder->begin(references, width, height));
  return DevicePlanarResult(std::move(finder));
}

}  // namespace cuface::gst
