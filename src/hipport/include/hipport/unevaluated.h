// SPDX-License-Identifier: Apache-2.0
// hipport/unevaluated.h: std::declval and the concepts that use it, for device code. Put here by hipport.
//
// nvcc lets device code name a host function where nothing is evaluated. clang does not (up to 21): std::declval is a
// host function, and in a __device__ function decltype(std::declval<T>() + 1) does not compile, while a concept that is
// first tested there, even std::convertible_to<int, int>, is false, and stays so. These definitions follow [declval]
// and [concepts] of the C++20 standard.
#ifndef HIPPORT_UNEVALUATED_H
#define HIPPORT_UNEVALUATED_H

#if defined(__HIP__)
#include <hip/hip_runtime.h>
#endif
#include <type_traits>
#if __cplusplus >= 202002L
#include <concepts>
#endif

namespace hipport {

template <typename T>
#if defined(__HIP__) || defined(__CUDACC__)
__host__ __device__
#endif
    typename std::add_rvalue_reference<T>::type
    declval() noexcept;

#if __cplusplus >= 202002L && defined(__cpp_lib_concepts)

template <typename From, typename To>
concept convertible_to = std::is_convertible_v<From, To> && requires { static_cast<To>(hipport::declval<From>()); };

template <typename T, typename U>
concept common_reference_with =
    std::same_as<std::common_reference_t<T, U>, std::common_reference_t<U, T>> &&
    convertible_to<T, std::common_reference_t<T, U>> && convertible_to<U, std::common_reference_t<T, U>>;

template <typename T, typename U>
concept common_with =
    std::same_as<std::common_type_t<T, U>, std::common_type_t<U, T>> &&
    requires {
      static_cast<std::common_type_t<T, U>>(hipport::declval<T>());
      static_cast<std::common_type_t<T, U>>(hipport::declval<U>());
    } &&
    common_reference_with<std::add_lvalue_reference_t<const T>, std::add_lvalue_reference_t<const U>> &&
    common_reference_with<std::add_lvalue_reference_t<std::common_type_t<T, U>>,
                          std::common_reference_t<std::add_lvalue_reference_t<const T>,
                                                  std::add_lvalue_reference_t<const U>>>;

template <typename T, typename From>
concept assignable_from =
    std::is_lvalue_reference_v<T> &&
    common_reference_with<const std::remove_reference_t<T>&, const std::remove_reference_t<From>&> &&
    requires(T to, From&& from) {
      { to = static_cast<From&&>(from) } -> std::same_as<T>;
    };

template <typename T>
concept move_constructible = std::constructible_from<T, T> && convertible_to<T, T>;

template <typename T>
concept copy_constructible =
    move_constructible<T> && std::constructible_from<T, T&> && convertible_to<T&, T> &&
    std::constructible_from<T, const T&> && convertible_to<const T&, T> && std::constructible_from<T, const T> &&
    convertible_to<const T, T>;

template <typename T>
concept movable = std::is_object_v<T> && move_constructible<T> && assignable_from<T&, T> && std::swappable<T>;

template <typename T>
concept copyable = copy_constructible<T> && movable<T> && assignable_from<T&, T&> && assignable_from<T&, const T&> &&
                   assignable_from<T&, const T>;

template <typename T>
concept semiregular = copyable<T> && std::default_initializable<T>;

namespace detail {

template <typename T>
concept like_bool = convertible_to<T, bool>;

template <typename T>
concept boolean_testable = like_bool<T> && requires(T&& value) {
  { !static_cast<T&&>(value) } -> like_bool;
};

template <typename T, typename U>
concept equal_with = requires(const std::remove_reference_t<T>& t, const std::remove_reference_t<U>& u) {
  { t == u } -> boolean_testable;
  { t != u } -> boolean_testable;
  { u == t } -> boolean_testable;
  { u != t } -> boolean_testable;
};

template <typename T, typename U>
concept ordered_with = requires(const std::remove_reference_t<T>& t, const std::remove_reference_t<U>& u) {
  { t < u } -> boolean_testable;
  { t > u } -> boolean_testable;
  { t <= u } -> boolean_testable;
  { t >= u } -> boolean_testable;
};

template <typename T, typename U>
using both_t = std::common_reference_t<const std::remove_reference_t<T>&, const std::remove_reference_t<U>&>;

}  // namespace detail

template <typename T>
concept equality_comparable = detail::equal_with<T, T>;

template <typename T, typename U>
concept equality_comparable_with =
    equality_comparable<T> && equality_comparable<U> &&
    common_reference_with<const std::remove_reference_t<T>&, const std::remove_reference_t<U>&> &&
    equality_comparable<detail::both_t<T, U>> && detail::equal_with<T, U>;

template <typename T>
concept totally_ordered = equality_comparable<T> && detail::ordered_with<T, T>;

template <typename T, typename U>
concept totally_ordered_with = totally_ordered<T> && totally_ordered<U> && equality_comparable_with<T, U> &&
                               totally_ordered<detail::both_t<T, U>> && detail::ordered_with<T, U> &&
                               detail::ordered_with<U, T>;

template <typename T>
concept regular = semiregular<T> && equality_comparable<T>;

template <typename F, typename... Arguments>
concept predicate = std::regular_invocable<F, Arguments...> &&
                    detail::boolean_testable<std::invoke_result_t<F, Arguments...>>;

template <typename R, typename T, typename U>
concept relation = predicate<R, T, T> && predicate<R, U, U> && predicate<R, T, U> && predicate<R, U, T>;

template <typename R, typename T, typename U>
concept equivalence_relation = relation<R, T, U>;

template <typename R, typename T, typename U>
concept strict_weak_order = relation<R, T, U>;

#endif

}  // namespace hipport

#endif
