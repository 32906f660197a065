#include "options/option_forms.h"

namespace parallax::cli {

CLI::Option* add_repeated(CLI::App& command, const char* name,
                          const std::function<void(const std::string&)>& take, const char* what) {
  return command
      .add_option_function<std::vector<std::string>>(
          name,
          [take](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) take(text);
          },
          what)
      ->allow_extra_args(false);
}

std::string check_not_empty(const std::string& text) {
  return text.empty() ? "the value is empty" : "";
}

}  // namespace parallax::cli
