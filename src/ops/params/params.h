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

/// The strings of an enumeration that an attribute is of, in the order of its values.
template <class Enum>
inline constexpr std::array<std::string_view, 0> kChoices = {};

/// Reads attributes into the members of a struct. Absent ones leave the member as it is.
class AttributeReader {
 public:
  /// The reasons why a value was not taken.
  struct Problem {
    std::string message;
    ErrorCode code = ErrorCode::kInvalidModel;
  };

  // Not inline: otherwise GCC 12 warns that problem_ may be uninitialised.
  explicit AttributeReader(const Attributes& attributes);
  ~AttributeReader();
  AttributeReader(const AttributeReader&) = delete;
  AttributeReader& operator=(const AttributeReader&) = delete;
  /// The first value that the member cannot have; nothing if there was none.
  std::optional<Problem>& problem() { return problem_; }

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
  template <class T>
  void operator()(std::string_view name, std::optional<T>& member) {
    if (attributes_.find(name) != nullptr) (*this)(name, member.emplace());
  }
  template <class T>
  void internal(std::string_view name, T& member, NodeOrigin /*from*/ = NodeOrigin::kPass) {
    (*this)(name, member);
  }

 private:
  bool flag(std::string_view name, bool fallback);
  DType dtype(std::string_view name, DType fallback);
  std::size_t choice(std::string_view name, std::span<const std::string_view> choices,
                     std::size_t fallback);
  void complain(Problem problem);

  const Attributes& attributes_;
  std::optional<Problem> problem_;
};

/// The type in files of an attribute whose member is a T.
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
/// The attribute's value for a member.
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

/// Lists the attributes of a struct.
class AttributeLister {
 public:
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

/// Finds the name of the attribute whose member lies at an address.
class AttributeNamer {
 public:
  explicit AttributeNamer(const void* member) : member_(member) {}
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

/// OpDef::attributes of an operator whose attributes are those of Params.
template <class Params>
std::vector<AttributeSpec> attributes_of() {
  Params params;
  AttributeLister lister;
  params.visit(lister);
  return std::move(lister.specs);
}

/// Reads attributes that inference has accepted. A value that a member cannot have is as if it were
/// absent.
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
/// attribute.
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

/// The name of the attribute of a member: param_name(&CumSumParams::reverse) is "reverse".
template <class Params, class T>
std::string_view param_name(T Params::*member) {
  Params params;
  AttributeNamer namer(&(params.*member));
  params.visit(namer);
  return namer.name;
}

/// The value of the attribute of a member, not copied; null if it is absent. For members whose type
/// is that of the attribute's value.
template <class Params, class T>
const T* find_param(const Node& node, T Params::*member) {
  return std::get_if<T>(node.attributes.find(param_name(member)));
}

/// Sets the attribute of a member: set_param(node, &CumSumParams::reverse, true).
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
/// Makes the attribute of a member absent.
template <class Params, class T>
void erase_param(Attributes& attributes, T Params::*member) {
  attributes.erase(param_name(member));
}
template <class Params, class T>
void erase_param(Node& node, T Params::*member) {
  erase_param(node.attributes, member);
}

}  // namespace parallax
