// What the base class of our elements keeps, and its properties.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <memory>

#include "gst/base/chain.h"
#include "gst/base/device.h"
#include "gst/base/facefilter.h"
#include "gst/base/frametimes.h"
#include "gst/base/picturepool.h"
#include "gst/faces/standardmetas.h"
#include "kernels/common/backend.h"
#include "kernels/common/stop_flag.h"

namespace cuface::gst {
enum class BackendChoice { kAuto, kCpu, kCuda };
enum class StandardMetas { kAuto, kAlways, kNever };

struct Settings {
  BackendChoice backend = BackendChoice::kAuto;
  StandardMetas standard_metas = StandardMetas::kAuto;
  gint device_id = -1;
};

struct Stats {
  guint64 frames = 0, searches = 0, skipped_searches = 0, overflows = 0, faces = 0, lost_tracks = 0;
  guint64 dropped_lines = 0;
  guint64 time_total_ns = 0, time_max_ns = 0;
};

struct FilterState {
  Settings settings;  // under SettingsLock, as are stats
  Stats stats;
  std::unique_ptr<DeviceSide> device;  // made once; null without CUDA
  ElementRef self;                     // for the frames that have passed
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
  bool warned_interlaced = false, warned_positions = false;
  std::shared_ptr<Chain> chain = std::make_shared<Chain>();
  PicturePool pictures;
  FirstSeen first_seen;
  bool told_no_standard_metas = false;
};

/// backend, standard-metas, stats, and cuda-device-id in builds with CUDA.
void install_filter_properties(GObjectClass* klass);

/// The value of `stats`; the caller's, made under SettingsLock.
GstStructure* stats_structure(GstCufaceFilter* self);

/// Writes what the element has found in `frame` as standard metas too, where `standard-metas` asks
/// for them.
Status write_standard_metas(GstCufaceFilter* self, const Frame& frame);

}  // namespace cuface::gst
