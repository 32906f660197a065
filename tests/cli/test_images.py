"""`--image`: what pixels become, and files that are not what they say."""
import random
import struct
import zlib

import image_writer as image
import numpy as np
import onnx_writer as w
import pytest
from conftest import DIGITS, ROOT

DAMAGED = 60
RGB = np.random.default_rng(0).integers(0, 256, (4, 6, 3)).astype(np.uint8)
GRADIENT = np.add.outer(np.arange(12) * 8, np.arange(20) * 8).astype(np.uint8)


@pytest.fixture
def seen(parallax, tmp_path):
    """seen(shape, file bytes, *options) -> the input that a model of this shape got"""

    def call(shape, data, *options, dtype=w.FLOAT):
        (tmp_path / "model.onnx").write_bytes(w.model([w.node("Identity", ["x"], ["y"])], [w.value("x", dtype, shape)], [w.value("y", dtype, shape)]))
        (tmp_path / "image").write_bytes(data)
        done = parallax("run", tmp_path / "model.onnx", "--image", f"x={tmp_path / 'image'}", "--output-dir", tmp_path / "out", *options)
        assert done.returncode == 0, done.stderr
        return np.load(tmp_path / "out" / "0.npy")

    return call


def planes(array):
    return array.astype(np.float32).transpose(2, 0, 1)[None]


@pytest.mark.parametrize("shape, layout", [([1, 3, 4, 6], lambda a: planes(a)), ([1, 4, 6, 3], lambda a: a[None]), ([3, 4, 6], lambda a: planes(a)[0]), ([4, 6, 3], lambda a: a)])
@pytest.mark.parametrize("form", [image.png_of, image.bmp_of])
def test_the_layout_follows_the_shape(seen, shape, layout, form):
    np.testing.assert_allclose(seen(shape, form(RGB)), layout(RGB).astype(np.float32) / 255, atol=1e-6)


def test_a_jpeg(seen):
    pixels = seen([1, 3, 16, 16], image.JPEG, "--image-scale", 1)[0]
    for half, color in ((pixels[:, :, :8], (200, 40, 40)), (pixels[:, :, 8:], (40, 40, 200))):
        assert np.abs(half.mean((1, 2)) - color).max() < 10


def with_orientation(value, big=False, kind=3, jpeg=image.JPEG):
    """An EXIF segment with one entry before the orientation."""
    order = ">" if big else "<"
    entries = struct.pack(order + "HHII", 0x010F, 2, 2, 65) + struct.pack(order + "HHIHH", 0x0112, kind, 1, value, 0)
    exif = b"Exif\0\0" + (b"MM" if big else b"II") + struct.pack(order + "HIH", 42, 8, 2) + entries + bytes(4)
    return jpeg[:2] + b"\xff\xe1" + struct.pack(">H", 2 + len(exif)) + exif + jpeg[2:]


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("orientation, red", [(1, "left"), (2, "right"), (3, "right"), (4, "left"), (5, "top"), (6, "top"), (7, "bottom"), (8, "bottom"), (0, "left"), (9, "left")])
def test_a_photo_is_turned(seen, orientation, red, big):
    pixels = seen(["n", 3, "h", "w"], with_orientation(orientation, big), "--image-scale", 1)[0]
    assert pixels.shape == (3, 16, 16)
    parts = {"left": pixels[:, :, :8], "right": pixels[:, :, 8:], "top": pixels[:, :8], "bottom": pixels[:, 8:]}
    assert np.abs(parts[red].mean((1, 2)) - (200, 40, 40)).max() < 10


def test_what_is_turned_is_told(parallax, tmp_path):
    (tmp_path / "model.onnx").write_bytes(w.model([w.node("Identity", ["x"], ["y"])], [w.value("x", w.FLOAT, [1, 3, 8, 8])], [w.value("y", w.FLOAT, [1, 3, 8, 8])]))
    for orientation, kind, lines in ((6, 3, 1), (1, 3, 0), (6, 9, 0)):
        (tmp_path / "image").write_bytes(with_orientation(orientation, kind=kind))
        done = parallax("run", tmp_path / "model.onnx", "--image", f"x={tmp_path / 'image'}")
        assert done.returncode == 0 and len(done.stderr.splitlines()) == lines, done.stderr
        assert not lines or "is turned as its EXIF orientation (6) says" in done.stderr


