#include "models/xml_tree.h"

#include <glib.h>

#include <exception>
#include <memory>

namespace cuface {

// GMarkup's callbacks. They are called by C code, so nothing may be thrown through them: where
// there is no memory the parser is told to stop.
struct XmlTreeBuilder {
  const XmlLimits& limits;
  XmlTree tree = {};
  std::vector<int> open = {};  // indices of the elements that are open, outermost first
  bool out_of_memory = false;

  template <typename Body>
  static void guard(gpointer data, GError** error, Body body) {
    XmlTreeBuilder& self = *static_cast<XmlTreeBuilder*>(data);
    try {
      body(self);
    } catch (const std::exception&) {
      self.out_of_memory = true;
      g_set_error_literal(error, G_MARKUP_ERROR, G_MARKUP_ERROR_INVALID_CONTENT, "no memory");
    }
  }

  static void start(GMarkupParseContext* context, const gchar* name, const gchar** names,
                    const gchar** values, gpointer data, GError** error) {
    guard(data, error,
          [&](XmlTreeBuilder& self) { self.add(context, name, names, values, error); });
  }
  void add(GMarkupParseContext* context, const gchar* name, const gchar** names,
           const gchar** values, GError** error) {
    std::vector<XmlElement>& elements = tree.elements_;
    if (open.size() >= XmlTree::kMaxDepth) {
      g_set_error(error, G_MARKUP_ERROR, G_MARKUP_ERROR_INVALID_CONTENT,
                  "elements are nested more than %d deep", XmlTree::kMaxDepth);
      return;
    }
    if (elements.size() >= static_cast<std::size_t>(limits.elements)) {
      g_set_error(error, G_MARKUP_ERROR, G_MARKUP_ERROR_INVALID_CONTENT, "more than %d elements",
                  limits.elements);
      return;
    }
    const int index = static_cast<int>(elements.size());
    if (!open.empty()) top().children.push_back(index);
    gint line = 0;
    g_markup_parse_context_get_position(context, &line, nullptr);
    elements.push_back({name, {}, line, {}, {}});
    for (; limits.attributes && *names; ++names, ++values) {
      elements.back().attributes.emplace_back(*names, *values);
    }
    open.push_back(index);
  }

  static void end(GMarkupParseContext*, const gchar*, gpointer data, GError**) {
    static_cast<XmlTreeBuilder*>(data)->open.pop_back();
  }

  static void text(GMarkupParseContext*, const gchar* text, gsize length, gpointer data,
                   GError** error) {
    guard(data, error, [&](XmlTreeBuilder& self) {
      if (!self.open.empty()) self.top().text.append(text, length);
    });
  }

  XmlElement& top() { return tree.elements_[static_cast<std::size_t>(open.back())]; }
};

Result<XmlTree> XmlTree::parse(std::string_view bytes, const std::string& path,
                               const XmlLimits& limits) {
  if (bytes.empty()) return Status(StatusCode::kCorrupt, path + ": the file is empty");
  if (bytes.size() > limits.bytes) {
    return Status(StatusCode::kCorrupt, path + ": larger than any " + limits.what + " (" +
                                            std::to_string(limits.bytes >> 20) + " MiB are read)");
  }
  const GMarkupParser parser = {XmlTreeBuilder::start, XmlTreeBuilder::end, XmlTreeBuilder::text,
                                nullptr, nullptr};
  XmlTreeBuilder builder{limits};
  const std::unique_ptr<GMarkupParseContext, decltype(&g_markup_parse_context_free)> context(
      g_markup_parse_context_new(&parser, GMarkupParseFlags{}, &builder, nullptr),
      g_markup_parse_context_free);
  GError* error = nullptr;
  if (!g_markup_parse_context_parse(context.get(), bytes.data(), static_cast<gssize>(bytes.size()),
                                    &error) ||
      !g_markup_parse_context_end_parse(context.get(), &error)) {
    gint line = 0;
    g_markup_parse_context_get_position(context.get(), &line, nullptr);
    const std::string message = path + ":" + std::to_string(line) +
                                ": not a readable XML file: " + shortened(error->message);
    g_error_free(error);
    if (builder.out_of_memory)
      return Status(StatusCode::kOutOfMemory, path + ": not enough memory for this file");
    return Status(StatusCode::kCorrupt, message);
  }
  if (builder.tree.elements_.empty()) {
    return Status(StatusCode::kCorrupt, path + ": there is no XML element in the file");
  }
  return std::move(builder.tree);
}

const std::string* XmlElement::attribute(std::string_view wanted) const {
  for (const auto& [key, value] : attributes) {
    if (key == wanted) return &value;
  }
  return nullptr;
}

const XmlElement* XmlTree::child(const XmlElement& parent, std::string_view name) const {
  for (const int index : parent.children) {
    if (element(index).name == name) return &element(index);
  }
  return nullptr;
}

}  // namespace cuface
