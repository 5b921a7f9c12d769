// Frames whose memory has a CUDA stream (GStreamer 1.24 and later): our reading comes after what is
// in that stream, and what comes there next waits for our reading and drawing. Each test has a
// control in which the same is done in a stream nobody waits for, which must show.
#include <cuda_runtime_api.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>
#include <gst/cuda/gstcudastream.h>
#include <gst/cuda/gstcudautils.h>
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/gpu/pipelines/pipeline.h"
#include "tests/gpu/pipelines/trace.h"
#include "tests/gpu/spin.h"

namespace cuface::test {
namespace {

constexpr int kWidth = 640, kHeight = 360, kFrames = 12, kEvery = 20, kSpinUs = 5000;
const char kCaps[] = ",format=I420,width=640,height=360,framerate=25/1";
const char kDetect[] = "cufacedetect name=detect redetect-interval=1";

using Bytes = std::vector<std::uint8_t>;

GstVideoInfo i420() {
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_I420, kWidth, kHeight);
  return info;
}

/// A picture's planes without padding, wherever the buffer lies.
Bytes bytes_of(GstBuffer* buffer) {
  const GstVideoInfo info = i420();
  Bytes bytes;
  GstVideoFrame frame;
  if (!gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ)) return bytes;
  for (int c = 0; c < 3; ++c) {
    const auto* row = static_cast<const std::uint8_t*>(GST_VIDEO_FRAME_COMP_DATA(&frame, c));
    for (int y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, c); ++y) {
      bytes.insert(bytes.end(), row, row + GST_VIDEO_FRAME_COMP_WIDTH(&frame, c));
      row += GST_VIDEO_FRAME_COMP_STRIDE(&frame, c);
    }
  }
  gst_video_frame_unmap(&frame);
  return bytes;
}

GstBuffer* numbered(GstBuffer* buffer, int number) {
  GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(number) * 40 * GST_MSECOND;
  GST_BUFFER_OFFSET(buffer) = static_cast<guint64>(number);
  return buffer;
}

