#!/usr/bin/env python3
"""Writes the tables of docs/operators.md, between <!-- made: NAME --> and <!-- end -->, from the lists that the build reads; with --check,
says whether they are up to date."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src"
DOCUMENT = ROOT / "docs" / "operators.md"
LIBRARIES = ("cpu", "reference")  # in order of preference


def read(*parts):
    return SOURCES.joinpath(*parts).read_text()


def found(what, value):
    """`value`, or the end where the sources no longer say it in a way that this script reads."""
    if not value:
        sys.exit(f"operators: the sources do not say {what} in a form that this script knows")
    return value


# The element types, and the sets of them that kernels name.

def element_types():
    """Name in the source -> what the conditions of sets ask for, in the order of dtypes.def."""
    rows = re.findall(r'^PX_DTYPE\((\w+), "\w+", (\d+), (\w+), .*"(\w+)", -?\d+, -?\d+, \w+\)', (ROOT / "include" / "parallax" / "dtypes.def").read_text(), re.M)
    return {name: {"bits": int(bits), "kind": kind, "numpy": numpy} for name, bits, kind, numpy in found("the element types", rows)}


def set_of(expression, types, sets):
    """The names of the types of a set as our C++ writes it, evaluated: names of sets, dtype_bit, dtypes_where, and | & ~."""
    def where(match):
        condition = re.sub(r"DTypeClass::(\w+)", r"'\1'", match[1]).replace("&&", " and ").replace("||", " or ")
        condition = re.sub(r"\b(?:type|t)\.(\w+)", r"\1", condition)
        return repr({name for name, fields in types.items() if eval(condition, {}, fields)})
    text = re.sub(r"dtypes_where\(\s*\[\]\(const DTypeInfo& \w+\) \{ ?return (.*?); ?\}\)", where, " ".join(expression.split()))
    text = re.sub(r"dtype_bit\(DType::(\w+)\)", r"{'\1'}", text).replace("~DTypeSet{0}", "every").replace("~", "every - ")
    return eval(text, {"every": set(types)}, {**sets, "set": set}) if text else set()


def type_sets(types):
    """The named sets, those of dtype_sets.h and the few that other headers of lists have."""
    sets = {"kSizedTypes": {name for name, fields in types.items() if fields["bits"]}, "kF32Types": {"kF32"}, "kByteTypes": {name for name, fields in types.items() if fields["bits"] >= 8}}
    for name, expression in re.findall(r"^inline constexpr DTypeSet (\w+) =(.*?);\n(?=\n|/|inline)", read("ir", "dtype_sets.h"), re.M | re.S):
        sets[name] = set_of(expression, types, sets)
    return sets


LABELS = {"kFloatTypes": "float", "kNumericTypes": "numeric", "kAllTypes": "all", "kSizedTypes": "all and small"}


def label(chosen, types, sets):
    """A set's name if it has one here, else its types."""
    if chosen == set(types):  # the kernel takes what inference lets through
        return "the standard's"
    for name, text in LABELS.items():
        if chosen == sets[name]:
            return text
    return ", ".join(fields["numpy"] for name, fields in types.items() if name in chosen)


def legend(types, sets):
    parts, shown = [], set()
    for name in LABELS:
        new = ", ".join(fields["numpy"] for key, fields in types.items() if key in sets[name] - shown)
        parts.append(f"- **{LABELS[name]}**: {'these, ' if shown else ''}{new}")
        shown |= sets[name]
    return parts


# The first operator set of each operator, from the functions that define it.

def body_at(text, start):
    """The block in braces that opens at or behind `start`."""
    depth, at = 0, text.index("{", start)
    for i in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if not depth:
            return text[at:i + 1]
    return ""


def makers(text):
    """Functions of a file that make a definition: name -> which parameter is the operator set, None without one, and the body."""
    result = {}
    for match in re.finditer(r"^OpDef (\w+)\(((?:[^()]|\([^()]*\))*)\) \{", text, re.M):
        parameters = re.sub(r"\([^()]*\)", "", match[2]).split(",")
        at = [i for i, parameter in enumerate(parameters) if re.search(r"int \w*opset$", parameter.strip())]
        result[match[1]] = (at[0] if at else None, body_at(text, match.end() - 1))
    return result


def first_set(body, known):
    """The operator set that a definition states itself or through the function that it calls; 1 where none does."""
    stated = re.search(r"\bsince(?:\(\s*| = )(\d+)", body)
    if stated:
        return int(stated[1])
    for call in re.finditer(r"\b(\w+)(?:<[\w<>]+>)?\(", body):
        if call[1] not in known or re.match(r"\s*\w+\(", body[call.end():]):  # of calls in calls the inner one
            continue
        at, inner = known[call[1]]
        if at is None:
            return first_set(inner, {name: maker for name, maker in known.items() if name != call[1]})
        return int(re.split(r"[,)]", body[call.end():])[at])
    return 1


def first_sets():
    shared = makers(read("ops", "objects.cc"))
    result = {}
    for path in sorted((SOURCES / "ops").glob("*.cc")):
        text = path.read_text()
        known = {**shared, **makers(text)}
        for match in re.finditer(r"^const OpDef& op_def_(\w+)\(\) \{", text, re.M):
            result[match[1]] = first_set(body_at(text, match.end() - 1), known)
    return result


# The tables.

