#include "base/machine/fork.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace parallax {
namespace {

/// Returns the result of `check` in a child process.
template <class Check>
bool in_child(Check check) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(check() ? 0 : 1);
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

TEST(Fork, ChildrenHaveOtherNumbers) {
  const std::uint64_t here = process_number();
  EXPECT_TRUE(in_child([&] {
    return process_number() != here && !forked_during_call() && check_fork().has_value();
  }));
  EXPECT_EQ(process_number(), here);
}

TEST(Fork, ChildrenOfAForkDuringACallAreRefused) {
  {
    const Call call;
    EXPECT_TRUE(in_child([] {
      const auto refused = [] {
        const Status status = check_fork();
        return forked_during_call() && !status && status.error().code == ErrorCode::kUnsupported;
      };
      return refused() && in_child(refused);
    }));
    EXPECT_FALSE(forked_during_call());
  }
  EXPECT_TRUE(in_child([] { return !forked_during_call(); }));
}

}  // namespace
}  // namespace parallax
