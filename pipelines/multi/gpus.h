// The GPUs that decode and search, and which of them has the least to do.
#pragma once

#include <gst/gst.h>

#include <mutex>
#include <optional>
#include <vector>

class Gpus {
 public:
  /// The first `count` of this machine. Throws std::runtime_error where it has fewer.
  explicit Gpus(int count);
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;
  ~Gpus();

  /// Gives a stream of these caps, compressed or raw, to the GPU with the fewest pixels a second so
  /// far, for good; says so as source `number`. From any thread.
  int assign(const GstCaps* stream, int number);
  /// Lets an element or a bin work in the one CUDA context that all have on this GPU.
  void share_context(int gpu, GstElement* element) const;

 private:
  struct Gpu {
    GstContext* context;
    double pixels_a_second = 0;
  };
  std::mutex mutex_;
  std::vector<Gpu> gpus_;
};

/// The GPU that decoders of this factory work on; none for decoders on the CPU.
std::optional<int> gpu_of(GstElementFactory* decoder);
/// Whether that GPU has a decoder for these caps.
bool decodes(int gpu, const GstCaps* stream);
