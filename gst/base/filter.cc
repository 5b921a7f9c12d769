#include "gst/base/filter.h"

#include <chrono>
#include <mutex>

#include "gst/base/errors.h"
#include "gst/base/filterstate.h"
#include "gst/base/stopping.h"
#include "gst/meta/neighbour.h"
#include "kernels/common/try.h"

using cuface::Status;
using cuface::StatusCode;
using cuface::StopFlag;
using cuface::gst::BackendChoice;
using cuface::gst::CudaUse;
using cuface::gst::DeviceElement;
using cuface::gst::DeviceScope;
using cuface::gst::Element;
using cuface::gst::Frame;
using cuface::gst::info_of;
using cuface::gst::Reset;
using cuface::gst::same_layout;
using cuface::gst::SettingsLock;

GST_DEBUG_CATEGORY(cuface_filter_debug);
#define GST_CAT_DEFAULT cuface_filter_debug

G_DEFINE_ABSTRACT_TYPE_WITH_CODE(GstCufaceFilter, gst_cuface_filter, GST_TYPE_BASE_TRANSFORM,
                                 GST_DEBUG_CATEGORY_INIT(cuface_filter_debug, "cufacefilter", 0,
                                                         "base of the gst-cuface elements"))

namespace {

void finalize(GObject* object) {
  delete GST_CUFACE_FILTER(object)->state;
  G_OBJECT_CLASS(gst_cuface_filter_parent_class)->finalize(object);
}

/// Posts what is wrong, if anything; true when all is well.
bool report(GstCufaceFilter* self, const Status& status) {
  if (!status.ok()) cuface::gst::post_error(GST_ELEMENT_CAST(self), status);
  return status.ok();
}

/// The same for the stream. Work that was stopped is no error, and nobody waits for its frame.
GstFlowReturn flow_of(GstCufaceFilter* self, const Status& status) {
  if (status.code() == StatusCode::kCancelled) return GST_FLOW_FLUSHING;
  return report(self, status) ? GST_FLOW_OK : GST_FLOW_ERROR;
}

/// The GPU where the element works on it, for a DeviceScope.
DeviceElement* device_in_use(GstCufaceFilter* self) {
  return self->state->backend == cuface::Backend::kCuda ? self->state->device.get() : nullptr;
}

/// Forgets what was known of earlier frames. Frames still on their way keep the old chain.
void reset(GstCufaceFilter* self, Reset why) {
  self->state->chain = std::make_shared<cuface::gst::Chain>();
  self->state->times.restart();
  const DeviceScope scope(device_in_use(self));
  self->state->element->reset(why);
}

void unplan(GstCufaceFilter* self) {
  DeviceElement* device = device_in_use(self);
  const DeviceScope scope(device);
  if (device) device->settle();
  self->state->element->unplan();
  self->state->planned = false;
}

Status plan(GstCufaceFilter* self, cuface::Backend backend) {
  auto* state = self->state;
  unplan(self);
  state->backend = backend;
  const DeviceScope scope(device_in_use(self));
  GstVideoInfo picture = state->info;
  picture.width = state->width;
  picture.height = state->height;
  Status status = state->element->plan(picture);
  state->planned = status.ok();
  return status;
}

/// Once a process: what is missing is missing for all elements.
void tell_of_cpu(const std::string& missing) {
  static std::once_flag told;
  std::call_once(told, [&] { GST_INFO("backend=auto works on the CPU: %s", missing.c_str()); });
}

Status start_device(GstCufaceFilter* self, int device_id) {
  const bool required = self->state->choice == BackendChoice::kCuda;
  if (required && info_of(self).cuda_use == CudaUse::kNone)
    return {StatusCode::kNotFound,
            "backend=cuda: in this build of gst-cuface the element has no CUDA version; use "
            "backend=auto or backend=cpu"};
  const std::string& missing = DeviceElement::missing();
  if (missing.empty()) return self->state->device->start(device_id, required);
  if (required)
    return {StatusCode::kNotFound,
            "backend=cuda: " + missing + "; use backend=auto or backend=cpu"};
  if (self->state->choice == BackendChoice::kAuto) tell_of_cpu(missing);
  return {};
}

gboolean start(GstBaseTransform* trans) {
  GstCufaceFilter* self = GST_CUFACE_FILTER(trans);
  auto* state = self->state;
  gint device_id;
  {
    SettingsLock lock(self);
    state->choice = state->settings.backend;
    device_id = state->settings.device_id;
    state->stats = {};
  }
  if (!report(self, start_device(self, device_id))) return FALSE;
  if (flow_of(self, state->element->load()) != GST_FLOW_OK) return FALSE;
  reset(self, Reset::kStart);
  return TRUE;
}

void log_stats(GstCufaceFilter* self) {
  GstStructure* stats;
  {
    SettingsLock lock(self);
    stats = cuface::gst::stats_structure(self);
  }
  GST_INFO_OBJECT(self, "%" GST_PTR_FORMAT, stats);
  gst_structure_free(stats);
}

gboolean stop(GstBaseTransform* trans) {
  GstCufaceFilter* self = GST_CUFACE_FILTER(trans);
  auto* state = self->state;
  state->element->close();
  unplan(self);
  log_stats(self);
  state->chain = std::make_shared<cuface::gst::Chain>();
  state->pictures = {};
  state->backend = cuface::Backend::kCpu;
  if (state->device) state->device->stop();
  return TRUE;
}

GstStateChangeReturn change_state(GstElement* element, GstStateChange change) {
  auto* state = GST_CUFACE_FILTER(element)->state;
  if (change == GST_STATE_CHANGE_PAUSED_TO_PLAYING) state->times.resume();
  // Before the pads are deactivated, which waits for the frame on its way.
  state->element->change_state(change);
  cuface::gst::follow_state(state->stop, element, change);
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS(gst_cuface_filter_parent_class)->change_state(element, change);
  if (change == GST_STATE_CHANGE_READY_TO_NULL) state->element->unload();
  return result;
}

void set_context(GstElement* element, GstContext* context) {
  auto* state = GST_CUFACE_FILTER(element)->state;
  gint device_id;
  {
    SettingsLock lock(element);
    device_id = state->settings.device_id;
  }
  if (state->device) state->device->set_context(context, device_id);
  GST_ELEMENT_CLASS(gst_cuface_filter_parent_class)->set_context(element, context);
}

gboolean query(GstBaseTransform* trans, GstPadDirection direction, GstQuery* query) {
  auto* state = GST_CUFACE_FILTER(trans)->state;
  if (state->element->answer(direction, query)) return TRUE;
  DeviceElement* device = state->device.get();
  if (GST_QUERY_TYPE(query) == GST_QUERY_CONTEXT && device && device->answer_query(query))
    return TRUE;
  return GST_BASE_TRANSFORM_CLASS(gst_cuface_filter_parent_class)->query(trans, direction, query);
}

gboolean is_not_in_cuda_memory(GstCapsFeatures* features, GstStructure*, gpointer) {
  return gst_caps_features_is_any(features) ||
         !gst_caps_features_contains(features, cuface::gst::kCudaFeature);
}

GstCaps* transform_caps(GstBaseTransform* trans, GstPadDirection direction, GstCaps* caps,
                        GstCaps* filter) {
  GstCufaceFilter* self = GST_CUFACE_FILTER(trans);
  bool cpu_only;
  {
    SettingsLock lock(self);
    cpu_only = self->state->settings.backend == BackendChoice::kCpu;
  }
  const bool made = info_of(self).makes;
  if (made && direction == GST_PAD_SINK) return cuface::gst::template_caps(trans->srcpad, filter);
  GstCaps* taken = made ? cuface::gst::template_caps(trans->sinkpad, nullptr) : gst_caps_copy(caps);
  if (cpu_only) gst_caps_filter_and_map_in_place(taken, is_not_in_cuda_memory, nullptr);
  GstCaps* result = GST_BASE_TRANSFORM_CLASS(gst_cuface_filter_parent_class)
                        ->transform_caps(trans, direction, taken, filter);
  gst_caps_unref(taken);
  return result;
}

gboolean set_caps(GstBaseTransform* trans, GstCaps* in, GstCaps*) {
  GstCufaceFilter* self = GST_CUFACE_FILTER(trans);
  auto* state = self->state;
  GstVideoInfo info;
  if (!gst_video_info_from_caps(&info, in)) {
    GST_ERROR_OBJECT(self, "not video caps: %" GST_PTR_FORMAT, in);
    return FALSE;
  }
  const bool in_cuda_memory =
      gst_caps_features_contains(gst_caps_get_features(in, 0), cuface::gst::kCudaFeature);
  if (state->planned && same_layout(info, state->info) && in_cuda_memory == state->in_cuda_memory) {
    state->info = info;
    return TRUE;
  }
  if (state->planned) reset(self, Reset::kCaps);
  unplan(self);
  state->info = info;
  state->width = info.width;
  state->height = info.height;
  state->in_cuda_memory = in_cuda_memory;
  const CudaUse use = info_of(self).cuda_use;
  if (in_cuda_memory || (state->choice == BackendChoice::kCuda && use == CudaUse::kComputes))
    return TRUE;  // the first frame says on which GPU
  const Status planned = plan(self, cuface::Backend::kCpu);
  // The next frame, if one comes, finds nothing planned.
  return planned.code() == StatusCode::kCancelled || report(self, planned);
}

gboolean sink_event(GstBaseTransform* trans, GstEvent* event) {
  auto& stop = GST_CUFACE_FILTER(trans)->state->stop;
  GST_CUFACE_FILTER(trans)->state->element->sink_event(event);
  const bool flush = GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP;
  GST_CUFACE_FILTER(trans)->state->times.segment(event);
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START) stop.raise(StopFlag::kFlush);
  const gboolean handled =
      GST_BASE_TRANSFORM_CLASS(gst_cuface_filter_parent_class)->sink_event(trans, event);
  if (flush) {
    reset(GST_CUFACE_FILTER(trans), Reset::kFlush);
    stop.lower(StopFlag::kFlush);
  }
  return handled;
}

