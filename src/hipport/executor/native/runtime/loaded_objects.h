// SPDX-License-Identifier: Apache-2.0
// The program and the libraries that are loaded, for handlers of signals.
#ifndef SIMT_LOADED_OBJECTS_H
#define SIMT_LOADED_OBJECTS_H

#include <cstdint>

namespace simt {

/// Code of the program or of a library.
struct LoadedObject {
  std::uintptr_t begin, end;
  /// Whether it is the user's: other libraries may hold a lock when they are interrupted.
  bool is_users;
  /// Whether it has the runtime itself.
  bool is_own;
};

/// Notes what is loaded now. It takes the loader's lock, so no handler of a signal may call it.
void note_loaded_objects();

/// The object with the code at an address, or nullptr if none was noted. It takes no lock.
const LoadedObject* object_at(const void* address);

}  // namespace simt

#endif
