// Elements that ask each other for a CUDA context at the same time, or are given one while they
// ask, do not wait for each other. Against a driver with contexts and nothing else (fake/cuda.cc).
#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudautils.h>
#include <gst/gst.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

namespace cuface::test {
namespace {

using namespace std::chrono_literals;

/// Whoever comes waits until two are there, or for a while: where something else keeps the second
/// away, the first goes on.
class MeetingPoint {
 public:
  void arrive() {
    std::unique_lock lock(mutex_);
    ++there_;
    changed_.notify_all();
    changed_.wait_for(lock, 1s, [&] { return there_ >= 2; });
  }
  int there() {
    const std::lock_guard lock(mutex_);
    return there_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int there_ = 0;
};

GstElement* make(const char* factory) {
  GstElement* element = gst_element_factory_make(factory, nullptr);
  EXPECT_NE(element, nullptr) << factory;
  if (!element) return nullptr;
  gst_object_ref_sink(element);
  gst_util_set_object_arg(G_OBJECT(element), "backend", "cuda");
  return element;
}

/// Starts it, which asks for a context. Whether it then finds its model is another matter.
void start(GstElement* element) { gst_element_set_state(element, GST_STATE_PAUSED); }

void end(GstElement* element) {
  gst_element_set_state(element, GST_STATE_NULL);
  gst_object_unref(element);
}

/// Ends the process when it hangs: threads that wait for each other cannot be ended.
void in_time(const std::function<void()>& what) {
  auto done = std::async(std::launch::async, what);
  if (done.wait_for(20s) == std::future_status::ready) return;
  std::printf("FAILED: elements wait for each other\n");
  std::fflush(stdout);
  _exit(1);
}

/// The context that an element gives to others; null without one.
GstCudaContext* context_of(GstElement* element) {
  GstQuery* query = gst_query_new_context(GST_CUDA_CONTEXT_TYPE);
  GstPad* pad = gst_element_get_static_pad(element, "sink");
  GstCudaContext* found = nullptr;
  GstContext* context = nullptr;
  if (gst_pad_query(pad, query)) gst_query_parse_context(query, &context);
  if (context)
    gst_structure_get(gst_context_get_structure(context), GST_CUDA_CONTEXT_TYPE,
                      GST_TYPE_CUDA_CONTEXT, &found, nullptr);
  gst_object_unref(pad);
  gst_query_unref(query);
  return found;
}

TEST(Contexts, TwoNeighboursThatAskEachOtherBothStart) {
  static MeetingPoint meeting;
  GstElement *first = make("cufacedetect"), *second = make("culktrack");
  ASSERT_TRUE(first && second && gst_element_link(first, second));
  for (const auto& [element, pad_name] : {std::pair{first, "src"}, {second, "sink"}}) {
    GstPad* pad = gst_element_get_static_pad(element, pad_name);
    gst_pad_add_probe(
        pad, static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_QUERY_BOTH | GST_PAD_PROBE_TYPE_PUSH),
        [](GstPad*, GstPadProbeInfo* info, gpointer) {
          if (GST_QUERY_TYPE(GST_PAD_PROBE_INFO_QUERY(info)) == GST_QUERY_CONTEXT) meeting.arrive();
          return GST_PAD_PROBE_OK;
        },
        nullptr, nullptr);
    gst_object_unref(pad);
  }
  in_time([&] {
    std::thread other(start, second);
    start(first);
    other.join();
  });
  EXPECT_GE(meeting.there(), 2) << "they did not ask each other";
  for (GstElement* element : {first, second}) {
    GstCudaContext* context = context_of(element);
    EXPECT_NE(context, nullptr) << GST_OBJECT_NAME(element);
    gst_clear_object(&context);
    end(element);
  }
}

/// Answers the question for a context, in the asking thread or another.
struct Application {
  GstCudaContext* context = nullptr;
  bool in_another_thread = false;
  int asked = 0;

  static GstBusSyncReply on_message(GstBus*, GstMessage* message, gpointer data) {
    auto& self = *static_cast<Application*>(data);
    if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_NEED_CONTEXT) return GST_BUS_DROP;
    ++self.asked;
    const auto answer = [&] {
      GstContext* context = gst_context_new(GST_CUDA_CONTEXT_TYPE, TRUE);
      gst_structure_set(gst_context_writable_structure(context), GST_CUDA_CONTEXT_TYPE,
                        GST_TYPE_CUDA_CONTEXT, self.context, "cuda-device-id", G_TYPE_INT, 0,
                        nullptr);
      gst_element_set_context(GST_ELEMENT_CAST(GST_MESSAGE_SRC(message)), context);
      gst_context_unref(context);
    };
    if (self.in_another_thread)
      std::thread(answer).join();
    else
      answer();
    return GST_BUS_DROP;
  }
};

TEST(Contexts, TheApplicationsAnswerIsTakenWhateverItsThread) {
  for (const bool in_another_thread : {false, true}) {
    GstElement* element = make("cufacedetect");
    ASSERT_NE(element, nullptr);
    Application application{gst_cuda_context_new(0), in_another_thread};
    ASSERT_NE(application.context, nullptr);
    GstBus* bus = gst_bus_new();
    gst_bus_set_sync_handler(bus, Application::on_message, &application, nullptr);
    gst_element_set_bus(element, bus);
    in_time([&] { start(element); });
    EXPECT_EQ(application.asked, 1);
    GstCudaContext* found = context_of(element);
    EXPECT_EQ(found, application.context) << in_another_thread;
    gst_clear_object(&found);
    gst_element_set_bus(element, nullptr);
    gst_object_unref(bus);
    end(element);
    gst_object_unref(application.context);
  }
}

}  // namespace
}  // namespace cuface::test

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  if (!gst_cuda_load_library()) return 1;
  return RUN_ALL_TESTS();
}