gboolean src_event(GstBaseTransform* trans, GstEvent* event) {
  auto* state = GST_CUFACE_FILTER(trans)->state;
  const bool of_use = state->element->src_event(event);
  state->times.sent_upstream(event);
  if (cuface::gst::is_stopping(GST_ELEMENT_CAST(trans), event)) state->stop.raise(StopFlag::kEnd);
  return GST_BASE_TRANSFORM_CLASS(gst_cuface_filter_parent_class)->src_event(trans, event) ||
         of_use;
}

GstFlowReturn chain(GstPad* pad, GstObject* parent, GstBuffer* buffer) {
  auto* state = GST_CUFACE_FILTER(parent)->state;
  state->times.arrive();
  const GstFlowReturn flow = state->chain_function(pad, parent, buffer);
  state->times.leave();
  return flow;
}

/// A crop rectangle of another size than the last one's is another picture, as after new caps.
void follow_crop(GstCufaceFilter* self, GstBuffer* buffer) {
  auto* state = self->state;
  const auto geometry = cuface::gst::frame_geometry(buffer, state->info.width, state->info.height);
  if (geometry.width == state->width && geometry.height == state->height) return;
  reset(self, Reset::kCaps);
  unplan(self);
  state->width = geometry.width;
  state->height = geometry.height;
}

