#include "tests/gst/fakecuda.h"

#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>

#include <atomic>
#include <cstdlib>
#include <opencv2/imgproc.hpp>

namespace cuface::test {
namespace {

std::atomic<bool> newer_gstreamer{true};

// ---- memory of CUDA's type that any processor can read ----

struct Memory {
  GstMemory memory;
  gpointer data;
};

GstMemory* allocate(GstAllocator* allocator, gsize size, GstAllocationParams* params) {
  auto* memory = g_new0(Memory, 1);
  const gsize whole = size + params->prefix + params->padding;
  memory->data = std::malloc(whole);
  gst_memory_init(&memory->memory, params->flags, allocator, nullptr, whole, params->align,
                  params->prefix, size);
  return &memory->memory;
}

void free_memory(GstAllocator*, GstMemory* memory) {
  std::free(reinterpret_cast<Memory*>(memory)->data);
  g_free(memory);
}

gpointer map(GstMemory* memory, gsize, GstMapFlags) {
  return reinterpret_cast<Memory*>(memory)->data;
}

struct FakeCudaAllocator {
  GstAllocator parent;
};
struct FakeCudaAllocatorClass {
  GstAllocatorClass parent_class;
};
G_DEFINE_TYPE(FakeCudaAllocator, fake_cuda_allocator, GST_TYPE_ALLOCATOR)

void fake_cuda_allocator_init(FakeCudaAllocator* self) {
  auto* allocator = GST_ALLOCATOR_CAST(self);
  allocator->mem_type = "gst.cuda.memory";
  allocator->mem_map = map;
  allocator->mem_unmap = [](GstMemory*) {};
  GST_OBJECT_FLAG_SET(self, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}
void fake_cuda_allocator_class_init(FakeCudaAllocatorClass* klass) {
  GST_ALLOCATOR_CLASS(klass)->alloc = allocate;
  GST_ALLOCATOR_CLASS(klass)->free = free_memory;
}

// ---- the elements ----

struct FakeCuda {
  GstBaseTransform parent;
  GstVideoOrientationMethod direction;
  gboolean add_borders;
  GstVideoInfo in, out;
};
struct FakeCudaClass {
  GstBaseTransformClass parent_class;
  gboolean scales, downloads, mirrors;
};
GType fake_cuda_get_type();
G_DEFINE_TYPE(FakeCuda, fake_cuda, GST_TYPE_BASE_TRANSFORM)
FakeCuda* self_of(gpointer object) { return static_cast<FakeCuda*>(object); }
FakeCudaClass* class_of(gpointer object) {
  return reinterpret_cast<FakeCudaClass*>(G_OBJECT_GET_CLASS(object));
}

bool turns_sideways(const FakeCuda* self) {
  return self->direction == GST_VIDEO_ORIENTATION_90R ||
         self->direction == GST_VIDEO_ORIENTATION_90L ||
         self->direction == GST_VIDEO_ORIENTATION_UL_LR ||
         self->direction == GST_VIDEO_ORIENTATION_UR_LL;
}

GstCaps* transform_caps(GstBaseTransform* trans, GstPadDirection, GstCaps* caps, GstCaps* filter) {
  GstCaps* all = gst_caps_copy(caps);
  if (class_of(trans)->scales)
    for (guint i = 0; i < gst_caps_get_size(all); ++i) {
      GstStructure* s = gst_caps_get_structure(all, i);
      gst_structure_set(s, "width", GST_TYPE_INT_RANGE, 1, G_MAXINT, "height", GST_TYPE_INT_RANGE,
                        1, G_MAXINT, "pixel-aspect-ratio", GST_TYPE_FRACTION_RANGE, 1, G_MAXINT,
                        G_MAXINT, 1, nullptr);
    }
  if (filter) {
    GstCaps* both = gst_caps_intersect_full(filter, all, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref(all);
    all = both;
  }
  return all;
}

/// The size that the input has, turned where the element turns.
GstCaps* fixate_caps(GstBaseTransform* trans, GstPadDirection, GstCaps* caps, GstCaps* other) {
  GstVideoInfo in;
  other = gst_caps_make_writable(gst_caps_truncate(other));
  if (gst_video_info_from_caps(&in, caps)) {
    const bool turned = turns_sideways(self_of(trans));
    GstStructure* s = gst_caps_get_structure(other, 0);
    gst_structure_fixate_field_nearest_int(s, "width", turned ? in.height : in.width);
    gst_structure_fixate_field_nearest_int(s, "height", turned ? in.width : in.height);
    gst_structure_fixate_field_nearest_fraction(s, "pixel-aspect-ratio", in.par_n, in.par_d);
  }
  return gst_caps_fixate(other);
}

gboolean set_caps(GstBaseTransform* trans, GstCaps* in, GstCaps* out) {
  FakeCuda* self = self_of(trans);
  return gst_video_info_from_caps(&self->in, in) && gst_video_info_from_caps(&self->out, out);
}

gboolean get_unit_size(GstBaseTransform*, GstCaps* caps, gsize* size) {
  GstVideoInfo info;
  if (!gst_video_info_from_caps(&info, caps)) return FALSE;
  *size = info.size;
  return TRUE;
}

/// A pool of its own, as there.
gboolean decide_allocation(GstBaseTransform* trans, GstQuery* query) {
  GstCaps* caps;
  gst_query_parse_allocation(query, &caps, nullptr);
  while (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_remove_nth_allocation_pool(query, 0);
  GstBufferPool* pool = gst_video_buffer_pool_new();
  GstStructure* config = gst_buffer_pool_get_config(pool);
  const auto size = static_cast<guint>(self_of(trans)->out.size);
  gst_buffer_pool_config_set_params(config, caps, size, 0, 0);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (!class_of(trans)->downloads) {
    auto* allocator = GST_ALLOCATOR_CAST(g_object_new(fake_cuda_allocator_get_type(), nullptr));
    gst_object_ref_sink(allocator);
    gst_buffer_pool_config_set_allocator(config, allocator, nullptr);
    gst_object_unref(allocator);
  }
  gst_buffer_pool_set_config(pool, config);
  gst_query_add_allocation_pool(query, pool, size, 0, 0);
  gst_object_unref(pool);
  return GST_BASE_TRANSFORM_CLASS(fake_cuda_parent_class)->decide_allocation(trans, query);
}

gboolean transform_meta(GstBaseTransform* trans, GstBuffer* out, GstMeta* meta, GstBuffer* in) {
  const gchar* const* tags = gst_meta_api_type_get_tags(meta->info->api);
  if (newer_gstreamer && tags && g_strv_length(const_cast<gchar**>(tags)) == 1 &&
      gst_meta_api_type_has_tag(meta->info->api, g_quark_from_string(GST_META_TAG_VIDEO_STR)))
    return TRUE;
  return GST_BASE_TRANSFORM_CLASS(fake_cuda_parent_class)->transform_meta(trans, out, meta, in);
}

cv::Mat turned(const cv::Mat& picture, GstVideoOrientationMethod direction) {
  cv::Mat out;
  switch (direction) {
    case GST_VIDEO_ORIENTATION_90R:
      cv::rotate(picture, out, cv::ROTATE_90_CLOCKWISE);
      break;
    case GST_VIDEO_ORIENTATION_180:
      cv::rotate(picture, out, cv::ROTATE_180);
      break;
    case GST_VIDEO_ORIENTATION_90L:
      cv::rotate(picture, out, cv::ROTATE_90_COUNTERCLOCKWISE);
      break;
    case GST_VIDEO_ORIENTATION_HORIZ:
      cv::flip(picture, out, 1);
      break;
    case GST_VIDEO_ORIENTATION_VERT:
      cv::flip(picture, out, 0);
      break;
    case GST_VIDEO_ORIENTATION_UL_LR:
      cv::transpose(picture, out);
      break;
    case GST_VIDEO_ORIENTATION_UR_LL:
      cv::transpose(picture, out);
      cv::rotate(out, out, cv::ROTATE_180);
      break;
    default:
      out = picture;
  }
  return out;
}

/// The part of the output that the picture fills.
cv::Rect place_of(const FakeCuda* self, cv::Size in) {
  const cv::Size out(self->out.width, self->out.height);
  if (!self->add_borders) return {{0, 0}, out};
  const double aspect = static_cast<double>(in.width) * self->in.par_n / self->in.par_d / in.height;
  const double pixel = static_cast<double>(self->out.par_n) / self->out.par_d;
  cv::Size size(out.width, cvRound(out.width * pixel / aspect));
  if (size.height > out.height) size = {cvRound(out.height * aspect / pixel), out.height};
  return {{(out.width - size.width) / 2, (out.height - size.height) / 2}, size};
}

GstFlowReturn transform(GstBaseTransform* trans, GstBuffer* in, GstBuffer* out) {
  FakeCuda* self = self_of(trans);
  GstVideoFrame from, to;
  gst_video_frame_map(&from, &self->in, in, GST_MAP_READ);
  gst_video_frame_map(&to, &self->out, out, GST_MAP_WRITE);
  const auto picture = [](GstVideoFrame& frame) {
    return cv::Mat(GST_VIDEO_FRAME_HEIGHT(&frame), GST_VIDEO_FRAME_WIDTH(&frame), CV_8UC1,
                   GST_VIDEO_FRAME_PLANE_DATA(&frame, 0),
                   static_cast<std::size_t>(GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0)));
  };
  const auto direction = class_of(trans)->mirrors ? GST_VIDEO_ORIENTATION_HORIZ : self->direction;
  const cv::Mat source = turned(picture(from), direction);
  cv::Mat whole = picture(to);
  whole.setTo(0);
  cv::Mat part = whole(place_of(self, source.size()));
  cv::resize(source, part, part.size(), 0, 0, cv::INTER_AREA);
  gst_video_frame_unmap(&to);
  gst_video_frame_unmap(&from);
  return GST_FLOW_OK;
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec*) {
  FakeCuda* self = self_of(object);
  if (id == 1)
    self->add_borders = g_value_get_boolean(value);
  else
    self->direction = static_cast<GstVideoOrientationMethod>(g_value_get_enum(value));
  gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(self));
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  FakeCuda* self = self_of(object);
  if (id == 1)
    g_value_set_boolean(value, self->add_borders);
  else
    g_value_set_enum(value, self->direction);
}

void fake_cuda_init(FakeCuda* self) { self->add_borders = TRUE; }

void fake_cuda_class_init(FakeCudaClass* klass) {
  auto* element = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(element, "fake", "Filter/Video", "for tests", "nobody");
  GstCaps* caps = gst_caps_from_string("video/x-raw,format=GRAY8");
  gst_element_class_add_pad_template(
      element, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  gst_element_class_add_pad_template(
      element, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_caps_unref(caps);
  auto* trans = GST_BASE_TRANSFORM_CLASS(klass);
  trans->transform_caps = transform_caps;
  trans->fixate_caps = fixate_caps;
  trans->set_caps = set_caps;
  trans->get_unit_size = get_unit_size;
  trans->decide_allocation = decide_allocation;
  trans->transform_meta = transform_meta;
  trans->transform = transform;
}

struct Kind {
  bool scales = false, turns = false, downloads = false, mirrors = false;
};

void kind_init(gpointer g_class, gpointer data) {
  const Kind* kind = static_cast<const Kind*>(data);
  auto* klass = static_cast<FakeCudaClass*>(g_class);
  klass->scales = kind->scales;
  klass->downloads = kind->downloads;
  klass->mirrors = kind->mirrors;
  auto* object = G_OBJECT_CLASS(g_class);
  object->set_property = set_property;
  object->get_property = get_property;
  const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
  if (kind->scales)
    g_object_class_install_property(object, 1,
                                    g_param_spec_boolean("add-borders", "", "", TRUE, flags));
  if (kind->turns)
    g_object_class_install_property(
        object, 2,
        g_param_spec_enum("video-direction", "", "", GST_TYPE_VIDEO_ORIENTATION_METHOD,
                          GST_VIDEO_ORIENTATION_IDENTITY, flags));
}

void register_kind(const char* name, const Kind& kind) {
  GTypeInfo info{};
  info.class_size = sizeof(FakeCudaClass);
  info.class_init = kind_init;
  info.class_data = &kind;
  info.instance_size = sizeof(FakeCuda);
  const std::string type_name = std::string("Fake_") + name;
  const GType type = g_type_register_static(fake_cuda_get_type(), type_name.c_str(), &info,
                                            static_cast<GTypeFlags>(0));
  gst_element_register(nullptr, name, GST_RANK_NONE, type);
}

/// A bin with ghost pads.
GType bin_type() {
  GTypeInfo info{};
  info.class_size = sizeof(GstBinClass);
  info.class_init = [](gpointer klass, gpointer) {
    gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(klass), "fake", "Bin", "for tests",
                                          "nobody");
  };
  info.instance_size = sizeof(GstBin);
  info.instance_init = [](GTypeInstance* instance, gpointer) {
    auto* bin = reinterpret_cast<GstBin*>(instance);
    GstElement* queue = gst_element_factory_make("queue", nullptr);
    GstElement* convert = gst_element_factory_make("cudaconvert", nullptr);
    gst_bin_add_many(bin, queue, convert, nullptr);
    gst_element_link(queue, convert);
    for (const auto& [element, name] : {std::pair{queue, "sink"}, {convert, "src"}}) {
      GstPad* pad = gst_element_get_static_pad(element, name);
      gst_element_add_pad(GST_ELEMENT_CAST(bin), gst_ghost_pad_new(name, pad));
      gst_object_unref(pad);
    }
  };
  return g_type_register_static(GST_TYPE_BIN, "Fake_convertbin", &info, static_cast<GTypeFlags>(0));
}

}  // namespace

void register_fake_cuda_elements() {
  static const bool once = [] {
    static constexpr Kind kCopies{}, kDownloads{.downloads = true}, kMirrors{.mirrors = true};
    static constexpr Kind kScales{.scales = true}, kTurns{.scales = true, .turns = true};
    register_kind("cudaupload", kCopies);
    register_kind("cudadownload", kDownloads);
    register_kind("cudaconvert", kCopies);
    register_kind("cudascale", kScales);
    register_kind("cudaconvertscale", kTurns);
    register_kind("fakecudaflip", kMirrors);
    gst_element_register(nullptr, "fakeconvertbin", GST_RANK_NONE, bin_type());
    return true;
  }();
  (void)once;
}

void fake_cuda_elements_are_newer(bool newer) { newer_gstreamer = newer; }

}  // namespace cuface::test
