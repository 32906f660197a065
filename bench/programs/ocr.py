"""Reads the text in a picture with RapidOCR: three models find lines, turn them upright and read them."""
import measured
import numpy as np
from PIL import Image, ImageDraw, ImageFont
from rapidocr_onnxruntime import RapidOCR

LINES = ("Parallel branches run together", "Invoice 2024-117 of 3 March", "Total: 1,284.50 EUR", "The quick brown fox jumps over", "the lazy dog near the river bank")


def picture():
    page = Image.new("RGB", (900, 640), "white")
    draw, font = ImageDraw.Draw(page), ImageFont.load_default(size=40)
    for row, line in enumerate(LINES):
        draw.text((60, 50 + 110 * row), line, fill=(20, 20, 60), font=font)
    return np.asarray(page)[:, :, ::-1].copy()  # BGR, as OpenCV reads it


def load():
    engine, page = RapidOCR(intra_op_num_threads=2), picture()

    def read():
        found, _ = engine(page)
        return [[text, round(float(score), 3), [[round(x) for x in corner] for corner in box]] for box, text, score in found]

    return read


measured.run(load)
