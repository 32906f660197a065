"""Finds speech in a sound with the Silero detector of LiveKit: vowels of a made voice between pauses with noise."""
import asyncio

import measured
import numpy as np
from livekit import rtc
from livekit.agents.vad import VADEventType
from livekit.plugins import silero

RATE, FRAME = 16000, 512
VOWELS = ((730, 1090, 2440), (270, 2290, 3010), (570, 840, 2410), (300, 870, 2240))  # formants in Hz


def vowel(formants, seconds, hz):
    """Pulses of a voice through resonances."""
    time = np.arange(int(seconds * RATE)) / RATE
    phase = 2 * np.pi * np.cumsum(hz * (1 + 0.03 * np.sin(2 * np.pi * 5 * time))) / RATE
    sound = np.zeros(time.size)
    for k in range(1, 30):
        gain = sum(1 / (1 + ((k * hz - f) / (60 + 0.06 * f)) ** 2) for f in formants)
        sound += gain * np.sin(k * phase) / k**0.5
    return sound * np.sin(np.pi * time / seconds) ** 0.5


def sound():
    pause = np.zeros(RATE)
    parts = [pause]
    for word in range(3):
        parts += [vowel(VOWELS[(word + k) % 4], 0.18, 110 + 10 * k) for k in range(6)] + [pause]
    whole = np.concatenate(parts)
    noisy = 0.3 * whole / np.abs(whole).max() + 0.002 * np.random.default_rng(0).standard_normal(whole.size)
    return (noisy * 32767).astype(np.int16)


async def listen(vad, samples):
    stream = vad.stream()
    for at in range(0, samples.size - FRAME + 1, FRAME):
        stream.push_frame(rtc.AudioFrame(samples[at : at + FRAME].tobytes(), RATE, 1, FRAME))
    stream.end_input()
    result = {"speech": [], "probability": []}
    async for event in stream:
        if event.type == VADEventType.INFERENCE_DONE:
            result["probability"].append(round(event.probability, 3))
        else:
            result["speech"].append([event.type.value, round(event.timestamp, 3)])
    return result


def load():
    vad, samples = silero.VAD.load(), sound()  # the package gives the runtime one thread
    return lambda: asyncio.run(listen(vad, samples))


measured.run(load)
