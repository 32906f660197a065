"""Finds the parts of a page (titles, paragraphs, tables, figures) with RapidLayout."""
import measured
import numpy as np
from PIL import Image, ImageDraw, ImageFont
from rapid_layout import RapidLayout

WORDS = "a model of several branches is planned once and every branch then runs next to the others within the memory that the plan gives it".split()


def paragraph(draw, left, top, width, lines):
    font, word = ImageFont.load_default(size=15), 0
    for row in range(lines):
        x = left
        while x < left + width - 60:
            text = WORDS[word % len(WORDS)]
            draw.text((x, top + 22 * row), text, fill="black", font=font)
            x += draw.textlength(text + " ", font=font)
            word += 1


def picture():
    page = Image.new("RGB", (850, 1100), "white")
    draw = ImageDraw.Draw(page)
    draw.text((150, 50), "Branches of a model run together", fill="black", font=ImageFont.load_default(size=34))
    for left in (60, 440):
        paragraph(draw, left, 140, 350, 14)
    draw.ellipse((120, 500, 360, 720), fill=(70, 120, 190))
    draw.rectangle((250, 560, 390, 740), fill=(210, 90, 60))
    draw.text((110, 750), "Figure 1: two branches of a plan", fill="black", font=ImageFont.load_default(size=15))
    for row in range(7):
        draw.line((460, 520 + 35 * row, 780, 520 + 35 * row), fill="black", width=2)
        for column in range(4 if row < 6 else 0):
            draw.text((470 + 80 * column, 528 + 35 * row), f"{row * 4 + column}.5 ms", fill="black", font=ImageFont.load_default(size=15))
    paragraph(draw, 60, 820, 730, 10)
    return np.asarray(page)[:, :, ::-1].copy()


def load():
    engine, page = RapidLayout(engine_cfg={"intra_op_num_threads": 2}, conf_thresh=0.4), picture()

    def find():
        found = engine(page)
        return sorted([name, round(float(score), 3), [round(float(x), 1) for x in box]] for box, name, score in zip(found.boxes, found.class_names, found.scores))

    return find


measured.run(load)
