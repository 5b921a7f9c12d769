#include "gst/edgedetect/edgeprops.h"

#include "kernels/convolve/convolve.h"

namespace cuface::gst {
namespace {

GType operator_type() {
  return enum_type("GstCufaceEdgeOperator",
                   {{static_cast<int>(GradientOperator::kSobel), "Sobel", "sobel"},
                    {static_cast<int>(GradientOperator::kScharr),
                     "Scharr, the same in all directions", "scharr"},
                    {static_cast<int>(GradientOperator::kPrewitt), "Prewitt", "prewitt"}});
}

GType aperture_type() {
  return enum_type("GstCufaceEdgeAperture",
                   {{3, "3 x 3 pixels", "3"}, {5, "5 x 5 pixels", "5"}, {7, "7 x 7 pixels", "7"}});
}

GType norm_type() {
  return enum_type("GstCufaceEdgeNorm",
                   {{static_cast<int>(GradientNorm::kL1), "|dx| + |dy|", "l1"},
                    {static_cast<int>(GradientNorm::kL2), "The root of dx * dx + dy * dy", "l2"}});
}

GType linking_type() {
  return enum_type(
      "GstCufaceEdgeLinking",
      {{static_cast<int>(Linking::kHysteresis), "Ridges above low that are connected with an edge",
        "hysteresis"},
       {static_cast<int>(Linking::kApron), "All pixels above low near an edge", "apron"},
       {static_cast<int>(Linking::kNone), "Ridges above high alone", "none"}});
}

GType thinning_type() {
  return enum_type(
      "GstCufaceEdgeThinning",
      {{static_cast<int>(Thinning::kGradient), "As OpenCV's Canny", "gradient"},
       {static_cast<int>(Thinning::kSectors), "As published, of uneven sectors", "sectors"}});
}

GType output_type() {
  return enum_type("GstCufaceEdgeOutput",
                   {{static_cast<int>(EdgeOutput::kPicture), "Edges, white on black", "picture"},
                    {static_cast<int>(EdgeOutput::kGradient),
                     "Size of the gradient, as the contrast of a straight step", "gradient"},
                    {static_cast<int>(EdgeOutput::kAngle),
                     "Direction of the gradient, in 256 steps of a turn", "angle"},
                    {static_cast<int>(EdgeOutput::kMeta), "The picture stays as it is", "meta"}});
}

GType convolution_type() {
  return enum_type(
      "GstCufaceEdgeConvolution",
      {{static_cast<int>(Convolution::kOpenCv), "Reflected, and rounded", "opencv"},
       {static_cast<int>(Convolution::kFull), "Zeros outside, and cut, as published", "full"}});
}

constexpr double kMostThreshold = 1e6, kMostSigma = 100;

}  // namespace

#define FIELD(member) CUFACE_FIELD(EdgeSettings, member)

std::vector<Setting> edge_settings() {
  return {
      number("kernel-size", "Kernel size",
             "Side of the Gaussian blur in pixels; 1 is none, and even sizes count as the next odd "
             "one. Raise it against noise.",
             FIELD(edges.kernel_size), 1, kMostBlur),
      number("sigma", "Sigma",
             "Standard deviation of the blur in pixels; 0 follows from kernel-size as in OpenCV. "
             "Raise it to keep coarse edges only.",
             FIELD(edges.sigma), 0, kMostSigma),
      choice("operator", "Operator",
             "Filter that computes gradients. Scharr's are about four times as large as Sobel's, "
             "so raise low and high with it.",
             FIELD(edges.op), operator_type()),
      choice("aperture", "Aperture",
             "Side of Sobel's filter in pixels; the others have 3. Raise it, and low and high with "
             "it, for soft edges.",
             FIELD(edges.aperture), aperture_type()),
      choice("norm", "Norm",
             "How the length of a gradient is measured. Set l2 to treat all directions alike.",
             FIELD(edges.norm), norm_type()),
      number("low", "Low threshold",
             "Gradients above it may belong to an edge. Lower it where edges are broken.",
             FIELD(edges.low), 0, kMostThreshold),
      number("high", "High threshold",
             "Gradients above it begin an edge; low and high are swapped where low is larger. "
             "Lower it where edges are missing.",
             FIELD(edges.high), 0, kMostThreshold),
      choice("linking", "Linking",
             "Which weaker pixels join the edges above high. Set apron for published results.",
             FIELD(edges.linking), linking_type()),
      number("apron", "Apron",
             "Distance from an edge, in pixels, within which linking=apron adds pixels. Raise it "
             "to close wider gaps.",
             FIELD(edges.apron), 0, kMostApron),
      choice("thinning", "Thinning",
             "Non-maximum suppression: how it picks a pixel's neighbours across the edge. Set "
             "sectors for published results.",
             FIELD(edges.thinning), thinning_type()),
      choice("convolution", "Convolution",
             "How the blur treats the picture's sides. Set full for published results.",
             FIELD(edges.convolution), convolution_type()),
      boolean("mask", "Mask",
              "Keeps the picture's own colours on edges, with black elsewhere; only for "
              "output=picture.",
              FIELD(mask)),
      choice(
          "output", "Output",
          "What the frames show. Set meta to leave them as they are; a meta always has the edges.",
          FIELD(output), output_type()),
  };
}

EdgeConfig config_of(const EdgeSettings& settings) {
  EdgeConfig config = settings.edges;
  config.kernel_size |= 1;
  if (config.op != GradientOperator::kSobel) config.aperture = 3;
  return config;
}

}  // namespace cuface::gst
