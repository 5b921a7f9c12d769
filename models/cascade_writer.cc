#include "models/cascade_writer.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <span>
#include <string_view>

#include "kernels/common/try.h"
#include "models/cascade_file.h"
#include "models/cascade_xml.h"
#include "models/output_file.h"
#include "models/provenance.h"

namespace cuface {
namespace {

/// The shortest number that reads as these bits. Readers take it for a double first, then round to
/// float; where that gives another float, the double's own digits are written. The point says that
/// it is no integer: OpenCV reads those in 32 bits.
std::string number(float value) {
  char digits[64];
  char* end = std::to_chars(digits, std::end(digits), value).ptr;
  double read = 0;
  std::from_chars(digits, end, read);
  if (static_cast<float>(read) != value) {
    end = std::to_chars(digits, std::end(digits), static_cast<double>(value)).ptr;
  }
  std::string text(digits, end);
  if (text.find_first_of(".e") == std::string::npos) text += '.';
  return text;
}

class Writer {
 public:
  explicit Writer(const CascadeModel& model) : model_(model) {}

  std::string text(const Provenance& source) {
    int most_trees = 0;
    for (const HaarStage& s : model_.stages) most_trees = std::max(most_trees, s.tree_count);
    put("<?xml version=\"1.0\"?>\n", provenance_comment(source),
        "<opencv_storage>\n<cascade type_id=\"opencv-cascade-classifier\">\n"
        "  <stageType>BOOST</stageType>\n  <featureType>HAAR</featureType>\n  <height>",
        model_.window_height, "</height>\n  <width>", model_.window_width,
        "</width>\n  <stageParams>\n    <maxWeakCount>", most_trees,
        "</maxWeakCount></stageParams>\n  <featureParams>\n"
        "    <maxCatCount>0</maxCatCount></featureParams>\n  <stageNum>",
        static_cast<int>(model_.stages.size()), "</stageNum>\n  <stages>");
    for (const HaarStage& stage : model_.stages) add(stage);
    put("</stages>\n  <features>");
    for (const HaarFeature& feature : model_.features) add(feature);
    put("</features></cascade>\n</opencv_storage>\n");
    return std::move(out_);
  }

 private:
  void add(const HaarStage& stage) {
    put("\n    <_>\n      <maxWeakCount>", stage.tree_count,
        "</maxWeakCount>\n      <stageThreshold>", stage.threshold,
        "</stageThreshold>\n      <weakClassifiers>");
    for (const HaarTree& tree : part(model_.trees, stage.first_tree, stage.tree_count)) add(tree);
    put("</weakClassifiers></_>");
  }
  void add(const HaarTree& tree) {
    put("\n        <_>\n          <internalNodes>");
    for (const HaarNode& node : part(model_.nodes, tree.first_node, tree.node_count)) {
      put("\n            ", node.left, " ", node.right, " ", node.feature, " ", node.threshold);
    }
    put("</internalNodes>\n          <leafValues>\n           ");
    for (const float leaf : part(model_.leaves, tree.first_leaf, tree.leaf_count)) put(" ", leaf);
    put("</leafValues></_>");
  }
  void add(const HaarFeature& feature) {
    put("\n    <_>\n      <rects>");
    for (int i = 0; i < feature.rect_count; ++i) {
      const HaarRect& r = feature.rects[i];
      put("\n        <_>\n          ", r.x, " ", r.y, " ", r.w, " ", r.h, " ", r.weight, "</_>");
    }
    put("</rects>\n      <tilted>", feature.tilted ? 1 : 0, "</tilted></_>");
  }

  template <typename T>
  static std::span<const T> part(const std::vector<T>& all, int first, int count) {
    return std::span(all).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  }

  template <typename... Parts>
  void put(const Parts&... parts) {
    (append(parts), ...);
  }
  void append(std::string_view text) { out_ += text; }
  void append(int value) { out_ += std::to_string(value); }
  void append(float value) { out_ += number(value); }

  const CascadeModel& model_;
  std::string out_;
};

}  // namespace

std::string cascade_xml(const CascadeModel& model, const Provenance& source) {
  return Writer(model).text(source);
}

Status write_cascade(const std::string& path, const CascadeModel& model, const Provenance& source) {
  CUFACE_TRY(validate(model));
  const std::filesystem::path name(path);
  if (name.extension() == ".cuface") return write_cascade_file(model, source, path);
  if (name.extension() != ".xml") {
    return {StatusCode::kInvalidArgument,
            path + ": a cascade is written as .xml (OpenCV's) or .cuface; give such a name"};
  }
  const std::string text = cascade_xml(model, source);
  // The readers have limits that a cascade may pass: better no file than one that nobody reads.
  const auto read = parse_cascade_xml(text, path);
  if (!read.ok()) return {StatusCode::kInvalidArgument, read.status().message()};
  return replace_file(path, {std::as_bytes(std::span(text))});
}

}  // namespace cuface
