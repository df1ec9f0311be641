// Which sanitizer this is built with, for GCC and clang alike.
#pragma once

#if defined(__has_feature)
#define SINTER_HAS_FEATURE(name) __has_feature(name)
#else
#define SINTER_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || SINTER_HAS_FEATURE(address_sanitizer)
#define SINTER_ADDRESS_SANITIZER 1
#else
#define SINTER_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || SINTER_HAS_FEATURE(thread_sanitizer)
#define SINTER_THREAD_SANITIZER 1
#else
#define SINTER_THREAD_SANITIZER 0
#endif
