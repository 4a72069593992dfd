// SPDX-License-Identifier: Apache-2.0
// simt/core.h: the executor's interface for the headers above it: threads, converging lanes, barriers, memory, faults.
//
// One program has one dialect: the original is compiled as CUDA (warps of 32 lanes, masks synchronize), the port with
// SIMT_HIP defined (wavefronts of 32 or 64 lanes, chosen when it runs; maskless operations act on the active lanes).
// The runtime behind this header is compiled once, for both.
//
// How a block runs: one fiber runs its threads one after the other. If a thread has to wait (a barrier, an operation of
// several lanes), another fiber continues with the remaining threads. A block stays on one thread of the operating
// system.
#ifndef SIMT_CORE_H
#define SIMT_CORE_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "types.h"

/// The place of a call in the user's code: the last parameters of every function that can fail, set by the compiler.
#define SIMT_HERE const char *simt_file = __builtin_FILE(), int simt_line = __builtin_LINE()
#define SIMT_THERE ::simt::Place{simt_file, simt_line}
#define SIMT_EXPORT __attribute__((visibility("default")))
/// For functions that lead to a switch between stacks: see `take_turn`.
#define SIMT_INLINE __attribute__((always_inline)) inline

// Variables, not macros, because programs have members of these names. Only the index of the thread changes while a
// unit's function runs (see `run_row`): constants need not be read again after every store.
#ifdef SIMT_RUNTIME
#define SIMT_CONSTANT
#else
#define SIMT_CONSTANT const
#endif
extern SIMT_EXPORT __thread uint3 threadIdx;
extern SIMT_EXPORT __thread SIMT_CONSTANT uint3 blockIdx;
extern SIMT_EXPORT __thread SIMT_CONSTANT dim3 blockDim, gridDim;
/// Lanes in a wavefront: 32 for CUDA, for HIP as configured.
extern SIMT_EXPORT SIMT_CONSTANT int warpSize;

namespace simt {

struct Place {
  const char* file;
  int line;
};

enum class Dialect { cuda, hip };
#ifdef SIMT_HIP
constexpr Dialect dialect = Dialect::hip;
#else
constexpr Dialect dialect = Dialect::cuda;
#endif

// ---------------------------------------------------------------------------------------------------------- faults

/// Report an error, with kernel, block and thread, and end the program (`SIMT_REPORT` names the file of findings).
/// `kind` is one word, such as "out-of-bounds"; `message` is as for printf.
[[noreturn]] SIMT_EXPORT void fault(const char* kind, Place place, const char* message, ...)
    __attribute__((format(printf, 3, 4)));
/// Report something suspicious and continue; the same kind at the same place is reported once.
SIMT_EXPORT void warning(const char* kind, Place place, const char* message, ...)
    __attribute__((format(printf, 3, 4)));

// --------------------------------------------------------------------------------------------------------- threads

/// Whether the caller is a thread of a kernel, and not the host.
SIMT_EXPORT bool in_kernel();
/// The wavefront size of the running program, also on the host.
SIMT_EXPORT int wave_size();
/// The caller's lane in its wavefront, its wavefront in its block, and its rank in its block (x first).
inline unsigned thread_rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
inline unsigned lane() { return thread_rank() & (static_cast<unsigned>(warpSize) - 1); }
inline unsigned wave() { return thread_rank() / static_cast<unsigned>(warpSize); }
/// The lanes of the caller's wavefront that have not exited, and those that exist (the last wavefront may be
/// incomplete).
SIMT_EXPORT std::uint64_t living();
SIMT_EXPORT std::uint64_t existing();
/// Let others run: called by operations of a thread that polls (a failed compare-and-swap, __nanosleep, a fence). If
/// nothing makes progress for long, the launch ends with a fault.
SIMT_EXPORT void yield(Place);
/// Cycles for clock() and clock64(): monotonic, and a function of the executed work, not of the machine.
SIMT_EXPORT std::int64_t clock();
/// Bytes of dynamic shared memory of the launch, its start in the block, and the used bytes of dynamic and static
/// memory.
SIMT_EXPORT void* dynamic_shared();
SIMT_EXPORT std::size_t dynamic_shared_size();
/// Whether an address is in the shared memory of the running block.
SIMT_EXPORT bool is_shared(const void*);
/// Whether an address is on the calling thread's own stack.
SIMT_EXPORT bool is_local(const void*);

// ---------------------------------------------------------------------------------------------- converging lanes

/// An operation of several lanes of one wavefront, once all participants have arrived.
struct Meeting {
  std::uint64_t lanes;  // the participating lanes
  std::uint64_t mask;  // as the callers gave it; 0 if maskless
  std::uint64_t word;  // for `finish`: a value for all lanes (a ballot), or anything
  unsigned readers;  // for the runtime: lanes that have not continued yet
  alignas(16) unsigned char values[64][16];  // the value of each lane; `finish` may store each lane's result there

