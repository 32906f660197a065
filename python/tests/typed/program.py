"""A program with types, which mypy checks and test_typing.py runs."""
import asyncio
import pathlib

import numpy as np
import numpy.typing as npt

import parallax
from parallax import onnxruntime as ort
from parallax import tflite

DIGITS = pathlib.Path("models/digits/digits.onnx")


def shapes(tensors: list[parallax.TensorInfo]) -> dict[str, tuple[int | str | None, ...]]:
    return {tensor.name: tensor.shape for tensor in tensors}


def classify(session: parallax.Session, images: npt.NDArray[np.float32], stop: parallax.StopSource | None = None) -> list[int]:
    logits: npt.NDArray[np.float32] = session.run({"image": images}, ["logits"], stop=stop)["logits"]
    return [int(label) for label in logits.argmax(axis=1)]


async def classify_all(session: parallax.Session, batches: list[npt.NDArray[np.float32]]) -> list[npt.NDArray[np.float32]]:
    tasks = [asyncio.create_task(session.run_async(batch, ["logits"])) for batch in batches]
    return [(await task)["logits"] for task in tasks]


def cached(folder: pathlib.Path) -> parallax.Session:
    return parallax.Session(DIGITS, runtime=parallax.Runtime(cache=folder, delegate_libraries=["libdelegate.so"]), delegates=["mine"])


def sessions(model: parallax.Model) -> list[parallax.Session]:
    runtime = parallax.Runtime(threads=1)
    return [parallax.Session(DIGITS), parallax.Session(DIGITS.read_bytes(), budget="auto", runtime=runtime),
            parallax.Session(model, scheduler="sequential", precision="f32", kernels="best", budget=1 << 20, time_limit=2.5)]


def totals(session: parallax.Session, ties: list[tuple[str, str]]) -> npt.NDArray[np.float32]:
    state = parallax.State(session, ties)
    state.set("x", [1.0])
    session.run({"y": [2.0]}, state=state)
    return state.copy().get("x")


def with_onnxruntime(images: npt.NDArray[np.float32]) -> tuple[int, ...]:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(DIGITS, options, providers=["CPUExecutionProvider"])
    (logits,) = session.run(None, {session.get_inputs()[0].name: images})
    return tuple(logits.shape)


def scores(interpreter: tflite.Interpreter, image: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], image)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def main() -> None:
    model = parallax.Model(DIGITS, inputs={"image": [2, -1, -1, -1]})
    images = np.zeros((2, 1, 8, 8), np.float32)
    labels = {tuple(classify(session, images)) for session in sessions(model)}
    try:
        parallax.Model(b"no model")
    except parallax.Error as error:
        code: parallax.ErrorCode = error.code
        print(shapes(model.inputs), len(labels), code.value, parallax.inspect(DIGITS).format, with_onnxruntime(images))


if __name__ == "__main__":
    main()
