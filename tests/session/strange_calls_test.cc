// Every call of the public API beside runs, where memory runs out or anything else is thrown below
// it: an error comes out, no exception.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "parallax/model.h"
#include "parallax/planner.h"
#include "parallax/session.h"
#include "session/allocations_test_util.h"
#include "session/session_test_util.h"
#include "session/zoo_test_util.h"

namespace parallax {
namespace {

namespace fs = std::filesystem;

/// Asks one thing. Nothing but the library allocates.
struct Question {
  const char* name;
  std::function<std::optional<Error>()> ask;
  std::function<void()> prepare = [] {};
};

/// Fails with anything that `ask` may be thrown.
void expect_errors(const Question& question) {
  SCOPED_TRACE(question.name);
  with_failures(question.name, 10,
                [&](std::int64_t nth, Failures failures) {
                  question.prepare();
                  const FailingAllocations failing(nth, failures);
                  return question.ask();
                },
                {Failures::kOne, Failures::kAllFromThere, Failures::kStranger});
}

TEST(StrangeCalls, WithoutASession) {
  const fs::path path = digits_file(), nowhere = "/proc/none/such a file";
  RuntimeOptions cached;
  cached.cache = "/proc/none";
  const Runtime runtime = *Runtime::create(cached);
  const auto model = Model::load(path);
  ASSERT_TRUE(model);
  for (const Question& question : std::vector<Question>{
           {"load", [&] { return error_of(Model::load(path)); }},
           {"load with a cache", [&] { return error_of(Model::load(path, {}, runtime)); }},
           {"inspect", [&] { return error_of(inspect_file(path)); }},
           {"check", [&] { return error_of(Model::check(path)); }},
           {"create", [&] { return error_of(Session::create(*model, {.threads = 2})); }},
           {"account", [] { return error_of(make_memory_account()); }},
       })
    expect_errors(question);
}

/// A session that plans anew each time; one thread at least is not the caller's.
void ask_session(const Model& model, const std::vector<DimValue>& dims,
                 const SessionOptions& options) {
  const fs::path device = PX_SOURCE_DIR "/profiles/pixel6.toml";
  PlanOptions delegated;
  delegated.profile = device;
  const fs::path broken = fs::path(testing::TempDir()) / ("broken" + std::to_string(::getpid()));
  std::ofstream(broken)
      << "name = 'a device with a name that finds no room beside its length'\n[cpu";
  const fs::path& mistaken = broken;
  // Streams, with which the parser reads numbers, take memory that ran out for a wrong number.
  const auto no_number = [](std::optional<Error> error) {
    return error && error->code == ErrorCode::kInvalidInput ? std::nullopt : error;
  };
  std::optional<Session> session;
  const auto make = [&] { session.emplace(*Session::create(model, options)); };
  make();
  ASSERT_TRUE(Planner(*session).plan(dims, delegated) && Planner(*session).predict(dims, device));
  ASSERT_FALSE(Planner::profile_cores(mistaken));
  for (const Question& question : std::vector<Question>{
           {"plan", [&] { return error_of(Planner(*session).plan(dims)); }, make},
           {"plan for a delegate",
            [&] { return no_number(error_of(Planner(*session).plan(dims, delegated))); }, make},
           {"predict", [&] { return no_number(error_of(Planner(*session).predict(dims, device))); },
            make},
           {"input_dims", [&] { return error_of(session->input_dims(dims)); }, make},
           {"output_dims", [&] { return error_of(session->output_dims(dims)); }, make},
           {"cores", [&] { return no_number(error_of(Planner::profile_cores(device))); }, make},
           {"mistake", [&] { return no_number(error_of(Planner::profile_cores(mistaken))); }, make},
       })
    expect_errors(question);
  fs::remove(broken);
}

TEST(StrangeCalls, OfDigits) {
  const auto model = Model::load(digits_file());
  ASSERT_TRUE(model);
  ask_session(*model, {{"batch", 2}}, {.threads = 2});
}

TEST(StrangeCalls, OfDigitsInBf16) {
  if (!Session::supports(Precision::kBf16)) GTEST_SKIP() << "this CPU has no bf16";
  const auto model = Model::load(digits_file());
  ASSERT_TRUE(model);
  ask_session(*model, {{"batch", 2}}, {.threads = 2, .precision = Precision::kBf16});
}

TEST(StrangeCalls, OfBodiesInABudget) {
  const Model model = model_of(R"(
    symbols n
    input x f32 [n, 8]
    input c bool []
    const m i64 [] = [3]
    y = If(c; x, m)
    body
      outer_symbols n
      input x f32 [n, 8]
      input m i64 []
      y = Loop(m, _, x)
      body
        outer_symbols n
        input i i64 []
        input go bool []
        input v f32 [n, 8]
        u = Neg(v)
        output go, u
      end
      output y
    end
    body
      outer_symbols n
      input x f32 [n, 8]
      input m i64 []
      y = Exp(x)
      output y
    end
    output y)");
  ask_session(model, {{"n", 30}},
              {.threads = 2, .budget = MemoryBudget::of_bytes(std::int64_t{1} << 20)});
  ask_session(model, {{"n", 30}}, {.threads = 2, .budget = MemoryBudget::automatic()});
}

}  // namespace
}  // namespace parallax