  template <typename T>
  T get(unsigned lane) const {
    static_assert(sizeof(T) <= 16, "at most 16 bytes");
    T value;
    std::memcpy(static_cast<void*>(&value), values[lane & 63], sizeof(T));
    return value;
  }
  template <typename T>
  void set(unsigned lane, const T& value) {
    static_assert(sizeof(T) <= 16, "at most 16 bytes");
    std::memcpy(values[lane & 63], static_cast<const void*>(&value), sizeof(T));
  }
  bool has(unsigned lane) const { return lane < 64 && (lanes >> lane & 1) != 0; }
};

/// The name of an operation, and its algorithm.
struct Operation {
  const char* name;  // as the user wrote it: "__shfl_sync"
  void (*finish)(Meeting&);  // run once when all have arrived, by the last; may be null
};

namespace detail {
/// A thread's state while others run.
struct Left {
  void* stack = nullptr;
  Meeting* met = nullptr;  // whose results it may still read
};
/// Where to continue when the running thread, `self`, has reached its wait; null if it need not leave.
struct Turn {
  Left* self;
  void* stack;
};
SIMT_EXPORT Turn come_masked(const Operation&, std::uint64_t mask, const void* value, std::size_t size, Place);
SIMT_EXPORT Turn come_present(const Operation&, const void* value, std::size_t size, Place);
SIMT_EXPORT Turn come_to_barrier(const char* name, int predicate, Place);
/// Save the caller's place in `*save`, and continue at the place saved in `load`.
extern "C" SIMT_EXPORT void hipport_simt_switch(void** save, void* load);

// A processor predicts the target of a return from the calls that it has executed. So the user's function itself leaves
// for another stack, by a jump: a later return then takes another thread's call for its own, and that is the same call
// if threads do not diverge. The address to continue at is saved on top of the stack; the compiler saves the registers
// that it needs, often fewer than all callee-saved ones.
SIMT_INLINE void leave_stack(void** save, void* load) {
#if defined(__x86_64__)
  // x87's registers hold long double. The 128 bytes below the top of the stack are left alone: a leaf function, such as
  // one that the compiler has split off, may have values there (the red zone of System V's ABI).
  asm volatile(
      "lea -128(%%rsp), %%rsp\n\t"
      "push %%rbp\n\t"
      "lea 1f(%%rip), %%rax\n\t"
      "push %%rax\n\t"
      "mov %%rsp, (%0)\n\t"
      "mov %1, %%rsp\n\t"
      "pop %%rcx\n\t"
      "jmp *%%rcx\n"
      "1:\n\t"
      "pop %%rbp\n\t"
      "lea 128(%%rsp), %%rsp"
      : "+D"(save), "+S"(load)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
        "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)",
        "st(3)", "st(4)", "st(5)", "st(6)", "st(7)",
#ifdef __AVX512F__
        "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28",
        "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7",
#endif
        "memory", "cc");
#else
  hipport_simt_switch(save, load);
#endif
}
SIMT_INLINE Left& take_turn(Turn turn) {
  if (turn.stack != nullptr) leave_stack(&turn.self->stack, turn.stack);
  return *turn.self;
}
}  // namespace detail

/// Converge with the living lanes of `mask` (bits of the caller's wavefront): CUDA's `_sync`. Faults if the mask lacks
/// the caller, or if named lanes never arrive. Lanes meet in the same operation with the same mask.
SIMT_INLINE const Meeting& meet_masked(const Operation& operation, std::uint64_t mask, const void* value,
                                       std::size_t size, Place place) {
  return *detail::take_turn(detail::come_masked(operation, mask, value, size, place)).met;
}
/// Converge with the active lanes: those of the wavefront that reach this call on one path, once no lane of the
/// wavefront can do anything else. HIP's maskless operations, CUDA's __activemask.
SIMT_INLINE const Meeting& meet_present(const Operation& operation, const void* value, std::size_t size, Place place) {
  return *detail::take_turn(detail::come_present(operation, value, size, place)).met;
}
// The caller may use the meeting until it calls any function of this header that can wait.

namespace detail {
inline constexpr Operation iteration_end{"the end of an iteration of a loop", nullptr};
}
/// The target of `continue`, in loops where only some lanes reach maskless operations: the others wait here for them,
/// as they do on a GPU. Inserted by the rewriter.
inline void iteration_end(Place place) {
  if (in_kernel()) meet_present(detail::iteration_end, nullptr, 0, place);
}
namespace detail {
// The entry of a statement in which lanes wait for memory, and the ends of iterations of loops around one. Lanes do not
// wait here for others that spin, which may be in another part of the program.
SIMT_EXPORT extern const Operation loop_begins, loop_iterates;
/// A lane leaves the statement; returns who continues.
SIMT_EXPORT Turn leave_loop(void* region, Place);
/// A lane takes a branch, numbered in the order of the text; returns who continues.
SIMT_EXPORT Turn take_side(void* region, unsigned side, Place);
}  // namespace detail
/// Lives as long as a lane is in a statement in which lanes wait for memory: a loop, or a branch or a loop around one,
/// or a function. On AMD, lanes that have left it continue when all lanes that entered it together have, and one branch
/// runs before the other: a lane that waits for one of those waits forever. Inserted by the rewriter.
class Together {
 public:
  struct Later {};
  SIMT_INLINE explicit Together(Place place) : place_(place) { enter(place); }
  /// One that lanes enter later.
  SIMT_INLINE Together(Place place, Later) : place_(place) {}
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;
  SIMT_INLINE ~Together() { leave(); }
  SIMT_INLINE void enter(Place place) {
    leave();
    place_ = place;
    if (in_kernel()) region_ = reinterpret_cast<void*>(meet_present(detail::loop_begins, nullptr, 0, place_).word);
  }
  /// Also at the beginning of a loop exit that does not lead back into the loop: compilers move it after the loop.
  SIMT_INLINE void leave() {
    if (region_ == nullptr) return;
    void* const left = region_;
    region_ = nullptr;
    detail::take_turn(detail::leave_loop(left, place_));
  }
  SIMT_INLINE void side(unsigned number) const {
    if (region_ != nullptr) detail::take_turn(detail::take_side(region_, number, place_));
  }