def domains():
    """Kinds that are of another domain than ai.onnx."""
    text = read("load", "onnx", "normalize", "normalize.cc")
    lists = {"ai.onnx.ml": "kLearning", "com.microsoft": "kMicrosoft"}
    return {name: domain for domain, constant in lists.items()
            for name in re.findall(r'"(\w+)"', found(constant, re.search(rf"{constant}\[\] = \{{(.*?)\}}", text, re.S))[1])}


def operators():
    rows = found("the operators", re.findall(r"^PX_OP\((\w+)\)(?:\s*// (.*))?", read("ir", "op_kinds.def"), re.M))
    kernels = [row for library in LIBRARIES for row in re.findall(r'^PX_KERNEL\((\w+), "(\w+)", \w+, (.*), \w+\)', read("kernels", library, "kernels.def"), re.M)]
    objects = dict(re.findall(r"^PX_OBJECT_KERNEL\((\w+), (\w+)\)", read("kernels", "objects", "kernels.def"), re.M))
    strings = re.findall(r"case OpKind::k(\w+):", body_at(text := read("ops", "objects.cc"), text.index("bool moves_strings")))
    types, since, domain = element_types(), first_sets(), domains()
    sets = type_sets(types)
    lines = ["| operator | since | types of its first input | kernels | |", "|---|---|---|---|---|"]
    for name, note in rows:
        own = [kernel for op, kernel, _ in kernels if op == name]
        taken = set().union(*(set_of(expression, types, sets) for op, _, expression in kernels if op == name))
        kinds = [label(taken, types, sets)] if taken else []
        kinds += ["string"] if name in strings else ["objects"] if name in objects and not own else []
        own += [objects.get(name, "move_strings")] if name in objects or name in strings else []
        found(f"the types of {name}", kinds or note)
        first = "" if note.startswith("fused") else found(f"the operator set of {name}", since.get(name))
        where = f" of {domain[name]}" if name in domain and first else ""
        lines.append(f"| {name} | {first}{where} | {', '.join(kinds)} | {', '.join(own)} | {note} |")
    return lines


def rewritten():
    """Operators that the graph lacks, by domain."""
    text, since_of = read("load", "onnx", "normalize", "normalize.cc"), first_sets()
    rows = re.findall(r'Row\{"(\w+)", OpKind::k(\w+),\s*\w+(?:,\s*(\w+),\s*(\d+))?\}', text)
    rules = {"ai.onnx": [(name, until or "kLast", since or str(since_of[kind])) for name, kind, until, since in rows if name not in since_of]}
    rules["ai.onnx"] += [(name, "kLast", since or "1") for name, since in re.findall(r'op_type == "(\w+)" && domain.empty\(\)\) return (?:true|opset >= (\d+))', text)]
    rules["ai.onnx.ml"] = [(name, "kLast", since or "1") for name, since in re.findall(r'learned\("(\w+)", \w+(?:, (\d+))?\)', read("load", "onnx", "normalize", "learning.cc"))]
    rules["ai.onnx.preview"] = [(name, "kLast", "1") for name in re.findall(r'RuleRow\{"(\w+)"', read("load", "onnx", "normalize", "preview.cc"))]
    rules["com.microsoft"] = [(name, "kLast", "1") for name in re.findall(r'\b(?:row|same)\("(\w+)"', read("load", "onnx", "normalize", "microsoft.cc"))]
    lines = []
    for domain, operators_there in rules.items():
        told = [name + ("" if (since, until) == ("1", "kLast") else f" ({since} on)" if until == "kLast" else f" ({since} to {until})") for name, until, since in sorted(found(domain, operators_there))]
        lines += [f"- **{domain}**: {', '.join(told)}"]
    return lines


def sets_line():
    opsets = found("the operator sets", re.search(r"kOldestOpset = (\d+), kNewestOpset = (\d+)", read("load", "onnx", "structure.cc")))
    types = element_types()
    return [f"ONNX operator sets {opsets[1]} to {opsets[2]}. Element types, by the names that the table has for them:", "", *legend(types, type_sets(types))]


def tflite():
    """The operators of TFLite that a rule writes."""
    rules = "".join(path.read_text() for path in sorted((SOURCES / "load" / "tflite").rglob("*.cc")))
    names = {custom or name for name, custom in re.findall(r'TfliteRule\{Code::(\w+),(?:\s*\w+,\s*"(\w+)")?', rules)}
    calls = set()
    for file, function in (("assemble_calls.cc", "is_tflite_call"), ("assemble_variables.cc", "is_tflite_variable")):
        body = found(function, re.search(rf"bool {function}\(.*?\n\}}", read("load", "tflite", file), re.S))[0]
        calls |= set(re.findall(r"code == Code::(\w+)", body))
    return [", ".join(sorted(found("TFLite's rules", names) | calls)) + "."]


MADE = {"types": sets_line, "operators": operators, "rewritten": rewritten, "tflite": tflite}


def document(page):
    for name, make in MADE.items():
        before, _, rest = page.partition(f"<!-- made: {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        found(f"where the table {name} stands in docs/operators.md", end)
        page = f"{before}<!-- made: {name} -->\n" + "\n".join(make()) + f"\n{end}{after}"
    return page


def main():
    there = DOCUMENT.read_text()
    if "--check" not in sys.argv[1:]:
        DOCUMENT.write_text(document(there))
    elif there != document(there):
        print("docs/operators.md is not up to date: run scripts/operators.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
