// cuface-multi: the faces of many sources at once, in one process, with a tiled view or as files of
// lines.
//
//   decoder ! chain of source 1 -+                                 or:  chain of source 1 ! 1.jsonl
//   decoder ! chain of source 2 -+-> compositor ! window or file   or:  chain of source 2 ! 2.jsonl
//   ...                         -+
//
// Each source has its own chain and so its own ids. Its culktrack posts which faces come and go,
// and a probe reads the face meta (source.cc). The view runs at the clock's pace whatever the
// sources do, so one that fails or hangs stops nobody. Without a view files are read as fast as can
// be. With --gpus each stream is decoded and searched on the GPU that has the least to do
// (gpus.cc).
#include <glib-unix.h>
#include <gst/gst.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpus.h"
#include "source.h"

namespace {

constexpr guint kReportSeconds = 1;

struct Options {
  int width = 1280, height = 720, gpus = 0;
  double retry = 2, seconds = 0;
  std::string output;  ///< "" = a window where there is a screen
  std::string json;    ///< a folder; "" = a view
  std::vector<std::string> uris;
};

/// What the user can mend, in a line.
[[noreturn]] void fail(const std::string& text) {
  g_printerr("cuface-multi: %s\n", text.c_str());
  std::exit(1);
}

std::string uri_of(const char* input) {
  if (gst_uri_is_valid(input)) return input;
  if (!g_file_test(input, G_FILE_TEST_IS_REGULAR))
    fail(std::string(input) +
         ": no such file; give a file or a URI (rtsp://..., v4l2:///dev/video0)");
  g_autofree char* uri = gst_filename_to_uri(input, nullptr);
  return uri;
}

Options parse(int argc, char** argv) {
  Options options;
  g_autofree char *output = nullptr, *size = nullptr, *json = nullptr, *gpus = nullptr;
  g_auto(GStrv) inputs = nullptr;
  const GOptionEntry entries[] = {
      {"output", 0, 0, G_OPTION_ARG_FILENAME, &output, "write the view here, not to a window",
       "FILE.mp4"},
      {"json", 0, 0, G_OPTION_ARG_FILENAME, &json,
       "no view: write the faces of source N to DIR/N.jsonl", "DIR"},
      {"gpus", 0, 0, G_OPTION_ARG_STRING, &gpus,
       "decode and search on the first N GPUs; a stream goes to the one with the least to do", "N"},
      {"size", 0, 0, G_OPTION_ARG_STRING, &size, "size of the view (1280x720)", "WxH"},
      {"retry", 0, 0, G_OPTION_ARG_DOUBLE, &options.retry,
       "how long to wait before a lost source is connected again (2)", "SECONDS"},
      {"seconds", 0, 0, G_OPTION_ARG_DOUBLE, &options.seconds, "stop after this time", "SECONDS"},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &inputs, nullptr, "INPUT ..."},
      {}};
  g_autoptr(GOptionContext) context = g_option_context_new("- the faces of many sources at once");
  g_option_context_add_main_entries(context, entries, nullptr);
  g_option_context_add_group(context, gst_init_get_option_group());
  g_autoptr(GError) error = nullptr;
  if (!g_option_context_parse(context, &argc, &argv, &error)) fail(error->message);
  if (!inputs) fail("INPUT is missing: files or URIs (rtsp://..., v4l2:///dev/video0); see --help");
  if (size && (std::sscanf(size, "%dx%d", &options.width, &options.height) != 2 ||
               options.width < 64 || options.height < 64))
    fail(std::string("--size ") + size + ": give two numbers from 64, such as 1280x720");
  if (gpus) {
    char* end = nullptr;
    const gint64 count = g_ascii_strtoll(gpus, &end, 10);
    if (*end || end == gpus || count < 1 || count > 64)
      fail(std::string("--gpus ") + gpus + ": give a number of GPUs from 1");
    options.gpus = static_cast<int>(count);
  }
  if (json) {
    if (output || size) fail("--json writes no view: leave out --output and --size");
    if (g_mkdir_with_parents(json, 0777) != 0)
      fail(std::string("--json ") + json + ": the folder cannot be made");
    options.json = json;
  }
  if (options.retry < 0.1) fail("--retry: at least 0.1 seconds");
  if (output) options.output = output;
  for (char** input = inputs; *input; ++input) options.uris.push_back(uri_of(*input));
  return options;
}

