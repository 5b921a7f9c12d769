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
     "Side of the square window around each point, in pixels, rounded up to odd. Raise it for "
     "faster motion.",
     INT_FIELD(flow.window), 5, 63, true},
    {"pyramid-levels", "Pyramid levels",
     "Number of picture sizes in which a point is followed. Each one more doubles the motion that "
     "can be followed.",
     INT_FIELD(flow.levels), 1, 10},
    {"max-iterations", "Maximum iterations",
     "Most steps towards a point's new place, per picture size. Lower it to save time.",
     INT_FIELD(flow.max_iterations), 1, 100},
    {"epsilon", "Epsilon",
     "A point has arrived when its step is no longer than this, in pixels. Raise it to save time.",
     FLOAT_FIELD(flow.epsilon), 0, 10},
    {"min-eigen", "Minimum eigenvalue",
     "A point whose window is flatter than this is not followed (OpenCV's minEigThreshold). Lower "
     "it for video with little contrast.",
     FLOAT_FIELD(flow.min_eigen), 0, 1},
    {"max-faces", "Maximum faces",
     "Most faces followed at once; detections beyond it start no track. Lower it where fewer faces "
     "can be there.",
     INT_FIELD(max_faces), 1, kMaxTracks},
    {"forward-backward", "Forward-backward distance",
     "Largest forward-backward error of a followed point, in pixels. Lower it to drop points that "
     "drift.",
     FLOAT_FIELD(forward_backward), 0.01, 100},
    {"max-residual", "Maximum residual",
     "Largest distance of a point from its face's common motion, as a fraction of the box's width. "
     "Raise it where expressions end tracks.",
     FLOAT_FIELD(max_residual), 0.001, 1},
    {"min-points", "Minimum points",
     "A face is lost when a smaller fraction of its points is followed and agrees. Lower it for "
     "partly covered faces.",
     FLOAT_FIELD(min_points), 0, 1},
    {"max-scale-step", "Maximum scale step",
     "A face that grows or shrinks by more than this ratio between two frames is lost. Raise it "
     "for low frame rates.",
     FLOAT_FIELD(max_scale_step), 1, 10},
    {"max-shape-change", "Maximum shape change",
     "Ends a track whose landmarks change shape by more than this fraction of the box's width. 0 "
     "never does.",
     FLOAT_FIELD(max_shape_change), 0, 10},
    {"min-visible", "Minimum visible part",
     "A face is lost when a smaller part of its box's area is inside the frame. Lower it for faces "
     "at the border.",
     FLOAT_FIELD(min_visible), 0, 1},
    {"min-width", "Minimum width",
     "A face whose box becomes narrower than this, in pixels, is lost. Lower it to follow faces "
     "far away.",
     FLOAT_FIELD(min_width), 1, 1000},
    {"min-overlap", "Minimum overlap",
     "A detection confirms a track when their boxes overlap by this intersection over union. Lower "
     "it for fast faces.",
     FLOAT_FIELD(min_overlap), 0.01, 1},
    {"min-correlation", "Minimum correlation",
     "Smallest correlation of grey values at which a face lost and found on one frame keeps its "
     "id. 0 always keeps it.",
     FLOAT_FIELD(min_correlation), 0, 1},
    {"max-missed", "Maximum missed searches",
     "A track ends when more searches in a row than this miss it, except within hold-time. Raise "
     "it where searches miss faces.",
     INT_FIELD(max_missed), 0, 1000},
    {"min-confirmed", "Minimum confirmations",
     "Searches that must find a face before hold-time applies to it. Raise it against false faces "
     "that stay.",
     INT_FIELD(min_confirmed), 1, 1000},
    {"doubt-below", "Doubt below",
     "A new face of less confidence is delivered once further searches find it too. Raise it "
     "against false faces; 0 delivers all.",
     FLOAT_FIELD(doubt_below), 0, 1},
    {"hold-time", "Hold time",
     "Seconds since the last confirmation in which missed searches do not end a track. Lower it "
     "where boxes stay too long.",
     FLOAT_FIELD(hold_time), 0, 60},
    {"revive-time", "Revive time",
     "Seconds in which a face found near where a track was lost gets its id back. Raise it for "
     "faces hidden longer.",
     FLOAT_FIELD(revive_time), 0, 60},
    {"revive-distance", "Revive distance",
     "Largest distance, in widths of the box, at which a found face gets a lost track's id. Lower "
     "it for crowds.",
     FLOAT_FIELD(revive_distance), 0, 10},
    {"revive-motion", "Revive motion",
     "Seconds for which a lost face is expected to keep its motion; 0 expects it to stay. Lower it "
     "for erratic motion.",
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
