// Bad input: an error of the right domain that names the file, never a crash or a hang.
#include <gst/base/gstbasetransform.h>

#include "gst/base/errors.h"
#include "tests/drawn_heads.h"
#include "tests/gst/support.h"
#include "tests/models/temporary.h"

namespace cuface::test {
namespace {

class Errors : public testing::Test {
 protected:
  TempFolder folder;
  std::string cascade = folder.write("square.xml", square_cascade_xml());
  std::string dat = read_file(drawn_heads_model());

  static BusReport run(const std::string& element) {
    return run_pipeline("videotestsrc num-buffers=3 ! video/x-raw,width=160,height=120 ! " +
                        element + " ! fakesink");
  }
  void expect_file_error(const std::string& element, const std::string& property,
                         const std::string& file, GQuark domain, int code, const char* what) {
    const BusReport report = run(element + " " + property + "=" + file);
    EXPECT_TRUE(report.finished) << what << ": neither error nor end";
    EXPECT_EQ(g_quark_to_string(report.error_domain), std::string(g_quark_to_string(domain)))
        << what << ": " << report.error;
    EXPECT_EQ(report.error_code, code) << what << ": " << report.error;
    EXPECT_NE(report.error.find(file), std::string::npos) << what << ": " << report.error;
  }
};

TEST_F(Errors, ModelFiles) {
  const auto decode = GST_STREAM_ERROR_DECODE;
  const std::string xml = square_cascade_xml();
  struct Case {
    const char* what;
    std::string cascade, model;
    GQuark domain;
    int code;
  };
  const std::string missing = folder.path() + "/missing";
  const Case cases[] = {
      {"missing", missing, missing, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND},
      {"empty", folder.write("e.xml", ""), folder.write("e.dat", ""), GST_STREAM_ERROR, decode},
      {"truncated", folder.write("t.xml", xml.substr(0, xml.size() / 2)),
       folder.write("t.dat", dat.substr(0, dat.size() / 2)), GST_STREAM_ERROR, decode},
      {"no model", folder.write("n.xml", "<html>not a cascade</html>"),
       folder.write("n.dat", std::string(1000, 'x')), GST_STREAM_ERROR, decode},
      {"folder", folder.path(), folder.path(), GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ},
  };
  for (const Case& c : cases) {
    expect_file_error("cufacedetect", "cascade", c.cascade, c.domain, c.code, c.what);
    expect_file_error("cufacelandmark", "model", c.model, c.domain, c.code, c.what);
  }
}

TEST_F(Errors, ACascadeIsNoLandmarkModelAndBack) {
  const std::string model = folder.write("small.dat", dat);
  EXPECT_NE(run("cufacedetect cascade=" + model).error.find(model), std::string::npos);
  EXPECT_NE(run("cufacelandmark model=" + cascade).error.find(cascade), std::string::npos);
}

TEST_F(Errors, NoDefaultModelNamesTheFoldersAndTheCommand) {
  const char* names[] = {"CUFACE_MODEL_PATH", "XDG_CACHE_HOME"};
  std::vector<std::pair<bool, std::string>> saved;
  for (const char* name : names) {
    const char* value = g_getenv(name);
    saved.emplace_back(value != nullptr, value ? value : "");
    g_setenv(name, folder.path().c_str(), TRUE);
  }
  const BusReport report = run("cufacelandmark");
  for (std::size_t i = 0; i < saved.size(); ++i) {
    if (saved[i].first)
      g_setenv(names[i], saved[i].second.c_str(), TRUE);
    else
      g_unsetenv(names[i]);
  }
  if (report.error.empty()) GTEST_SKIP() << "a model is installed in the data folder";
  EXPECT_EQ(report.error_domain, GST_RESOURCE_ERROR);
  EXPECT_EQ(report.error_code, GST_RESOURCE_ERROR_NOT_FOUND);
  EXPECT_NE(report.error.find(folder.path()), std::string::npos) << report.error;
  EXPECT_NE(report.error.find("models/fetch"), std::string::npos) << report.error;
}

// Who looks into an error finds the line that made it, not the one that posts all of them.
TEST_F(Errors, TheDebugTextNamesTheOrigin) {
  struct Case {
    std::string element;
    const char* origin;
  };
  for (const auto& [element, origin] :
       {Case{"cufacedetect cascade=" + folder.path() + "/missing", "models/"},
        Case{"cufacedetect cascade=" + folder.write("n.xml", "<html>no</html>"), "models/"},
        Case{"cufacelandmark model=" + folder.write("n.dat", "x"), "models/"},
        Case{"cufacepublish location=" + folder.path() + "/missing/file",
             "gst/facepublish/line_writer.cc"},
        Case{"cufacepublish", "facepublish.cc"}}) {
    const BusReport report = run(element);
    EXPECT_NE(report.debug.find(origin), std::string::npos) << element << ": " << report.debug;
    EXPECT_EQ(report.debug.find("errors.cc"), std::string::npos) << report.debug;
    EXPECT_EQ(report.debug.find("post_"), std::string::npos) << report.debug;
  }
}

/// What post_error() puts on a bus.
struct Posted {
  explicit Posted(const Status& status) {
    GstElement* element = gst_pipeline_new("some");
    GstBus* bus = gst_element_get_bus(element);
    gst::post_error(element, status);
    GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    GError* error = nullptr;
    gchar* debugging = nullptr;
    gst_message_parse_error(message, &error, &debugging);
    domain = error->domain;
    code = error->code;
    text = error->message;
    debug = debugging;
    g_clear_error(&error);
    g_free(debugging);
    gst_message_unref(message);
    gst_object_unref(bus);
    gst_object_unref(element);
  }
  bool says(const char* words) const { return text.find(words) != std::string::npos; }
  GQuark domain;
  int code;
  std::string text, debug;
};

TEST(PostError, NamesTheLineThatMadeTheStatus) {
  const int line = __LINE__ + 1;
  const Status made(StatusCode::kIo, "no luck");
  const Posted posted{Status(made)};
  EXPECT_NE(posted.debug.find("test_errors.cc(" + std::to_string(line) + ")"), std::string::npos)
      << posted.debug;
  EXPECT_NE(posted.debug.find("TestBody"), std::string::npos) << posted.debug;
}

// NO_SPACE_LEFT is for disks.
TEST(PostError, TooLittleMemorySaysWhichAndWhatToDo) {
  const Posted device(Status(StatusCode::kOutOfDeviceMemory, "allocating 7 bytes of GPU memory"));
  const Posted host(Status(StatusCode::kOutOfMemory, "no memory to search a picture"));
  for (const Posted* posted : {&device, &host}) {
    EXPECT_EQ(posted->domain, GST_RESOURCE_ERROR);
    EXPECT_EQ(posted->code, GST_RESOURCE_ERROR_FAILED);
  }
  for (const char* words : {"allocating 7 bytes", "The GPU's memory", "cuda-device-id",
                            "backend=cpu", "smaller frames"})
    EXPECT_TRUE(device.says(words)) << device.text;
  for (const char* words : {"search a picture", "The computer's memory", "smaller frames"})
    EXPECT_TRUE(host.says(words)) << host.text;
  EXPECT_FALSE(host.says("cuda-device-id")) << host.text;
}

bool offers_cuda_memory(const char* element) {
  GstElementFactory* factory = gst_element_factory_find(element);
  GstElement* made = gst_element_factory_create(factory, nullptr);
  gst_object_unref(factory);
  GstCaps* caps = gst_pad_get_pad_template_caps(GST_BASE_TRANSFORM_SINK_PAD(made));
  bool offers = false;
  for (guint i = 0; i < gst_caps_get_size(caps); ++i)
    offers |= gst_caps_features_contains(gst_caps_get_features(caps, i), "memory:CUDAMemory");
  gst_caps_unref(caps);
  gst_object_unref(made);
  return offers;
}

// Without CUDA in the build, a driver or a GPU: nothing is offered, cuda says why it cannot be, and
// auto works on the CPU.
TEST_F(Errors, NoCuda) {
  if (offers_cuda_memory("cufacepublish")) GTEST_SKIP() << "there is a GPU";
  const std::string model = folder.write("small.dat", dat);
  const std::string elements[] = {"cufacedetect cascade=" + cascade,
                                  "culktrack",
                                  "cufacelandmark model=" + model,
                                  "cufaceoverlay",
                                  "cuedgedetect",
                                  "cumotiondetect",
                                  "cufeatures",
                                  "cufacepublish post-messages=true"};
  for (const std::string& element : elements) {
    EXPECT_FALSE(offers_cuda_memory(element.substr(0, element.find(' ')).c_str())) << element;
    const BusReport cuda = run(element + " backend=cuda");
    EXPECT_EQ(cuda.error_domain, GST_RESOURCE_ERROR) << element;
    EXPECT_EQ(cuda.error_code, GST_RESOURCE_ERROR_NOT_FOUND) << element;
    EXPECT_NE(cuda.error.find("backend=cuda: "), std::string::npos) << cuda.error;
    EXPECT_NE(cuda.error.find("backend=auto"), std::string::npos) << cuda.error;
    const BusReport any = run(element + " backend=auto");
    EXPECT_EQ(any.error, "") << element;
    EXPECT_TRUE(any.finished) << element;
  }
}

TEST_F(Errors, MoreFacesThanMaxFacesAreLeftOutWithoutAWord) {
  std::string yes = square_cascade_xml();
  yes.replace(yes.find("0 -1 0 1.6"), 10, "0 -1 0 -99");
  const std::string cascade = folder.write("yes.xml", yes), lines = folder.path() + "/lines";
  for (const int most : {1, 64, 1000}) {
    const BusReport report = run_pipeline(
        "videotestsrc pattern=snow num-buffers=2 ! video/x-raw,width=320,height=240 ! cufacedetect "
        "backend=cpu redetect-interval=1 min-neighbors=0 min-size=48 cascade=" +
        cascade + " max-faces=" + std::to_string(most) + " ! cufacepublish location=" + lines +
        " ! fakesink");
    EXPECT_EQ(report.error, "") << most;
    EXPECT_TRUE(report.warnings.empty()) << report.warnings[0];
    std::ifstream file(lines);
    int frames = 0;
    for (std::string line; std::getline(file, line); ++frames) {
      int faces = 0;
      for (std::size_t at = 0; (at = line.find("roi_type", at)) != std::string::npos; ++at) ++faces;
      EXPECT_EQ(faces, most);
    }
    EXPECT_EQ(frames, 2);
  }
}

TEST_F(Errors, TooManyWindowsAreReportedNotSearched) {
  // A cascade that says yes everywhere, on a picture with more windows than the limit.
  std::string yes = square_cascade_xml();
  yes.replace(yes.find("0 -1 0 1.6"), 10, "0 -1 0 -99");
  const BusReport report = run_pipeline(
      "videotestsrc pattern=snow num-buffers=2 ! video/x-raw,width=640,height=480 ! cufacedetect "
      "cascade=" +
      folder.write("yes.xml", yes) + " ! fakesink");
  EXPECT_EQ(report.error, "");
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(report.warnings[0].find("65536"), std::string::npos);
}

}  // namespace
}  // namespace cuface::test
