#include "kernels/planar/cuda/objects.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/common/cuda/tables.h"
#include "kernels/common/try.h"
#include "kernels/flow/cuda/lucas_kanade.h"
#include "kernels/keypoints/cuda/finder.h"
#include "kernels/match/cuda/match_features.h"
#include "kernels/planar/followed.h"
#include "kernels/planar/rules.h"

namespace cuface::cuda {
namespace {

Status copy_picture(ImageView<const std::uint8_t> from, ImageView<std::uint8_t> to) {
  return check(
      cudaMemcpy2DAsync(to.data, static_cast<std::size_t>(to.stride), from.data,
                        static_cast<std::size_t>(from.stride), static_cast<std::size_t>(from.width),
                        static_cast<std::size_t>(from.height), cudaMemcpyHostToDevice, nullptr),
      "copying a picture to the GPU");
}

Status wait() { return check(cudaStreamSynchronize(nullptr), "copying references to the GPU"); }

}  // namespace

Result<PlanarObjects> PlanarObjects::create(const std::vector<Reference>& references,
                                            const PlanarSearchConfig& config,
                                            const std::vector<std::uint64_t>& ids) {
  // The host's own says what is wrong with them.
  CUFACE_TRY(cuface::PlanarObjects::create(references, config).status());
  PlanarObjects made;
  made.config_ = config;
  std::vector<std::vector<Point>> followed;
  std::size_t stride = 1;
  for (const Reference& reference : references) {
    const ImageView<const std::uint8_t> picture = reference.picture;
    followed.push_back(cuface::planar::spread_points(reference.features->keypoints, picture.width,
                                                     picture.height, config.planar.points));
    stride = std::max(stride, followed.back().size());
    CUFACE_TAKE(image, DeviceImage<std::uint8_t>::create(picture.width, picture.height));
    CUFACE_TRY(copy_picture(picture, image.view()));
    CUFACE_TAKE(octaves, GaussianPyramid::create(picture.width, picture.height));
    CUFACE_TRY(octaves->enqueue(std::as_const(image).view(), Launcher(cudaStream_t{})));
    planar::Model model{};
    model.octaves = octaves->levels();
    for (int i = 0; i < octaves->levels(); ++i) model.octave[i] = octaves->level(i);
    model.points = static_cast<std::int32_t>(followed.back().size());
    model.homography = config.planar.homography;
    model.homography.width = static_cast<float>(picture.width);
    model.homography.height = static_cast<float>(picture.height);
    made.host_models_.push_back(model);
    made.pictures_.push_back(std::move(image));
    made.octaves_.push_back(std::move(octaves));
  }
  CUFACE_TRY(wait());
  const std::size_t count = references.size();
  std::vector<Point> points(count * stride);
  for (std::size_t o = 0; o < count; ++o)
    std::ranges::copy(followed[o], points.begin() + static_cast<std::ptrdiff_t>(o * stride));
  CUFACE_TRY(take(upload(points), made.points_));
  CUFACE_TRY(take(upload(std::vector<std::uint8_t>(points.size())), made.alike_));
  std::vector<planar::Object> objects(count);
  std::vector<planar::Shared> shared(1);
  for (std::size_t o = 0; o < std::min(count, ids.size()); ++o) {
    objects[o].id = ids[o];
    shared[0].ids = std::max(shared[0].ids, ids[o]);
  }
  CUFACE_TRY(take(upload(objects), made.objects_));
  CUFACE_TRY(take(upload(shared), made.shared_));
  made.work_.count = static_cast<std::int32_t>(count);
  made.work_.stride = static_cast<std::int32_t>(stride);
  made.work_.least_matches = config.planar.least_matches;
  made.work_.least_found = config.planar.least_found;
  made.work_.least_followed = config.planar.least_followed;
  std::vector<const Features*> features;
  for (const Reference& reference : references) features.push_back(reference.features);
  CUFACE_TRY(made.describe(features));
  return Result<PlanarObjects>(std::move(made));
}

Result<std::vector<std::uint64_t>> PlanarObjects::ids() const {
  std::vector<planar::Object> objects(objects_.size());
  CUFACE_TRY(check(
      cudaMemcpyAsync(objects.data(), objects_.data(), objects.size() * sizeof(planar::Object),
                      cudaMemcpyDeviceToHost, nullptr),
      "copying ids from the GPU"));
  CUFACE_TRY(wait());
  std::vector<std::uint64_t> ids;
  for (const planar::Object& object : objects) ids.push_back(object.id);
  return ids;
}

Status PlanarObjects::describe(const std::vector<const Features*>& features) {
  std::vector<Keypoint> keypoints;
  std::vector<std::uint8_t> descriptors;
  std::vector<std::int8_t> signs;
  first_keypoint_.clear();
  floats_ = -1;
  for (std::size_t o = 0; o < features.size(); ++o) {
    const Features& found = *features[o];
    const int floats = static_cast<int>(found.floats_each());
    if (!found.keypoints.empty() && floats_ >= 0 && floats != floats_)
      return {StatusCode::kInvalidArgument, "planar: descriptors have several sizes"};
    if (!found.keypoints.empty()) floats_ = floats;
    first_keypoint_.push_back(keypoints.size());
    host_models_[o].first_match = static_cast<std::int32_t>(keypoints.size());
    host_models_[o].keypoints = static_cast<std::int32_t>(found.keypoints.size());
    keypoints.insert(keypoints.end(), found.keypoints.begin(), found.keypoints.end());
    descriptors.insert(descriptors.end(), found.descriptors.begin(), found.descriptors.end());
    const auto* first = reinterpret_cast<const std::uint8_t*>(found.floats.data());
    descriptors.insert(descriptors.end(), first, first + found.floats.size() * sizeof(float));
    signs.insert(signs.end(), found.signs.begin(), found.signs.end());
  }
  first_keypoint_.push_back(keypoints.size());
  floats_ = std::max(floats_, 0);
  CUFACE_TRY(take(upload(keypoints), keypoints_));
  CUFACE_TRY(take(upload(descriptors), descriptors_));
  CUFACE_TRY(take(upload(signs), signs_));
  CUFACE_TRY(take(upload(host_models_), models_));
  return width_ > 0 ? plan() : Status();
}

Status PlanarObjects::resize(int width, int height) {
  width_ = width;
  height_ = height;
  lose();
  return plan();
}

Status PlanarObjects::expect(int most_known) {
  most_known_ = most_known;
  return plan();
}

/// Places what steps leave each other, and finds and matches keypoints with.
Status PlanarObjects::plan() {
  detector_.reset();
  matcher_.reset();
  work_.models = models_.data();
  work_.objects = objects_.data();
  work_.shared = shared_.data();
  work_.points = points_.data();
  work_.alike = alike_.data();
  if (floats_ > 0 && most_known_ == 0) return {};  // until expect()
  const std::size_t points =
      static_cast<std::size_t>(work_.count) * static_cast<std::size_t>(work_.stride);
  const std::size_t keypoints = first_keypoint_.back();
  std::size_t most = 0;
  for (const planar::Model& model : host_models_)
    most = std::max(most, static_cast<std::size_t>(model.keypoints));
  ScratchLayout layout;
  int in_frame = most_known_;
  if (in_frame == 0) {
    CUFACE_TAKE(detector, OrbDetector::create(config_.features.orb, width_, height_, layout));
    detector_.emplace(std::move(detector));
    found_ = layout.add<std::byte>(device_features_bytes(detector_->most()));
    in_frame = static_cast<int>(std::min<std::size_t>(detector_->most(), kMostKeypoints));
  }
  MatchConfig match = config_.match;
  if (floats_ > 0) match.sign_check = true;
  CUFACE_TAKE(matcher, Matcher::create(match, static_cast<int>(most), in_frame, layout));
  matcher_.emplace(std::move(matcher));
  matches_ = layout.add<std::byte>(device_matches_bytes(most)).as<DeviceMatches>();
  auto from = layout.add<Point>(points), before = layout.add<Point>(points),
       after = layout.add<Point>(points), pair_from = layout.add<Point>(points),
       pair_to = layout.add<Point>(points), match_from = layout.add<Point>(2 * keypoints),
       match_to = layout.add<Point>(2 * keypoints);
  auto match_turn = layout.add<float>(2 * keypoints);
  auto status = layout.add<std::uint8_t>(points), inlier = layout.add<std::uint8_t>(points),
       match_inlier = layout.add<std::uint8_t>(keypoints);
  CUFACE_TRY(take(DeviceBuffer<std::byte>::create(layout.bytes()), scratch_));
  CUFACE_TRY(
      check(cudaMemsetAsync(scratch_.data(), 0, scratch_.size(), nullptr), "clearing GPU memory"));
  CUFACE_TRY(wait());
  for (auto* part : {&from, &before, &after, &pair_from, &pair_to, &match_from, &match_to})
    part->bind(scratch_.data());
  for (auto* part : {&status, &inlier, &match_inlier}) part->bind(scratch_.data());
  match_turn.bind(scratch_.data());
  if (detector_) {
    detector_->bind(scratch_.data());
    found_.bind(scratch_.data());
  }
  matcher_->bind(scratch_.data());
  matches_.bind(scratch_.data());
  work_.from = from.data();
  work_.before = before.data();
  work_.after = after.data();
  work_.status = status.data();
  work_.pair_from = pair_from.data();
  work_.pair_to = pair_to.data();
  work_.match_from = match_from.data();
  work_.match_to = match_to.data();
  work_.match_turn = match_turn.data();
  work_.inlier = inlier.data();
  work_.match_inlier = match_inlier.data();
  work_.matches = static_cast<std::int32_t>(keypoints);
  return {};
}

Status PlanarObjects::search(ImageView<const std::uint8_t> frame, const std::byte* known,
                             Launcher launch) {
  if (detector_) {
    CUFACE_TRY(detector_->enqueue(frame, reinterpret_cast<DeviceFeatures*>(found_.data()), launch));
    known = found_.data();
  }
  const int most =
      std::min(detector_ ? static_cast<int>(detector_->most()) : most_known_, kMostKeypoints);
  const DeviceKeypoints keypoints = keypoints_of_list(known, floats_, most);
  for (int o = 0; o < work_.count; ++o) {
    const planar::Model& model = host_models_[static_cast<std::size_t>(o)];
    if (model.keypoints == 0) continue;
    const std::size_t first = first_keypoint_[static_cast<std::size_t>(o)];
    const std::int32_t* wanted = &work_.objects[o].wanted;
    if (floats_ == 0) {
      const DeviceBinarySet in_picture{descriptors_.data() + kBinaryBytes * first, kBinaryBytes,
                                       wanted, model.keypoints, kBinaryBytes};
      const auto* list = reinterpret_cast<const DeviceFeatures*>(known);
      CUFACE_TRY(matcher_->enqueue(in_picture, binary_set(list, most), matches_.data(), launch));
    } else {
      const std::size_t each = static_cast<std::size_t>(floats_) * sizeof(float);
      const DeviceFloatSet in_picture{
          reinterpret_cast<const float*>(descriptors_.data() + each * first),
          static_cast<std::ptrdiff_t>(each),
          wanted,
          model.keypoints,
          floats_,
          signs_.data() + first};
      const DeviceFloatFeatures list{const_cast<std::byte*>(known), floats_};
      CUFACE_TRY(matcher_->enqueue(in_picture, float_set(list, most), matches_.data(), launch));
    }
    CUFACE_TRY(
        planar::pair(work_, o, matches_.data(), keypoints_.data() + first, keypoints, launch));
  }
  for (int attempt = 0; attempt < cuface::planar::kMostAttempts; ++attempt) {
    CUFACE_TRY(planar::guess(work_, attempt, launch));
    for (int round = 0; round < cuface::planar::kRounds; ++round) {
      CUFACE_TRY(planar::look(work_, frame, planar::Looks::kForMap,
                              round == cuface::planar::kRounds - 1, launch));
      CUFACE_TRY(planar::fit(work_, round, launch));
    }
  }
  for (int round = 0; round < cuface::planar::kMostGrowths; ++round) {
    CUFACE_TRY(planar::look(work_, frame, planar::Looks::kForMore, true, launch));
    CUFACE_TRY(planar::grow(work_, launch));
  }
  return {};
}

Status PlanarObjects::enqueue(std::shared_ptr<GaussianPyramid> now, const std::byte* known,
                              std::uint64_t frame, DevicePlanarObjects* out, PlanarCounts* counted,
                              Launcher launch) {
  if (!now || now->level(0).width != width_ || now->level(0).height != height_)
    return {StatusCode::kInvalidArgument, "planar: the picture is not of the planned size"};
  if ((known == nullptr) != (most_known_ == 0) || !matcher_)
    return {StatusCode::kInvalidArgument, "planar: keypoints are not as they were expected"};
  GaussianPyramid &next = *now, &prev = before_ ? *before_ : next;
  const int levels = flow_levels(next, config_.planar.flow);
  for (GaussianPyramid* pyramid : {&next, &prev}) CUFACE_TRY(pyramid->enqueue(levels, launch));
  const ImageView<const std::uint8_t> picture = next.level(0);
  const bool searches = frame % static_cast<std::uint64_t>(config_.interval) == 0;
  CUFACE_TRY(planar::begin(work_, {frame, before_ == nullptr, searches}, launch));
  FlowPoints flow;
  flow.from = work_.before;
  flow.count = &shared_.data()->flows;
  flow.max_count = work_.count * work_.stride;
  flow.to = work_.after;
  flow.status = work_.status;
  CUFACE_TRY(enqueue_flow(prev, next, flow, config_.planar.flow, launch));
  CUFACE_TRY(planar::carry(work_, launch));
  CUFACE_TRY(planar::look(work_, picture, planar::Looks::kForMap, true, launch));
  CUFACE_TRY(planar::fit(work_, planar::kFollowing, launch));
  CUFACE_TRY(planar::decide(work_, launch));
  launch.begin_if(&shared_.data()->run);
  const Status searched = search(picture, known, launch);
  launch.end_if();
  CUFACE_TRY(searched);
  CUFACE_TRY(planar::write(work_, planar::Written::kLookedAt, out, counted, launch));
  before_ = std::move(now);
  return {};
}

Status PlanarObjects::rest(DevicePlanarObjects* out, PlanarCounts* counted, Launcher launch) {
  return planar::write(work_, before_ ? planar::Written::kAtRest : planar::Written::kLost, out,
                       counted, launch);
}

}  // namespace cuface::cuda
