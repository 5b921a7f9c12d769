#include "gst/featurematch/cuda_match.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gst/base/cuda/deviceframe.h"
#include "gst/meta/matches.h"
#include "gst/references/cuda_keypoints.h"
#include "kernels/common/try.h"
#include "kernels/features/device_features.h"
#include "kernels/keypoints/cuda/finder.h"
#include "kernels/match/cuda/match_features.h"
#include "kernels/match/cuda/matcher.h"
#include "kernels/match/cuda/placed.h"

namespace cuface::gst {
namespace {

/// What results on the GPU say of the pictures. Never changed again.
struct Pictures {
  std::vector<MatchedPicture> names;
  std::vector<std::vector<Keypoint>> keypoints;
};
using PicturesRef = std::shared_ptr<const Pictures>;

/// How a list in device memory is read: as much of it as there is.
DeviceSlots::Decoder decoder(PicturesRef pictures, int width, int height) {
  const auto list = [](const std::byte* bytes) {
    return reinterpret_cast<const cuda::PlacedMatches*>(bytes);
  };
  return {sizeof(cuda::PlacedMatches),
          [list](const std::byte* bytes) {
            return cuda::placed_matches_bytes(static_cast<std::size_t>(list(bytes)->count));
          },
          [list, pictures, width, height](const std::byte* bytes) -> std::shared_ptr<const void> {
            auto matches = std::make_shared<FrameMatches>();
            matches->width = width;
            matches->height = height;
            matches->pictures = pictures->names;
            for (int i = 0; i < list(bytes)->count; ++i) {
              const cuda::PlacedMatch& one = list(bytes)->all()[i];
              const Keypoint& theirs = pictures->keypoints[static_cast<std::size_t>(one.picture)]
                                                          [static_cast<std::size_t>(one.query)];
              matches->matches.push_back({one.picture, one.at, {theirs.x, theirs.y}, one.distance});
            }
            return matches;
          }};
}

class CudaFeatureMatcher final : public DeviceFeatureMatcher {
 public:
  Result<const FrameFeatures*> find(Frame& frame, const FeaturesFound& found) override {
    CUFACE_TAKE(known, keypoints_on_device(frame, found));
    in_frame_ = known.bytes;
    floats_ = known.floats;
    most_ = known.most;
    return known.outline;
  }

  Status match(Frame& frame, const ReferencePictures& references,
               const MatchConfig& config) override {
    DeviceFrame& device = *frame.device();
    CUFACE_TRY(prepare(device, references, config));
    CUFACE_TAKE(launch, device.launcher());
    CUFACE_TAKE(slots, device.slots(cuda::placed_matches_bytes(all_)));
    CUFACE_TAKE(result, DeviceResult::create<RawDeviceResult>(std::move(slots)));
    result->set_decoder(decoder(pictures_, frame.width(), frame.height()));
    auto* out = reinterpret_cast<cuda::PlacedMatches*>(result->written());
    const cuda::DeviceKeypoints keypoints = cuda::keypoints_of_list(in_frame_, floats_, most_);
    const auto* signs = reinterpret_cast<const std::int8_t*>(signs_.data());
    cuda::DeviceBinarySet bytes{descriptors_.data(), kBinaryBytes, nullptr, 0, kBinaryBytes, signs};
    cuda::DeviceFloatSet floats = floats_of_pictures();
    const auto* binary = reinterpret_cast<const cuda::DeviceFeatures*>(in_frame_);
    const cuda::DeviceFloatFeatures floating{const_cast<std::byte*>(in_frame_), floats_};
    int number = 0;
    for (const std::vector<Keypoint>& picture : pictures_->keypoints) {
      bytes.most = floats.most = static_cast<std::int32_t>(picture.size());
      CUFACE_TRY(floats_ == 0 ? matcher_->enqueue(bytes, cuda::binary_set(binary, most_),
                                                  of_picture_.data(), launch)
                              : matcher_->enqueue(floats, cuda::float_set(floating, most_),
                                                  of_picture_.data(), launch));
      CUFACE_TRY(cuda::append_placed(of_picture_.data(), keypoints, number++, out,
                                     &device.counters()->front(), launch));
      bytes.data += kBinaryBytes * picture.size();
      floats.data += static_cast<std::size_t>(floats_) * picture.size();
      if (signs) bytes.signs = floats.signs += picture.size();
    }
    return device.submit_result<FrameMatches>(std::move(result));
  }

