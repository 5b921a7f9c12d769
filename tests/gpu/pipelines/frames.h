// Frames in system and in CUDA memory that tests make and read themselves, without a decoder.
#pragma once

#include <gst/cuda/gstcudamemory.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "gst/base/element.h"
#include "tests/moving_faces.h"

namespace cuface::test {

/// Registers an element of this program under a name that no plugin has.
inline void register_as(const char* name, const char* type, gst::ElementInfo& info) {
  info.name = name;
  info.type = type;
  info.has_presets = false;
  gst_element_register(nullptr, name, GST_RANK_NONE, gst::element_type(info));
}

/// The context that a make_cuda_context() has, to be unreferenced.
inline GstCudaContext* cuda_context_of(GstContext* shared) {
  GstCudaContext* context = nullptr;
  gst_structure_get(gst_context_get_structure(shared), GST_CUDA_CONTEXT_TYPE, GST_TYPE_CUDA_CONTEXT,
                    &context, nullptr);
  return context;
}

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

/// `bytes` as `info` lays them out. `context`: of CUDA memory; null for the system's.
inline GstBuffer* make_buffer(const GstVideoInfo& info, const std::vector<std::uint8_t>& bytes,
                              GstCudaContext* context) {
  if (!context) return gst_buffer_new_memdup(bytes.data(), bytes.size());
  GstBuffer* buffer = gst_buffer_new();
  GstMemory* memory = allocate_cuda(context, info);
  EXPECT_NE(memory, nullptr);
  GstVideoInfo& layout = GST_CUDA_MEMORY_CAST(memory)->info;
  gst_buffer_append_memory(buffer, memory);
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                 static_cast<guint>(info.width), static_cast<guint>(info.height),
                                 GST_VIDEO_INFO_N_PLANES(&layout), layout.offset, layout.stride);
  GstVideoFrame to;
  EXPECT_TRUE(gst_video_frame_map(&to, const_cast<GstVideoInfo*>(&info), buffer, GST_MAP_WRITE));
  for (guint plane = 0; plane < GST_VIDEO_INFO_N_PLANES(&info); ++plane) {
    gint component[GST_VIDEO_MAX_COMPONENTS];
    gst_video_format_info_component(info.finfo, plane, component);
    const auto width = static_cast<std::size_t>(GST_VIDEO_INFO_COMP_WIDTH(&info, component[0])) *
                       static_cast<std::size_t>(GST_VIDEO_INFO_COMP_PSTRIDE(&info, component[0]));
    for (gint y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT(&info, component[0]); ++y)
      std::memcpy(static_cast<std::uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&to, plane)) +
                      std::ptrdiff_t{y} * GST_VIDEO_FRAME_PLANE_STRIDE(&to, plane),
                  bytes.data() + GST_VIDEO_INFO_PLANE_OFFSET(&info, plane) +
                      std::ptrdiff_t{y} * GST_VIDEO_INFO_PLANE_STRIDE(&info, plane),
                  width);
  }
  gst_video_frame_unmap(&to);
  return buffer;
}

/// The same of a grey picture.
inline GstBuffer* make_buffer(GstVideoFormat format, const Grey& grey, unsigned seed,
                              GstCudaContext* context) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, format, static_cast<guint>(grey.width),
                            static_cast<guint>(grey.height));
  return make_buffer(info, frame_bytes(format, grey, seed), context);
}

/// The samples of a frame, component after component.
inline std::vector<std::uint8_t> samples_of(const GstVideoInfo& info, GstBuffer* buffer) {
  std::vector<std::uint8_t> out;
  GstVideoFrame frame;
  EXPECT_TRUE(gst_video_frame_map(&frame, const_cast<GstVideoInfo*>(&info), buffer, GST_MAP_READ));
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS(&info); ++c) {
    const int bytes = GST_VIDEO_INFO_COMP_DEPTH(&info, c) > 8 ? 2 : 1;
    for (gint y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, c); ++y) {
      const auto* at = static_cast<const std::uint8_t*>(GST_VIDEO_FRAME_COMP_DATA(&frame, c)) +
                       std::ptrdiff_t{y} * GST_VIDEO_FRAME_COMP_STRIDE(&frame, c);
      for (gint x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH(&frame, c);
           ++x, at += GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, c))
        out.insert(out.end(), at, at + bytes);
    }
  }
  gst_video_frame_unmap(&frame);
  return out;
}

}  // namespace cuface::test
