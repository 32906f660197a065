"""The example programs, built and run."""
import numpy as np
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