 private:
  Place place_;
  void* region_ = nullptr;  // null if no other lane entered
};
SIMT_INLINE void loop_iteration(Place place) {
  if (in_kernel()) meet_present(detail::loop_iterates, nullptr, 0, place);
}
// With its own `else` it cannot take that of an enclosing `if`. In a `for`, clang places the code after it before its
// body.
#undef SIMT_TOGETHER
#undef SIMT_TOGETHER_FROM_HERE
#undef SIMT_TOGETHER_LATER
#undef SIMT_ENTERS
#undef SIMT_SIDE
#undef SIMT_LEAVES
#undef SIMT_LOOP_ITERATION
#define SIMT_TOGETHER(n) if (::simt::Together simt_together_##n({__FILE__, __LINE__}); false) {} else
#define SIMT_TOGETHER_FROM_HERE(n) ::simt::Together simt_together_##n({__FILE__, __LINE__});
#define SIMT_TOGETHER_LATER(n) ::simt::Together simt_together_##n({__FILE__, __LINE__}, ::simt::Together::Later{});
#define SIMT_ENTERS(n) simt_together_##n.enter({__FILE__, __LINE__});
#define SIMT_SIDE(n, number) if (simt_together_##n.side(number); false) {} else
#define SIMT_LEAVES(n) simt_together_##n.leave();
#define SIMT_LOOP_ITERATION ::simt::loop_iteration({__FILE__, __LINE__})

#undef SIMT_ITERATION_END
#undef SIMT_LOCKSTEP_ITERATION
#define SIMT_ITERATION_END ::simt::iteration_end({__FILE__, __LINE__})
#ifdef SIMT_LOCKSTEP
#define SIMT_LOCKSTEP_ITERATION SIMT_ITERATION_END
#else
#define SIMT_LOCKSTEP_ITERATION ((void)0)
#endif

namespace detail {
[[noreturn]] SIMT_EXPORT void lost_lanes(std::uint64_t ballot, unsigned bits, Place);
}
/// Returns a value that is stored as a `T`: faults if it is a ballot, or bits of one, and the smaller type loses votes
/// of lanes. Inserted by the rewriter.
template <typename T>
struct Kept {
  Place place;
  template <typename Ballot>
  SIMT_INLINE Ballot operator()(Ballot ballot) const {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 4 && std::is_integral_v<Ballot> &&
                  sizeof(Ballot) == 8) {
      const auto bits = static_cast<std::uint64_t>(ballot);
      if (warpSize == 64 && bits >> 32 != 0 && in_kernel()) detail::lost_lanes(bits, 8 * sizeof(T), place);
    }
    return ballot;
  }
};
/// Whether a kernel calls the function, which is for both sides and has a body for each. Constant evaluation is for the
/// host.
constexpr bool on_device() { return !__builtin_is_constant_evaluated() && in_kernel(); }
#undef SIMT_ON_DEVICE
#define SIMT_ON_DEVICE ::simt::on_device()

