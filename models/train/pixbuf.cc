#include "models/train/pixbuf.h"

#ifdef CUFACE_PIXBUF

#include <gdk-pixbuf/gdk-pixbuf.h>

namespace cuface::train {
namespace {

struct Asked {
  std::size_t most_pixels;
  int width = 0, height = 0;
  bool too_large = false;
};

/// Called before anything is allocated. A size of 0 makes every decoder give up.
void on_size(GdkPixbufLoader* loader, int width, int height, gpointer data) {
  Asked& asked = *static_cast<Asked*>(data);
  asked.width = width;
  asked.height = height;
  asked.too_large = static_cast<std::size_t>(width) >
                    asked.most_pixels / static_cast<std::size_t>(height > 0 ? height : 1);
  if (asked.too_large) gdk_pixbuf_loader_set_size(loader, 0, 0);
}

std::string message_of(GError* error) {
  std::string text = error ? shortened(error->message) : "unknown";
  g_clear_error(&error);
  return text;
}

}  // namespace

Result<DecodedPixbuf> decode_pixbuf(std::span<const std::uint8_t> bytes, std::size_t most_pixels,
                                    const std::string& path) {
  Asked asked{most_pixels};
  const std::unique_ptr<GdkPixbufLoader, decltype(&g_object_unref)> loader(gdk_pixbuf_loader_new(),
                                                                           g_object_unref);
  g_signal_connect(loader.get(), "size-prepared", G_CALLBACK(on_size), &asked);
  GError* error = nullptr;
  const bool written = gdk_pixbuf_loader_write(loader.get(), bytes.data(), bytes.size(), &error);
  // A loader is closed in any case, and a second error would hide the first.
  const bool closed = gdk_pixbuf_loader_close(loader.get(), written ? &error : nullptr);
  DecodedPixbuf out;
  if (asked.too_large) {
    g_clear_error(&error);
    out.too_large = true;
    out.width = asked.width;
    out.height = asked.height;
    return out;
  }
  GdkPixbuf* pixbuf = written && closed ? gdk_pixbuf_loader_get_pixbuf(loader.get()) : nullptr;
  if (!pixbuf) {
    return Status(StatusCode::kCorrupt, path + ": does not decode as a picture (" +
                                            message_of(error) +
                                            "); replace the file, or leave it out");
  }
  g_clear_error(&error);
  out.owner = std::shared_ptr<const void>(g_object_ref(pixbuf), g_object_unref);
  out.pixels = gdk_pixbuf_read_pixels(pixbuf);
  out.width = gdk_pixbuf_get_width(pixbuf);
  out.height = gdk_pixbuf_get_height(pixbuf);
  out.channels = gdk_pixbuf_get_n_channels(pixbuf);
  out.stride = gdk_pixbuf_get_rowstride(pixbuf);
  const char* turn = gdk_pixbuf_get_option(pixbuf, "orientation");
  out.turned = turn && std::string(turn) != "1";
  return out;
}

}  // namespace cuface::train

#endif
