// Attributes of operators as structs. A struct names each of its attributes once, in visit(), and
// gives the standard's default as initializer; its OpDef, inference, kernels, passes and delegates
// read and write attributes through it alone:
//
//     struct CumSumParams {
//       bool exclusive = false, reverse = false;
//       template <class Visitor>
//       void visit(Visitor& v) {
//         v("exclusive", exclusive);
//         v("reverse", reverse);
//       }
//     };
//
// Members and the types of attributes: bool (an integer that must be 0 or 1), std::int64_t, float,
// std::string, DType (ONNX's number), an enumeration (a string, one of kChoices<Enum>), lists of
// integers, floats and strings, Constant (a tensor), std::optional of these (empty if absent).
// visit() names an attribute that a file must not have by v.internal(name, member), with the origin
// from which on nodes may have it (a pass, unless another is given).
//
// Thread-safety: pure functions of values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/op.h"

namespace parallax {

/// The strings of an enumeration that an attribute is of, in the order of its values. Specialised
/// next to the enumeration, whose values start at 0 without gaps; the spelling is the standard's.
template <class Enum>
inline constexpr std::array<std::string_view, 0> kChoices = {};

/// Reads attributes into the members of a struct; the visitor of params_of() and read_params().
/// Absent attributes leave the member as it is, that is, at the standard's default. So do
/// attributes of another type (check_node() refuses these before) and values that the member cannot
/// have. Holds a reference to the attributes, which must outlive it.
class AttributeReader {
 public:
  /// The reason why a value was not accepted, as text that begins with the attribute's name, and
  /// the code of the error.
  struct Problem {
    std::string message;
    ErrorCode code = ErrorCode::kInvalidModel;
  };

  // Not inline: otherwise GCC 12 warns that problem_ may be uninitialised.
  explicit AttributeReader(const Attributes& attributes);
  ~AttributeReader();
  AttributeReader(const AttributeReader&) = delete;
  AttributeReader& operator=(const AttributeReader&) = delete;
  /// Returns the first value that the member cannot have; nullopt if there was none. The caller may
  /// move it out.
  std::optional<Problem>& problem() { return problem_; }

  /// Sets `member` to the attribute `name` if it is present.
  template <class T>
  void operator()(std::string_view name, T& member) {
    if constexpr (std::is_same_v<T, bool>) {
      member = flag(name, member);
    } else if constexpr (std::is_same_v<T, DType>) {
      member = dtype(name, member);
    } else if constexpr (std::is_enum_v<T>) {
      member = static_cast<T>(choice(name, kChoices<T>, static_cast<std::size_t>(member)));
    } else if (const AttributeValue* const value = attributes_.find(name)) {
      if (const T* const typed = std::get_if<T>(value)) member = *typed;
    }
  }
  /// Sets `member` to the attribute, or to T's default if its value is refused; absent attributes
  /// leave it as it is.
  template <class T>
  void operator()(std::string_view name, std::optional<T>& member) {
    if (attributes_.find(name) != nullptr) (*this)(name, member.emplace());
  }
  /// The same: where an attribute may come from was checked by check_node().
  template <class T>
  void internal(std::string_view name, T& member, NodeOrigin /*from*/ = NodeOrigin::kPass) {
    (*this)(name, member);
  }

 private:
  /// Returns whether an integer is 1. Complains (kInvalidModel) if it is neither 0 nor 1; then any
  /// number but 0 is true.
  bool flag(std::string_view name, bool fallback);
  /// Returns the type of an ONNX number. Complains (kInvalidModel) if there is no such type, and
  /// returns `fallback`.
  DType dtype(std::string_view name, DType fallback);
  /// Returns the index of a string among `choices`. Complains (kUnsupported) if it is not one of
  /// them, and returns `fallback`.
  std::size_t choice(std::string_view name, std::span<const std::string_view> choices,
                     std::size_t fallback);
  /// Keeps the problem if it is the first.
  void complain(Problem problem);

  const Attributes& attributes_;
  std::optional<Problem> problem_;
};

/// Returns the type in files of an attribute whose member is a T; kString for enumerations.
template <class T>
constexpr AttributeType attribute_type() {
  if constexpr (std::is_same_v<T, DType> || std::is_integral_v<T>) return AttributeType::kInt;
  if constexpr (std::is_same_v<T, float>) return AttributeType::kFloat;
  if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) return AttributeType::kInts;
  if constexpr (std::is_same_v<T, std::vector<float>>) return AttributeType::kFloats;
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return AttributeType::kStrings;
  if constexpr (std::is_same_v<T, Constant>) return AttributeType::kTensor;
  return AttributeType::kString;
}
/// Returns the attribute's value for a member, the reverse of AttributeReader. REQUIRES: an
/// enumeration has one of its values.
template <class T>
AttributeValue attribute_value(T member) {
  if constexpr (std::is_same_v<T, bool>) {
    return std::int64_t{member ? 1 : 0};
  } else if constexpr (std::is_same_v<T, DType>) {
    return std::int64_t{info_of(member).onnx};
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(kChoices<T>[static_cast<std::size_t>(member)]);
  } else {
    return member;
  }
}

