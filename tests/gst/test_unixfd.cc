// What was found reaches another process through unixfdsink and unixfdsrc (GStreamer 1.24).
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <sstream>

#include "tests/gst/found_text.h"
#include "tests/gst/parts.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 320, kHeight = 240, kFrames = 8;

bool has_elements() {
  for (const char* name : {"unixfdsink", "unixfdsrc"}) {
    GstElementFactory* factory = gst_element_factory_find(name);
    if (!factory) return false;
    gst_object_unref(factory);
  }
  return true;
}

/// The program beside this one, without this build's plugin. Its lines, once it has ended.
class Receiver {
 public:
  Receiver(const std::string& socket, const TempFolder& folder, const char* how)
      : output_(folder.path() + "/" + how) {
    const std::string program =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "unixfd_receiver";
    const std::string registry = folder.path() + "/registry.bin", frames = std::to_string(kFrames);
    gchar** environment = g_environ_unsetenv(g_get_environ(), "GST_PLUGIN_PATH");
    environment = g_environ_setenv(environment, "GST_REGISTRY", registry.c_str(), TRUE);
    const char* arguments[] = {program.c_str(), socket.c_str(), frames.c_str(), how, nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output_.c_str(), O_WRONLY | O_CREAT,
                                     0600);
    ended_ = posix_spawn(&pid_, program.c_str(), &actions, nullptr, const_cast<char**>(arguments),
                         environment) != 0;
    EXPECT_FALSE(ended_) << "cannot start " << program;
    posix_spawn_file_actions_destroy(&actions);
    g_strfreev(environment);
  }
  ~Receiver() {
    if (is_running()) kill(pid_, SIGKILL), waitpid(pid_, &status_, 0);
  }
  Receiver(const Receiver&) = delete;

  bool is_running() {
    if (!ended_) ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
    return !ended_;
  }
  int status() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1; }
  std::map<guint64, std::string> lines() const {
    std::map<guint64, std::string> lines;
    std::ifstream file(output_);
    for (std::string line; std::getline(file, line);) {
      const auto space = line.find(' ');
      lines[std::stoull(line.substr(0, space))] = line.substr(space + 1);
    }
    return lines;
  }

 private:
  std::string output_;
  pid_t pid_ = 0;
  int status_ = 0;
  bool ended_ = false;
};

/// A chain that sends its frames to a socket, and says what it found on them. videoconvert takes
/// memory of the sink's kind: up to 1.26 that one refuses any other.
class Sender {
 public:
  explicit Sender(const std::string& chain, const std::string& socket) {
    GError* error = nullptr;
    pipeline_ = gst_parse_launch(
        ("appsrc name=in format=time is-live=true max-buffers=4 block=true ! "
         "videoconvert ! video/x-raw,format=I420 ! " +
         chain +
         " ! identity name=out signal-handoffs=true ! unixfdsink sync=false async=false "
         "socket-path=" +
         socket)
            .c_str(),
        &error);
    if (error) ADD_FAILURE() << error->message;
    GstElement* out = gst_bin_get_by_name(GST_BIN(pipeline_), "out");
    g_signal_connect(out, "handoff", G_CALLBACK(+[](GstElement*, GstBuffer* buffer, Sender* self) {
                       const std::lock_guard lock(self->mutex_);
                       self->found_[GST_BUFFER_OFFSET(buffer)] = found_text(buffer);
                     }),
                     this);
    gst_object_unref(out);
    const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
    source_ = gst_bin_get_by_name(GST_BIN(pipeline_), "in");
    GstCaps* caps = gst_video_info_to_caps(&info);
    g_object_set(source_, "caps", caps, nullptr);
    gst_caps_unref(caps);
    gst_element_set_state(pipeline_, GST_STATE_PLAYING);
  }
  ~Sender() {
    gst_element_set_state(pipeline_, GST_STATE_NULL);
    gst_object_unref(source_);
    gst_object_unref(pipeline_);
  }
  Sender(const Sender&) = delete;

  bool push(int i) {
    GstBuffer* buffer = grey_frame(
        squares(kWidth, kHeight, {{100 + 2 * (i % 20), 60, 48, 48}, {220, 150, 36, 36}}));
    GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(i) * 40 * GST_MSECOND;
    GST_BUFFER_DURATION(buffer) = 40 * GST_MSECOND;
    GST_BUFFER_OFFSET(buffer) = static_cast<guint64>(i);  // times change on the way
    GstFlowReturn flow = GST_FLOW_ERROR;
    g_signal_emit_by_name(source_, "push-buffer", buffer, &flow);
    gst_buffer_unref(buffer);
    return flow == GST_FLOW_OK;
  }
  std::string found(guint64 frame) {
    const std::lock_guard lock(mutex_);
    return found_[frame];
  }

 private:
  GstElement *pipeline_ = nullptr, *source_ = nullptr;
  std::mutex mutex_;
  std::map<guint64, std::string> found_;
};

/// Sends frames until the receiver has its number of them. It may connect at any of them.
void send_to(Receiver& receiver, Sender& sender) {
  constexpr int kMostFrames = 3000;  // 60 s
  for (int i = 0; i < kMostFrames && receiver.is_running(); ++i) {
    ASSERT_TRUE(sender.push(i)) << "frame " << i;
    g_usleep(20'000);
  }
  ASSERT_FALSE(receiver.is_running());
  EXPECT_EQ(receiver.status(), 0);
}

class UnixFd : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_elements()) GTEST_SKIP() << "no unixfdsink and unixfdsrc (GStreamer 1.24)";
  }
  Parts parts_;
  std::string socket_ = parts_.folder.path() + "/socket";
};

class UnixFdChains : public UnixFd, public testing::WithParamInterface<const char*> {};

TEST_P(UnixFdChains, AReceiverWithoutElementsReadsAllThatWasFound) {
  Sender sender(parts_.faces() + " ! " + parts_.motion + " ! cufeatures ! " + GetParam(), socket_);
  Receiver receiver(socket_, parts_.folder, "registers");
  send_to(receiver, sender);
  const auto lines = receiver.lines();
  EXPECT_EQ(lines.size(), std::size_t{kFrames});
  for (const auto& [frame, text] : lines) {
    EXPECT_TRUE(text == sender.found(frame)) << "frame " << frame;
    for (const char* what : {"faces", " id 1 ", " id 2 ", "; motion", "; keypoints level"})
      EXPECT_NE(text.find(what), std::string::npos) << what << " of frame " << frame;
  }
}

// Behind a crop from 1.28 on.
INSTANTIATE_TEST_SUITE_P(Chains, UnixFdChains,
                         testing::Values("cuedgedetect", GST_CHECK_VERSION(1, 28, 0)
                                                             ? "videocrop left=10 ! videoconvert"
                                                             : "videoscale"));

TEST_F(UnixFd, AReceiverThatHasNotRegisteredThemGetsTheFramesAlone) {
  Sender sender(parts_.faces(), socket_);
  Receiver receiver(socket_, parts_.folder, "ignores");
  send_to(receiver, sender);
  const auto lines = receiver.lines();
  EXPECT_EQ(lines.size(), std::size_t{kFrames});
  for (const auto& [frame, text] : lines) {
    EXPECT_EQ(text, "0 metas") << frame;
    EXPECT_NE(sender.found(frame).find(" id 1 "), std::string::npos) << frame;
  }
}

}  // namespace
}  // namespace cuface::test
