#include "models/cascade_xml.h"

#include <charconv>
#include <cmath>
#include <filesystem>

#include "models/xml_tree.h"

namespace cuface {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

// The words of an element's text, one after another.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) { skip_space(); }

  bool at_end() const { return rest_.empty(); }

  bool read(int& out) { return read_number(out); }

  // As OpenCV reads it: parsed as a double, then rounded to float. Infinities and NaN are refused.
  bool read(float& out) {
    double wide = 0;
    if (!read_number(wide)) return false;
    out = static_cast<float>(wide);
    return std::isfinite(out);
  }

 private:
  template <typename T>
  bool read_number(T& out) {
    const std::string_view word = rest_.substr(0, rest_.find_first_of(kSpace));
    const char* end = word.data() + word.size();
    const std::from_chars_result result = std::from_chars(word.data(), end, out);
    if (word.empty() || result.ec != std::errc() || result.ptr != end) return false;
    rest_.remove_prefix(word.size());
    skip_space();
    return true;
  }

  void skip_space() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpace), rest_.size()));
  }

  std::string_view rest_;
};

std::string_view trimmed(std::string_view s) {
  const std::size_t first = s.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(kSpace) - first + 1);
}

std::string tag(std::string_view name) {
  std::string out(1, '<');
  out.append(shortened(name)).push_back('>');
  return out;
}

// Reads one document. The first error is kept; functions return false once there is one.
class CascadeReader {
 public:
  CascadeReader(const XmlTree& tree, const std::string& path) : tree_(tree), path_(path) {}

  bool read(CascadeModel& model) {
    const XmlElement& storage = tree_.root();
    if (storage.name != "opencv_storage") {
      return fail(storage, "this is no OpenCV file: the outermost element is " + tag(storage.name) +
                               ", not <opencv_storage>");
    }
    if (storage.children.empty()) return fail(storage, "<opencv_storage> is empty");
    const XmlElement& cascade = tree_.element(storage.children.front());
    if (tree_.child(cascade, "stageType")) return read_new(cascade, model);
    if (tree_.child(cascade, "size")) return read_old(cascade, model);
    return fail(cascade,
                tag(cascade.name) + " is no cascade: it has neither <stageType> nor <size>");
  }

  const Status& status() const { return status_; }

 private:
  // The layout of opencv_traincascade: features in a list of their own.
  bool read_new(const XmlElement& cascade, CascadeModel& model) {
    if (!expect_text(cascade, "stageType", "BOOST") ||
        !expect_text(cascade, "featureType", "HAAR") ||
        !read_one(cascade, "height", model.window_height) ||
        !read_one(cascade, "width", model.window_width)) {
      return false;
    }
    const XmlElement* stages = need(cascade, "stages");
    const XmlElement* features = stages ? need(cascade, "features") : nullptr;
    if (!features) return false;
    for (const int index : stages->children) {
      const XmlElement& stage = tree_.element(index);
      const XmlElement* trees = need(stage, "weakClassifiers");
      if (!trees || !begin_stage(stage, "stageThreshold", model)) return false;
      for (const int tree : trees->children) {
        if (!read_new_tree(tree_.element(tree), model)) return false;
      }
    }
    for (const int feature : features->children) {
      if (!read_feature(tree_.element(feature), model)) return false;
    }
    return true;
  }

  bool read_new_tree(const XmlElement& element, CascadeModel& model) {
    const XmlElement* nodes = need(element, "internalNodes");
    const XmlElement* leaves = nodes ? need(element, "leafValues") : nullptr;
    if (!leaves) return false;
    begin_tree(model);
    for (Words words(nodes->text); !words.at_end();) {
      HaarNode node;
      if (!words.read(node.left) || !words.read(node.right) || !words.read(node.feature) ||
          !words.read(node.threshold)) {
        return fail(*nodes, "<internalNodes> does not hold left, right, feature, threshold");
      }
      add_node(node, model);
    }
    for (Words words(leaves->text); !words.at_end();) {
      float leaf = 0;
      if (!words.read(leaf)) return fail(*leaves, "<leafValues> holds something else than numbers");
      add_leaf(leaf, model);
    }
    return true;
  }

  // The layout of opencv_haartraining: each node brings its feature; <parent> and <next> of a stage
  // are ignored, as OpenCV does, so the stages are a plain chain.
  bool read_old(const XmlElement& cascade, CascadeModel& model) {
    const XmlElement* size = need(cascade, "size");
    const XmlElement* stages = size ? need(cascade, "stages") : nullptr;
    if (!stages) return false;
    Words words(size->text);
    if (!words.read(model.window_width) || !words.read(model.window_height) || !words.at_end()) {
      return fail(*size, "<size> does not hold width and height");
    }
    for (const int index : stages->children) {
      const XmlElement& stage = tree_.element(index);
      const XmlElement* trees = need(stage, "trees");
      if (!trees || !begin_stage(stage, "stage_threshold", model)) return false;
      for (const int tree : trees->children) {
        begin_tree(model);
        for (const int node : tree_.element(tree).children) {
          if (!read_old_node(tree_.element(node), model)) return false;
        }
      }
    }
    return true;
  }