/// Lists the attributes of a struct, in the order of visit(); the visitor of attributes_of().
class AttributeLister {
 public:
  /// The attributes so far. Names are views of the literals in visit().
  std::vector<AttributeSpec> specs;

  template <class T>
  void operator()(std::string_view name, T& /*member*/) {
    specs.push_back({name, attribute_type<T>()});
  }
  template <class T>
  void operator()(std::string_view name, std::optional<T>& /*member*/) {
    specs.push_back({name, attribute_type<T>()});
  }
  template <class T>
  void internal(std::string_view name, T& member, NodeOrigin from = NodeOrigin::kPass) {
    (*this)(name, member);
    specs.back().from = from;
  }
};

/// Finds the name of the attribute whose member lies at an address; the visitor of param_name().
class AttributeNamer {
 public:
  explicit AttributeNamer(const void* member) : member_(member) {}
  /// The name; empty if no member lies there.
  std::string_view name;

  template <class T>
  void operator()(std::string_view candidate, T& member) {
    if (&member == member_) name = candidate;
  }
  template <class T>
  void internal(std::string_view candidate, T& member, NodeOrigin /*from*/ = NodeOrigin::kPass) {
    (*this)(candidate, member);
  }

 private:
  const void* member_;
};

/// Returns OpDef::attributes of an operator whose attributes are those of Params.
template <class Params>
std::vector<AttributeSpec> attributes_of() {
  Params params;
  AttributeLister lister;
  params.visit(lister);
  return std::move(lister.specs);
}

/// Reads attributes that inference has accepted: kernels, passes and delegates call it. A value
/// that a member cannot have is as if it were absent. Copies lists, strings and the few bytes that
/// say where a tensor lies; find_param() does not.
template <class Params>
Params params_of(const Attributes& attributes) {
  Params params;
  AttributeReader reader(attributes);
  params.visit(reader);
  return params;
}
template <class Params>
Params params_of(const Node& node) {
  return params_of<Params>(node.attributes);
}

/// Reads attributes for inference. Errors: kInvalidModel for a flag that is neither 0 nor 1 and for
/// a number of no dtype, kUnsupported for a string that is not among the choices; each names the
/// attribute, the node and the shapes of its inputs. Ranges of numbers are left to the operator.
template <class Params>
Result<Params> read_params(const InferContext& context) {
  Params params;
  AttributeReader reader(context.node.attributes);
  params.visit(reader);
  if (reader.problem()) {
    return tl::unexpected(
        context.error(std::move(reader.problem()->message), reader.problem()->code));
  }
  return params;
}

/// Returns the name of the attribute of a member: param_name(&CumSumParams::reverse) is "reverse".
/// Valid for the whole program. Makes a Params to compare addresses, so keep it out of inner loops.
template <class Params, class T>
std::string_view param_name(T Params::*member) {
  Params params;
  AttributeNamer namer(&(params.*member));
  params.visit(namer);
  return namer.name;
}

/// Returns the value of the attribute of a member, not copied and valid as long as the node's
/// attributes; null if it is absent or of another type. For members whose type is that of the
/// attribute's value: integers, floats, strings, lists and tensors.
template <class Params, class T>
const T* find_param(const Node& node, T Params::*member) {
  return std::get_if<T>(node.attributes.find(param_name(member)));
}

/// Sets the attribute of a member, whatever it was: set_param(node, &CumSumParams::reverse, true).
/// A value that equals the default is written as well. std::optional members are given their value.
template <class Params, class T>
void set_param(Attributes& attributes, T Params::*member, std::type_identity_t<T> value) {
  attributes.set(std::string(param_name(member)), attribute_value<T>(std::move(value)));
}
template <class Params, class T>
void set_param(Node& node, T Params::*member, std::type_identity_t<T> value) {
  set_param(node.attributes, member, std::move(value));
}
template <class Params, class T>
void set_param(Attributes& attributes, std::optional<T> Params::*member,
               std::type_identity_t<T> value) {
  attributes.set(std::string(param_name(member)), attribute_value<T>(std::move(value)));
}
template <class Params, class T>
void set_param(Node& node, std::optional<T> Params::*member, std::type_identity_t<T> value) {
  set_param(node.attributes, member, std::move(value));
}
/// Makes the attribute of a member absent; does no harm if it is.
template <class Params, class T>
void erase_param(Attributes& attributes, T Params::*member) {
  attributes.erase(param_name(member));
}
template <class Params, class T>
void erase_param(Node& node, T Params::*member) {
  erase_param(node.attributes, member);
}

}  // namespace parallax
