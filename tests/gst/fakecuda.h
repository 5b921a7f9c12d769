// GStreamer's elements on CUDA memory as far as metas go, for machines without a GPU: same names
// and properties, buffers of their own pool whose memory has CUDA's type, and the transform_meta of
// GStreamer 1.22 or 1.24 and later. They take GRAY8 in system memory and really move its pixels.
#pragma once

namespace cuface::test {

/// Registers cudaupload, cudadownload, cudaconvert, cudascale and cudaconvertscale for this
/// process; fakeconvertbin, a bin around a cudaconvert; and fakecudaflip, which nobody knows: it
/// mirrors frames in CUDA memory.
void register_fake_cuda_elements();

/// Whether they behave as in 1.24 and later: metas whose only tag is "video" pass too.
void fake_cuda_elements_are_newer(bool newer);

}  // namespace cuface::test