#undef SIMT_KEPT
#define SIMT_KEPT(...) (::simt::Kept<std::remove_cv_t<std::remove_reference_t<__VA_ARGS__>>>{{__FILE__, __LINE__}})

/// The votes of all threads that have not exited at a barrier of the block.
struct Votes {
  int count, all, any;
};
namespace detail {
/// Those of the last barrier of the running block.
SIMT_EXPORT Votes votes() __attribute__((pure));
}
SIMT_INLINE Votes block_barrier(const char* name, int predicate, Place place) {
  detail::take_turn(detail::come_to_barrier(name, predicate, place));
  return detail::votes();
}
/// A numbered barrier of `threads` threads of the block (0: all), by whole warps; `arrive` does not wait.
SIMT_EXPORT void named_barrier(int number, int threads, bool arrive, Place);
/// A barrier of all blocks of a launch that is `cooperative`.
SIMT_EXPORT void grid_barrier(Place);
SIMT_EXPORT bool is_cooperative();

// ---------------------------------------------------------------------------------------------------------- memory

enum class Memory : unsigned char { none, device, managed, pinned, array };

/// Memory with a guard page after it (and before it), filled with `SIMT_POISON` (0xff) by default.
SIMT_EXPORT void* allocate(std::size_t size, Memory, Place);
/// False if `address` is not the start of an allocation.
SIMT_EXPORT bool release(void* address);
/// Make an allocation inaccessible, as if it were released; and return it at the same address, as if new.
SIMT_EXPORT void suspend(void* start);
SIMT_EXPORT void resume(void* start);
struct Allocation {
  void* start;
  std::size_t size;
  Memory kind;
};
/// The allocation that contains an address; of kind none if there is none.
SIMT_EXPORT Allocation find(const void* address);
/// Fault if a host operation (a copy, a memset) extends past the end of the allocation that contains `address`.
SIMT_EXPORT void check_range(const char* name, const void* address, std::size_t size, Place);

// -------------------------------------------------------------------------------------------------------- launches

struct Launch {
  dim3 grid, block;
  std::size_t shared = 0;
  void* stream = nullptr;
  Place place{"", 0};
  const char* name = "";
  bool cooperative = false;
};

