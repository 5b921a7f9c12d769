// cufacepublish and whoever reads its lines: readers that are slow, stall, come late or never, and
// how long the video, a flush and the way to NULL wait for them.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "tests/fewer.h"
#include "tests/gst/publish.h"

namespace cuface::test {
namespace {

#ifdef CUFACE_SANITIZED
const double kSlower = 10 * slowness();  // instrumented code is not held to limits of time
#else
const double kSlower = slowness();
#endif

/// What the element holds at most (line_writer.h).
constexpr std::size_t kLines = 256, kBytes = std::size_t{16} << 20;

template <typename Function>
double seconds(const Function& function) {
  const gint64 begin = g_get_monotonic_time();
  function();
  return static_cast<double>(g_get_monotonic_time() - begin) / G_USEC_PER_SEC;
}

/// Whether it comes true within ten seconds.
template <typename Condition>
bool comes(const Condition& condition) {
  for (int i = 0; i < 1000 && !condition(); ++i) g_usleep(10000);
  return condition();
}

/// Frames that come from a thread of their own until one is refused.
class Stream {
 public:
  Stream(Harness& h, int count)
      : thread_([&h, count] {
          for (int i = 0; i < count; ++i)
            if (push(h, frame(i)) != GST_FLOW_OK) break;
        }) {}
  ~Stream() { join(); }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

/// Takes 4 KiB a second out of a pipe, as a serial line does, until it is told to end.
class SlowReader {
 public:
  explicit SlowReader(int fd)
      : fd_(fd), thread_([this] {
          char bytes[512];
          for (; !end_; g_usleep(125000))
            if (const ssize_t n = read(fd_, bytes, sizeof bytes); n > 0) bytes_ += n;
        }) {}
  ~SlowReader() {
    end_ = true;
    thread_.join();
    close(fd_);
  }
  ssize_t bytes() const { return bytes_; }

