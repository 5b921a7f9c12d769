// What searches on the CPU have in common, whatever they search with.
#pragma once

#include <utility>

#include "gst/facedetect/backend.h"

namespace cuface::gst {

/// Decides when to search, and joins what a search finds with the faces before.
class CpuBackend : public DetectBackend {
 public:
  void restart() override;
  Result<FaceResult> run(Frame& frame, const DetectSettings& settings,
                         const SearchInputs& inputs) override;

 protected:
  explicit CpuBackend(BackendOwner owner) : owner_(std::move(owner)) {}
  const BackendOwner& owner() const { return owner_; }

  /// The faces in that part of the frame.
  virtual Result<FaceList> search(Frame& frame, const DetectSettings& settings,
                                  const SearchInputs& inputs, const SearchRegion& what) = 0;

 private:
  const BackendOwner owner_;
  SearchSchedule schedule_;
};

}  // namespace cuface::gst
