"""The chain behind either engine of cufacedetect, the cascade and the network: ids, landmarks that stay calm, heads that
roll."""
import json

import pytest

import programs

np = pytest.importorskip("numpy")
import clips  # noqa: E402
import measures  # noqa: E402

FAR = 5.0  # percent of the eyes' distance: of the points from where the upright ones were carried


def chain(clip, detector, folder):
    """The faces of each frame."""
    lines = folder / "faces.jsonl"
    with clip.file(folder) as path:
        done = programs.gst_launch(
            f"filesrc location={path} blocksize={np.prod(clip.shape)} ! rawvideoparse format={clip.format}"
            f" width={clip.width} height={clip.height} framerate={clip.fps} ! {detector} ! culktrack ! cufacelandmark"
            f" ! cufacepublish location={lines} ! fakesink")
    assert done.returncode == 0, done.stdout
    frames = [json.loads(line)["objects"] for line in lines.read_text(encoding="utf-8").splitlines()]
    assert len(frames) == clip.length
    return frames


def ids_in(frames):
    return {face["id"] for faces in frames for face in faces}


@pytest.mark.parametrize("name, most", [("WolfgangLanger_Pexels.mp4", 1.0), ("sister.mkv", 1.5)])
def test_one_face_keeps_its_id_and_its_points_stay_calm(network, name, most, tmp_path):
    clip, jitter = clips.given(programs.DATA, name), {}
    for detector in ("cufacedetect", f"cufacedetect model={network}"):
        frames = chain(clip, detector, tmp_path)
        jitter[detector] = measures.jitter(measures.follow(frames))
        print(f"{name}, {detector}: ids {ids_in(frames)}, {measures.frames_with_face(frames)} of {len(frames)} frames, "
              f"{measures.count_blinks(frames)} blinks, jitter {jitter[detector]:.3f} %")
    cascade, ours = jitter.values()
    assert len(ids_in(frames)) == 1 and measures.frames_with_face(frames) == len(frames)
    assert measures.count_blinks(frames) == 0
    assert ours <= most and ours <= 1.1 * cascade


@pytest.mark.parametrize("degrees, good", [(60, 60), (90, 60)])
def test_a_head_that_rolls_keeps_id_and_points(network, degrees, good, tmp_path):
    """Within ten seconds: its points stay where they are on the head as far as `good` degrees."""
    clip = clips.rolling(programs.DATA, degrees)
    frames = chain(clip, f"cufacedetect model={network}", tmp_path)
    points, matrices = measures.follow(frames), clip.truth["matrices"]
    upright = points[:10].mean(axis=0)
    errors = [measures.nme(p, clips.transform(m, upright)) if faces else np.inf
              for p, m, faces in zip(points, matrices, frames)]
    until = next((t for t, error in enumerate(errors) if error > FAR), len(errors))
    reached = degrees * (until - 1) / (len(errors) - 1)
    print(f"rolled by {degrees} degrees: ids {ids_in(frames)}, good to {reached:.1f} degrees, there error "
          f"{np.mean(errors[:until]):.2f} %, at most {max(errors[:until]):.2f} %; missing in {errors.count(np.inf)} frames")
    assert reached >= good and ids_in(frames) == {frames[0][0]["id"]}