  bool read_old_node(const XmlElement& element, CascadeModel& model) {
    const XmlElement* feature = need(element, "feature");
    HaarNode node;
    node.feature = static_cast<int>(model.features.size());
    if (!feature || !read_feature(*feature, model) ||
        !read_one(element, "threshold", node.threshold) ||
        !read_old_child(element, "left", node.left, model) ||
        !read_old_child(element, "right", node.right, model)) {
      return false;
    }
    add_node(node, model);
    return true;
  }

  // <left_val> is a leaf, <left_node> the index of another node of the tree.
  bool read_old_child(const XmlElement& element, const std::string& side, int& child,
                      CascadeModel& model) {
    const std::string leaf_name = side + "_val", node_name = side + "_node";
    if (tree_.child(element, node_name)) {
      if (!read_one(element, node_name, child)) return false;
      if (child > 0) return true;
      return fail(element, tag(node_name) + " is " + std::to_string(child) +
                               ", the index of a later node is expected");
    }
    float leaf = 0;
    if (!read_one(element, leaf_name, leaf)) return false;
    child = -model.trees.back().leaf_count;
    add_leaf(leaf, model);
    return true;
  }

  bool read_feature(const XmlElement& element, CascadeModel& model) {
    const XmlElement* rects = need(element, "rects");
    if (!rects) return false;
    HaarFeature feature;
    for (const int index : rects->children) {
      const XmlElement& rect = tree_.element(index);
      if (feature.rect_count == 3) return fail(rect, "a feature has more than 3 rectangles");
      HaarRect& r = feature.rects[feature.rect_count++];
      Words words(rect.text);
      if (!words.read(r.x) || !words.read(r.y) || !words.read(r.w) || !words.read(r.h) ||
          !words.read(r.weight) || !words.at_end()) {
        return fail(rect, "a rectangle does not hold x, y, width, height, weight");
      }
    }
    int tilted = 0;
    if (tree_.child(element, "tilted") && !read_one(element, "tilted", tilted)) return false;
    feature.tilted = tilted != 0;
    model.features.push_back(feature);
    return true;
  }

  bool begin_stage(const XmlElement& element, const char* threshold, CascadeModel& model) {
    HaarStage stage;
    stage.first_tree = static_cast<int>(model.trees.size());
    if (!read_one(element, threshold, stage.threshold)) return false;
    model.stages.push_back(stage);
    return true;
  }

  static void begin_tree(CascadeModel& model) {
    HaarTree tree;
    tree.first_node = static_cast<int>(model.nodes.size());
    tree.first_leaf = static_cast<int>(model.leaves.size());
    model.trees.push_back(tree);
    ++model.stages.back().tree_count;
  }

  static void add_node(const HaarNode& node, CascadeModel& model) {
    model.nodes.push_back(node);
    ++model.trees.back().node_count;
  }

  static void add_leaf(float leaf, CascadeModel& model) {
    model.leaves.push_back(leaf);
    ++model.trees.back().leaf_count;
  }

  template <typename T>
  bool read_one(const XmlElement& parent, std::string_view name, T& out) {
    const XmlElement* element = need(parent, name);
    if (!element) return false;
    Words words(element->text);
    if (words.read(out) && words.at_end()) return true;
    return fail(*element, tag(name) + " does not hold one number");
  }

  bool expect_text(const XmlElement& parent, std::string_view name, std::string_view expected) {
    const XmlElement* element = need(parent, name);
    if (!element) return false;
    const std::string_view found = trimmed(element->text);
    if (found == expected) return true;
    return fail(*element,
                tag(name) + " is " + shortened(found) + ", only " + std::string(expected) +
                    " cascades are handled",
                StatusCode::kUnsupported);
  }

  const XmlElement* need(const XmlElement& parent, std::string_view name) {
    const XmlElement* child = tree_.child(parent, name);
    if (!child) fail(parent, tag(parent.name) + " has no " + tag(name));
    return child;
  }

  bool fail(const XmlElement& at, const std::string& what, StatusCode code = StatusCode::kCorrupt) {
    if (status_.ok()) status_ = {code, path_ + ":" + std::to_string(at.line) + ": " + what};
    return false;
  }

  const XmlTree& tree_;
  const std::string& path_;
  Status status_;
};

}  // namespace

Result<std::shared_ptr<const CascadeModel>> parse_cascade_xml(std::string_view bytes,
                                                              const std::string& path) {
  const Result<XmlTree> tree = XmlTree::parse(bytes, path);
  if (!tree.ok()) return tree.status();
  auto model = std::make_shared<CascadeModel>();
  model->name = std::filesystem::path(path).stem().string();
  CascadeReader reader(tree.value(), path);
  if (!reader.read(*model)) return reader.status();
  if (const Status s = validate(*model); !s.ok())
    return Status(s.code(), path + ": " + s.message());
  return std::shared_ptr<const CascadeModel>(std::move(model));
}

}  // namespace cuface
