#include "tests/gpu/pipelines/pipeline.h"

#include <cuda_runtime_api.h>
#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudautils.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "tests/files.h"

namespace cuface::test {
namespace {

bool has_element(const char* name) {
  GstElementFactory* factory = gst_element_factory_find(name);
  if (factory) gst_object_unref(factory);
  return factory != nullptr;
}

std::string demuxer(const std::string& file) {
  return file.ends_with(".mkv") ? "matroskademux" : "qtdemux";
}

const char kOnGpu[] = " ! capsfilter caps=video/x-raw(memory:CUDAMemory)";
const char kOnCpu[] = " ! avdec_h264 ! capsfilter caps=video/x-raw";

void fail_of_time(int) {
  constexpr char kText[] = "\nFAILED: the time limit of this test is over\n";
  [[maybe_unused]] const auto written = write(STDOUT_FILENO, kText, sizeof kText - 1);
  _exit(98);
}

using Callback = std::function<void(GstBuffer*)>;

GstPadProbeReturn call_back(GstPad*, GstPadProbeInfo* info, gpointer data) {
  (*static_cast<Callback*>(data))(GST_PAD_PROBE_INFO_BUFFER(info));
  return GST_PAD_PROBE_OK;
}

std::string missing_for_cpu_pipelines() {
  for (const char* name : {"cufacedetect", "avdec_h264", "h264parse", "qtdemux"})
    if (!has_element(name)) return std::string("no element ") + name;
  return "";
}

std::string missing_clips() {
  if (g_getenv("CUFACE_GPU_TOOL"))
    return "of whole pipelines only test_small_chain_cuda runs under compute-sanitizer";
  for (const std::string& name : {kPexels, kFranck})
    if (!std::filesystem::exists(clip(name))) return "no clip " + name + " (CUFACE_CLIPS)";
  return "";
}

}  // namespace

std::string missing_for_pipelines() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    return "no NVIDIA GPU with a driver";
  return has_element("nvh264dec") ? missing_for_cpu_pipelines() : "no element nvh264dec";
}

std::string missing_for_cpu_chains() {
  const std::string missing = missing_for_cpu_pipelines();
  return missing.empty() ? missing_clips() : missing;
}

std::string missing_for_chains() {
  const std::string missing = missing_for_pipelines();
  return missing.empty() ? missing_clips() : missing;
}

std::string clip(const std::string& name) {
  if (const char* folder = g_getenv("CUFACE_CLIPS")) return std::string(folder) + "/" + name;
  const char* data = g_getenv("CUFACE_DATA");
  return std::string(data ? data : ".") + "/videos/" + name;
}

std::string network_file() {
  const char* folder = g_getenv("CUFACE_MODEL_PATH");
  return std::string(folder ? folder : ".") + "/yunet.cuface";
}

std::string decoded_on_gpu(const std::string& file, const std::string& decoder) {
  return "filesrc location=" + file + " ! " + demuxer(file) + " ! h264parse ! " + decoder + kOnGpu;
}
std::string decoded_on_cpu(const std::string& file) {
  return "filesrc location=" + file + " ! " + demuxer(file) + " ! h264parse" + kOnCpu;
}
std::string byte_stream_on_gpu(const std::string& file) {
  return "filesrc location=" + file + " ! h264parse name=parse ! nvh264dec" + kOnGpu;
}
std::string byte_stream_on_cpu(const std::string& file) {
  return "filesrc location=" + file + " ! h264parse name=parse" + kOnCpu;
}

TimeLimit::TimeLimit(int seconds) {
  signal(SIGALRM, fail_of_time);
  alarm(static_cast<unsigned>(seconds));
}
TimeLimit::~TimeLimit() { alarm(0); }

Pipeline::Pipeline(const std::string& description, GstContext* context) {
  GError* error = nullptr;
  pipeline_ = gst_parse_launch(description.c_str(), &error);
  EXPECT_EQ(error, nullptr) << error->message << " in " << description;
  g_clear_error(&error);
  if (pipeline_ && context) gst_element_set_context(pipeline_, context);
}

Pipeline::~Pipeline() {
  if (!pipeline_) return;
  set_state(GST_STATE_NULL);
  for (GstElement* e : elements_) gst_object_unref(e);
  gst_object_unref(pipeline_);
}

bool Pipeline::reached() {
  return gst_element_get_state(pipeline_, nullptr, nullptr, GST_SECOND * 60) ==
         GST_STATE_CHANGE_SUCCESS;
}