 private:
  const int fd_;
  std::atomic<bool> end_{false};
  std::atomic<ssize_t> bytes_{0};
  std::thread thread_;
};

class PublishReaders : public FacePublish {
 public:
  /// A named pipe, open at its reader's end, where nobody has read yet.
  int make_pipe() {
    EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
    return open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  }
  /// The same, with room for nothing: what the element writes stays with it.
  int make_full_pipe() {
    const int reader = make_pipe();
    const int writer = open(path_.c_str(), O_WRONLY | O_NONBLOCK);
    const char zeros[4096] = {};
    while (write(writer, zeros, sizeof zeros) > 0) continue;
    EXPECT_EQ(errno, EAGAIN);
    close(writer);
    return reader;
  }
  static guint64 frames(Harness& h) { return h.stat("p", "frames"); }
  /// Until the element holds what it may, and the video stands still behind it.
  static void fill(Harness& h) {
    guint64 last = 0;
    ASSERT_TRUE(comes([&] {
      const guint64 before = std::exchange(last, frames(h));
      g_usleep(200000);
      return last > kLines - 2 && last == before;
    }));
  }
};

double time_to_null(Harness& h) {
  return seconds([&] { gst_element_set_state(h.get()->element, GST_STATE_NULL); });
}

/// The error on the bus, which tells of a named pipe that nobody has read, and where it was made.
void check_unread(GstBus* bus) {
  GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  ASSERT_NE(message, nullptr);
  GError* error = nullptr;
  gchar* debug = nullptr;
  gst_message_parse_error(message, &error, &debug);
  EXPECT_EQ(error->code, GST_RESOURCE_ERROR_WRITE);
  EXPECT_NE(std::string(error->message).find("for reading"), std::string::npos) << error->message;
  EXPECT_NE(std::string(debug).find("line_writer.cc"), std::string::npos) << debug;
  EXPECT_NE(std::string(debug).find("wait_for_reader"), std::string::npos) << debug;
  g_error_free(error);
  g_free(debug);
  gst_message_unref(message);
}

// Lines for 100 seconds wait for the slow readers; and nobody reads the third.
TEST_F(PublishReaders, NoneHoldsTheWayToNull) {
  const auto behind_named_pipe = [&] {
    SlowReader reader(make_pipe());
    FrameHarness h(launch("name=p"), "GRAY8", kWidth, kHeight);
    Stream stream(h, 1000);
    fill(h);
    EXPECT_LT(frames(h), 1000u);
    const double took = time_to_null(h);
    EXPECT_GT(reader.bytes(), 4096) << "it reads";
    return took;
  };
  const auto without_reader = [&] {
    const std::string path = (folder_ / "unread").string();
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    FrameHarness h("cufacepublish name=p location=" + path, "GRAY8", kWidth, kHeight);
    GstBus* bus = gst_bus_new();
    gst_element_set_bus(h.get()->element, bus);
    double took = 0;
    {
      Stream stream(h, 1000);
      fill(h);
      took = seconds([&] { gst_element_set_state(h.get()->element, GST_STATE_READY); });
    }
    check_unread(bus);  // NULL empties the bus
    gst_element_set_bus(h.get()->element, nullptr);
    gst_object_unref(bus);
    return took;
  };
  // The test's own standard output is a pipe for as long as the element opens it.
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  std::fflush(stdout);
  const int own = dup(STDOUT_FILENO);
  dup2(ends[1], STDOUT_FILENO);
  FrameHarness h("cufacepublish name=p location=-", "GRAY8", kWidth, kHeight);
  dup2(own, STDOUT_FILENO);
  close(own);
  EXPECT_EQ(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0) << "others write there too";
  close(ends[1]);
  SlowReader reader(ends[0]);
  auto named = std::async(std::launch::async, behind_named_pipe);
  auto unread = std::async(std::launch::async, without_reader);
  Stream stream(h, 1000);
  fill(h);
  EXPECT_LT(frames(h), 1000u);
  EXPECT_LT(time_to_null(h), 2.5 * kSlower);
  EXPECT_GT(reader.bytes(), 4096) << "it reads";
  EXPECT_LT(named.get(), 2.5 * kSlower);
  EXPECT_LT(unread.get(), 2.5 * kSlower);
}

TEST_F(PublishReaders, PlayingDoesNotWaitForOne) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  GstElement* pipeline = gst_parse_launch(
      ("videotestsrc is-live=true ! " + launch() + " ! fakesink").c_str(), nullptr);
  // Were it to hang, a reader would let it go on after a while.
  std::atomic<bool> done{false};
  std::thread rescue([&] {
    if (comes([&] { return done.load(); })) return;
    close(open(path_.c_str(), O_RDONLY | O_NONBLOCK));
  });
  EXPECT_LT(seconds([&] { gst_element_set_state(pipeline, GST_STATE_PLAYING); }), 1 * kSlower);
  EXPECT_LT(seconds([&] { gst_element_set_state(pipeline, GST_STATE_NULL); }), 2.5 * kSlower);
  done = true;
  rescue.join();
  gst_object_unref(pipeline);
}

TEST_F(PublishReaders, OneThatComesLaterGetsAllLines) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  FrameHarness h(launch("name=p"), "GRAY8", kWidth, kHeight);
  Bus bus(h);
  const int n = 600;  // more than wait
  Stream stream(h, n);
  fill(h);
  EXPECT_EQ(frames(h), kLines) << "nothing is lost, so the video waits";
  std::string text;
  std::thread reader([&] {
    const int fd = open(path_.c_str(), O_RDONLY);
    char bytes[65536];
    for (ssize_t got; (got = read(fd, bytes, sizeof bytes)) > 0;)
      text.append(bytes, static_cast<std::size_t>(got));
    close(fd);
  });
  stream.join();
  gst_harness_push_event(h.get(), gst_event_new_eos());
  gst_element_set_state(h.get()->element, GST_STATE_NULL);
  reader.join();
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    ASSERT_EQ(Json::parse(line)["frame"], count);
  EXPECT_EQ(count, n);
  EXPECT_EQ(bus.count(GST_MESSAGE_ERROR), 0);
}

TEST_F(PublishReaders, AStalledOneDoesNotHoldAFlush) {
  const int reader = make_pipe();
  FrameHarness h(launch("name=p"), "GRAY8", kWidth, kHeight);
  Stream stream(h, 1000);
  fill(h);
  EXPECT_LT(frames(h), 1000u);
  EXPECT_LT(seconds([&] {
              gst_harness_push_event(h.get(), gst_event_new_flush_start());
              stream.join();
            }),
            1 * kSlower);
  // 0.2 s of patience; it was two seconds.
  EXPECT_LT(seconds([&] { gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE)); }),
            1 * kSlower);
  close(reader);
}

TEST_F(PublishReaders, AStalledOneHoldsTheVideoButNotTheShutdown) {
  const int reader = make_pipe();
  GstElement* pipeline =
      gst_parse_launch(("videotestsrc ! video/x-raw,width=64,height=64,framerate=1000/1 ! " +
                        launch("name=p") + " ! fakesink sync=false")
                           .c_str(),
                       nullptr);
  GstElement* publish = gst_bin_get_by_name(GST_BIN(pipeline), "p");
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  const auto frames = [&] {
    GstStructure* stats = nullptr;
    g_object_get(publish, "stats", &stats, nullptr);
    guint64 n = 0;
    gst_structure_get_uint64(stats, "frames", &n);
    gst_structure_free(stats);
    return n;
  };
  // Until it stands still behind what the element holds; a busy machine may pause it before.
  guint64 last = 0, now = 0;
  for (int i = 0; i < 600 && (now < kLines || now != last); ++i) {
    last = now;
    g_usleep(100000);
    now = frames();
  }
  EXPECT_GE(now, kLines);
  EXPECT_LT(now, 5000u) << "back-pressure";
  EXPECT_LT(seconds([&] { gst_element_set_state(pipeline, GST_STATE_NULL); }), 2.5 * kSlower);
  gst_object_unref(publish);
  gst_object_unref(pipeline);
  close(reader);
}

