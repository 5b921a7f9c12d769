// The threads that elements start: how many there are of all detectors together, and that none is
// left behind.
#include <iterator>
#include <memory>

#include "tests/gst/support.h"

namespace cuface::test {
namespace {

int threads_now() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

/// The threads of this process that are more than `before`.
int helpers(int before) { return threads_now() - before; }

/// Whether they are gone within ten seconds; one that has just ended may still be listed.
bool all_end(int before) {
  for (int i = 0; i < 1000 && helpers(before) != 0; ++i) g_usleep(10000);
  return helpers(before) == 0;
}

TEST(Threads, OfManyDetectorsAreShared) {
  const TempFolder folder;
  const std::string cascade = folder.write("square.xml", square_cascade_xml());
  const auto detector = [&](int threads) {
    auto h = std::make_unique<Harness>("cufacedetect backend=cpu cascade=" + cascade +
                                       " threads=" + std::to_string(threads));
    h->set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, 640, 360));
    GstBuffer* out = h->pass(grey_frame(squares(640, 360, {{100, 100, 60, 60}})));
    EXPECT_EQ(face_count(out), 1);
    gst_buffer_unref(out);
    return h;
  };
  std::vector<std::unique_ptr<Harness>> streams;
  streams.push_back(detector(1));  // what the first of all starts counts as being there before
  streams.clear();
  const int before = threads_now();
  for (int i = 0; i < 6; ++i) streams.push_back(detector(3));
  const int processors = static_cast<int>(g_get_num_processors());
  EXPECT_GE(helpers(before), 2);
  EXPECT_LE(helpers(before), std::max(processors - 1, 2)) << "not two of each";
  for (const auto& stream : streams) gst_element_set_state(stream->get()->element, GST_STATE_READY);
  EXPECT_TRUE(all_end(before)) << "they end with the last detector that is stopped";
  streams.clear();
  streams.push_back(detector(1));
  EXPECT_EQ(helpers(before), 0) << "threads=1 needs none";
  streams.push_back(detector(2));
  EXPECT_GE(helpers(before), 1);
  streams.clear();
  EXPECT_TRUE(all_end(before));
}

}  // namespace
}  // namespace cuface::test