Ending Pipeline::play(int seconds) {
  using Parse = void (*)(GstMessage*, GError**, gchar**);
  const auto text = [](GstMessage* message, Parse parse) {
    GError* error = nullptr;
    gchar* details = nullptr;
    parse(message, &error, &details);
    std::string all = std::string(error->message) + (details ? std::string(": ") + details : "");
    g_error_free(error);
    g_free(details);
    return all;
  };
  Ending ending;
  set_state(GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline_);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (bool ended = false; !ended;) {
    const std::chrono::nanoseconds left = until - std::chrono::steady_clock::now();
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus, static_cast<GstClockTime>(std::max<std::int64_t>(left.count(), 0)),
        static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING |
                                    GST_MESSAGE_ELEMENT));
    if (!message) {
      ADD_FAILURE() << "neither the end nor an error within " << seconds << " s";
      break;
    }
    const std::string source = GST_MESSAGE_SRC_NAME(message);
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ELEMENT) {
      gchar* structure = gst_structure_to_string(gst_message_get_structure(message));
      ending.messages.emplace_back(structure);
      g_free(structure);
    } else if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_WARNING) {
      ending.warnings.push_back(source + ": " + text(message, gst_message_parse_warning));
    } else {
      ended = true;
      ending.eos = GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
      if (!ending.eos) {
        ending.error = text(message, gst_message_parse_error);
        ending.source = source;
      }
    }
    gst_message_unref(message);
  }
  gst_object_unref(bus);
  return ending;
}

void Pipeline::set(const std::string& name, const char* property, const std::string& value) {
  GstElement* e = element(name);
  ASSERT_NE(e, nullptr);
  gst_util_set_object_arg(G_OBJECT(e), property, value.c_str());
}

void Pipeline::push_event(const std::string& name, GstEvent* event) {
  GstPad* pad = gst_element_get_static_pad(element(name), "src");
  gst_pad_push_event(pad, event);
  gst_object_unref(pad);
}

GstElement* Pipeline::element(const std::string& name) {
  GstElement* found = gst_bin_get_by_name(GST_BIN(pipeline_), name.c_str());
  EXPECT_NE(found, nullptr) << "no element " << name;
  if (found) elements_.push_back(found);
  return found;
}

void Pipeline::on_buffer(const std::string& name, const char* pad_name, Callback what) {
  GstElement* e = element(name);
  ASSERT_NE(e, nullptr);
  GstPad* pad = gst_element_get_static_pad(e, pad_name);
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, call_back, new Callback(std::move(what)),
                    [](gpointer data) { delete static_cast<Callback*>(data); });
  gst_object_unref(pad);
}

void Pipeline::stamp(const ByteStream& stream) {
  struct Stamps {
    std::vector<ByteStream::Times> units;
    std::size_t next = 0;
  };
  GstPad* pad = gst_element_get_static_pad(element("parse"), "src");
  gst_pad_add_probe(
      pad, GST_PAD_PROBE_TYPE_BUFFER,
      [](GstPad*, GstPadProbeInfo* info, gpointer data) {
        auto& stamps = *static_cast<Stamps*>(data);
        GstBuffer* buffer = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(info));
        GST_PAD_PROBE_INFO_DATA(info) = buffer;
        if (stamps.next < stamps.units.size()) {
          GST_BUFFER_PTS(buffer) = stamps.units[stamps.next].pts;
          GST_BUFFER_DTS(buffer) = stamps.units[stamps.next].dts;
        }
        ++stamps.next;
        return GST_PAD_PROBE_OK;
      },
      new Stamps{stream.units, 0}, [](gpointer data) { delete static_cast<Stamps*>(data); });
  gst_object_unref(pad);
}

void Pipeline::feed(const std::string& name, const std::vector<GstBuffer*>& buffers) {
  GstElement* e = element(name);
  ASSERT_NE(e, nullptr);
  GstFlowReturn result = GST_FLOW_OK;
  for (GstBuffer* buffer : buffers) {
    g_signal_emit_by_name(e, "push-buffer", buffer, &result);
    EXPECT_EQ(result, GST_FLOW_OK);
    gst_buffer_unref(buffer);
  }
  g_signal_emit_by_name(e, "end-of-stream", &result);
}

void Pipeline::feed(const std::string& name, std::function<GstBuffer*()> next) {
  using Next = std::function<GstBuffer*()>;
  GstElement* e = element(name);
  ASSERT_NE(e, nullptr);
  const auto push = [](GstElement* source, guint, gpointer data) {
    GstBuffer* buffer = (*static_cast<Next*>(data))();
    GstFlowReturn result = GST_FLOW_OK;
    if (!buffer) {
      g_signal_emit_by_name(source, "end-of-stream", &result);
      return;
    }
    g_signal_emit_by_name(source, "push-buffer", buffer, &result);
    gst_buffer_unref(buffer);
  };
  g_signal_connect_data(
      e, "need-data", G_CALLBACK(+push), new Next(std::move(next)),
      [](gpointer data, GClosure*) { delete static_cast<Next*>(data); },
      static_cast<GConnectFlags>(0));
}

