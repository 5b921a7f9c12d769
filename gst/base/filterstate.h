// The state of our elements' base class, and its properties.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <memory>

#include "gst/base/chain.h"
#include "gst/base/device.h"
#include "gst/base/element.h"
#include "gst/base/frametimes.h"
#include "gst/base/picturepool.h"
#include "kernels/common/backend.h"
#include "kernels/common/stop_flag.h"

namespace cuface::gst {
enum class BackendChoice { kAuto, kCpu, kCuda };
struct Settings {
  BackendChoice backend = BackendChoice::kAuto;
  gint device_id = -1;
};

struct Stats {
  guint64 frames = 0;
  Counts counts{};
  guint64 time_total_ns = 0, time_max_ns = 0;
};

struct FilterState {
  Settings settings;  // under SettingsLock, as are stats
  Stats stats;
  std::unique_ptr<DeviceElement> device;  // made once; null without CUDA
  ElementRef self;                        // for the frames that have passed
  /// Up from the begin of a flush to its end, and from PAUSED to READY on: from any thread.
  StopFlag stop;

  // The streaming thread's.
  BackendChoice choice = BackendChoice::kAuto;
  GstVideoInfo info;
  int width = 0, height = 0;  // of the picture planned for: a crop rectangle's, else the caps'
  bool in_cuda_memory = false;
  Backend backend = Backend::kCpu;
  bool planned = false;
  GstPadChainFunction chain_function = nullptr;  // GstBaseTransform's
  FrameTimes times;
  std::shared_ptr<Chain> chain = std::make_shared<Chain>();
  PicturePool pictures;

  std::unique_ptr<Element> element;  // made once; goes before the rest
};

/// backend, stats, and cuda-device-id in builds with CUDA.
void install_filter_properties(GObjectClass* klass);

/// The element's counters on either processor.
Counts counts_of(GstCufaceFilter* self);

/// The value of `stats`; the caller's, made under SettingsLock.
GstStructure* stats_structure(GstCufaceFilter* self);

}  // namespace cuface::gst
