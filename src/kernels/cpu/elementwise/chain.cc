// ElementwiseChain: cheap steps of f32 run in registers, others of f32 and bools and divisions of
// i64 are calls of loops, all others their kernels.
#include <algorithm>
#include <cstring>
#include <functional>

#include "kernels/chain_kernel.h"
#include "kernels/cpu/elementwise/division_loops.h"
#include "kernels/cpu/elementwise/functions.h"
#include "kernels/cpu/elementwise/logic_loops.h"
#include "kernels/cpu/elementwise/register_loops.h"
#include "kernels/cpu/elementwise/widen_loops.h"
#include "kernels/cpu/tiles.h"
#include "ops/params/numbers.h"

namespace parallax {
namespace {

const float* floats_of(const ChainCall& call, std::size_t i) {
  return reinterpret_cast<const float*>(call.operands[i]);
}

/// Returns the function of a step: comparisons need f32, logic needs bools, the operator Where
/// needs elements of four bytes. Returns nullopt for others.
std::optional<LogicFunction> logic_function(const KernelRequest& step) {
  const bool floats = step.inputs[0].dtype == DType::kF32;
  switch (step.node.op) {
    case OpKind::kEqual:
      return floats ? std::optional(LogicFunction::kEqual) : std::nullopt;
    case OpKind::kLess:
      return floats ? std::optional(LogicFunction::kLess) : std::nullopt;
    case OpKind::kLessOrEqual:
      return floats ? std::optional(LogicFunction::kLessOrEqual) : std::nullopt;
    case OpKind::kGreater:
      return floats ? std::optional(LogicFunction::kGreater) : std::nullopt;
    case OpKind::kGreaterOrEqual:
      return floats ? std::optional(LogicFunction::kGreaterOrEqual) : std::nullopt;
    case OpKind::kAnd:
      return LogicFunction::kAnd;
    case OpKind::kOr:
      return LogicFunction::kOr;
    case OpKind::kNot:
      return LogicFunction::kNot;
    case OpKind::kWhere:
      return size_of(step.outputs[0].dtype) == 4 ? std::optional(LogicFunction::kWhere)
                                                 : std::nullopt;
    default:
      return std::nullopt;
  }
}

void call_logic(LogicFunction f, const ChainCall& call) {
  LogicRow row;
  std::copy(call.operands.begin(), call.operands.end(), row.operands);
  row.y = call.y;
  row.n = call.n;
  row.single = call.single;
  apply_logic(f, row);
}

/// Returns the division of i64 by one number that is known at plan time and positive.
std::optional<ChainFunction> division_of_step(const KernelRequest& step) {
  const bool quotient = step.node.op == OpKind::kDiv, modulo = step.node.op == OpKind::kMod;
  if (step.inputs[0].dtype != DType::kI64 || (!quotient && !modulo)) return std::nullopt;
  if (modulo && params_of<ModParams>(step.node).fmod) return std::nullopt;
  const TensorDesc& by = step.inputs[1];
  if (by.data == nullptr || by.elements() != 1 ||
      step.inputs[0].elements() != step.outputs[0].elements())
    return std::nullopt;
  std::int64_t divisor = 0;
  std::memcpy(&divisor, by.data, sizeof divisor);
  if (divisor <= 0) return std::nullopt;
  const DivisionFunction f = quotient ? DivisionFunction::kQuotient : DivisionFunction::kModulo;
  return [f, divisor](const ChainCall& call) {
    divide_by(f, divisor, reinterpret_cast<const std::int64_t*>(call.operands[0]),
              reinterpret_cast<std::int64_t*>(call.y), call.n);
  };
}

std::optional<ChainFunction> function_of_step(const KernelRequest& step) {
  if (const auto f = logic_function(step); f && step.inputs.size() <= 3)
    return [f = *f](const ChainCall& call) { call_logic(f, call); };
  if (auto f = division_of_step(step)) return f;
  const DType from = step.inputs[0].dtype;
  const bool whole = step.inputs[0].elements() == step.outputs[0].elements();
  if (step.node.op == OpKind::kCast && whole && contains(kWidenedTypes, from) &&
      step.outputs[0].dtype == DType::kF32)
    return [from](const ChainCall& call) {
      widen_to_floats(from, call.operands[0], reinterpret_cast<float*>(call.y), call.n);
    };
  if (from != DType::kF32) return std::nullopt;
  if (const auto f = unary_of(step); f && whole)
    return [f = *f](const ChainCall& call) {
      apply_unary(f, floats_of(call, 0), reinterpret_cast<float*>(call.y), call.n);
    };
  return std::nullopt;
}

std::optional<RegisterOp> register_op(const Unary& unary) {
  switch (unary.f) {
    case UnaryFunction::kAbs:
      return RegisterOp::kAbs;
    case UnaryFunction::kNeg:
      return RegisterOp::kNeg;
    case UnaryFunction::kRelu:
      return RegisterOp::kRelu;
    case UnaryFunction::kClip:
      return RegisterOp::kClip;
    case UnaryFunction::kSqrt:
      return RegisterOp::kSqrt;
    case UnaryFunction::kReciprocal:
      return RegisterOp::kReciprocal;
    case UnaryFunction::kSquare:
      return RegisterOp::kSquare;
    case UnaryFunction::kCube:
      return RegisterOp::kCube;
    default:
      return std::nullopt;
  }
}

std::optional<RegisterOp> register_op(BinaryFunction f) {
  switch (f) {
    case BinaryFunction::kAdd:
      return RegisterOp::kAdd;
    case BinaryFunction::kSub:
      return RegisterOp::kSub;
    case BinaryFunction::kMul:
      return RegisterOp::kMul;
    case BinaryFunction::kDiv:
      return RegisterOp::kDiv;
    case BinaryFunction::kMin:
      return RegisterOp::kMin;
    case BinaryFunction::kMax:
      return RegisterOp::kMax;
    case BinaryFunction::kPRelu:
      break;
  }
  return std::nullopt;
}

std::optional<RegisterStep> register_step(const KernelRequest& step) {
  if (step.inputs[0].dtype != DType::kF32) return std::nullopt;
  RegisterStep made;
  if (const auto f = unary_of(step)) {
    const auto op = register_op(*f);
    if (op) made.op = *op;
    made.low = f->p0;
    made.high = f->p1;
    return op ? std::optional(made) : std::nullopt;
  }
  const auto f = binary_function(step.node.op);
  const auto op = f && step.inputs.size() == 2 ? register_op(*f) : std::nullopt;
  if (!op) return std::nullopt;
  made.op = *op;
  made.form = RegisterForm::kRight;
  return made;
}

std::int64_t chain_tiles(std::int64_t blocks, std::int64_t work) {
  return count_tiles(blocks, work, kTileElements);
}

/// Elements of a block. One core of a Zen 4, of the time that operators take one by one, with 1024,
/// 2048 and 4096: hard-swish in parts 0.60, 0.56, 0.54; seven operators with a Sigmoid and a Tanh
/// 0.94, 0.94, 1.00; Add and Relu 0.77, 0.76, 0.76.
constexpr std::int64_t kChainBlock = 1 << 11;

}  // namespace

Result<std::unique_ptr<Kernel>> cpu_elementwise_chain(const KernelRequest& request) {
  ChainKernelOptions options;
  options.block = kChainBlock;
  options.tiles = chain_tiles;
  options.function = function_of_step;
  options.in_registers = register_step;
  options.run_registers = run_registers;
  return make_chain_kernel(request, options);
}

}  // namespace parallax
