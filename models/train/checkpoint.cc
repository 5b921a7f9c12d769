#include "models/train/checkpoint.h"

#include "kernels/common/guarded.h"
#include "kernels/common/try.h"

namespace cuface::train {
namespace {

constexpr const char* kOther =
    "; resume from a checkpoint that cuface-train has written, or train from the beginning";

}  // namespace

constinit const ContainerFormat kCheckpointFormat = {
    {0x89, 'C', 'U', 'T', 'R', 'A', 'I', '\n'},
    4,
    "checkpoint",
    "checkpoint",
    "Resume with the cuface-train that wrote it, or train from the beginning",
    kOther,
    1 << 16};

Result<Checkpoint> Checkpoint::read(const std::string& path) {
  return guarded(path, [&]() -> Result<Checkpoint> {
    CUFACE_TAKE(opened, ModelFile::open(path));
    CUFACE_TAKE(container, Container::read(opened, kMostCheckpointBytes, kCheckpointFormat));
    return Checkpoint(std::move(container));
  });
}

Status Checkpoint::expect(std::string_view training) const {
  if (this->training() == training) return {};
  return {StatusCode::kInvalidArgument, path() + ": a checkpoint of the training \"" +
                                            shortened(this->training()) + "\", not of \"" +
                                            std::string(training) + "\"" + kOther};
}

Status Checkpoint::damaged(const std::string& what) const {
  return {StatusCode::kCorrupt, path() + ": not a usable checkpoint: " + what + kOther};
}

Status write_checkpoint(const std::string& path, const std::string& training, nlohmann::json head,
                        const std::vector<Block>& records) {
  return guarded(path, [&] {
    return write_container(path, training, std::move(head), {}, records, kCheckpointFormat);
  });
}

}  // namespace cuface::train
