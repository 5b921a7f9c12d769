// What happens to files while a pipeline runs: models that are replaced, overwritten, cut short or
// removed, and the file of cufacepublish that cannot be written any more.
#include <sys/fsuid.h>
#include <unistd.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/forest_file.h"
#include "tests/gst/faces.h"
#include "tests/models/synthetic_forest.h"
#include "tests/models/temporary.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 320, kHeight = 200, kFrames = 12;

class ModelFiles : public testing::Test {
 protected:
  TempFolder folder;
  std::string cascade = folder.write("square.xml", square_cascade_xml());
  std::string model = folder.path() + "/small.cuface";
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);

  void SetUp() override { write_model(11); }
  void write_model(unsigned seed) const {
    ASSERT_TRUE(write_forest_file(*synthetic_forest(7, 40, 60, 4, 40, seed), {}, model).ok());
  }
  std::string chain() const {
    return "cufacedetect min-size=40 redetect-interval=3 cascade=" + cascade +
           " ! culktrack ! cufacelandmark model=" + model;
  }
  std::vector<std::string> pass(Harness& h) const {
    std::vector<std::string> texts;
    for (int i = 0; i < kFrames; ++i) {
      texts.push_back(
          h.pass_text(make_frame(info, squares(kWidth, kHeight, {{40 + 2 * i, 50, 60, 60}}))));
    }
    return texts;
  }
  /// Runs the chain, lets something happen to its files, and runs it again: the same faces.
  void expect_no_effect(const std::function<void(const std::string&)>& happening) const {
    Harness h(chain());
    h.set_caps(info);
    const std::vector<std::string> before = pass(h);
    EXPECT_NE(before[1].find("id 1 "), std::string::npos) << before[1];
    for (const std::string& file : {cascade, model}) happening(file);
    gst_harness_push_event(h.get(), gst_event_new_flush_start());
    gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
    std::vector<std::string> after = pass(h);
    // The ids go on counting.
    for (std::string& text : after) {
      for (std::size_t at; (at = text.find("id 2 ")) != std::string::npos;) text[at + 3] = '1';
    }
    int compared = 0;
    for (std::size_t i = 0; i < before.size(); ++i, ++compared) EXPECT_EQ(after[i], before[i]) << i;
    EXPECT_EQ(compared, kFrames);
  }
  static BusReport start(const std::string& elements) {
    return run_pipeline("videotestsrc num-buffers=2 ! video/x-raw,width=160,height=120 ! " +
                        elements + " ! fakesink");
  }
};

TEST_F(ModelFiles, CutShortWhileTheyAreUsed) {
  expect_no_effect([](const std::string& file) { std::filesystem::resize_file(file, 10); });
  EXPECT_NE(start("cufacedetect cascade=" + cascade).error.find(cascade), std::string::npos)
      << "a new start reads it anew";
}

TEST_F(ModelFiles, OverwrittenWhileTheyAreUsed) {
  expect_no_effect([](const std::string& file) {
    const auto size = std::filesystem::file_size(file);
    std::fstream(file, std::ios::in | std::ios::out | std::ios::binary)
        << std::string(static_cast<std::size_t>(size), '\xff');
  });
}

TEST_F(ModelFiles, RemovedWhileTheyAreUsed) {
  expect_no_effect([](const std::string& file) { std::filesystem::remove(file); });
  const BusReport report = start("cufacelandmark model=" + model);
  EXPECT_EQ(report.error_domain, GST_RESOURCE_ERROR);
  EXPECT_EQ(report.error_code, GST_RESOURCE_ERROR_NOT_FOUND);
  EXPECT_NE(report.error.find(model), std::string::npos) << report.error;
}

TEST_F(ModelFiles, ReplacedWhileTheyAreUsed) {
  const auto run = [&] {
    Harness h(chain());
    h.set_caps(info);
    return pass(h);
  };
  const std::vector<std::string> old = run();
  expect_no_effect([&](const std::string& file) {
    if (file == model) write_model(12);  // renames
  });
  EXPECT_NE(run(), old) << "the next start takes the new one";
}

// ---- what cufacepublish writes ----

class PublishFiles : public testing::Test {
 protected:
  TempFolder folder;
  std::string path = folder.path() + "/faces.jsonl";

  /// Sends frames until the element gives up; how many it took.
  int push_until_error(FrameHarness& h) const {
    for (int i = 0; i < 5000; ++i) {
      const GstFlowReturn flow = gst_harness_push(
          h.get(), with_faces(plain_frame("GRAY8", 64, 48, i), make_faces(64, 48, 1, 5)));
      if (GstBuffer* out = gst_harness_try_pull(h.get())) gst_buffer_unref(out);
      if (flow != GST_FLOW_OK) return i;
      g_usleep(500);
    }
    return -1;
  }
  static std::string error_text(Bus& bus, int code) {
    GstMessage* message = bus.next(GST_MESSAGE_ERROR);
    if (!message) return "no error";
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    EXPECT_TRUE(g_error_matches(error, GST_RESOURCE_ERROR, code)) << error->message;
    const std::string text = error->message;
    g_error_free(error);
    gst_message_unref(message);
    return text;
  }
};

TEST_F(PublishFiles, RemovedWhileItIsWritten) {
  FrameHarness h("cufacepublish location=" + path, "GRAY8", 64, 48);
  Bus bus(h);
  gst_buffer_unref(gst_harness_push_and_pull(h.get(), plain_frame("GRAY8", 64, 48)));
  std::filesystem::remove(path);
  EXPECT_GE(push_until_error(h), 0);
  const std::string text = error_text(bus, GST_RESOURCE_ERROR_WRITE);
  EXPECT_NE(text.find(path), std::string::npos) << text;
  EXPECT_NE(text.find("removed"), std::string::npos) << text;
}

// As logrotate does it: who renamed the file has it, and goes on getting lines.
TEST_F(PublishFiles, RenamedWhileItIsWritten) {
  const std::string moved = path + ".1";
  {
    FrameHarness h("cufacepublish location=" + path, "GRAY8", 64, 48);
    Bus bus(h);
    for (int i = 0; i < 20; ++i) {
      if (i == 10) std::filesystem::rename(path, moved);
      gst_buffer_unref(gst_harness_push_and_pull(h.get(), plain_frame("GRAY8", 64, 48, i)));
    }
    gst_harness_push_event(h.get(), gst_event_new_eos());
    EXPECT_EQ(bus.count(GST_MESSAGE_ERROR), 0);
  }
  std::istringstream lines(read_file(moved));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    EXPECT_TRUE(nlohmann::json::accept(line));
  EXPECT_EQ(count, 20);
}

TEST_F(PublishFiles, InAFolderThatMayOnlyBeRead) {
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0555));
  constexpr uid_t kNobody = 65534;
  const bool root = ::geteuid() == 0;
  if (root) ::setfsuid(kNobody);  // root may write everywhere; this thread now may not
  const BusReport report =
      run_pipeline("videotestsrc num-buffers=2 ! cufacepublish location=" + path + " ! fakesink");
  if (root) ::setfsuid(0);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  EXPECT_EQ(report.error_domain, GST_RESOURCE_ERROR);
  EXPECT_EQ(report.error_code, GST_RESOURCE_ERROR_OPEN_WRITE);
  EXPECT_NE(report.error.find(path), std::string::npos) << report.error;
  EXPECT_NE(report.error.find("may write to"), std::string::npos) << report.error;
}

}  // namespace
}  // namespace cuface::test
