// The properties of an element as a table: the name, range and settings field of each. Ids are
// places in the table, and nobody names them.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

namespace cuface::gst {

/// A mutex taken for as long as settings are copied or written, no longer.
class SettingsLock {
 public:
  explicit SettingsLock(gpointer element) : element_(GST_OBJECT_CAST(element)) {
    GST_OBJECT_LOCK(element_);
  }
  ~SettingsLock() { GST_OBJECT_UNLOCK(element_); }
  SettingsLock(const SettingsLock&) = delete;
  SettingsLock& operator=(const SettingsLock&) = delete;

 private:
  GstObject* element_;
};

/// One property. `set` and `get` are called under SettingsLock, with the settings that it is of.
struct Setting {
  GParamSpec* spec;
  std::function<void(void* settings, const GValue* value)> set;
  std::function<void(void* settings, GValue* value)> get;
};

inline constexpr auto kReady =
    static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY);
inline constexpr auto kPlaying = static_cast<GParamFlags>(
    G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING);

/// Where a property is: a field of Settings, or one of a field.
#define CUFACE_FIELD(Settings, field) (+[](Settings & settings) -> auto& { return settings.field; })

/// Registers an enumeration (flags) that properties may have as their type. The texts live as long
/// as the program.
GType enum_type(const char* name, std::initializer_list<GEnumValue> values);
GType flags_type(const char* name, std::initializer_list<GFlagsValue> values);

/// The number in a value of whatever type that is one.
std::int64_t integer_in(const GValue* value);
void put_integer(GValue* value, std::int64_t number);

template <typename T>
void read_value(const GValue* value, T& field) {
  if constexpr (std::is_same_v<T, std::string>) {
    const char* text = g_value_get_string(value);
    field = text ? text : "";
  } else if constexpr (std::is_same_v<T, float>) {
    field = g_value_get_float(value);
  } else if constexpr (std::is_same_v<T, double>) {
    field = g_value_get_double(value);
  } else {
    field = static_cast<T>(integer_in(value));
  }
}

template <typename T>
void write_value(GValue* value, const T& field) {
  if constexpr (std::is_same_v<T, std::string>)
    g_value_set_string(value, field.empty() ? nullptr : field.c_str());
  else if constexpr (std::is_same_v<T, float>)
    g_value_set_float(value, field);
  else if constexpr (std::is_same_v<T, double>)
    g_value_set_double(value, field);
  else
    put_integer(value, static_cast<std::int64_t>(field));
}

template <typename S, typename T>
Setting setting(GParamSpec* spec, T& (*field)(S&)) {
  return {spec, [field](void* s, const GValue* v) { read_value(v, field(*static_cast<S*>(s))); },
          [field](void* s, GValue* v) { write_value(v, field(*static_cast<S*>(s))); }};
}

/// The field's value in default settings: the property's default.
template <typename S, typename T>
T default_of(T& (*field)(S&)) {
  S settings;
  return field(settings);
}

/// The type in which ranges are written, because 0.01 is no float.
template <typename P>
using Bound = std::conditional_t<std::is_floating_point_v<P>, double, P>;

/// A number from `min` to `max`, for users of type P: int, guint, guint64, float or double.
template <typename P, typename S, typename T>
Setting number_as(const char* name, const char* nick, const char* blurb, T& (*field)(S&),
                  Bound<P> min, Bound<P> max, GParamFlags flags = kPlaying) {
  const auto make = [&] {
    if constexpr (std::is_same_v<P, int>) return g_param_spec_int;
    if constexpr (std::is_same_v<P, guint>) return g_param_spec_uint;
    if constexpr (std::is_same_v<P, guint64>) return g_param_spec_uint64;
    if constexpr (std::is_same_v<P, float>) return g_param_spec_float;
    if constexpr (std::is_same_v<P, double>) return g_param_spec_double;
  }();
  return setting(make(name, nick, blurb, static_cast<P>(min), static_cast<P>(max),
                      static_cast<P>(default_of(field)), flags),
                 field);
}
template <typename S, typename T>
Setting number(const char* name, const char* nick, const char* blurb, T& (*field)(S&), Bound<T> min,
               Bound<T> max, GParamFlags flags = kPlaying) {
  return number_as<T>(name, nick, blurb, field, min, max, flags);
}

template <typename S>
Setting boolean(const char* name, const char* nick, const char* blurb, bool& (*field)(S&),
                GParamFlags flags = kPlaying) {
  return setting(g_param_spec_boolean(name, nick, blurb, default_of(field), flags), field);
}

/// A text; the empty one is none, also as a default.
template <typename S>
Setting text(const char* name, const char* nick, const char* blurb, std::string& (*field)(S&),
             GParamFlags flags = kPlaying) {
  const std::string& usual = default_of(field);
  const char* text = usual.empty() ? nullptr : usual.c_str();
  return setting(g_param_spec_string(name, nick, blurb, text, flags), field);
}

/// A value of an enum_type(), in a field that numbers it in the same way.
template <typename S, typename T>
Setting choice(const char* name, const char* nick, const char* blurb, T& (*field)(S&), GType type,
               GParamFlags flags = kPlaying) {
  return setting(
      g_param_spec_enum(name, nick, blurb, type, static_cast<int>(default_of(field)), flags),
      field);
}

/// Puts the table's properties into a class that has none yet.
void install_settings(GObjectClass* klass, const std::vector<Setting>& table);

}  // namespace cuface::gst
