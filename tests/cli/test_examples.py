"""The example programs, built and run."""
import struct

import numpy as np
import onnx_writer as w
import pytest
from conftest import BUILD, DIGITS, ROOT, run


def draw(image):
    return "\n".join("".join(" .:-=+*#"[int(round(float(p) * 7))] for p in row) for row in image)


def test_classify_digit():
    images, labels = (np.load(ROOT / "models" / "digits" / f"{n}.npy") for n in ("images", "labels"))
    right = 0
    for image, label in zip(images[:20, 0], labels[:20]):
        done = run(BUILD / "examples" / "classify_digit", DIGITS, input=draw(image))
        assert done.returncode == 0, done.stderr
        right += int(done.stdout) == label
    assert right >= 19  # eight shades instead of seventeen


def test_classify_digit_without_a_model():
    done = run(BUILD / "examples" / "classify_digit", "nowhere.onnx", input="")
    assert done.returncode == 1 and "nowhere.onnx" in done.stderr


def test_run_under_budget():
    done = run(BUILD / "examples" / "run_under_budget", DIGITS, 4, "batch=16")
    assert done.returncode == 0, done.stderr
    assert "logits 16x10" in done.stdout and "branches" in done.stdout
    too_small = run(BUILD / "examples" / "run_under_budget", DIGITS, 0, "batch=16")
    assert too_small.returncode == 1 and "missing" in too_small.stderr


def serve(*arguments):
    return run(BUILD / "examples" / "serve_models", *arguments)


def test_serve_models():
    done = serve(2, 1000, DIGITS, DIGITS, DIGITS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{DIGITS} 1x10"] * 3


def test_serve_models_that_cannot_be_served():
    done = serve(1, 1000, "nowhere.onnx", DIGITS)
    assert done.returncode == 1 and "nowhere.onnx" in done.stderr
    assert done.stdout.split() == [str(DIGITS), "1x10"]
    assert serve(-1, 1000, DIGITS).returncode == 2
    assert serve(2000, 1000, DIGITS).returncode == 1


def test_run_stream(tmp_path):
    x, h, hn, y = (w.value(name, w.FLOAT, ["n", 3]) for name in ("x", "h", "hn", "y"))
    nodes = [w.node("Add", ["x", "h"], ["s"]), w.node("Tanh", ["s"], ["hn"]), w.node("Neg", ["hn"], ["y"])]
    stream = tmp_path / "stream.onnx"
    stream.write_bytes(w.model(nodes, [x, h], [y, hn]))
    done = run(BUILD / "examples" / "run_stream", stream, 3, "h=hn", "n=1")
    assert done.returncode == 0, done.stderr
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [["0", "y"], ["1", "y"], ["2", "y"]]
    assert run(BUILD / "examples" / "run_stream", stream, 3, "h=none", "n=1").returncode == 1


def read_text(*arguments):
    return run(BUILD / "examples" / "read_text", *arguments)


@pytest.fixture
def reader(tmp_path):
    """A detector of what is darker than grey, a recogniser that reads each column as dark (1) or light (2), and their characters."""
    x, axes = w.value("x", w.FLOAT, [1, 3, "height", "width"]), w.tensor("zero", w.FLOAT, [], bytes(4))
    detector = [w.node("ReduceMean", ["x"], ["mean"], axes=[1]), w.node("Less", ["mean", "zero"], ["dark"]), w.node("Cast", ["dark"], ["map"], to=w.FLOAT)]
    (tmp_path / "detector.onnx").write_bytes(w.model(detector, [x], [w.value("map", w.FLOAT, [1, 1, "height", "width"])], [axes]))
    columns = [w.node("ReduceMean", ["x"], ["light"], axes=[1, 2], keepdims=0), w.node("Sub", ["level", "light"], ["dark"]), w.node("Sub", ["light", "light"], ["nothing"])]
    columns += [w.node("Unsqueeze", [name, "two"], [f"{name}_"]) for name in ("nothing", "dark", "light")]
    columns += [w.node("Concat", ["nothing_", "dark_", "light_"], ["steps"], axis=2)]
    constants = [w.tensor("two", w.INT64, [1], (2).to_bytes(8, "little")), w.tensor("level", w.FLOAT, [], struct.pack("<f", 0.6))]
    (tmp_path / "recogniser.onnx").write_bytes(w.model(columns, [x], [w.value("steps", w.FLOAT, [1, "width", 3])], constants))
    (tmp_path / "characters").write_text("#\n.\n")
    return [tmp_path / name for name in ("detector.onnx", "recogniser.onnx", "characters")]


def test_read_text(reader, tmp_path):
    picture = np.full((90, 200, 3), 255, np.uint8)
    picture[10:30, 40:160] = 0
    picture[50:70, 40:160] = 0
    picture[50:68, 90:100] = 255  # a gap, but one line
    (tmp_path / "picture.ppm").write_bytes(b"P6\n200 90\n255\n" + picture.tobytes())
    done = read_text(*reader, tmp_path / "picture.ppm", 64)
    assert (done.returncode, done.stdout.splitlines()) == (0, [".#.", ".#.#."]), done.stderr
    refused = read_text(*reader, tmp_path / "picture.ppm", 0)
    assert refused.returncode == 1 and "missing" in refused.stderr


@pytest.mark.parametrize("picture", [b"", b"P5\n1 1\n255\n.", b"P6\n0 1\n255\n", b"P6\n2 2\n255\n...", b"P6\n99999 99999\n255\n", b"P6\n-1 4294967295\n255\n"])
def test_read_text_takes_whole_pictures_only(reader, tmp_path, picture):
    (tmp_path / "picture.ppm").write_bytes(picture)
    done = read_text(*reader, tmp_path / "picture.ppm", 64)
    assert done.returncode == 2 and done.stderr.startswith("usage: ")
