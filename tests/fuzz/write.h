// A case as files: what fuzz.py gives to ONNX Runtime, and what `parallax run` takes.
#pragma once

#include <filesystem>

#include "case.h"
#include "check.h"

namespace parallax::fuzz {

/// Writes model.onnx, an .npy file per input and output of each run, and case.json, which names
/// them, into the folder SEED of `folder`.
void write_case(const Case& fuzzed, const Outcome& outcome, const std::filesystem::path& folder);

/// Writes what belongs to the case in each format that has a libFuzzer program, into FORMAT/SEED of
/// `folder`.
void write_corpus(const Case& fuzzed, const std::filesystem::path& folder);

}  // namespace parallax::fuzz