def test_free_sizes_are_the_images(seen):
    assert seen(["n", 3, "h", "w"], image.png_of(RGB)).shape == (1, 3, 4, 6)


def test_free_sizes_that_are_given(seen):
    assert seen(["n", 3, "h", "w"], image.png_of(RGB), "--dim", "h=8", "--dim", "w=2").shape == (1, 3, 8, 2)


def test_normalisation(seen):
    got = seen([1, 3, 4, 6], image.png_of(RGB), "--image-scale", 0.5, "--image-mean", "1,2,3", "--image-std", "4", "--image-order", "bgr")
    np.testing.assert_allclose(got, (planes(RGB)[:, ::-1] * 0.5 - np.float32([1, 2, 3]).reshape(1, 3, 1, 1)) / 4, atol=1e-5)


def test_bytes_stay_bytes(seen):
    got = seen([1, 4, 6, 3], image.png_of(RGB), dtype=w.UINT8)
    assert got.dtype == np.uint8 and np.array_equal(got[0], RGB)


def test_grey_and_transparent(seen):
    grey = seen([1, 1, 12, 20], image.png_of(GRADIENT), "--image-scale", 1)
    np.testing.assert_array_equal(grey[0, 0], GRADIENT)
    clear = np.concatenate([RGB, np.zeros((4, 6, 1), np.uint8)], 2)
    np.testing.assert_array_equal(seen([1, 4, 6, 3], image.png_of(clear), "--image-scale", 1)[0], RGB)


def test_shrinking_takes_every_pixel(seen):
    got = seen([1, 1, 6, 10], image.png_of(GRADIENT), "--image-scale", 1)[0, 0]
    # A triangle over four pixels each way: on a slope the middle of each two, but for the edges.
    np.testing.assert_allclose(got[1:-1, 1:-1], GRADIENT.reshape(6, 2, 10, 2).mean((1, 3))[1:-1, 1:-1], atol=1e-3)


def test_growing_is_bilinear(seen):
    got = seen([1, 1, 1, 4], image.png_of(np.uint8([[0, 100]])), "--image-scale", 1)
    np.testing.assert_allclose(got.ravel(), [0, 25, 75, 100], atol=1e-4)


def test_letterbox_keeps_the_whole(seen):
    got = seen([1, 1, 20, 20], image.png_of(GRADIENT), "--image-scale", 1, "--image-fit", "letterbox")[0, 0]
    np.testing.assert_array_equal(got[4:16], GRADIENT)
    assert (got[:4] == 114).all() and (got[16:] == 114).all()


def test_crop_takes_the_middle(seen):
    got = seen([1, 1, 12, 12], image.png_of(GRADIENT), "--image-scale", 1, "--image-fit", "crop")[0, 0]
    np.testing.assert_array_equal(got, GRADIENT[:, 4:16])


@pytest.mark.parametrize("fit", ["letterbox", "crop", "stretch"])
@pytest.mark.parametrize("size", [(1, 300), (300, 1), (1, 1)])
def test_extreme_sizes(seen, fit, size):
    assert np.isfinite(seen([1, 1, 7, 9], image.png_of(np.full(size, 80, np.uint8)), "--image-fit", fit)).all()


def test_a_digit_is_recognised(parallax, tmp_path):
    images, labels = np.load(ROOT / "models" / "digits" / "images.npy"), np.load(ROOT / "models" / "digits" / "labels.npy")
    right = 0
    for k in range(20):
        (tmp_path / "digit.png").write_bytes(image.png_of((images[k, 0] * 255).round().astype(np.uint8)))
        done = parallax("run", DIGITS, "--image", f"image={tmp_path / 'digit.png'}", "--top", 1)
        assert done.returncode == 0, done.stderr
        right += int(done.stdout.split()[-2]) == labels[k]
    assert right >= 19


def test_bench_and_verify_take_images(parallax, tmp_path):
    (tmp_path / "digit.png").write_bytes(image.png_of(GRADIENT))
    given = ("--image", f"image={tmp_path / 'digit.png'}")
    assert parallax("bench", DIGITS, *given, "--runs", 2).returncode == 0
    assert parallax("verify", DIGITS, *given).returncode == 0


