// cufacepublish: what is said when lines cannot be written, and what stays of them; readers that
// wait or leave.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "tests/gst/publish.h"

namespace cuface::test {
namespace {

/// Takes the message, which is one of an error.
void check_message(GstMessage* message, GQuark domain, int code, const std::string& part) {
  GError* error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  EXPECT_EQ(error->domain, domain);
  EXPECT_EQ(error->code, code) << error->message;
  EXPECT_NE(std::string(error->message).find(part), std::string::npos) << error->message;
  g_error_free(error);
  gst_message_unref(message);
}

void check_error(Bus& bus, GQuark domain, int code, const std::string& part) {
  GstMessage* message = bus.next(GST_MESSAGE_ERROR);
  ASSERT_NE(message, nullptr) << part;
  check_message(message, domain, code, part);
  EXPECT_EQ(bus.count(GST_MESSAGE_ERROR), 0) << "one error is enough";
}

/// Starts the element, which must fail.
void check_start_error(const std::string& launch, int code, const std::string& part) {
  GstElement* element = gst_parse_launch(launch.c_str(), nullptr);
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(element, bus);
  EXPECT_EQ(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE) << launch;
  GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  ASSERT_NE(message, nullptr) << launch;
  check_message(message, GST_RESOURCE_ERROR, code, part);
  gst_element_set_state(element, GST_STATE_NULL);
  gst_element_set_bus(element, nullptr);  // its other messages hold the element
  gst_object_unref(element);
  gst_object_unref(bus);
}

TEST_F(FacePublish, SaysWhyItCannotOpen) {
  check_start_error("cufacepublish", GST_RESOURCE_ERROR_NOT_FOUND, "set location");
  check_start_error("cufacepublish location=" + (folder_ / "no/such/f").string(),
                    GST_RESOURCE_ERROR_OPEN_WRITE, "mkdir -p '" + (folder_ / "no/such").string());
  check_start_error("cufacepublish location=" + folder_.string(), GST_RESOURCE_ERROR_OPEN_WRITE,
                    folder_.string());
  std::ofstream(path_) << "x";
  check_start_error("cufacepublish location=" + path_.string() + "/f",
                    GST_RESOURCE_ERROR_OPEN_WRITE, "is a file");
  check_start_error("cufacepublish location=/proc/faces.jsonl", GST_RESOURCE_ERROR_OPEN_WRITE,
                    "/proc/faces.jsonl");
}

TEST_F(FacePublish, SaysThatTheDiskIsFull) {
  FrameHarness h("cufacepublish location=/dev/full", "GRAY8", kWidth, kHeight);
  Bus bus(h);
  GstFlowReturn flow = GST_FLOW_OK;
  for (int i = 0; i < 2000 && flow == GST_FLOW_OK; ++i) {
    flow = push(h, frame(i, 0));
    g_usleep(1000);
  }
  EXPECT_EQ(flow, GST_FLOW_ERROR);
  check_error(bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT, "/dev/full");
}

TEST_F(FacePublish, LeavesWholeLinesWhenTheFileMayNotGrow) {
  // The size limit cuts a write in the middle of a line, as a full disk does.
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small = {10000, old.rlim_max};
  {
    FrameHarness h(launch(), "GRAY8", kWidth, kHeight);
    Bus bus(h);
    setrlimit(RLIMIT_FSIZE, &small);
    GstFlowReturn flow = GST_FLOW_OK;
    for (int i = 0; i < 2000 && flow == GST_FLOW_OK; ++i) {
      flow = push(h, frame(i));
      g_usleep(1000);
    }
    setrlimit(RLIMIT_FSIZE, &old);
    EXPECT_EQ(flow, GST_FLOW_ERROR);
    check_error(bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT, path_.string());
  }
  const auto all = lines();
  EXPECT_GT(all.size(), 2u);
  EXPECT_EQ(text().back(), '\n');
  for (const auto& line : all) EXPECT_TRUE(Json::accept(line));
}

TEST_F(FacePublish, SurvivesAReaderThatLeaves) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  int reader = open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  FrameHarness h(launch(), "GRAY8", kWidth, kHeight);
  Bus bus(h);
  push(h, frame(0));
  close(reader);
  GstFlowReturn flow = GST_FLOW_OK;
  for (int i = 1; i < 2000 && flow == GST_FLOW_OK; ++i) {
    flow = push(h, frame(i));
    g_usleep(1000);
  }
  EXPECT_EQ(flow, GST_FLOW_ERROR);
  check_error(bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE, "has ended");
}

TEST_F(FacePublish, NoVideoIsHeldWhileLinesWait) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const int reader = open(path_.c_str(), O_RDWR);  // open, but nobody reads
  {
    FrameHarness h(launch(), "GRAY8", kWidth, kHeight);
    int freed = 0;
    for (int i = 0; i < 100; ++i) {  // a pipe holds about 30 lines
      GstBuffer* buffer = frame(i);
      gst_mini_object_weak_ref(
          GST_MINI_OBJECT(buffer),
          [](gpointer count, GstMiniObject*) { ++*static_cast<int*>(count); }, &freed);
      push(h, buffer);
    }
    EXPECT_EQ(freed, 100);
    std::thread drain([&] {  // lets the end come
      char bytes[65536];
      std::size_t newlines = 0;
      while (newlines < 100) {
        const ssize_t n = read(reader, bytes, sizeof bytes);
        newlines += static_cast<std::size_t>(std::count(bytes, bytes + n, '\n'));
      }
    });
    gst_harness_push_event(h.get(), gst_event_new_eos());
    drain.join();
  }
  close(reader);
}

}  // namespace
}  // namespace cuface::test
