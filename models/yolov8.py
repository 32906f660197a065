"""YOLOv8n as a module of our own, from its published architecture: backbone of C2f blocks, SPPF, a neck that goes up and
down again, and a head per scale with distribution focal boxes. Batch normalisation is folded into the convolutions, as an
exporter leaves it. Images [1, 3, 640, 640] to [1, 84, 8400]: four box coordinates and 80 class scores an anchor."""
import torch
from torch import nn


class Conv(nn.Module):
    def __init__(self, cin, cout, size=1, stride=1):
        super().__init__()
        self.conv, self.act = nn.Conv2d(cin, cout, size, stride, size // 2), nn.SiLU()

    def forward(self, x):
        return self.act(self.conv(x))


class Bottleneck(nn.Module):
    def __init__(self, channels, shortcut):
        super().__init__()
        self.first, self.second, self.shortcut = Conv(channels, channels, 3), Conv(channels, channels, 3), shortcut

    def forward(self, x):
        y = self.second(self.first(x))
        return x + y if self.shortcut else y


class C2f(nn.Module):
    """Splits the channels, sends one half through a chain of bottlenecks, and concatenates every step."""

    def __init__(self, cin, cout, depth, shortcut):
        super().__init__()
        half = cout // 2
        self.enter, self.leave = Conv(cin, cout), Conv((2 + depth) * half, cout)
        self.chain = nn.ModuleList(Bottleneck(half, shortcut) for _ in range(depth))

    def forward(self, x):
        parts = list(self.enter(x).chunk(2, 1))
        for block in self.chain:
            parts.append(block(parts[-1]))
        return self.leave(torch.cat(parts, 1))


class SPPF(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.enter, self.leave = Conv(channels, channels // 2), Conv(channels * 2, channels)
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        parts = [self.enter(x)]
        for _ in range(3):
            parts.append(self.pool(parts[-1]))
        return self.leave(torch.cat(parts, 1))


class Head(nn.Module):
    """Boxes as 16 bins a side, whose expectation is the distance to the anchor, and class scores."""

    BINS, CLASSES = 16, 80

    def __init__(self, channels):
        super().__init__()
        boxes, scores = max(16, channels[0] // 4, 4 * self.BINS), max(channels[0], min(self.CLASSES, 100))
        self.boxes = nn.ModuleList(nn.Sequential(Conv(c, boxes, 3), Conv(boxes, boxes, 3), nn.Conv2d(boxes, 4 * self.BINS, 1)) for c in channels)
        self.scores = nn.ModuleList(nn.Sequential(Conv(c, scores, 3), Conv(scores, scores, 3), nn.Conv2d(scores, self.CLASSES, 1)) for c in channels)
        self.bins = nn.Conv2d(self.BINS, 1, 1, bias=False)

    def forward(self, scales):
        flat = torch.cat([torch.cat((b(x), s(x)), 1).view(x.shape[0], -1, x.shape[2] * x.shape[3])
                          for x, b, s in zip(scales, self.boxes, self.scores)], 2)
        box, score = flat.split((4 * self.BINS, self.CLASSES), 1)
        n, _, anchors = box.shape
        sides = self.bins(box.view(n, 4, self.BINS, anchors).transpose(2, 1).softmax(1)).view(n, 4, anchors)
        points, strides = self.anchors(scales)
        near, far = sides.chunk(2, 1)
        low, high = points - near, points + far
        return torch.cat((torch.cat(((low + high) / 2, high - low), 1) * strides, score.sigmoid()), 1)

    def anchors(self, scales, size=640):
        points, strides = [], []
        for x in scales:
            h, w = int(x.shape[2]), int(x.shape[3])
            ys, xs = torch.meshgrid(torch.arange(h) + 0.5, torch.arange(w) + 0.5, indexing="ij")
            points.append(torch.stack((xs, ys)).view(2, -1))
            strides.append(torch.full((1, h * w), size / h))
        return torch.cat(points, 1)[None], torch.cat(strides, 1)


class YoloV8n(nn.Module):
    def __init__(self):
        super().__init__()
        w = [16, 32, 64, 128, 256]
        self.stem = nn.Sequential(Conv(3, w[0], 3, 2), Conv(w[0], w[1], 3, 2), C2f(w[1], w[1], 1, True), Conv(w[1], w[2], 3, 2))
        self.p3, self.down4 = C2f(w[2], w[2], 2, True), Conv(w[2], w[3], 3, 2)
        self.p4, self.down5 = C2f(w[3], w[3], 2, True), Conv(w[3], w[4], 3, 2)
        self.p5 = nn.Sequential(C2f(w[4], w[4], 1, True), SPPF(w[4]))
        self.up = nn.Upsample(scale_factor=2)
        self.up4, self.up3 = C2f(w[4] + w[3], w[3], 1, False), C2f(w[3] + w[2], w[2], 1, False)
        self.out4, self.join4 = Conv(w[2], w[2], 3, 2), C2f(w[2] + w[3], w[3], 1, False)
        self.out5, self.join5 = Conv(w[3], w[3], 3, 2), C2f(w[3] + w[4], w[4], 1, False)
        self.head = Head((w[2], w[3], w[4]))

    def forward(self, images):
        c3 = self.p3(self.stem(images))
        c4 = self.p4(self.down4(c3))
        c5 = self.p5(self.down5(c4))
        n4 = self.up4(torch.cat((self.up(c5), c4), 1))
        n3 = self.up3(torch.cat((self.up(n4), c3), 1))
        m4 = self.join4(torch.cat((self.out4(n3), n4), 1))
        return self.head((n3, m4, self.join5(torch.cat((self.out5(m4), c5), 1))))