GOOD = image.png_of(GRADIENT)
TOO_LARGE = image.png([[0] * 4] * 4, 1, width=16384, height=16384)
TOO_WIDE = image.png([[0] * 4] * 4, 1, width=16385, height=2)
# A deflated run of zeros, a thousand times as long as the image that it is for.
BOMB = image.png([[0] * 100] * 100, 1, packed=zlib.compress(b"\0" * 100_000_000, 9))
# A table of more codes than there are bytes: the decoder writes over its end.
BAD_TABLE = image.JPEG[:2] + b"\xff\xc4" + struct.pack(">HB", 2 + 17 + 4080, 0) + b"\xff" * 16 + b"A" * 4080 + image.JPEG[2:]


@pytest.mark.parametrize("data, why", [
    (b"", "not a JPEG, PNG or BMP"), (b"GIF89a" + b"\0" * 50, "not a JPEG, PNG or BMP"), (b"P5 2 2 255\nabcd", "not a JPEG, PNG or BMP"), (b"BM", "decode"),
    (GOOD[:60], "decode"), (image.JPEG[:100], "decode"), (TOO_LARGE, "pixels"), (TOO_WIDE, "pixels"), (BOMB, "decode"), (BAD_TABLE, "damaged|decode")])
def test_wrong_files(refused, tmp_path, data, why):
    (tmp_path / "image").write_bytes(data)
    line = refused(1, "run", DIGITS, "--image", f"image={tmp_path / 'image'}")
    assert any(part in line for part in why.split("|")) and str(tmp_path / "image") in line


def test_damaged_files_end_with_one_line(parallax, tmp_path):
    dice = random.Random(0)
    for k in range(DAMAGED):
        data = bytearray((GOOD, image.JPEG, image.bmp_of(RGB), with_orientation(1))[k % 4])
        for _ in range(dice.randint(1, 8)):
            data[dice.randrange(2, len(data))] = dice.randrange(256)
        (tmp_path / "image").write_bytes(data[:dice.choice((len(data), dice.randrange(len(data))))])
        done = parallax("run", DIGITS, "--image", f"image={tmp_path / 'image'}")
        assert done.returncode in (0, 1)
        told = "is turned as its EXIF" in done.stderr
        assert len(done.stderr.splitlines()) == done.returncode + told, done.stderr


@pytest.mark.parametrize("given, status, why", [
    (["--image", "image"], 2, "NAME=FILE"), (["--image", "other=GOOD"], 2, "no input 'other'"), (["--image", "image=GOOD", "--image", "image=GOOD"], 2, "given twice"),
    (["--image", "image=/nowhere.png"], 1, "No such file"), (["--image", "image=/"], 1, "is not a file"), (["--image", "image=GOOD", "--dim", "batch=2"], 2, "2 images"),
    (["--image", "image=GOOD", "--image-mean", "1,2,3"], 2, "3 numbers"), (["--image", "image=GOOD", "--image-std", "0"], 2, "--image-std"),
    (["--image", "image=GOOD", "--image-mean", "x"], 2, "--image-mean"), (["--image-mean", "1", "--dim", "batch=1"], 2, "--image"), (["--image", "image=GOOD", "--image-fit", "pad"], 2, "--image-fit")])
def test_wrong_options(refused, tmp_path, given, status, why):
    (tmp_path / "good.png").write_bytes(GOOD)
    assert why in refused(status, "run", DIGITS, *[word.replace("GOOD", str(tmp_path / "good.png")) for word in given])


def test_inputs_that_are_no_images(refused, tmp_path):
    (tmp_path / "good.png").write_bytes(GOOD)
    for shape, dtype, why in (([2, 5], w.FLOAT, "2x5"), ([1, 4, 8, 8], w.FLOAT, "1x4x8x8"), ([1, 1, 8, 8], w.INT64, "int64"), ([1, 1, 20000, 20000], w.UINT8, "pixels")):
        (tmp_path / "model.onnx").write_bytes(w.model([w.node("Identity", ["x"], ["y"])], [w.value("x", dtype, shape)], [w.value("y", dtype, shape)]))
        assert why in refused(1, "run", tmp_path / "model.onnx", "--image", f"x={tmp_path / 'good.png'}")