void count(GstCufaceFilter* self, const Frame& frame, std::chrono::nanoseconds took) {
  SettingsLock lock(self);
  auto& stats = self->state->stats;
  const auto ns = static_cast<guint64>(took.count());
  ++stats.frames;
  cuface::gst::add_counts(stats.counts, frame.counts());
  stats.time_total_ns += ns;
  stats.time_max_ns = MAX(stats.time_max_ns, ns);
}

/// In system memory an element left to itself follows the elements before it onto the GPU.
bool is_for_device(GstCufaceFilter* self, const Frame& frame) {
  const auto* state = self->state;
  const CudaUse use = info_of(self).cuda_use;
  if (!cuface::gst::works_on_gpu(use)) return false;
  if (state->in_cuda_memory) return true;
  if (use != CudaUse::kComputes || state->choice == BackendChoice::kCpu) return false;
  if (state->choice == BackendChoice::kCuda) return true;
  return frame.pending_before() && state->element->follows_to_gpu(frame);
}

/// Chooses the processor for this frame, and plans anew where it is another than before.
Status choose_processor(GstCufaceFilter* self, Frame& frame) {
  auto* state = self->state;
  if (!is_for_device(self, frame)) {
    if (state->planned && state->backend == cuface::Backend::kCpu) return {};
    return plan(self, cuface::Backend::kCpu);
  }
  CUFACE_TAKE(other, state->device->finds_other(frame, state->in_cuda_memory));
  if (other) {
    unplan(self);
    CUFACE_TRY(state->device->adopt());
  }
  if (state->planned && state->backend == cuface::Backend::kCuda) return {};
  return plan(self, cuface::Backend::kCuda);
}