/// Whether all threads of a launch ran; `refused` says why it was not started (block too large ...), as a CUDA error.
enum class Started { yes, invalid_configuration, shared_too_large, while_captured };

namespace detail {
/// Run threads until none is left to start: calls `body(context)` for each. Created by `launch`, called by the runtime.
using Run = void (*)(void* context);
/// The end of the row of threads that only need the next x; 0 once a thread has waited.
extern SIMT_EXPORT __thread unsigned row_end;
/// The frame of the function that runs a row, in the stack that was last to begin one.
extern SIMT_EXPORT __thread void* row_frame;
/// Find a thread to run: the next of the row, or else the next in the configured order. `x` follows that of the last
/// thread. If none is left to start, it does not return: this stack is free.
SIMT_EXPORT void next_thread(unsigned x);
SIMT_EXPORT void first_thread();
SIMT_EXPORT Started run(const Launch&, Run, void* context);
/// Run the threads of a row from the one whose index is set, and find the next. Constants are constant in here.
template <typename Body>
__attribute__((noinline)) void run_row(Body& launched) {
  row_frame = __builtin_frame_address(0);
  // A copy that no store of a kernel can change, so that its arguments stay in registers.
  constexpr bool copied = std::is_trivially_copy_constructible_v<Body> && std::is_trivially_destructible_v<Body>;
  std::conditional_t<copied, Body, Body&> body = launched;
  // A signal may come between any two instructions, and suspend the thread that it finds.
  volatile unsigned& here = threadIdx.x;
  const volatile unsigned& end = row_end;
  unsigned x = here;
  do {
    body();
    here = ++x;
  } while (x < end);
  // Called here, not after returning: once other stacks have been used, a processor mispredicts the return.
  next_thread(x);
}
template <typename Body>
void run_threads(void* context) {
  first_thread();
  for (;;) run_row(*static_cast<Body*>(context));
}

/// Every unit reports its dialect; units of both dialects in one program are rejected.
SIMT_EXPORT bool compiled_as(Dialect);
#ifndef SIMT_RUNTIME
[[maybe_unused]] static const bool said_dialect = compiled_as(dialect);
#endif
/// Reported by units that rely on lanes to access volatile shared memory together: see runtime/races.cpp.
SIMT_EXPORT bool in_lockstep();
#ifdef SIMT_LOCKSTEP
[[maybe_unused]] static const bool said_lockstep = in_lockstep();
#endif
}  // namespace detail

