"""Models that an attacker would write, by classes of known vulnerabilities. Each module has cases(): name of the class -> list of Case.

verdicts.txt says what becomes of each. None may end in a signal, hang, or take more memory than the model's files allow.
"""
import dataclasses
import struct

import onnx_writer as w


@dataclasses.dataclass
class Case:
    name: str
    model: bytes
    run: bool = False  # on inputs that the tool makes up; else it is planned only
    arguments: tuple = ()
    limits: tuple = ()  # more arguments, of the run alone
    setup: object = None  # called with the model's folder before
    weights: int = 0  # bytes that loading may take besides, for weights in other files
    main_nodes: int = 0  # of the main graph, each of which may take 1.5 KB besides


def scalar(name, value):
    return w.tensor(name, w.INT64, [], struct.pack("<q", value))


def graph(name, nodes, inputs=None, consts=(), outputs=("y",), out=w.FLOAT, opset=17, **more):
    """`inputs`: name -> (type, dims)."""
    infos = [w.value(n, *t) for n, t in (inputs or {"x": (w.FLOAT, [2, 3])}).items()]
    return Case(name, w.model(nodes, infos, [w.value(o, out, []) for o in outputs], consts, opset), **more)


def one(name, op, inputs, consts=(), outputs=("y",), out=w.FLOAT, opset=17, run=False, **attributes):
    """A model of one node. `inputs`: name -> (type, dims), None for a constant; "" is left out."""
    real = {n: t for n, t in inputs.items() if t is not None}
    return graph(name, [w.node(op, list(inputs), list(outputs), "the_node", **attributes)], real or {"unused": (w.FLOAT, [1])}, consts,
                 [o for o in outputs if o], out, opset, run=run)