Status process(GstCufaceFilter* self, Frame& frame) {
  Element& element = *self->state->element;
  DeviceElement* device = device_in_use(self);
  if (!device) return element.process(frame);
  const DeviceScope scope(device);
  frame.set_device(device->begin(frame, self->state->in_cuda_memory));
  const Status status = element.process(frame);
  const Status ended = device->end();
  return status.ok() ? ended : status;
}

GstFlowReturn transform_ip(GstBaseTransform* trans, GstBuffer* buffer) {
  const auto begin = std::chrono::steady_clock::now();
  GstCufaceFilter* self = GST_CUFACE_FILTER(trans);
  auto* state = self->state;
  if (gst_buffer_get_size(buffer) == 0) return state->element->flow();  // without a picture
  if (!report(self, cuface::gst::validate_picture(buffer, state->info))) return GST_FLOW_ERROR;
  follow_crop(self, buffer);

  Frame frame(buffer, state->info, state->chain, state->pictures, self,
              cuface::gst::neighbour(trans->sinkpad).get(), &state->stop);
  frame.set_step(state->times.advance(frame, trans));
  Status status = choose_processor(self, frame);
  if (status.ok()) status = process(self, frame);
  if (!status.ok()) return flow_of(self, status);

  frame.record().last_passed = state->self;
  count(self, frame, std::chrono::steady_clock::now() - begin);
  return state->element->flow();
}

}  // namespace

static void gst_cuface_filter_init(GstCufaceFilter* self) {
  self->state = new cuface::gst::FilterState;
  self->state->device = DeviceElement::create(GST_ELEMENT_CAST(self));
  self->state->self = cuface::gst::make_element_ref(GST_ELEMENT_CAST(self));
  GstBaseTransform* trans = GST_BASE_TRANSFORM(self);
  self->state->chain_function = GST_PAD_CHAINFUNC(trans->sinkpad);
  gst_pad_set_chain_function(trans->sinkpad, chain);
  gst_base_transform_set_in_place(trans, TRUE);
  gst_base_transform_set_gap_aware(trans, TRUE);
}

static void gst_cuface_filter_class_init(GstCufaceFilterClass* klass) {
  auto* object_class = G_OBJECT_CLASS(klass);
  object_class->finalize = finalize;
  cuface::gst::install_filter_properties(object_class);

  GST_ELEMENT_CLASS(klass)->change_state = change_state;
  GST_ELEMENT_CLASS(klass)->set_context = set_context;

  auto* trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  trans_class->start = start;
  trans_class->stop = stop;
  trans_class->set_caps = set_caps;
  trans_class->transform_caps = transform_caps;
  trans_class->query = query;
  trans_class->sink_event = sink_event;
  trans_class->src_event = src_event;
  trans_class->transform_ip = transform_ip;
  trans_class->transform_ip_on_passthrough = FALSE;

  gst_type_mark_as_plugin_api(GST_TYPE_CUFACE_FILTER, static_cast<GstPluginAPIFlags>(0));
}