/// Work that a stream records for a graph instead of doing it.
struct Work {
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;
  virtual void run() = 0;
  /// The parameters that the API reports, by its kind: a KernelCall, or parameters of the API; null if there are none.
  virtual const void* description() const { return nullptr; }
};
/// A launch that a graph records: `again` launches the kernel with other arguments.
struct KernelCall {
  Launch how;
  const void* kernel = nullptr;
  void** arguments = nullptr;
  Started (*again)(const Launch&, const void* kernel, void** arguments) = nullptr;
};
namespace host {
template <typename... P>
Started launch_untyped(const Launch& how, const void* kernel, void** arguments);
}
template <typename F>
struct WorkOf final : Work {
  F work;
  explicit WorkOf(F given) : work(std::move(given)) {}
  void run() override { work(); }
};
/// The kind of a node, with the values of hipGraphNodeType.
enum class NodeKind : unsigned char {
  kernel = 0, copy = 1, set = 2, host = 3, graph = 4, empty = 5, wait = 6, event = 7, allocation = 10, release = 11
};
/// How many streams record now; in most programs none.
SIMT_EXPORT extern int recordings;
SIMT_EXPORT bool is_recording(const void* stream);
/// Operations that may be rejected while a stream records: work for the default stream, copies that wait for it,
/// operations that may synchronize the device (an allocation), and those that do.
enum class Unrecorded : unsigned char { launch, copy, allocation, wait };
/// The number of the error with which it is rejected (CUDA C++ Programming Guide 13.0, "Prohibited and Unhandled
/// Operations" of stream capture), 0 if it is not; recordings that it would invalidate are invalidated.
SIMT_EXPORT int refused_by_recordings(Unrecorded);
/// The calling thread's mode, of hipStreamCaptureMode.
SIMT_EXPORT int& recording_mode();
/// Make `stream` record into the same graph as `other`, if that still records.
SIMT_EXPORT void join_recording(const void* stream, const void* other);
/// Record the work; the graph owns it.
SIMT_EXPORT void record(const void* stream, NodeKind, Work*);
inline bool records(const void* stream) { return __builtin_expect(recordings != 0, 0) && is_recording(stream); }

}  // namespace simt
// HIP's textures and surfaces are pointers to these, not addresses.
struct __hip_texture;
struct __hip_surface;
namespace simt {

/// Whether an address is certainly the host's alone: on the main thread's stack, or in the heap of small blocks.
SIMT_EXPORT bool is_of_host(const void*);
namespace detail {
template <typename T>
void check_argument(const Launch& how, int number, const T& argument) {
  using Pointee = std::remove_pointer_t<T>;
  constexpr bool is_handle = std::is_same_v<Pointee, __hip_texture> || std::is_same_v<Pointee, __hip_surface>;
  if constexpr (std::is_pointer_v<T> && !std::is_function_v<Pointee> && !is_handle) {
    const auto* const address = const_cast<const void*>(static_cast<const volatile void*>(argument));
    if (!is_of_host(address)) return;
    warning("host-memory", how.place, "argument %d of %s is an address in the host's memory, which most GPUs cannot reach",
            number, how.name);
  }
}
template <typename... A>
void check_arguments(const Launch& how, const A&... arguments) {
  int number = 0;
  (check_argument(how, ++number, arguments), ...);
}
}  // namespace detail

/// The error of the last launch, for cudaGetLastError; set by `launch`.
SIMT_EXPORT extern __thread Started last_launch;

/// Run `body` for every thread of the launch and return when all have ended.
template <typename Body>
Started launch(const Launch& how, Body body) {
  const Started started = detail::run(how, &detail::run_threads<Body>, &body);
  if (started != Started::yes) last_launch = started;  // an error stays until it is queried
  return started;
}

/// The configuration between launch brackets.
struct Configure {
  const char* name;
  Place place;
  Launch operator()(dim3 grid, dim3 block, std::size_t shared = 0, const void* stream = nullptr) const {
    Launch launch;
    launch.grid = grid;
    launch.block = block;
    launch.shared = shared;
    launch.stream = const_cast<void*>(stream);
    launch.name = name;
    launch.place = place;
    return launch;
  }
};

template <typename Call>
struct Deduced {
  Launch how;
  Call call;
  template <typename... A>
  Started operator()(A&&... arguments) const {
    detail::check_arguments(how, arguments...);
    std::tuple<std::decay_t<A>...> kept(std::forward<A>(arguments)...);
    if (records(how.stream)) return keep(std::move(kept));
    return launch(how, [f = call, kept]() mutable {
      std::apply([&](const auto&... values) { f(values...); }, std::as_const(kept));
    });
  }
  template <typename Kept>
  Started keep(Kept kept) const {
    auto work = [how = how, f = call, kept = std::move(kept)]() mutable {
      launch(how, [&] { std::apply([&](auto&... values) { f(std::as_const(values)...); }, kept); });
    };
    record(how.stream, NodeKind::kernel, new WorkOf<decltype(work)>(std::move(work)));
    return Started::yes;
  }
};

template <typename... P>
struct KeptLaunch final : Work {
  void (*kernel)(P...);
  std::tuple<std::remove_cv_t<P>...> kept;
  void* arguments[sizeof...(P) + 1];
  KernelCall call;

