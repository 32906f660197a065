"""Follows the pitch of a tone that glides from 110 to 880 Hz, with SwiftF0."""
import measured
import numpy as np
from swift_f0 import SwiftF0

RATE, SECONDS = 16000, 10


def sweep():
    pitch = 110 * 8 ** (np.arange(RATE * SECONDS) / (RATE * SECONDS))
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    tone = sum(np.sin(k * phase) / k for k in (1, 2, 3, 4))
    return (0.2 * tone + 0.003 * np.random.default_rng(0).standard_normal(tone.size)).astype(np.float32)


def load():
    detector, sound = SwiftF0(threads=2), sweep()

    def follow():
        found = detector.detect(sound, RATE)
        return {"hz": [round(float(hz), 2) for hz in found.pitch_hz[::20]], "confidence": [round(float(c), 3) for c in found.confidence[::20]],
                "voiced": int((found.confidence >= 0.5).sum())}

    return follow


measured.run(load)
