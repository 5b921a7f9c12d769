// A chain that runs steadily, and what it asks of the driver meanwhile.
#pragma once

#include <gst/gst.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels/faces/faces_cuda.h"
#include "tests/gpu/pipelines/driver_calls.h"
#include "tests/gpu/pipelines/pipeline.h"
#include "tests/gpu/pipelines/trace.h"

namespace cuface::test {

inline constexpr int kWarmUp = 60, kFrames = 300;
/// Between frames, as from a camera: at full speed the chain may be four frames behind, and waits.
inline constexpr int kPaceUs = 4000;
/// A copy of a picture, whose luma is larger in every clip, is no copy of faces.
inline constexpr std::uint64_t kFacesBytes = cuda::device_faces_bytes(68);
static_assert(kFacesBytes < 360 * 288);

/// What was traced during kFrames frames.
struct Steady {
  std::vector<trace::Call> calls;
  pid_t thread = 0;  ///< that streamed
  Ending ending;
  std::uint64_t frames = 0, searches = 0, faces = 0;  ///< of the whole run
  std::uint64_t waits = 0;                            ///< of stats, during those frames
  std::uint64_t device_time_ns = 0;                   ///< of the whole run, all elements
};

/// Which of kStages, and on which frame, a call was made for; 0 = behind them or in another thread.
constexpr std::uint64_t mark_of(std::uint64_t frame, std::size_t stage) {
  return frame * 8 + stage + 1;
}
inline constexpr std::uint64_t kBehind = 7;

/// `description` holds kChain; `after` is the name of the element behind it.
inline Steady run_steadily(const std::string& description, const std::string& after,
                           const std::function<void(GstBuffer*)>& on_frame = {}) {
  Steady steady;
  std::uint64_t waits_before = 0;
  Pipeline pipeline(description);
  for (std::size_t stage = 0; stage < kStages.size(); ++stage)
    pipeline.on_buffer(kStages[stage], "sink", [&, stage](GstBuffer*) {
      if (stage == 0) {
        ++steady.frames;
        if (steady.frames == kWarmUp + kFrames + 1) {
          steady.calls = trace::stop();
          steady.waits = pipeline.sum_of("waits") - waits_before;
        }
        usleep(kPaceUs);
        if (steady.frames == kWarmUp + 1) {
          steady.thread = gettid();
          waits_before = pipeline.sum_of("waits");
          trace::start();
        }
      }
      trace::mark(mark_of(steady.frames, stage));
    });
  pipeline.on_buffer(after, "sink", [&](GstBuffer* buffer) {
    trace::mark(steady.frames * 8 + kBehind);
    if (on_frame) on_frame(buffer);
  });
  steady.ending = pipeline.play();
  steady.searches = pipeline.stat("detect", "searches");
  steady.faces = pipeline.stat("landmark", "faces");
  steady.device_time_ns = pipeline.sum_of("device-time-ns");
  return steady;
}

inline void expect_a_real_run(const Steady& steady) {
  EXPECT_TRUE(steady.ending.eos) << steady.ending.error;
  EXPECT_GT(steady.frames, std::uint64_t{kWarmUp + kFrames});
  EXPECT_GE(steady.searches, 30u);
  EXPECT_GE(steady.faces, 300u);
}

/// What the trace shows of the elements that must not be, each with how often.
inline std::map<std::string, long> faults(const Steady& steady) {
  std::map<std::string, long> found;
  std::map<std::uint64_t, int> submissions;  // by mark
  for (const trace::Call& call : steady.calls) {
    if (call.caller != trace::Caller::kElements) continue;
    const bool streaming = call.thread == steady.thread;
    if (call.kind == trace::Kind::kCopy && (streaming || call.bytes > kFacesBytes))
      ++found["copy by " + std::string(call.name) + " of " + std::to_string(call.bytes) + " bytes" +
              (streaming ? "" : " in another thread")];
    if (!streaming) continue;
    if (call.kind == trace::Kind::kWait) ++found["wait in " + std::string(call.name)];
    if (call.kind == trace::Kind::kAllocate || call.kind == trace::Kind::kFree)
      ++found["allocation by " + std::string(call.name)];
    if (trace::is_submission(call.kind)) ++submissions[call.mark];
  }
  for (const auto& [mark, count] : submissions)
    if (count > 1) {
      const std::uint64_t stage = mark % 8;
      ++found["more than one submission for a frame by " +
              (stage >= 1 && stage <= kStages.size() ? kStages[stage - 1] : "an element behind")];
    }
  if (steady.waits > 0) found["waits in stats"] = static_cast<long>(steady.waits);
  return found;
}

inline std::string text(const std::map<std::string, long>& faults) {
  std::string all;
  for (const auto& [what, times] : faults) all += what + ": " + std::to_string(times) + "\n";
  return all;
}

inline bool any(const std::map<std::string, long>& faults, const std::string& beginning) {
  return std::any_of(faults.begin(), faults.end(),
                     [&](const auto& f) { return f.first.starts_with(beginning); });
}

/// A line a caller for tests/gpu/tools/run: what it asks of the driver on a frame.
inline void report(const std::string& chain, const Steady& steady) {
  std::map<std::string, std::map<std::string, long>> counts;
  for (const trace::Call& call : steady.calls) {
    const std::uint64_t stage = call.mark % 8;
    std::string who = "decoder and others";
    if (call.caller == trace::Caller::kElements)
      who = call.thread != steady.thread            ? "another thread"
            : stage >= 1 && stage <= kStages.size() ? kStages[stage - 1]
                                                    : "behind the chain";
    auto& of = counts[who];
    if (trace::is_submission(call.kind)) ++of["submissions"];
    if (call.kind == trace::Kind::kCopy) ++of["copies"];
    if (call.kind == trace::Kind::kWait) ++of["waits"];
    if (call.kind == trace::Kind::kQuery) ++of["queries"];
    if (call.kind == trace::Kind::kAllocate || call.kind == trace::Kind::kFree) ++of["allocations"];
    if (call.kind == trace::Kind::kOther) ++of["events"];
  }
  for (auto& [who, of] : counts) {
    std::printf("{\"what\":\"driver calls a frame\",\"chain\":\"%s\",\"by\":\"%s\"", chain.c_str(),
                who.c_str());
    for (const char* kind : {"submissions", "copies", "waits", "queries", "allocations", "events"})
      std::printf(",\"%s\":%.2f", kind, static_cast<double>(of[kind]) / kFrames);
    std::printf("}\n");
  }
}

}  // namespace cuface::test
