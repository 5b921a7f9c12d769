// Frames for pipelines without a decoder, in the system's and in CUDA memory.
#pragma once

#include <gst/cuda/gstcudamemory.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "tests/moving_faces.h"

namespace cuface::test {

/// A grey picture as a frame whose colours are random where the format keeps them apart.
inline std::vector<std::uint8_t> frame_bytes(GstVideoFormat format, const Grey& grey,
                                             unsigned seed) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, format, static_cast<guint>(grey.width),
                            static_cast<guint>(grey.height));
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(GST_VIDEO_INFO_SIZE(&info));
  for (auto& b : bytes) b = static_cast<std::uint8_t>(random());
  const int step = GST_VIDEO_INFO_COMP_PSTRIDE(&info, 0);
  for (int y = 0; y < grey.height; ++y) {
    std::uint8_t* row = bytes.data() + GST_VIDEO_INFO_PLANE_OFFSET(&info, 0) +
                        std::ptrdiff_t{y} * GST_VIDEO_INFO_PLANE_STRIDE(&info, 0);
    for (int x = 0; x < grey.width; ++x)
      for (int c = 0; c < (step == 4 ? 3 : 1); ++c) row[x * step + c] = grey.view().at(x, y);
  }
  return bytes;
}

inline GstMemory* allocate_cuda(GstCudaContext* context, const GstVideoInfo& info) {
  GstAllocator* allocator = gst_allocator_find(GST_CUDA_MEMORY_TYPE_NAME);
#if GST_CHECK_VERSION(1, 24, 0)
  GstMemory* memory =
      gst_cuda_allocator_alloc(GST_CUDA_ALLOCATOR(allocator), context, nullptr, &info);
#else
  GstMemory* memory = gst_cuda_allocator_alloc(GST_CUDA_ALLOCATOR(allocator), context, &info);
#endif
  gst_object_unref(allocator);
  return memory;
}

/// `context`: of CUDA memory; null for the system's.
inline GstBuffer* make_buffer(GstVideoFormat format, const Grey& grey, unsigned seed,
                              GstCudaContext* context) {
  const auto width = static_cast<guint>(grey.width), height = static_cast<guint>(grey.height);
  GstVideoInfo info;
  gst_video_info_set_format(&info, format, width, height);
  const std::vector<std::uint8_t> bytes = frame_bytes(format, grey, seed);
  if (!context) return gst_buffer_new_memdup(bytes.data(), bytes.size());
  GstBuffer* buffer = gst_buffer_new();
  GstMemory* memory = allocate_cuda(context, info);
  EXPECT_NE(memory, nullptr);
  GstVideoInfo& layout = GST_CUDA_MEMORY_CAST(memory)->info;
  gst_buffer_append_memory(buffer, memory);
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, format, width, height,
                                 GST_VIDEO_INFO_N_PLANES(&layout), layout.offset, layout.stride);
  GstVideoFrame to;
  EXPECT_TRUE(gst_video_frame_map(&to, &info, buffer, GST_MAP_WRITE));
  for (guint plane = 0; plane < GST_VIDEO_INFO_N_PLANES(&info); ++plane) {
    gint component[GST_VIDEO_MAX_COMPONENTS];
    gst_video_format_info_component(info.finfo, plane, component);
    const auto row = static_cast<std::size_t>(GST_VIDEO_INFO_COMP_WIDTH(&info, component[0])) *
                     static_cast<std::size_t>(GST_VIDEO_INFO_COMP_PSTRIDE(&info, component[0]));
    for (gint y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT(&info, component[0]); ++y)
      std::memcpy(static_cast<std::uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&to, plane)) +
                      std::ptrdiff_t{y} * GST_VIDEO_FRAME_PLANE_STRIDE(&to, plane),
                  bytes.data() + GST_VIDEO_INFO_PLANE_OFFSET(&info, plane) +
                      std::ptrdiff_t{y} * GST_VIDEO_INFO_PLANE_STRIDE(&info, plane),
                  row);
  }
  gst_video_frame_unmap(&to);
  return buffer;
}

}  // namespace cuface::test