void Pipeline::send_upstream(const std::string& sink, GstEvent* event) {
  EXPECT_TRUE(gst_element_send_event(element(sink), event));
}

int Pipeline::width(const std::string& name) {
  GstPad* pad = gst_element_get_static_pad(element(name), "sink");
  GstCaps* caps = gst_pad_get_current_caps(pad);
  int width = 0;
  if (caps) gst_structure_get_int(gst_caps_get_structure(caps, 0), "width", &width);
  gst_clear_caps(&caps);
  gst_object_unref(pad);
  return width;
}

std::uint64_t Pipeline::stat(const std::string& name, const char* field) {
  GstElement* e = element(name);
  if (!e) return 0;
  GstStructure* stats = nullptr;
  g_object_get(e, "stats", &stats, nullptr);
  guint64 value = 0;
  EXPECT_TRUE(stats && gst_structure_get_uint64(stats, field, &value)) << name << " " << field;
  if (stats) gst_structure_free(stats);
  return value;
}

std::uint64_t Pipeline::sum_of(const char* field) {
  std::uint64_t sum = 0;
  for (const std::string& stage : kStages) sum += stat(stage, field);
  return sum;
}

GstContext* make_cuda_context(int device) {
  if (!gst_cuda_load_library() || CuInit(0) != CUDA_SUCCESS) return nullptr;
  GstCudaContext* cuda = gst_cuda_context_new(static_cast<guint>(device));
  if (!cuda) return nullptr;
  GstContext* context = gst_context_new_cuda_context(cuda);
  gst_object_unref(cuda);
  return context;
}

TempFolder::TempFolder() {
  std::string path = (std::filesystem::temp_directory_path() / "cuface-gpu-XXXXXX").string();
  path_ = mkdtemp(path.data());
}

std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

namespace {

long count_in(const std::vector<std::string>& lines, std::string_view text) {
  long count = 0;
  for (const std::string& line : lines)
    for (auto at = line.find(text); at != line.npos; at = line.find(text, at + 1)) ++count;
  return count;
}

}  // namespace

long faces_in(const std::vector<std::string>& lines) { return count_in(lines, R"("id":)"); }
long keypoints_in(const std::vector<std::string>& lines) {
  return count_in(lines, R"("keypoints":[[)");
}

void expect_same_lines(const std::vector<std::string>& expected,
                       const std::vector<std::string>& found, const std::string& where) {
  EXPECT_EQ(expected.size(), found.size()) << where;
  long different = 0;
  for (std::size_t i = 0; i < std::min(expected.size(), found.size()); ++i)
    if (expected[i] != found[i] && ++different == 1)
      ADD_FAILURE() << where << ", line " << i << ":\n"
                    << expected[i].substr(0, 400) << "\n"
                    << found[i].substr(0, 400);
  EXPECT_EQ(different, 0) << "lines that differ, " << where;
}

void ByteStream::append(const ByteStream& other) {
  GstClockTime begin = 0;
  for (const Times& t : units) begin = std::max(begin, t.pts);
  if (!units.empty()) begin += GST_SECOND / 25;
  bytes += other.bytes;
  const auto later = [begin](GstClockTime t) {
    return GST_CLOCK_TIME_IS_VALID(t) ? t + begin : GST_CLOCK_TIME_NONE;
  };
  for (const Times& t : other.units) units.push_back({later(t.pts), later(t.dts)});
}

ByteStream byte_stream(const std::string& file, int units) {
  ByteStream stream;
  int count = 0;
  Pipeline pipeline("filesrc location=" + file + " ! " + demuxer(file) +
                    " ! h264parse config-interval=-1 ! capsfilter "
                    "caps=video/x-h264,stream-format=byte-stream,alignment=au "
                    "! fakesink name=sink sync=false");
  pipeline.on_buffer("sink", "sink", [&](GstBuffer* buffer) {
    if (count++ >= units) return;
    GstMapInfo map;
    ASSERT_TRUE(gst_buffer_map(buffer, &map, GST_MAP_READ));
    stream.bytes.append(reinterpret_cast<const char*>(map.data), map.size);
    gst_buffer_unmap(buffer, &map);
    stream.units.push_back({GST_BUFFER_PTS(buffer), GST_BUFFER_DTS(buffer)});
  });
  EXPECT_TRUE(pipeline.play().eos);
  pipeline.set_state(GST_STATE_NULL);
  EXPECT_GE(count, units) << file;
  return stream;
}

void write_file(const std::string& file, const std::string& bytes) {
  std::ofstream out(file, std::ios::binary);
  out << bytes;
  EXPECT_TRUE(out.good()) << file;
}

}  // namespace cuface::test

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  return cuface::test::choose_files(argc, argv) ? RUN_ALL_TESTS() : 1;
}
