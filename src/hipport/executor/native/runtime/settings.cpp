// SPDX-License-Identifier: Apache-2.0
// Settings from the environment, and the dialect of the compiled program.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

#include "internal.h"

int warpSize = 32;

namespace simt {

Dialect compiled_dialect = Dialect::cuda;
unsigned wave_shift = 5;
const Settings* settings_kept = nullptr;

namespace {

bool is_compiled = false;  // whether a unit has reported the dialect

/// Its value; null if it is not set.
const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

[[noreturn]] void end_for(const char* name, const char* value, const char* wanted) {
  std::fprintf(stderr, "simt: %s=%s: expected %s\n", name, value, wanted);
  std::_Exit(2);
}

/// Whether a whole text is an integer; then `number` is its value.
template <typename T>
bool is_number(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

const Settings& read_settings() {
  auto* s = new Settings;
  if (const char* v = variable("SIMT_WAVE")) {
    if (!is_number(v, s->wave) || (s->wave != 32 && s->wave != 64)) end_for("SIMT_WAVE", v, "32 or 64");
  }
  if (const char* v = variable("SIMT_ORDER")) {
    constexpr std::string_view random = "random:";
    const std::string_view order = v;
    if (order == "reverse") {
      s->order = Settings::Order::reverse;
    } else if (order == "random" || order.substr(0, random.size()) == random) {
      s->order = Settings::Order::random;
      s->seed = 1;
      if (order != "random" && !is_number(order.substr(random.size()), s->seed)) {
        end_for("SIMT_ORDER", v, "forward, reverse or random:SEED");
      }
    } else if (order != "forward") {
      end_for("SIMT_ORDER", v, "forward, reverse or random:SEED");
    }
  }
  if (const char* v = variable("SIMT_THREADS")) {
    if (!is_number(v, s->threads) || s->threads < 1 || s->threads > 1024) end_for("SIMT_THREADS", v, "1 to 1024");
  }
  if (const char* v = variable("SIMT_POISON")) s->poison = std::strcmp(v, "0") == 0 ? -1 : 0xff;
  if (const char* v = variable("SIMT_CONVERGENCE")) {
    s->minimal = std::strcmp(v, "minimal") == 0;
    if (!s->minimal && std::strcmp(v, "maximal") != 0) end_for("SIMT_CONVERGENCE", v, "maximal or minimal");
  }
  if (const char* v = variable("SIMT_WATCHDOG")) {
    char* end = nullptr;  // older libraries have no from_chars for this type
    s->watchdog = std::strtod(v, &end);
    if (*end != '\0') end_for("SIMT_WATCHDOG", v, "a number of seconds");
  }
  s->report = variable("SIMT_REPORT");
  s->trace = variable("SIMT_TRACE");
  settings_kept = s;
  return *s;
}

int wave_size() {
  static const bool forced = [] {
    const char* v = variable("SIMT_FORCE_WAVE");
    return v != nullptr && std::strcmp(v, "64") == 0;
  }();
  return forced ? 64 : dialect_is(Dialect::cuda) ? 32 : settings().wave;
}

namespace detail {

bool compiled_as(Dialect dialect) {
  if (is_compiled && !dialect_is(dialect)) {
    std::fprintf(stderr, "simt: some units of this program were compiled as CUDA and some as HIP\n");
    std::_Exit(2);
  }
  is_compiled = true;
  compiled_dialect = dialect;
  warpSize = wave_size();
  wave_shift = warpSize == 64 ? 6 : 5;
  install_handlers();
  return true;
}

}  // namespace detail

}  // namespace simt