  KeptLaunch(const Launch& how, void (*given)(P...), std::tuple<std::remove_cv_t<P>...> values)
      : kernel(given), kept(std::move(values)) {
    std::size_t i = 0;
    std::apply([&](auto&... each) { ((arguments[i++] = const_cast<void*>(static_cast<const void*>(&each))), ...); },
               kept);
    arguments[i] = nullptr;
    call = {how, reinterpret_cast<const void*>(given), arguments, &host::launch_untyped<P...>};
  }
  void run() override {
    launch(call.how, [&] { std::apply(kernel, std::as_const(kept)); });
  }
  const void* description() const override { return &call; }
};

/// Record a launch for a graph, with its arguments.
template <typename... P>
Started keep(const Launch& how, void (*kernel)(P...), std::tuple<std::remove_cv_t<P>...> kept) {
  record(how.stream, NodeKind::kernel, new KeptLaunch<P...>(how, kernel, std::move(kept)));
  return Started::yes;
}

template <typename Call, typename... P>
struct Typed {
  Launch how;
  void (*kernel)(P...);
  Call call;
  Started operator()(P... arguments) const {
    detail::check_arguments(how, arguments...);
    if (records(how.stream)) return keep(how, kernel, std::tuple<std::remove_cv_t<P>...>(std::move(arguments)...));
    // By its name, not its address, so that it can be inlined into the loop over threads.
    return launch(how, [f = call, arguments...]() mutable { f(arguments...); });
  }
  /// With fewer arguments than parameters: the others have defaults, which a function's address does not include.
  template <typename... A, std::enable_if_t<(sizeof...(A) < sizeof...(P)), int> = 0>
  Started operator()(A&&... arguments) const {
    return Deduced<Call>{how, call}(std::forward<A>(arguments)...);
  }
};

template <typename Call>
struct MakeTyped {
  Launch how;
  Call call;
  template <typename... P>
  Typed<Call, P...> operator()(void (*kernel)(P...)) const {
    return {how, kernel, call};
  }
};

/// `typed` takes the address of one function, `call` calls whatever the name means.
template <typename TypedFn, typename Call>
auto bind(Launch how, TypedFn typed, Call call) {
  if constexpr (std::is_invocable_v<TypedFn, MakeTyped<Call>>) {
    return typed(MakeTyped<Call>{how, call});
  } else {
    return Deduced<Call>{how, call};
  }
}

/// A launch by brackets. The rewriter turns `k<T><<<g, b, s, t>>>(x, 0)` into
///
///     SIMT_LAUNCH("k<T>", (g, b, s, t), k<T>)(x, 0)
///
/// so that the arguments are evaluated once, on the host, and converted to the types of the kernel's parameters if the
/// kernel is one function; if it is a template with deduced arguments, their own types are used.
///
/// Names of the enclosing function in the kernel's name are captured by value: g++ 12 fails ("internal compiler error
/// in gimplify_var_or_parm_decl") if `k<N>` names a constant that an enclosing lambda captures by reference.
#define SIMT_LAUNCH(name, configuration, ...)                                                             \
  ::simt::bind(                                                                                           \
      (::simt::Configure{name, {__FILE__, __LINE__}} configuration),                                      \
      [=](auto simt_make) mutable -> decltype(simt_make(__VA_ARGS__)) { return simt_make(__VA_ARGS__); }, \
      [=](auto&... simt_arguments) mutable { __VA_ARGS__(simt_arguments...); })

// --------------------------------------------------------------------------------------------------- shared memory

/// One `__shared__` variable, of one instantiation of its function; lives as long as the program.
struct SharedSlot {
  const char* name;
  Place place;
  std::size_t size, alignment;
  bool own;  // the executor's own, which a GPU does not have
  int number;  // -1 until first used
};
/// The facts in a declaration besides the type.
struct SharedNote {
  const char* name;
  Place place;
  std::size_t alignment;  // at least
  bool own;
};

namespace detail {
/// The place of the slot in the running block; created, filled with poison and fenced by red zones on a block's first
/// use.
SIMT_EXPORT void* shared_place(SharedSlot&);
}  // namespace detail

/// Becomes a reference to the declared type, arrays included. The slot is constant data under a name that the runtime
/// looks for: it counts which ones a kernel's code refers to (runtime/kernels.cpp).
template <typename Declared>
struct SharedPlace {
  template <typename T>
  operator T&() const {
    constexpr SharedNote note = Declared::note();
    static SharedSlot simt_shared_slot{
        note.name, note.place, sizeof(T), alignof(T) > note.alignment ? alignof(T) : note.alignment, note.own, -1};
    return *static_cast<T*>(detail::shared_place(simt_shared_slot));
  }
};

/// The same for dynamic shared memory; an array may lack its first bound.
struct DynamicPlace {
  template <typename T>
  operator T&() const {
    return *static_cast<T*>(dynamic_shared());
  }
};

/// The rewriter turns `__shared__ float s[32], n;` into
///
///     float (&s)[32] = SIMT_SHARED("s"), (&n) = SIMT_SHARED("n");
///
/// and `extern __shared__ float d[];` in a function into `float (&d)[] = SIMT_DYNAMIC_PLACE;`, at file scope into
/// `static __thread float (*d); SIMT_DYNAMIC_SETS(d);`, a pointer that is set for every block.
#define SIMT_SHARED(name) SIMT_SHARED_ALIGNED(name, 1)
/// The rewriter's replacement for C10_WARP_SIZE in array bounds; PyTorch's headers for ROCm redefine it.
#define SIMT_C10_WARP_SIZE_BOUND C10_WARP_SIZE
#define SIMT_SHARED_ALIGNED(name, ...) SIMT_SHARED_PLACE(name, false, __VA_ARGS__)
/// For the executor's own use.
#define SIMT_SHARED_OWN(name) SIMT_SHARED_PLACE(name, true, 1)
#define SIMT_SHARED_PLACE(name, own, ...)                                                                          \
  [&] {                                                                                                            \
    struct Declared {                                                                                              \
      static constexpr ::simt::SharedNote note() { return {name, {__FILE__, __LINE__}, __VA_ARGS__, own}; }         \
    };                                                                                                             \
    return ::simt::SharedPlace<Declared>{};                                                                        \
  }()
#define SIMT_DYNAMIC_PLACE (::simt::DynamicPlace{})
#define SIMT_DYNAMIC(...) static_cast<__VA_ARGS__*>(::simt::dynamic_shared())

namespace detail {
/// Register `set`, which is called with the start of dynamic shared memory whenever a block starts or continues.
SIMT_EXPORT void on_block(void (*set)(void*));
/// Register a thread-local variable that stands for a `__shared__` one at file scope.
SIMT_EXPORT void shared_outside(const volatile void* variable, std::size_t size, std::size_t alignment);
struct OnBlock {
  explicit OnBlock(void (*set)(void*)) { on_block(set); }
  template <typename T>
  OnBlock(T& variable, void (*set)(void*)) {
    on_block(set);
    shared_outside(__builtin_addressof(variable), sizeof(T), alignof(T));
  }
};
}  // namespace detail

/// Variables at file scope are thread-local: a block stays on one thread of the operating system.
#define SIMT_DYNAMIC_SETS(name)                                         \
  static ::simt::detail::OnBlock simt_on_block_##name {                 \
    [](void* start) { name = static_cast<decltype(name)>(start); }      \
  }
/// One without `extern`: filled with poison when a block starts. Blocks that run alternately would share it.
#define SIMT_SHARED_OUTSIDE(name)                                                                                 \
  static ::simt::detail::OnBlock simt_on_block_##name {                                                           \
    name, [](void*) {                                                                                             \
      if (::simt::is_cooperative())                                                                               \
        ::simt::fault("unsupported", {__FILE__, __LINE__}, "__shared__ variables outside of functions (%s) in a " \
                      "cooperative launch", #name);                                                               \
      std::memset(const_cast<void*>(static_cast<const volatile void*>(&name)), 0xff, sizeof(name));               \
    }                                                                                                             \
  }
#define SIMT_DYNAMIC_GLOBAL(name, ...)                                  \
  static __thread __VA_ARGS__* name;                                    \
  static ::simt::detail::OnBlock simt_on_block_##name {                 \
    [](void* start) { name = static_cast<__VA_ARGS__*>(start); }        \
  }

}  // namespace simt

#endif
