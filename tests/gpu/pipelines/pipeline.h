// What the tests that run whole pipelines on a GPU share: what must be there, playing to the end
// within a time, looking at buffers, files.
#pragma once

#include <gst/gst.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace cuface::test {

/// Empty when pipelines with a GPU can run here; else what is missing: GPU, decoder, plugin.
std::string missing_for_pipelines();
/// Empty when there are the clips of the tests too, and time to play them: no compute-sanitizer.
std::string missing_for_chains();
/// The same for chains on the CPU.
std::string missing_for_cpu_chains();

#define CUFACE_NEEDS_CHAINS()                                                    \
  if (const auto missing = cuface::test::missing_for_chains(); !missing.empty()) \
  GTEST_SKIP() << missing

/// A clip of $CUFACE_CLIPS (else $CUFACE_DATA/videos) by its file name, and what decodes it.
std::string clip(const std::string& name);
inline const std::string kPexels = "WolfgangLanger_Pexels.mp4";  // 472 frames, 640x360, one face
inline const std::string kFranck = "franck.mp4";                 // 360x288, one face

/// A clip of tests/bench/clips, 1,000 frames each.
inline std::string bench_clip(const std::string& name) { return clip("bench/" + name + ".mp4"); }
#define CUFACE_NEEDS_BENCH_CLIP(name)                                                   \
  if (const auto file = cuface::test::bench_clip(name); !std::filesystem::exists(file)) \
  GTEST_SKIP() << "no clip " << file                                                    \
               << ": tests/gpu/tools/pack brings what tests/bench/clips makes (CUFACE_CLIPS)"

/// YuNet, which tests/gpu/tools/pack converts.
std::string network_file();
#define CUFACE_NEEDS_NETWORK()                                                        \
  if (const auto file = cuface::test::network_file(); !std::filesystem::exists(file)) \
  GTEST_SKIP() << "no network " << file << " (CUFACE_MODEL_PATH)"

/// The value that so great a part of them does not exceed; of none 0.
inline double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

/// "filesrc ... nvh264dec ..." with frames in CUDA memory. `decoder`: for GPUs but the first.
std::string decoded_on_gpu(const std::string& clip, const std::string& decoder = "nvh264dec");
/// The same in system memory.
std::string decoded_on_cpu(const std::string& clip);

inline const std::string kChain =
    "cufacedetect name=detect ! culktrack name=track ! "
    "cufacelandmark name=landmark";
/// The elements of kChain, first to last.
inline const std::vector<std::string> kStages = {"detect", "track", "landmark"};

/// Ends the process, with a word, when it lives longer: a hang must not take the whole run.
class TimeLimit {
 public:
  explicit TimeLimit(int seconds);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
};

/// How a pipeline ended.
struct Ending {
  bool eos = false;
  std::string error;                  ///< message and details; empty without one
  std::string source;                 ///< the element that posted it
  std::vector<std::string> warnings;  ///< "ELEMENT: message: details"
  std::vector<std::string> messages;  ///< of elements
};

struct ByteStream;

/// A pipeline from gst_parse_launch(); NULL when it goes.
class Pipeline {
 public:
  /// `context`: answers the elements' question for a CUDA context; may be null.
  explicit Pipeline(const std::string& description, GstContext* context = nullptr);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  void set_state(GstState state) { gst_element_set_state(pipeline_, state); }
  /// Whether all of it is in the state asked for, waiting up to a minute.
  bool reached();
  /// PLAYING until EOS or an error; neither within the time is a failure of the test.
  Ending play(int seconds = 60);

  /// Calls `what` for each buffer at a pad of a named element, in the streaming thread.
  void on_buffer(const std::string& element, const char* pad, std::function<void(GstBuffer*)> what);
  /// A property of a named element, from text.
  void set(const std::string& element, const char* property, const std::string& value);
  /// Sends an event (taken) downstream from a named element, in this thread.
  void push_event(const std::string& element, GstEvent* event);
  /// Gives the access units of byte_stream_on_...() their times.
  void stamp(const ByteStream& stream);
  /// Gives a named appsrc its buffers (taken) and the end, before play().
  void feed(const std::string& name, const std::vector<GstBuffer*>& buffers);
  /// Gives a named appsrc what `next` makes (taken) whenever it has nothing left, in its thread;
  /// the end for null. Before play().
  void feed(const std::string& name, std::function<GstBuffer*()> next);
  /// As if a named sink had sent the event (taken) upstream.
  void send_upstream(const std::string& sink, GstEvent* event);
  /// Of the video at a named element's sink pad.
  int width(const std::string& element);
  /// A number of the stats of one of our elements.
  std::uint64_t stat(const std::string& element, const char* field);
  /// The same of all elements of kChain.
  std::uint64_t sum_of(const char* field);

 private:
  GstElement* element(const std::string& name);

  GstElement* pipeline_ = nullptr;
  std::vector<GstElement*> elements_;  // asked for, kept until the end
};

/// The CUDA context that GStreamer's elements would make, to share among pipelines and keep over
/// their ends; null without a GPU. The caller unrefs it.
GstContext* make_cuda_context(int device = 0);

/// A folder that goes away with everything in it.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::vector<std::string> lines_of(const std::string& file);
/// Faces in JSON lines.
long faces_in(const std::vector<std::string>& lines);
/// Those that have keypoints.
long keypoints_in(const std::vector<std::string>& lines);
/// Fails, with the first difference, when the two are not the same.
void expect_same_lines(const std::vector<std::string>& expected,
                       const std::vector<std::string>& found, const std::string& where);

/// H.264 as a byte stream, parameter sets before every key frame, with the times a container gave.
struct ByteStream {
  struct Times {
    GstClockTime pts, dts;
  };
  std::string bytes;
  std::vector<Times> units;  ///< of the access units

  /// With the other's times behind its own.
  void append(const ByteStream& other);
};
/// A clip's first access units.
ByteStream byte_stream(const std::string& clip, int units);
void write_file(const std::string& file, const std::string& bytes);

/// Decoding of a file with such bytes. Pipeline::stamp() gives the frames their times.
std::string byte_stream_on_gpu(const std::string& file);
std::string byte_stream_on_cpu(const std::string& file);

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace cuface::test
