"""What the paper's tables say, in milliseconds and megabytes: P58 to P60, P65 to P67, P69, P77, P78 and P81 to P84 of docs/paper.md.

A latency is (the least, the most); None where the paper has none. Order of the runtimes: ONNX Runtime, ExecuTorch, TFLite, Parallax.
"""
PHONES = {"pixel6": "Google Pixel 6", "p30-pro": "Huawei P30 Pro", "redmi-k50": "Redmi K50"}

# Table 3: phone -> model -> (CPU of the four, Parallax with the accelerator)
LATENCY = {
    "pixel6": {
        "YOLOv8n": (((83, 974), (77, 933), (85, 1355), (63, 794)), (54, 743)),
        "Whisper-Tiny": (((397, 2114), (421, 2376), (543, 2076), (350, 1780)), (323, 1706)),
        "SwinV2-Tiny": (((82, 87), (84, 93), (96, 108), (64, 83)), (69, 79)),
        "CLIP Text Encoder": (((16, 43), (17, 56), (13, 37), (11, 29)), None),
        "DistilBERT": (((14, 54), (15, 51), (27, 57), (17, 49)), None),
    },
    "p30-pro": {
        "YOLOv8n": (((136, 1327), (138, 1475), (127, 1463), (101, 1016)), (91, 957)),
        "Whisper-Tiny": (((433, 3298), (487, 2954), (412, 2976), (340, 2239)), None),
        "SwinV2-Tiny": (((128, 134), (131, 143), (136, 148), (109, 126)), (107, 122)),
        "CLIP Text Encoder": (((18, 68), (19, 72), (17, 72), (15, 57)), None),
        "DistilBERT": (((19, 73), (17, 83), (25, 63), (14, 61)), None),
    },
    "redmi-k50": {
        "YOLOv8n": (((98, 1032), (117, 1215), (124, 1273), (91, 912)), (84, 881)),
        "Whisper-Tiny": (((501, 3326), (496, 3182), (499, 2980), (317, 2010)), None),
        "SwinV2-Tiny": (((86, 94), (91, 98), (83, 89), (54, 62)), (53, 59)),
        "CLIP Text Encoder": (((16, 46), (17, 51), (21, 49), (16, 43)), None),
        "DistilBERT": (((15, 55), (16, 61), (21, 66), (17, 47)), None),
    },
}

# Table 4: model -> phone -> MB of the four
PEAK = {
    "YOLOv8n": {"pixel6": (24.9, 25.1, 24.5, 26.6), "p30-pro": (29.6, 28.3, 29.7, 32.5), "redmi-k50": (34.2, None, 26.7, 33.0)},
    "Whisper-Tiny": {"pixel6": (50.1, 48.2, 47.8, 63.6), "p30-pro": (52.4, 49.6, 45.3, 72.9), "redmi-k50": (51.8, None, 49.6, 71.2)},
    "SwinV2-Tiny": {"pixel6": (86.7, 84.9, 82.3, 107.6), "p30-pro": (102.3, 95.7, 96.4, 132.0), "redmi-k50": (97.3, 99.1, 102.4, 124.8)},
    "CLIP Text Encoder": {"pixel6": (137.2, 140.7, 134.6, 184.4), "p30-pro": (143.5, 139.2, 142.0, 191.2), "redmi-k50": (135.9, 139.0, 133.7, 174.3)},
    "DistilBERT": {"pixel6": (206.7, 203.2, 197.6, 233.5), "p30-pro": (215.9, 211.1, 207.4, 234.7), "redmi-k50": (230.4, 227.3, 229.0, 265.2)},
}

# Table 5: MB of activations of the four, and of TFLite without reuse
ARENA = {
    "YOLOv8n": ((69.98, 72.45, 74.28, 85.82), 203.62),
    "Whisper-Tiny": ((28.94, 35.12, 31.67, 43.20), 90.15),
    "SwinV2-Tiny": ((17.22, 12.87, 31.67, 46.75), 38.40),
    "CLIP Text Encoder": ((3.21, 4.09, 3.42, 4.97), 7.69),
    "DistilBERT": ((4.67, 5.18, 4.02, 7.42), 9.41),
}

# Table 6: (layer, TFLite, Parallax, branches)
LAYERS = {
    "Whisper-Tiny": ((3, 37.26, 27.59, "3"), (7, 6.37, 4.28, "6"), (8, 12.40, 12.64, "1"), (24, 45.37, 39.74, "8"), (30, 2.35, 2.27, "1")),
    "SwinV2-Tiny": ((2, 4.32, 2.97, "4"), (10, 1.59, 1.66, "1"), (37, 7.45, 5.09, "6"), (53, 13.46, 7.61, "4 (1D+3)"), (103, 2.33, 2.41, "1 (D)")),
}

# Table 7: before partitioning, after it, as refined
STRUCTURE = {
    "YOLOv8n": {"nodes": (480, 5, 4), "layers": (120, 6, 4), "parallel_layers": (69, 2, 1), "max_branches": (6, 2, 2)},
    "Whisper-Tiny": {"nodes": (627, 202, 367), "layers": (75, 184, 57), "parallel_layers": (19, 10, 24), "max_branches": (8, 5, 8)},
    "SwinV2-Tiny": {"nodes": (1108, 356, 674), "layers": (151, 270, 143), "parallel_layers": (92, 28, 52), "max_branches": (8, 8, 8)},
    "CLIP Text Encoder": {"nodes": (635, 216, 446), "layers": (90, 173, 74), "parallel_layers": (53, 19, 49), "max_branches": (4, 3, 4)},
    "DistilBERT": {"nodes": (353, 123, 211), "layers": (53, 115, 49), "parallel_layers": (28, 23, 17), "max_branches": (4, 2, 4)},
}
