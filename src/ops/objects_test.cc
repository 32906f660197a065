// Types of sequences, optionals, maps and strings.
#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(InferObjects, Sequences) {
  check_rows({
      {"input x f32 [2, b]\ninput z f32 [2, 3]\ns = SequenceConstruct(x, z)\noutput s",
       "sequence f32 [2, _]"},
      {"s = SequenceEmpty() {dtype = 7}\noutput s", "sequence i64 none"},
      {"input x f32 [2]\ne = SequenceEmpty()\ns = SequenceInsert(e, x)\noutput s",
       "sequence f32 [2]"},
      {"input s sequence f32 [2]\ninput x f32 [2, 2]\ny = SequenceInsert(s, x)\noutput y",
       "sequence f32 any"},
      {"input s sequence f32 [2]\nconst p i64 [] = [0]\ny = SequenceAt(s, p)\noutput y",
       "float32 2"},
      {"input s sequence f32 [2]\ny = SequenceErase(s)\noutput y", "sequence f32 [2]"},
      {"input s sequence f32 any\ny = SequenceLength(s)\noutput y", "int64 scalar"},
      {"input x f32 [6, 3]\nconst n i64 [] = [2]\ny = SplitToSequence(x, n)\noutput y",
       "sequence f32 [_, 3]"},
      {"input x f32 [6, 3]\nconst n i64 [2] = [3, 3]\ny = SplitToSequence(x, n)\noutput y",
       "sequence f32 [3, 3]"},
      {"input x f32 [6, 3]\ny = SplitToSequence(x) {axis = -1, keepdims = 0}\noutput y",
       "sequence f32 [6]"},
  });
}

TEST(InferObjects, Optionals) {
  check_rows({
      {"input x f32 [2]\no = Optional(x)\noutput o", "optional f32 [2]"},
      {"o = Optional() {type = [1, 1]}\noutput o", "optional sequence f32 none"},
      {"input o optional f32 [2]\ny = OptionalGetElement(o)\noutput y", "float32 2"},
      {"input o optional sequence f32 [2]\ny = OptionalGetElement(o)\noutput y",
       "sequence f32 [2]"},
      {"input x f32 [b]\ny = OptionalGetElement(x)\noutput y", "float32 b"},
      {"y = OptionalHasElement()\noutput y", "bool scalar"},
  });
}

TEST(InferObjects, OperatorsThatMoveNumbersMoveStrings) {
  check_rows({
      {"input x string [b, 2]\ny = Transpose(x)\noutput y", "string 2xb"},
      {"input x string [2]\ninput z string [1]\ny = Equal(x, z)\noutput y", "bool 2"},
      {"input x string [2, b]\ny = Shape(x)\noutput y", "int64 2 = [2, b]"},
      {"input x string [2]\ny = Cast(x) {to = 1}\noutput y", "float32 2"},
      {"input x f32 [2]\ny = Cast(x) {to = 8}\noutput y", "string 2"},
      {"input x string [3]\nconst i i64 [2] = [0, 1]\ny = Gather(x, i)\noutput y", "string 2"},
      {"input x sequence f32 any\ny = Identity(x)\noutput y", "sequence f32 any"},
  });
}

TEST(InferObjects, Strings) {
  check_rows({
      {"input x string [3, 1]\ninput z string [2]\ny = StringConcat(x, z)\noutput y", "string 3x2"},
      {"input x string [2, b]\ny = RegexFullMatch(x) {pattern = \"a\"}\noutput y", "bool 2xb"},
      {"input x i64 [2, 6]\ny = TfIdfVectorizer(x) {mode = \"TF\", ngram_indexes = [0, 4], "
       "pool_int64s = [1, 2]}\noutput y",
       "float32 2x5"},
      {"input x string [5]\ny = LabelEncoder(x) {keys_strings = strings [\"a\"], values_int64s = "
       "[1]}\noutput y",
       "int64 5"},
      {"input x f32 [4, 2]\ny = ZipMap(x) {classlabels_strings = strings [\"a\", \"b\"]}\noutput y",
       "sequence map_string f32 []"},
      {"input x map_string f32 []\ny = DictVectorizer(x) {string_vocabulary = strings [\"a\", "
       "\"b\"]}\noutput y",
       "float32 1x2"},
  });
}

TEST(InferObjects, Refusals) {
  check_refusals({
      {"input s sequence f32 any\nconst p i64 [] = [0]\ny = SequenceAt(s, p)\noutput y",
       "the rank of the tensors in it is not known"},
      {"input s sequence f32 [2]\ny = Relu(s)\noutput y", "takes tensors only"},
      {"input x string [2]\ny = Relu(x)\noutput y", "takes no strings"},
      {"input x f32 [2]\ninput z i64 [2]\ny = SequenceConstruct(x, z)\noutput y", "another type"},
      {"input x f32 [2]\ny = SequenceLength(x)\noutput y", "must be a sequence"},
      {"input s sequence f32 [2]\ny = ConcatFromSequence(s) {axis = 3}\noutput y", "axis"},
      {"input x f32 []\ny = SplitToSequence(x)\noutput y", "axis"},
      {"y = Optional()\noutput y", "neither an element nor its type"},
      {"input x string [2, 3]\ny = StringNormalizer(x)\noutput y", "takes [C] and [1, C]"},
      {"input x string [2]\ny = StringSplit(x) {maxsplit = -1}\noutput y", "negative"},
      {"input x i64 [2]\ny = TfIdfVectorizer(x) {ngram_indexes = [-1], pool_int64s = [1]}\noutput "
       "y",
       "from 0 on"},
      {"input x string [2]\ny = LabelEncoder(x) {keys_strings = strings [\"a\"], values_int64s = "
       "[1, 2]}\noutput y",
       "1 keys and 2 values"},
  });
}

}  // namespace
}  // namespace parallax
