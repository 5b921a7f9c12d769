// The public functions of matches.
#include "gst/meta/matches.h"
#include "gst/meta/serialise.h"
#include "gst/meta/snapshot.h"
#include "gst/meta/view.h"

namespace {
constexpr const char* kKind = "match";
}

struct _GstCufaceMatchMeta {
  cuface::gst::ViewMeta view;
};

struct _GstCufaceMatches : cuface::gst::Snapshot<cuface::FrameMatches> {
  using Snapshot::Snapshot;
  const cuface::FrameMatches& matches() const { return *value(); }
};

GType gst_cuface_match_meta_api_get_type() {
  static const GType type = [] {
    cuface::gst::init_meta_log();
    return cuface::gst::register_view("GstCuFaceMatchMetaAPI", "GstCufaceMatchMeta",
                                      cuface::gst::wire_for<cuface::FrameMatches>());
  }();
  return type;
}

G_DEFINE_BOXED_TYPE(GstCufaceMatches, gst_cuface_matches, gst_cuface_matches_ref,
                    gst_cuface_matches_unref)

GstCufaceMatchMeta* gst_cuface_buffer_get_match_meta(GstBuffer* buffer) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);
  return reinterpret_cast<GstCufaceMatchMeta*>(
      gst_buffer_get_meta(buffer, gst_cuface_match_meta_api_get_type()));
}

GstCufaceMatches* gst_cuface_match_meta_get_matches(GstCufaceMatchMeta* meta) {
  g_return_val_if_fail(meta, nullptr);
  auto matches = cuface::gst::fitting_result<cuface::FrameMatches>(meta->view.buffer, kKind);
  cuface::FrameMatchesRef read;  // whoever waits does it here
  if (!cuface::gst::read_logged(matches, kKind, read) || !read) return nullptr;
  return new GstCufaceMatches(std::move(read));
}

GstCufaceMatches* gst_cuface_matches_ref(GstCufaceMatches* matches) {
  g_return_val_if_fail(matches, nullptr);
  matches->ref();
  return matches;
}

void gst_cuface_matches_unref(GstCufaceMatches* matches) {
  g_return_if_fail(matches);
  if (matches->unref()) delete matches;
}

guint gst_cuface_matches_get_reference_count(const GstCufaceMatches* matches) {
  g_return_val_if_fail(matches, 0);
  return static_cast<guint>(matches->matches().pictures.size());
}

const gchar* gst_cuface_matches_get_reference(const GstCufaceMatches* matches, guint reference,
                                              guint* width, guint* height, guint* keypoints) {
  for (guint* out : {width, height, keypoints})
    if (out) *out = 0;
  g_return_val_if_fail(matches, nullptr);
  const auto& pictures = matches->matches().pictures;
  g_return_val_if_fail(reference < pictures.size(), nullptr);
  return cuface::gst::describe_picture(pictures[reference], width, height, keypoints);
}

guint gst_cuface_matches_get_count(const GstCufaceMatches* matches) {
  g_return_val_if_fail(matches, 0);
  return static_cast<guint>(matches->matches().matches.size());
}

guint gst_cuface_matches_get_match(const GstCufaceMatches* matches, guint index, gfloat* x,
                                   gfloat* y, gfloat* reference_x, gfloat* reference_y,
                                   gfloat* distance) {
  for (gfloat* out : {x, y, reference_x, reference_y, distance})
    if (out) *out = 0;
  g_return_val_if_fail(matches, 0);
  const cuface::FrameMatches& known = matches->matches();
  g_return_val_if_fail(index < known.matches.size(), 0);
  const cuface::PictureMatch& match = known.matches[index];
  const auto picture = static_cast<guint>(match.picture);
  const cuface::MatchedPicture& in = known.pictures[picture];
  const auto fraction = [](float at, int size) { return (at + 0.5f) / static_cast<float>(size); };
  if (x) *x = fraction(match.at.x, known.width);
  if (y) *y = fraction(match.at.y, known.height);
  if (reference_x) *reference_x = fraction(match.in_picture.x, in.width);
  if (reference_y) *reference_y = fraction(match.in_picture.y, in.height);
  if (distance) *distance = match.distance;
  return picture;
}
