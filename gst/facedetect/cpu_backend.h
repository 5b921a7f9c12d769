// The common part of searches on the CPU, with a cascade or a network.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "gst/facedetect/backend.h"
#include "kernels/detect/schedule.h"
#include "kernels/faces/followed.h"

namespace cuface::gst {

/// The result of a search.
struct Searched {
  SearchRegion what;  ///< count 0 = nothing: nothing has changed
  FaceList faces;
  /// For SearchSchedule.
  std::int32_t pause = kUsualPause, rest = kUsualPause;
};

/// Decides when to search, and joins what a search finds with the faces before.
class CpuBackend : public DetectBackend {
 public:
  void restart() override;
  Result<FaceResult> run(Frame& frame, const DetectSettings& settings,
                         const SearchInputs& inputs) override;

 protected:
  explicit CpuBackend(BackendOwner owner) : owner_(std::move(owner)) {}
  const BackendOwner& owner() const { return owner_; }
  /// The faces that a tracker on the CPU follows. Valid until the next call.
  std::span<const Followed> followed_by(const Frame& frame, const SearchInputs& inputs);

  /// The faces in that part of the frame.
  virtual Result<Searched> search(Frame& frame, const DetectSettings& settings,
                                  const SearchInputs& inputs, const SearchRegion& what) = 0;

 private:
  const BackendOwner owner_;
  SearchSchedule schedule_;
  std::vector<Followed> followed_;
};

}  // namespace cuface::gst
