// SPDX-License-Identifier: Apache-2.0
// The waiting threads and their places, for messages of faults.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "scheduler.h"

namespace simt {

Path path_of(const Block& block, const Thread& thread) {
  Path path;
  if (thread.came == Came::kept) return block.paths[thread.rank];
  if (thread.came == Came::unknown) return path;
  path.frames[path.depth++] = thread.call;
  walk(path, thread.frame, thread.base);
  return path;
}

std::string numbers_text(const char* what, const std::vector<unsigned>& ranks) {
  std::string text = std::string(what) + (ranks.size() == 1 ? " " : "s ");
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t j = i;
    while (j + 1 < ranks.size() && ranks[j + 1] == ranks[j] + 1) ++j;
    if (i != 0) text += ", ";
    text += std::to_string(ranks[i]);
    if (j != i) text += "-" + std::to_string(ranks[j]);
    i = j + 1;
  }
  return text;
}

std::string waiting_text(Block& block) {
  std::vector<std::pair<std::string, std::vector<unsigned>>> places;
  unsigned exited = 0;
  std::vector<bool> begun(block.size);
  for (unsigned i = 0; i < block.started; ++i) begun[ordered(i)] = true;
  for (Thread* t = block.ready.first; t != nullptr; t = t->next) t->state = State::ready;
  for (unsigned rank = 0; rank < block.size; ++rank) {
    Thread& thread = block.threads[rank];
    if (!begun[rank]) continue;
    if (thread.state == State::exited) {
      ++exited;
      continue;
    }
    const bool runs = &thread == worker->thread && worker->current.depth != 0 && !thread.yielding;
    std::string where = user_place(runs ? worker->current : path_of(block, thread));
    if (where.empty()) where = std::string(thread.file) + ":" + std::to_string(thread.line);
    std::string text;
    if (thread.yielding || thread.state != State::waiting) {
      text = (runs ? "run at " : "spin at ") + where;
    } else {
      text = std::string("wait in ") + thread.name;
      if (thread.wait == Wait::masked) {
        char mask[32];
        std::snprintf(mask, sizeof mask, " (mask 0x%llx)", static_cast<unsigned long long>(thread.met->mask));
        text += mask;
      } else if (thread.wait == Wait::named) {
        const Block::Named& named = block.named[thread.number];
        text += " (number " + std::to_string(thread.number) + ", where " + std::to_string(arrived(block, named)) +
                " of " + (named.wanted != 0 ? std::to_string(named.wanted) : "all") + " threads have arrived)";
      }
      text += " at " + where;
    }
    const auto same = std::find_if(places.begin(), places.end(), [&](const auto& p) { return p.first == text; });
    if (same != places.end()) {
      same->second.push_back(thread.rank);
    } else {
      places.push_back({text, {thread.rank}});
    }
  }
  std::string text;
  for (const auto& [what, ranks] : places) text += "\n    " + numbers_text("thread", ranks) + " " + what;
  if (exited != 0) text += "\n    " + std::to_string(exited) + " threads have exited";
  if (block.started != block.size) text += "\n    " + std::to_string(block.size - block.started) + " have not started";
  return text;
}

std::string place_of_one(const Block& block) {
  const Thread* one = nullptr;
  for (unsigned i = 0; i < block.started; ++i) {
    const Thread& thread = block.threads[ordered(i)];
    if (thread.state == State::exited) continue;
    const bool waits = thread.state == State::waiting,
               better = one == nullptr || (waits && one->state != State::waiting);
    if (better || (waits == (one->state == State::waiting) && thread.rank < one->rank)) one = &thread;
  }
  if (one == nullptr) return "";
  const std::string where = user_place(path_of(block, *one));
  return !where.empty() || one->line == 0 ? where : std::string(one->file) + ":" + std::to_string(one->line);
}

void stop_here(const char* kind, const char* message) {
  become_loud();
  const Block& block = *worker->block;
  const std::string here = worker->current.depth != 0 ? user_place(worker->current) : "";
  fault_at(kind, here.empty() ? place_of_one(block) : here, message + waiting_text(*worker->block));
}

}  // namespace simt
