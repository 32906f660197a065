"""The build for 64-bit Arm, under qemu-user. CTest runs this in a cross build only."""
import json

import image_writer as image
import numpy as np
from aarch64 import compare
from conftest import BUILD, DIGITS, run


def test_kernels_are_neon():
    bench = run(BUILD / "parallax", "bench", DIGITS, "--dim", "batch=1", "--runs", 1, "--json", "-")
    assert bench.returncode == 0, bench.stderr
    assert json.loads(bench.stdout)["machine"]["instruction_set"] == "NEON"


def test_digits_have_the_outputs_of_this_machine(tmp_path):
    compare(DIGITS, tmp_path, "--input", f"image={DIGITS.parent / 'images.npy'}")


def test_every_scheduler_and_budget_gives_the_same_bits(parallax):
    done = parallax("verify", DIGITS, "--dim", "batch=4")
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_image_is_refused_where_its_decoder_cannot_be_confined(refused, tmp_path):
    """qemu-user has no seccomp."""
    (tmp_path / "digit.png").write_bytes(image.png_of(np.zeros((8, 8), np.uint8)))
    assert "seccomp" in refused(1, "run", DIGITS, "--image", f"image={tmp_path / 'digit.png'}")
