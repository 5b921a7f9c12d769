#include "gst/lktrack/trackprops.h"

#include <iterator>

namespace cuface::gst {

namespace {

GType revive_type() {
  return enum_type(
      "GstCufaceRevive",
      {{static_cast<int>(Revive::kLook), "Near where it was lost, if it looks alike", "look"},
       {static_cast<int>(Revive::kFeatures), "Anywhere, by its descriptors", "features"}});
}

}  // namespace

#define FIELD(member) CUFACE_FIELD(TrackSettings, config.member)

std::vector<Setting> track_settings() {
  Setting rules[] = {
      number("window-size", "Window size",
             "Side of the square window around each point, in pixels, rounded up to odd. Raise it "
             "for faster motion.",
             FIELD(flow.window), 5, 63),
      number("pyramid-levels", "Pyramid levels",
             "Number of picture sizes in which a point is followed. Each one more doubles the "
             "motion that can be followed.",
             FIELD(flow.levels), 1, 10),
      number("max-iterations", "Maximum iterations",
             "Most steps towards a point's new place, per picture size. Lower it to save time.",
             FIELD(flow.max_iterations), 1, 100),
      number("epsilon", "Epsilon",
             "A point has arrived when its step is no longer than this, in pixels. Raise it to "
             "save time.",
             FIELD(flow.epsilon), 0, 10),
      number("min-eigen", "Minimum eigenvalue",
             "Smallest eigenvalue of the gradients around a point that is followed (OpenCV's "
             "minEigThreshold). Lower it for video with little contrast.",
             FIELD(flow.min_eigen), 0, 1),
      number("max-faces", "Maximum faces",
             "Most faces followed at once; detections beyond it start no track. Lower it where "
             "fewer faces can be there.",
             FIELD(max_faces), 1, kMaxTracks),
      number("forward-backward", "Forward-backward distance",
             "Largest forward-backward error of a followed point, in pixels. Lower it to drop "
             "points that drift.",
             FIELD(forward_backward), 0.01, 100),
      number("max-residual", "Maximum residual",
             "Largest distance of a point from its face's common motion, as a fraction of the "
             "box's width. Raise it where expressions end tracks.",
             FIELD(max_residual), 0.001, 1),
      number("min-points", "Minimum points",
             "A face is lost when less than this fraction of its points agrees on its motion. "
             "Lower it for partly covered faces.",
             FIELD(min_points), 0, 1),
      number("min-confidence", "Minimum confidence",
             "Landmarks below this confidence do not move their face; without better ones the "
             "tracker asks for a search. Set 0.5 where hands cover faces.",
             FIELD(min_confidence), 0, 1),
      number("max-scale-step", "Maximum scale step",
             "A face that grows or shrinks by more than this ratio between two frames is lost. "
             "Raise it for low frame rates.",
             FIELD(max_scale_step), 1, 10),
      number("max-shape-change", "Maximum shape change",
             "Ends a track whose landmarks change shape by more than this fraction of the box's "
             "width. 0 never does.",
             FIELD(max_shape_change), 0, 10),
      number("min-visible", "Minimum visible part",
             "A face is lost when a smaller part of its box's area is inside the frame. Lower it "
             "for faces at the border.",
             FIELD(min_visible), 0, 1),
      number("min-width", "Minimum width",
             "A face whose box becomes narrower than this, in pixels, is lost. Lower it to follow "
             "faces far away.",
             FIELD(min_width), 1, 1000),
      number("min-overlap", "Minimum overlap",
             "A detection confirms a track when their boxes overlap by this intersection over "
             "union. Lower it for fast faces.",
             FIELD(min_overlap), 0.01, 1),
      number("min-correlation", "Minimum correlation",
             "Smallest correlation of grey values at which a face lost and found on one frame "
             "keeps its id. 0 always keeps it.",
             FIELD(min_correlation), 0, 1),
      number("max-missed", "Maximum missed searches",
             "A track ends when more searches in a row than this miss it, except within hold-time. "
             "Raise it where searches miss faces.",
             FIELD(max_missed), 0, 1000),
      number("min-confirmed", "Minimum confirmations",
             "Searches that must find a face before hold-time applies, or before a network's "
             "tentative face is delivered. Raise it against false faces that stay.",
             FIELD(min_confirmed), 1, 1000),
      number("doubt-below", "Doubt below",
             "A new face below this confidence is delivered only after further searches find it. "
             "Raise it against false faces; 0 delivers all.",
             FIELD(doubt_below), 0, 1),
      number("hold-time", "Hold time",
             "Seconds after the last confirmation during which missed searches do not end a track. "
             "Lower it if boxes stay too long.",
             FIELD(hold_time), 0, 60),
      choice("revive", "Revive",
             "How the tracker recognises a face that comes back. Set features if faces come back "
             "elsewhere, and raise revive-time.",
             FIELD(revive), revive_type()),
      number("revive-time", "Revive time",
             "Seconds in which a face found near where a track was lost gets its id back. Raise it "
             "for faces hidden longer.",
             FIELD(revive_time), 0, 60),
      number("revive-distance", "Revive distance",
             "Largest distance, in widths of the box, at which a found face gets a lost track's "
             "id. Lower it for crowds.",
             FIELD(revive_distance), 0, 10),
      number("revive-motion", "Revive motion",
             "Seconds for which a lost face is expected to keep its motion; 0 expects it to stay. "
             "Lower it for erratic motion.",
             FIELD(revive_motion), 0, 60),
  };
  static_assert(std::size(rules) * sizeof(int) == sizeof(TrackConfig),
                "every field of TrackConfig, all of four bytes, has its property");
  // A window has a middle: an even side becomes the next.
  rules[0].set = [set = rules[0].set](void* settings, const GValue* value) {
    set(settings, value);
    static_cast<TrackSettings*>(settings)->config.flow.window |= 1;
  };
  std::vector<Setting> table{standard_metas_setting<TrackSettings>(),
                             labels_setting<TrackSettings>()};
  table.insert(table.end(), std::begin(rules), std::end(rules));
  table.push_back(
      boolean("post-messages", "Post messages",
              "Posts the element messages face-appeared and face-lost. Set it in applications that "
              "follow who comes and goes.",
              CUFACE_FIELD(TrackSettings, post_messages)));
  return table;
}

}  // namespace cuface::gst