GstElement* make(const char* factory) {
  GstElement* element = gst_element_factory_make(factory, nullptr);
  if (!element) throw std::runtime_error(std::string("no element ") + factory);
  return element;
}

GstElement* make_sink(const Options& options) {
  const auto is_set = [](const char* name) {
    const char* value = g_getenv(name);
    return value && *value;
  };
  const bool screen = is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
  const char* text =
      !options.output.empty()
          ? "videoconvert ! x264enc tune=zerolatency speed-preset=veryfast ! h264parse"
            " ! mp4mux ! filesink name=file"
      : screen ? "videoconvert ! autovideosink"
               : "fakesink sync=true";
  g_autoptr(GError) error = nullptr;
  GstElement* sink = gst_parse_bin_from_description(text, TRUE, &error);
  if (!sink) throw std::runtime_error(error->message);
  if (!options.output.empty()) {
    g_autoptr(GstElement) file = gst_bin_get_by_name(GST_BIN(sink), "file");
    g_object_set(file, "location", options.output.c_str(), nullptr);
  }
  return sink;
}

class Application {
 public:
  explicit Application(const Options& options)
      : pipeline_(GST_PIPELINE(gst_pipeline_new("multi"))) {
    if (options.gpus > 0) gpus_ = std::make_unique<Gpus>(options.gpus);
    GstElement* view = options.json.empty() ? make_view(options) : nullptr;
    const int count = static_cast<int>(options.uris.size());
    const int columns = static_cast<int>(std::ceil(std::sqrt(count)));
    const int rows = (count + columns - 1) / columns;
    const int width = options.width / columns, height = options.height / rows;
    for (int i = 0; i < count; ++i) {
      const std::string& uri = options.uris[static_cast<std::size_t>(i)];
      const Place place = {view,
                           i % columns * width,
                           i / columns * height,
                           width,
                           height,
                           options.json + "/" + std::to_string(i + 1) + ".jsonl"};
      sources_.push_back(std::make_unique<Source>(
          pipeline_, place, i + 1, uri, static_cast<guint>(1000 * options.retry), gpus_.get()));
    }
  }
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;
  ~Application() {
    gst_element_set_state(GST_ELEMENT(pipeline_), GST_STATE_NULL);
    gst_object_unref(pipeline_);
  }

  /// Plays until every source is over. Returns the exit status.
  int run(double seconds) {
    g_autoptr(GstBus) bus = gst_pipeline_get_bus(pipeline_);
    gst_bus_add_watch(bus, on_message, this);
    g_unix_signal_add(SIGINT, on_stop, this);
    g_unix_signal_add(SIGTERM, on_stop, this);
    if (seconds > 0) g_timeout_add(static_cast<guint>(1000 * seconds), on_stop, this);
    g_timeout_add_seconds(kReportSeconds, on_report, this);
    // The view first: a source that fails at once must not keep the rest from playing.
    gst_element_set_state(GST_ELEMENT(pipeline_), GST_STATE_PLAYING);
    for (const auto& source : sources_) source->connect();
    g_main_loop_run(loop_);
    gst_element_set_state(GST_ELEMENT(pipeline_), GST_STATE_NULL);
    gst_bus_remove_watch(bus);
    for (const auto& source : sources_) {
      g_print("%s\n", source->summary().c_str());
      if (source->failed()) status_ = 1;
    }
    if (!picture_) print_sum();
    return status_;
  }

 private:
  GstElement* make_view(const Options& options) {
    // force-live: tiles are taken at the clock's pace. Its latency is set once, for cameras that
    // come later (min-upstream-latency) and for what a search may take (latency).
    GstElement* view = gst_element_factory_make_full(
        "compositor", "force-live", TRUE, "ignore-inactive-pads", TRUE, "min-upstream-latency",
        500 * GST_MSECOND, "latency", 500 * GST_MSECOND, nullptr);
    if (!view) throw std::runtime_error("no element compositor (gstreamer1.0-plugins-base)");
    gst_util_set_object_arg(G_OBJECT(view), "background", "black");
    GstElement* sink = make_sink(options);
    picture_ = make("capsfilter");
    g_autoptr(GstCaps) picture =
        gst_caps_new_simple("video/x-raw", "width", G_TYPE_INT, options.width, "height", G_TYPE_INT,
                            options.height, "framerate", GST_TYPE_FRACTION, 25, 1, nullptr);
    g_object_set(picture_, "caps", picture, nullptr);
    gst_bin_add_many(GST_BIN(pipeline_), view, picture_, sink, nullptr);
    gst_element_link_many(view, picture_, sink, nullptr);
    return view;
  }