TEST_F(PublishReaders, ALeakyElementDropsTheOldestLines) {
  const int reader = make_pipe();
  FrameHarness h(launch("name=p leaky=downstream"), "GRAY8", kWidth, kHeight);
  Bus bus(h);
  const int n = 1000;
  ASSERT_EQ(push(h, frame(0)), GST_FLOW_OK);
  pollfd first{reader, POLLIN, 0};
  ASSERT_EQ(poll(&first, 1, 10000), 1);
  for (int i = 1; i < n; ++i) ASSERT_EQ(push(h, frame(i)), GST_FLOW_OK);
  const guint64 dropped = h.stat("p", "dropped-lines");
  EXPECT_GT(dropped, 500u) << "a pipe holds about 50, the element 256";
  GstMessage* message = bus.next(GST_MESSAGE_WARNING);
  ASSERT_NE(message, nullptr);
  GError* error = nullptr;
  gst_message_parse_warning(message, &error, nullptr);
  EXPECT_NE(std::string(error->message).find("dropped-lines"), std::string::npos);
  EXPECT_NE(std::string(error->message).find(path_.string()), std::string::npos);
  g_error_free(error);
  gst_message_unref(message);
  EXPECT_EQ(bus.count(GST_MESSAGE_WARNING), 0) << "once";
  std::string text;
  std::thread drain([&] {
    char bytes[65536];
    while (std::count(text.begin(), text.end(), '\n') < n - static_cast<int>(dropped))
      if (const ssize_t got = read(reader, bytes, sizeof bytes); got > 0)
        text.append(bytes, static_cast<std::size_t>(got));
      else
        g_usleep(1000);
  });
  gst_harness_push_event(h.get(), gst_event_new_eos());
  drain.join();
  EXPECT_EQ(bus.count(GST_MESSAGE_ERROR), 0);
  std::istringstream lines(text);
  std::vector<int> numbers;
  for (std::string line; std::getline(lines, line);)
    numbers.push_back(Json::parse(line)["frame"].get<int>());
  ASSERT_EQ(numbers.size(), n - dropped) << "stats count what is missing";
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  for (std::size_t i = 0; i < kLines - 1; ++i)
    ASSERT_EQ(numbers[numbers.size() - 1 - i], n - 1 - static_cast<int>(i))
        << "the newest are there";
  EXPECT_EQ(numbers[0], 0);
  close(reader);
}

// Told so while it waits, it goes on.
TEST_F(PublishReaders, LeakyMayBeSetWhileTheVideoWaits) {
  const int reader = make_pipe();
  FrameHarness h(launch("name=p"), "GRAY8", kWidth, kHeight);
  Stream stream(h, 1000);
  fill(h);
  EXPECT_EQ(h.stat("p", "dropped-lines"), 0u);
  GstElement* publish = h.element("p");
  gst_util_set_object_arg(G_OBJECT(publish), "leaky", "downstream");
  stream.join();
  EXPECT_EQ(frames(h), 1000u);
  EXPECT_GT(h.stat("p", "dropped-lines"), 500u);
  close(reader);
}

/// Lists of faces that are still there.
class Alive {
 public:
  FaceListRef add(FaceListRef list) {
    lists_.push_back(list);
    return list;
  }
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::count_if(lists_.begin(), lists_.end(), [](const auto& l) { return !l.expired(); }));
  }

 private:
  std::vector<std::weak_ptr<const FaceList>> lists_;
};

// What waits holds on to faces; so many lines, and no more memory than the bound.
TEST_F(PublishReaders, MemoryThatWaitsIsBounded) {
  const auto held = [&](int faces, int landmarks, int frames_sent) {
    const int reader =
        make_full_pipe();  // or some lines would be in the pipe, and nobody knows how many
    FrameHarness h(launch("name=p leaky=downstream"), "GRAY8", 64, 48);
    Alive alive;
    for (int i = 0; i < frames_sent; ++i)
      push(h, with_faces(plain_frame("GRAY8", 64, 48, i),
                         alive.add(make_faces(64, 48, faces, landmarks))));
    const std::size_t count = alive.count();
    close(reader);
    unlink(path_.c_str());
    return count;
  };
  const std::size_t few = held(2, 68, 800);
  EXPECT_LE(few, kLines + 1);  // and that of the frame that came last
  EXPECT_GE(few, kLines);
  const std::size_t list = 64 * 1000 * sizeof(Point);  // and a little
  const std::size_t large = held(64, 1000, 100);
  EXPECT_LE(large, kBytes / list + 1);
  EXPECT_GE(large, kBytes / list / 2);
}

}  // namespace
}  // namespace cuface::test