/// Frames in CUDA memory, each with a stream of its own, and the pictures that go into them; until
/// then they are blank.
class GpuFrames {
 public:
  explicit GpuFrames(const std::vector<Bytes>& pictures) {
    EXPECT_TRUE(gst_cuda_load_library());
    gst_cuda_memory_init_once();
    cuda_ = gst_cuda_context_new(0);
    context_ = gst_context_new_cuda_context(cuda_);
    gst_cuda_context_push(cuda_);
    EXPECT_EQ(cudaStreamCreateWithFlags(&nobodys_, cudaStreamNonBlocking), cudaSuccess);
    const GstVideoInfo info = i420();
    for (const Bytes& picture : pictures) {
      Frame frame;
      frame.stream = gst_cuda_stream_new(cuda_);
      frame.memory = gst_cuda_allocator_alloc(nullptr, cuda_, frame.stream, &info);
      GstMapInfo map;
      EXPECT_TRUE(gst_memory_map(frame.memory, &map,
                                 static_cast<GstMapFlags>(GST_MAP_WRITE | GST_MAP_CUDA)));
      frame.data = map.data;
      gst_memory_unmap(frame.memory, &map);
      EXPECT_EQ(cudaMemset(frame.data, 128, GST_CUDA_MEMORY_CAST(frame.memory)->info.size),
                cudaSuccess);
      EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&frame.picture), picture.size()), cudaSuccess);
      EXPECT_EQ(cudaMemcpy(frame.picture, picture.data(), picture.size(), cudaMemcpyHostToDevice),
                cudaSuccess);
      frames_.push_back(frame);
    }
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    gst_cuda_context_pop(nullptr);
  }
  ~GpuFrames() {
    gst_cuda_context_push(cuda_);
    cudaDeviceSynchronize();
    for (Frame& frame : frames_) {
      cudaFree(frame.picture);
      gst_memory_unref(frame.memory);
      gst_cuda_stream_unref(frame.stream);
    }
    cudaStreamDestroy(nobodys_);
    gst_cuda_context_pop(nullptr);
    gst_object_unref(cuda_);
    gst_context_unref(context_);
  }
  GpuFrames(const GpuFrames&) = delete;
  GpuFrames& operator=(const GpuFrames&) = delete;

  GstContext* context() const { return context_; }

  std::vector<GstBuffer*> buffers() const {
    std::vector<GstBuffer*> all;
    for (const Frame& frame : frames_) {
      GstBuffer* buffer = gst_buffer_new();
      gst_buffer_append_memory(buffer, gst_memory_ref(frame.memory));
      GstVideoInfo& layout = GST_CUDA_MEMORY_CAST(frame.memory)->info;
      gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_I420,
                                     kWidth, kHeight, 3, layout.offset, layout.stride);
      all.push_back(numbered(buffer, static_cast<int>(all.size())));
    }
    return all;
  }

  /// Enqueues it, in the memory's stream or in one that nobody knows of, behind a wait.
  void fill(GstBuffer* buffer, bool ordered, int wait_us) {
    const Frame& frame = frame_of(buffer);
    work(frame, ordered, wait_us, [&](cudaStream_t stream) {
      const GstVideoInfo& layout = GST_CUDA_MEMORY_CAST(frame.memory)->info;
      const GstVideoInfo packed = i420();
      std::size_t from = 0;
      for (int c = 0; c < 3; ++c) {
        const auto w = static_cast<std::size_t>(GST_VIDEO_INFO_COMP_WIDTH(&packed, c));
        const auto h = static_cast<std::size_t>(GST_VIDEO_INFO_COMP_HEIGHT(&packed, c));
        EXPECT_EQ(cudaMemcpy2DAsync(
                      frame.data + layout.offset[c], static_cast<std::size_t>(layout.stride[c]),
                      frame.picture + from, w, w, h, cudaMemcpyDeviceToDevice, stream),
                  cudaSuccess);
        from += w * h;
      }
    });
  }
  void blank(GstBuffer* buffer, bool ordered) {
    const Frame& frame = frame_of(buffer);
    work(frame, ordered, 0, [&](cudaStream_t stream) {
      EXPECT_EQ(
          cudaMemsetAsync(frame.data, 128, GST_CUDA_MEMORY_CAST(frame.memory)->info.size, stream),
          cudaSuccess);
    });
  }

 private:
  struct Frame {
    GstCudaStream* stream = nullptr;
    GstMemory* memory = nullptr;
    std::uint8_t* data = nullptr;
    std::uint8_t* picture = nullptr;  // without padding
  };

  const Frame& frame_of(GstBuffer* buffer) const { return frames_.at(GST_BUFFER_OFFSET(buffer)); }

  void work(const Frame& frame, bool ordered, int wait_us,
            const std::function<void(cudaStream_t)>& enqueue) {
    const cudaStream_t stream = ordered ? gst_cuda_stream_get_handle(frame.stream) : nobodys_;
    gst_cuda_context_push(cuda_);
    if (wait_us > 0) {
      EXPECT_EQ(spin(wait_us, stream), cudaSuccess);
    }
    enqueue(stream);
    gst_cuda_context_pop(nullptr);
    GST_MINI_OBJECT_FLAG_SET(frame.memory, GST_CUDA_MEMORY_TRANSFER_NEED_SYNC);
  }

  GstContext* context_ = nullptr;
  GstCudaContext* cuda_ = nullptr;
  cudaStream_t nobodys_ = nullptr;
  std::vector<Frame> frames_;
};

class StreamCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_CHAINS();
    Pipeline pipeline(decoded_on_cpu(clip(kPexels)) + " ! identity name=id ! fakesink sync=false");
    int number = 0;
    pipeline.on_buffer("id", "src", [&](GstBuffer* buffer) {
      if (number++ % kEvery == 0 && pictures_.size() < kFrames)
        pictures_.push_back(bytes_of(buffer));
    });
    EXPECT_TRUE(pipeline.play().eos);
    ASSERT_EQ(pictures_.size(), std::size_t{kFrames});
  }
  void TearDown() override { trace::before_submission({}); }

  std::vector<GstBuffer*> system_buffers() const {
    std::vector<GstBuffer*> all;
    for (const Bytes& picture : pictures_)
      all.push_back(numbered(gst_buffer_new_memdup(picture.data(), picture.size()),
                             static_cast<int>(all.size())));
    return all;
  }

  /// Delays what our elements submit next once a buffer has come to this element.
  void delay_before(Pipeline& pipeline, const char* element) {
    pipeline.on_buffer(element, "sink", [this](GstBuffer*) { armed_ = true; });
    trace::before_submission([this](const trace::Call& call, CUstream stream) {
      if (call.caller != trace::Caller::kElements || !std::exchange(armed_, false)) return;
      EXPECT_EQ(spin(kSpinUs, stream), cudaSuccess);
      ++spins_;
    });
  }

  static std::string chain(const std::string& caps, const std::string& file) {
    return "appsrc name=src format=time caps=" + caps + kCaps + " ! " + kDetect +
           " ! culktrack name=track ! cufacelandmark name=landmark ! cufacepublish location=" +
           file + " ! fakesink sync=false enable-last-sample=false";
  }

  using Prepare = std::function<void(Pipeline&, GpuFrames&)>;

  /// The lines of the chain on the pictures, on the CPU or (with a function) on the GPU.
  std::vector<std::string> lines(const Prepare& prepare) {
    const std::string file = folder_.file("lines");
    GpuFrames frames(pictures_);
    Pipeline pipeline(chain(prepare ? "video/x-raw(memory:CUDAMemory)" : "video/x-raw", file),
                      frames.context());
    if (prepare) prepare(pipeline, frames);
    pipeline.feed("src", prepare ? frames.buffers() : system_buffers());
    const Ending ending = pipeline.play(30);
    EXPECT_TRUE(ending.eos) << ending.error;
    pipeline.set_state(GST_STATE_NULL);
    return lines_of(file);
  }

  void compare(const Prepare& ordered, const Prepare& control, const char* what) {
    const auto expected = lines({});
    EXPECT_EQ(expected.size(), std::size_t{kFrames});
    EXPECT_GE(faces_in(expected), kFrames / 2);
    expect_same_lines(expected, lines(ordered), what);
    EXPECT_NE(expected, lines(control)) << "what is not ordered does not show";
    std::printf("compared: %zu lines, %ld faces, %s\n", expected.size(), faces_in(expected), what);
  }

  TempFolder folder_;
  std::vector<Bytes> pictures_;
  bool armed_ = false;  // of the one streaming thread
  int spins_ = 0;

 private:
  const TimeLimit limit_{90};
};

TEST_F(StreamCuda, ReadsAfterTheProducer) {
  const auto late = [](bool ordered) {
    return [ordered](Pipeline& pipeline, GpuFrames& frames) {
      pipeline.on_buffer("detect", "sink", [&frames, ordered](GstBuffer* buffer) {
        frames.fill(buffer, ordered, kSpinUs);
      });
    };
  };
  compare(late(true), late(false), "pictures that come 5 ms later");
}

TEST_F(StreamCuda, TheNextWriterWaitsForUs) {
  const auto overwritten = [this](bool ordered) {
    return [this, ordered](Pipeline& pipeline, GpuFrames& frames) {
      pipeline.on_buffer("detect", "sink",
                         [&frames](GstBuffer* buffer) { frames.fill(buffer, true, 0); });
      delay_before(pipeline, "detect");
      pipeline.on_buffer("landmark", "src",
                         [&frames, ordered](GstBuffer* buffer) { frames.blank(buffer, ordered); });
    };
  };
  compare(overwritten(true), overwritten(false), "pictures overwritten behind the chain");
  EXPECT_GE(spins_, 2 * kFrames);
}

TEST_F(StreamCuda, WhoeverMapsADrawingSeesIt) {
  const auto drawn = [this](const Prepare& prepare, GpuFrames& frames) {
    Pipeline pipeline("appsrc name=src format=time caps=" +
                          std::string(prepare ? "video/x-raw(memory:CUDAMemory)" : "video/x-raw") +
                          kCaps + " ! " + kDetect +
                          " ! cufaceoverlay name=draw ! fakesink sync=false",
                      frames.context());
    std::vector<Bytes> found;
    if (prepare) prepare(pipeline, frames);
    pipeline.on_buffer("draw", "src",
                       [&found](GstBuffer* buffer) { found.push_back(bytes_of(buffer)); });
    pipeline.feed("src", prepare ? frames.buffers() : system_buffers());
    const Ending ending = pipeline.play(30);
    EXPECT_TRUE(ending.eos) << ending.error;
    return found;
  };
  GpuFrames frames(pictures_);
  const auto expected = drawn({}, frames);
  const auto found = drawn(
      [this](Pipeline& pipeline, GpuFrames& all) {
        pipeline.on_buffer("detect", "sink",
                           [&all](GstBuffer* buffer) { all.fill(buffer, true, 0); });
        delay_before(pipeline, "draw");
      },
      frames);
  ASSERT_EQ(expected.size(), std::size_t{kFrames});
  ASSERT_EQ(found.size(), expected.size());
  int with_drawing = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(found[i] == expected[i]) << "frame " << i;
    with_drawing += expected[i] != pictures_[i];
  }
  EXPECT_GE(with_drawing, kFrames / 2);
  EXPECT_GE(spins_, kFrames / 2);
  std::printf("compared: %zu frames, %d with a drawing\n", found.size(), with_drawing);
}

}  // namespace
}  // namespace cuface::test
