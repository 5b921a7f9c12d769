// Many chains in one process, as a server with many cameras has them: frames a second of all, and
// how long a frame takes from the detector to the end of its chain.
//
//   streams CLIP CHAINS FRAMES [PROPERTIES OF cufacedetect]
//
// FRAMES are of one chain, on average. Prints one JSON object. tests/bench/streams.py compares
// plugins and settings with it, in turns.
#include <gst/gst.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

using Clock = gint64;  // us

constexpr std::size_t kWarm = 12;  // frames of each chain that do not count

/// One chain's frames. The streaming thread's, but for `times`.
struct Chain {
  Clock begun = 0;
  std::mutex mutex;
  std::vector<Clock> times;  ///< of the frames that have ended
};

GstPadProbeReturn begin_frame(GstPad*, GstPadProbeInfo*, gpointer data) {
  static_cast<Chain*>(data)->begun = g_get_monotonic_time();
  return GST_PAD_PROBE_OK;
}

GstPadProbeReturn end_frame(GstPad*, GstPadProbeInfo*, gpointer data) {
  auto* chain = static_cast<Chain*>(data);
  const Clock took = g_get_monotonic_time() - chain->begun;
  const std::lock_guard lock(chain->mutex);
  chain->times.push_back(took);
  return GST_PAD_PROBE_OK;
}

void watch(GstElement* pipeline, char kind, int number, GstPadProbeCallback probe, Chain& chain) {
  std::string name(1, kind);
  name += std::to_string(number);
  GstElement* found = gst_bin_get_by_name(GST_BIN(pipeline), name.c_str());
  GstPad* pad = gst_element_get_static_pad(found, "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, probe, &chain, nullptr);
  gst_object_unref(pad);
  gst_object_unref(found);
}

std::size_t frames_of(Chain& chain) {
  const std::lock_guard lock(chain.mutex);
  return chain.times.size();
}

/// Waits until it comes true. False after an error, and at the end of a clip.
template <typename Condition>
bool play_until(GstBus* bus, const Condition& condition) {
  while (!condition()) {
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus, 10 * GST_MSECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    if (!message) continue;
    GError* error = nullptr;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
      gst_message_parse_error(message, &error, nullptr);
    std::cerr << (error ? error->message : "the clip is too short") << "\n";
    g_clear_error(&error);
    gst_message_unref(message);
    return false;
  }
  return true;
}

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

long threads_now() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

}  // namespace

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  if (argc < 4) return 2;
  const std::string clip = argv[1], settings = argc > 4 ? argv[4] : "";
  const int count = std::atoi(argv[2]);
  const auto frames = static_cast<std::size_t>(std::atoi(argv[3]));
  std::vector<std::unique_ptr<Chain>> chains;
  std::string text;
  // One thread a chain: a decoder with threads of its own would blur what is measured.
  for (int i = 0; i < count; ++i) {
    gchar* one = g_strdup_printf(
        "filesrc location=%s ! qtdemux ! h264parse ! avdec_h264 max-threads=1 ! cufacedetect "
        "name=d%d %s ! culktrack ! cufacelandmark ! fakesink async=false sync=false name=s%d ",
        clip.c_str(), i, settings.c_str(), i);
    text += one;
    g_free(one);
    chains.push_back(std::make_unique<Chain>());
  }
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(text.c_str(), &error);
  if (!pipeline || error) {
    std::cerr << error->message << "\n";
    return 1;
  }
  for (int i = 0; i < count; ++i) {
    Chain& chain = *chains[static_cast<std::size_t>(i)];
    watch(pipeline, 'd', i, begin_frame, chain);
    watch(pipeline, 's', i, end_frame, chain);
  }
  GstBus* bus = gst_element_get_bus(pipeline);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  // What is loaded and allocated first does not count.
  const bool warm = play_until(bus, [&] {
    return std::all_of(chains.begin(), chains.end(),
                       [](const auto& chain) { return frames_of(*chain) >= kWarm; });
  });
  if (!warm) return 1;
  for (const auto& chain : chains) {
    const std::lock_guard lock(chain->mutex);
    chain->times.clear();
  }
  const Clock begin = g_get_monotonic_time();
  const double cpu = processor_seconds();
  // Of all together: the last of them would otherwise run alone.
  const bool done = play_until(bus, [&] {
    std::size_t sum = 0;
    for (const auto& chain : chains) sum += frames_of(*chain);
    return sum >= frames * chains.size();
  });
  if (!done) return 1;
  std::vector<Clock> times;
  for (const auto& chain : chains) {
    const std::lock_guard lock(chain->mutex);
    times.insert(times.end(), chain->times.begin(), chain->times.end());
  }
  const double wall = static_cast<double>(g_get_monotonic_time() - begin) / G_USEC_PER_SEC;
  const double used = processor_seconds() - cpu;
  const long threads = threads_now();
  gst_element_set_state(pipeline, GST_STATE_NULL);
  std::sort(times.begin(), times.end());
  if (times.empty()) return 1;
  const auto percentile = [&](double p) {
    return static_cast<double>(
               times[static_cast<std::size_t>(p * static_cast<double>(times.size() - 1))]) /
           1e3;
  };
  std::cout << "{\"frames\": " << times.size()
            << ", \"rate\": " << static_cast<double>(times.size()) / wall
            << ", \"frames_a_processor_second\": " << static_cast<double>(times.size()) / used
            << ", \"processors\": " << used / wall << ", \"p50_ms\": " << percentile(0.5)
            << ", \"p99_ms\": " << percentile(0.99) << ", \"threads\": " << threads << "}\n";
  gst_object_unref(bus);
  gst_object_unref(pipeline);
  return 0;
}
