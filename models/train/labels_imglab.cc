// dlib's imglab: <image file='...'><box top left width height [ignore]><part name x y/></box>.
#include "kernels/common/try.h"
#include "models/train/labels.h"
#include "models/xml_tree.h"

namespace cuface::train {
namespace {

constexpr XmlLimits kLimits{1 << 22, kMostLabelBytes, true, "list of labels"};

bool number_of(const XmlElement& element, std::string_view name, float& out) {
  const std::string* text = element.attribute(name);
  return text && parse_number(trimmed_blanks(*text), out);
}

Status read_box(const XmlTree& tree, const XmlElement& element, LabelList& out) {
  LabelledObject object{{}, out.at_line(static_cast<std::size_t>(element.line)), {}};
  if (!number_of(element, "left", object.box.x) || !number_of(element, "top", object.box.y) ||
      !number_of(element, "width", object.box.w) || !number_of(element, "height", object.box.h)) {
    return {StatusCode::kCorrupt,
            object.where + ": <box> needs the numbers left, top, width and height"};
  }
  if (const XmlElement* label = tree.child(element, "label"))
    object.group = trimmed_blanks(label->text);
  for (const int index : element.children) {
    const XmlElement& part = tree.element(index);
    if (part.name != "part") continue;
    LabelledPart read;
    const std::string* name = part.attribute("name");
    if (!name || name->size() > 64 || !number_of(part, "x", read.at.x) ||
        !number_of(part, "y", read.at.y)) {
      return {StatusCode::kCorrupt, out.at_line(static_cast<std::size_t>(part.line)) +
                                        ": <part> needs a name and the numbers x and y"};
    }
    read.name = *name;
    object.parts.push_back(std::move(read));
  }
  return out.add_object(std::move(object));
}

}  // namespace

Status read_imglab_labels(std::string_view text, LabelList& out) {
  CUFACE_TAKE(tree, XmlTree::parse(text, out.path(), kLimits));
  const XmlElement* images = tree.child(tree.root(), "images");
  if (tree.root().name != "dataset" || !images) {
    return {StatusCode::kUnsupported,
            out.at_line(static_cast<std::size_t>(tree.root().line)) +
                ": no list of dlib's imglab: <dataset> with <images> is expected"};
  }
  for (const int index : images->children) {
    const XmlElement& image = tree.element(index);
    if (image.name != "image") continue;
    const std::string where = out.at_line(static_cast<std::size_t>(image.line));
    const std::string* file = image.attribute("file");
    if (!file) return {StatusCode::kCorrupt, where + ": <image> names no file"};
    CUFACE_TRY(out.add_picture(*file, where));
    for (const int box : image.children) {
      const XmlElement& element = tree.element(box);
      const std::string* ignore = element.attribute("ignore");
      if (element.name == "box" && !(ignore && *ignore != "0")) {
        CUFACE_TRY(read_box(tree, element, out));
      }
    }
  }
  return {};
}

}  // namespace cuface::train
