#include "gst/lktrack/trackprops.h"

#include <gst/gst.h>

#include <iterator>
#include <variant>

namespace cuface::gst {
namespace {

using IntField = int& (*)(TrackConfig&);
using FloatField = float& (*)(TrackConfig&);

struct TrackProperty {
  const char* name;
  const char* nick;
  const char* blurb;
  std::variant<IntField, FloatField> field;
  double min, max;
  bool odd = false;
};

#define INT_FIELD(member) ((IntField)[](TrackConfig & c)->int& { return c.member; })
#define FLOAT_FIELD(member) ((FloatField)[](TrackConfig & c)->float& { return c.member; })

const TrackProperty kProperties[] = {
    {"window-size", "Window size",
     "Side of the square window around each point, in pixels; an even value becomes the next odd "
     "one. Larger follows faster motion and blurs what is near the face's edge",
     INT_FIELD(flow.window), 5, 63, true},
    {"pyramid-levels", "Pyramid levels",
     "Picture sizes searched, the full one included; each more doubles the motion that is followed",
     INT_FIELD(flow.levels), 1, 10},
    {"max-iterations", "Maximum iterations", "Steps towards a point's new place, per level",
     INT_FIELD(flow.max_iterations), 1, 100},
    {"epsilon", "Epsilon", "A point is found when a step is no longer than this, in pixels",
     FLOAT_FIELD(flow.epsilon), 0, 10},
    {"min-eigen", "Minimum eigenvalue",
     "A point whose window is flatter than this is not followed (OpenCV's minEigThreshold)",
     FLOAT_FIELD(flow.min_eigen), 0, 1},
    {"max-faces", "Maximum faces", "Faces followed at once; detections beyond it start no track",
     INT_FIELD(max_faces), 1, kMaxTracks},
    {"forward-backward", "Forward-backward distance",
     "A point counts as followed when following it forth and back ends within this distance of "
     "where it began, in pixels",
     FLOAT_FIELD(forward_backward), 0.01, 100},
    {"max-residual", "Maximum residual",
     "A point agrees with the face's motion when it ends within this distance of it, as a "
     "fraction of the box's width",
     FLOAT_FIELD(max_residual), 0.001, 1},
    {"min-points", "Minimum points",
     "A face is lost when fewer of its points are followed or agree, as a fraction",
     FLOAT_FIELD(min_points), 0, 1},
    {"max-scale-step", "Maximum scale step",
     "A face that grows or shrinks by more than this ratio between two frames is lost",
     FLOAT_FIELD(max_scale_step), 1, 10},
    {"max-shape-change", "Maximum shape change",
     "A face is lost when its landmarks have changed their shape since the last confirmation by "
     "more than this, as a fraction of the box's width; 0 = off. Needs a cufacelandmark "
     "downstream without a queue between",
     FLOAT_FIELD(max_shape_change), 0, 10},
    {"min-visible", "Minimum visible part",
     "A face is lost when less of its box is inside the frame, as a fraction of the area",
     FLOAT_FIELD(min_visible), 0, 1},
    {"min-width", "Minimum width", "A face whose box gets narrower is lost, in pixels",
     FLOAT_FIELD(min_width), 1, 1000},
    {"min-overlap", "Minimum overlap",
     "A detection confirms a track when their boxes overlap by this, as intersection over union",
     FLOAT_FIELD(min_overlap), 0.01, 1},
    {"min-correlation", "Minimum correlation",
     "A face that was lost on a frame and is found there in its place by the detector is the same "
     "only where it looks as on the frame before, as the correlation of grey values; 0 = always",
     FLOAT_FIELD(min_correlation), 0, 1},
    {"max-missed", "Maximum missed searches",
     "A track that more searches in a row than this missed is lost, unless it is held",
     INT_FIELD(max_missed), 0, 1000},
    {"min-confirmed", "Minimum confirmations",
     "Searches that have to have found a face before it is held for hold-time",
     INT_FIELD(min_confirmed), 1, 1000},
    {"doubt-below", "Doubt below",
     "A new face of less confidence is delivered only once the searches that found it have in all "
     "seen as many windows as one of this confidence. The tracker asks for them (a queue between "
     "it and the detector loses that). Those of the first search are delivered at once. 0 = all "
     "are",
     FLOAT_FIELD(doubt_below), 0, 1},
    {"hold-time", "Hold time",
     "Seconds since the last confirmation for which missed searches do not end a track",
     FLOAT_FIELD(hold_time), 0, 60},
    {"revive-time", "Revive time",
     "A face found near where a track was lost keeps its id for this time, in seconds",
     FLOAT_FIELD(revive_time), 0, 60},
    {"revive-distance", "Revive distance",
     "How far from there, or from where its motion would have taken it, the face may be, in widths "
     "of the box",
     FLOAT_FIELD(revive_distance), 0, 10},
    {"revive-motion", "Revive motion",
     "A lost face is thought to go on as it moved for this time, in seconds; 0 = it stays",
     FLOAT_FIELD(revive_motion), 0, 60},
};

static_assert(std::size(kProperties) * sizeof(int) == sizeof(TrackConfig),
              "every field of TrackConfig, all of four bytes, has its property");

const TrackProperty* find(guint first_id, guint id) {
  return id >= first_id && id - first_id < std::size(kProperties) ? &kProperties[id - first_id]
                                                                  : nullptr;
}

GParamSpec* make_spec(const TrackProperty& p) {
  TrackConfig defaults;
  constexpr auto kFlags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                   GST_PARAM_MUTABLE_PLAYING);
  if (const auto* field = std::get_if<IntField>(&p.field))
    return g_param_spec_int(p.name, p.nick, p.blurb, static_cast<int>(p.min),
                            static_cast<int>(p.max), (*field)(defaults), kFlags);
  return g_param_spec_float(p.name, p.nick, p.blurb, static_cast<float>(p.min),
                            static_cast<float>(p.max), std::get<FloatField>(p.field)(defaults),
                            kFlags);
}

}  // namespace

void install_track_properties(GObjectClass* klass, guint first_id) {
  for (const TrackProperty& p : kProperties)
    g_object_class_install_property(klass, first_id++, make_spec(p));
}

bool set_track_property(TrackConfig& config, guint first_id, guint id, const GValue* value) {
  const TrackProperty* p = find(first_id, id);
  if (!p) return false;
  if (const auto* field = std::get_if<IntField>(&p->field))
    (*field)(config) = p->odd ? g_value_get_int(value) | 1 : g_value_get_int(value);
  else
    std::get<FloatField>(p->field)(config) = g_value_get_float(value);
  return true;
}

bool get_track_property(const TrackConfig& config, guint first_id, guint id, GValue* value) {
  const TrackProperty* p = find(first_id, id);
  if (!p) return false;
  TrackConfig copy = config;
  if (const auto* field = std::get_if<IntField>(&p->field))
    g_value_set_int(value, (*field)(copy));
  else
    g_value_set_float(value, std::get<FloatField>(p->field)(copy));
  return true;
}

}  // namespace cuface::gst
