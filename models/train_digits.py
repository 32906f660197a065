#!/usr/bin/env python3
"""Trains digits/digits.onnx: a small CNN with inception-like blocks (four branches that meet in a Concat) on scikit-learn's
8x8 handwritten digits, and keeps a fifth of the digits, which it has not seen, as digits/images.npy and digits/labels.npy.

    python train_digits.py        # about a minute on two cores; needs requirements.txt
"""
import pathlib

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

OUT = pathlib.Path(__file__).resolve().parent / "digits"


class Inception(nn.Module):
    """Four views side by side, their channels concatenated: a pixel, near around it, far around it, what is brightest near."""

    def __init__(self, channels, width):
        super().__init__()

        def conv(cin, cout, size, dilation=1):
            return nn.Sequential(nn.Conv2d(cin, cout, size, padding=dilation * (size // 2), dilation=dilation, bias=False), nn.BatchNorm2d(cout), nn.ReLU())

        self.pixel = conv(channels, width, 1)
        self.near = nn.Sequential(conv(channels, width, 1), conv(width, width, 3), conv(width, width, 3))
        self.far = nn.Sequential(conv(channels, width, 1), conv(width, width, 3, dilation=2), conv(width, width, 3, dilation=2))
        self.brightest = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), conv(channels, width, 1), conv(width, width, 3), conv(width, width, 3))

    def forward(self, x):
        return torch.cat([self.pixel(x), self.near(x), self.far(x), self.brightest(x)], dim=1)


class Digits(nn.Module):
    """Images [batch, 1, 8, 8] with values in [0, 1] to logits [batch, 10]."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU())
        self.first = Inception(16, 12)
        self.second = Inception(48, 16)
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        x = self.second(nn.functional.max_pool2d(self.first(self.stem(x)), 2))
        return self.head(x.mean(dim=(2, 3)))


def main():
    torch.manual_seed(0)
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[:, None]
    train_x, test_x, train_y, test_y = train_test_split(images, digits.target, test_size=0.2, random_state=0, stratify=digits.target)
    model, x, y = Digits(), torch.from_numpy(train_x), torch.from_numpy(train_y)
    epochs, batch = 60, 64
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, epochs=epochs, steps_per_epoch=-(-len(x) // batch))
    for _ in range(epochs):
        for part in torch.randperm(len(x)).split(batch):
            shift = tuple(int(s) for s in torch.randint(-1, 2, (2,)))  # digits a pixel off are the same digits
            loss = nn.functional.cross_entropy(model(torch.roll(x[part], shift, (2, 3))), y[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    model.eval()
    with torch.no_grad():
        right = (model(torch.from_numpy(test_x)).argmax(1).numpy() == test_y).mean()
    OUT.mkdir(exist_ok=True)
    torch.onnx.export(model, (torch.from_numpy(test_x[:1]),), OUT / "digits.onnx", input_names=["image"], output_names=["logits"],
                      dynamic_axes={"image": {0: "batch"}, "logits": {0: "batch"}}, opset_version=17, dynamo=False)
    np.save(OUT / "images.npy", test_x)
    np.save(OUT / "labels.npy", test_y.astype(np.int64))
    print(f"{right:.1%} of {len(test_y)} digits right, {(OUT / 'digits.onnx').stat().st_size} bytes")


if __name__ == "__main__":
    main()
