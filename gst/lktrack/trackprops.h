// One property for each rule of the tracker (kernels/track/track.h).
#pragma once

#include <glib-object.h>

#include "kernels/track/track.h"

namespace cuface::gst {

/// Installs them with ids from `first_id` up.
void install_track_properties(GObjectClass* klass, guint first_id);

/// Sets or gets the property `id`; false when it is none of these. GObject has seen to the range;
/// where a value must be odd, an even one becomes the next.
bool set_track_property(TrackConfig& config, guint first_id, guint id, const GValue* value);
bool get_track_property(const TrackConfig& config, guint first_id, guint id, GValue* value);

}  // namespace cuface::gst