 private:
  /// From their first keypoint on.
  cuda::DeviceFloatSet floats_of_pictures() const {
    const auto* signs = reinterpret_cast<const std::int8_t*>(signs_.data());
    return {reinterpret_cast<const float*>(descriptors_.data()),
            static_cast<std::ptrdiff_t>(sizeof(float)) * floats_,
            nullptr,
            0,
            floats_,
            signs};
  }

  /// Copies what the pictures have where it is new, and makes room for the sets' sizes.
  Status prepare(DeviceFrame& device, const ReferencePictures& references,
                 const MatchConfig& config) {
    const bool is_new = !pictures_ || references.descriptions() != description_;
    if (matcher_ && !is_new && config == config_ && most_ == planned_) return {};
    CUFACE_TRY(device.settle());
    matcher_.reset();
    if (is_new) CUFACE_TRY(copy(device, references));
    std::size_t most = 0;
    all_ = 0;
    for (const std::vector<Keypoint>& picture : pictures_->keypoints) {
      most = std::max(most, picture.size());
      all_ += picture.size();
    }
    cuda::ScratchLayout layout;
    CUFACE_TAKE(made, cuda::Matcher::create(config, static_cast<int>(most), most_, layout));
    of_picture_ = layout.add<std::byte>(cuda::device_matches_bytes(most)).as<cuda::DeviceMatches>();
    CUFACE_TRY(take(cuda::DeviceBuffer<std::byte>::create(layout.bytes()), scratch_));
    CUFACE_TAKE(chain, device.chain());
    CUFACE_TRY(cuda::check(cudaMemsetAsync(scratch_.data(), 0, scratch_.size(), chain->stream()),
                           "clearing GPU memory"));
    made.bind(scratch_.data());
    of_picture_.bind(scratch_.data());
    matcher_.emplace(std::move(made));
    config_ = config;
    planned_ = most_;
    return {};
  }

  Status copy(DeviceFrame& device, const ReferencePictures& references) {
    pictures_.reset();
    auto pictures = std::make_shared<Pictures>();
    pictures->names = references.names();
    std::vector<std::uint8_t> descriptors, signs;
    const auto append = [](std::vector<std::uint8_t>& to, const auto& values) {
      const auto* first = reinterpret_cast<const std::uint8_t*>(values.data());
      to.insert(to.end(), first, first + values.size() * sizeof(values[0]));
    };
    for (const ReferencePictures::Picture& picture : references.pictures()) {
      const Features& found = picture.found;
      pictures->keypoints.push_back(found.keypoints);
      append(descriptors, found.descriptors);
      append(descriptors, found.floats);
      append(signs, found.signs);
    }
    CUFACE_TRY(to_device(device, descriptors, descriptors_));
    CUFACE_TRY(to_device(device, signs, signs_));
    pictures_ = std::move(pictures);
    description_ = references.descriptions();
    return {};
  }

  static Status to_device(DeviceFrame& device, const std::vector<std::uint8_t>& bytes,
                          cuda::DeviceBuffer<std::uint8_t>& to) {
    CUFACE_TRY(take(cuda::DeviceBuffer<std::uint8_t>::create(bytes.size()), to));
    if (bytes.empty()) return {};
    CUFACE_TAKE(chain, device.chain());
    // From memory that is not pinned: read before the call returns.
    return cuda::check(cudaMemcpyAsync(to.data(), bytes.data(), bytes.size(),
                                       cudaMemcpyHostToDevice, chain->stream()),
                       "copying descriptors to the GPU");
  }

  // Of find(): the list, of descriptors of how many floats, and how many it may hold.
  const std::byte* in_frame_ = nullptr;
  int floats_ = 0, most_ = 0;

  // What the matcher was made for.
  PicturesRef pictures_;
  int description_ = 0;  ///< of the references
  MatchConfig config_;
  int planned_ = 0;
  std::size_t all_ = 0;  ///< keypoints of all pictures
  std::optional<cuda::Matcher> matcher_;
  cuda::DeviceBuffer<std::uint8_t> descriptors_;  ///< of the pictures, one after the other
  cuda::DeviceBuffer<std::uint8_t> signs_;
  cuda::DeviceBuffer<std::byte> scratch_;
  cuda::ScratchPart<cuda::DeviceMatches> of_picture_;
};

}  // namespace

std::unique_ptr<DeviceFeatureMatcher> make_device_feature_matcher() {
  return std::make_unique<CudaFeatureMatcher>();
}

}  // namespace cuface::gst