  /// How many frames in which time, from the first one to the last source's end.
  void print_sum() const {
    guint64 frames = 0;
    gint64 begin = G_MAXINT64, end = 0;
    for (const auto& source : sources_) {
      if (source->frames() == 0) continue;
      frames += source->frames();
      begin = std::min(begin, source->began());
      end = std::max(end, source->ended());
    }
    if (end <= begin) return;
    const double took = static_cast<double>(end - begin) / G_USEC_PER_SEC;
    g_print("all: %" G_GUINT64_FORMAT " frames in %.3f s, %.1f frames/s\n", frames, took,
            static_cast<double>(frames) / took);
  }

  static gboolean on_message(GstBus*, GstMessage* message, gpointer data) {
    auto* self = static_cast<Application*>(data);
    switch (GST_MESSAGE_TYPE(message)) {
      case GST_MESSAGE_ERROR:
        self->on_error(message);
        break;
      case GST_MESSAGE_ELEMENT:
        for (const auto& source : self->sources_) source->on_faces(message);
        break;
      case GST_MESSAGE_EOS:
        g_main_loop_quit(self->loop_);
        break;
      default:
        break;
    }
    return G_SOURCE_CONTINUE;
  }

  void on_error(GstMessage* message) {
    g_autoptr(GError) error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    GstObject* failed = GST_MESSAGE_SRC(message);
    for (const auto& source : sources_)
      if (source->on_error(failed, error->message)) return;
    // The rest of what a decoder says that is gone already.
    if (!gst_object_has_as_ancestor(failed, GST_OBJECT(pipeline_))) return;
    g_printerr("cuface-multi: %s: %s\n", GST_OBJECT_NAME(failed), error->message);
    status_ = 1;
    g_main_loop_quit(loop_);
  }

  /// Ends the view, so that a file that is written becomes whole. (In live mode the compositor
  /// itself goes on when its sources have ended.)
  static gboolean on_stop(gpointer data) {
    auto* self = static_cast<Application*>(data);
    for (const auto& source : self->sources_) source->end();
    if (!self->picture_) return G_SOURCE_REMOVE;  // on_report() sees them end
    g_autoptr(GstPad) pad = gst_element_get_static_pad(self->picture_, "sink");
    gst_pad_send_event(pad, gst_event_new_eos());
    return G_SOURCE_REMOVE;
  }

  static gboolean on_report(gpointer data) {
    auto* self = static_cast<Application*>(data);
    std::string line;
    bool over = true;
    for (const auto& source : self->sources_) {
      line += (line.empty() ? "" : " | ") + source->report(kReportSeconds);
      over = over && source->over();
    }
    g_print("%s\n", line.c_str());
    // The view is behind its sources by its latency: it gets as long as until the next report.
    if (over && !self->picture_) {
      g_main_loop_quit(self->loop_);
      return G_SOURCE_REMOVE;
    }
    if (over && self->over_) return on_stop(data);
    self->over_ = over;
    return G_SOURCE_CONTINUE;
  }

  GstPipeline* pipeline_;
  GstElement* picture_ = nullptr;  ///< the view's size and rate; null without a view
  GMainLoop* loop_ = g_main_loop_new(nullptr, FALSE);
  std::unique_ptr<Gpus> gpus_;
  std::vector<std::unique_ptr<Source>> sources_;
  int status_ = 0;
  bool over_ = false;  ///< all sources, at the last report
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  int status = 1;
  try {
    status = Application(options).run(options.seconds);
  } catch (const std::runtime_error& error) {
    fail(error.what());
  }
  // Elements change their state in threads of GStreamer's own, too. What these still hold, CUDA
  // contexts among it, must be gone before the driver ends with the process.
  gst_deinit();
  return status;
}
