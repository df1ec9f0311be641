// librdkafka makes its threads by C11's functions, which ThreadSanitizer does not know: it would take the first access of such a thread for one of no
// thread. Builds with it, which alone compile this file, have them here, by POSIX, as in glibc, whose types are the same. The program's own come
// before the C library's.
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <cstdint>
#include <memory>

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t) && sizeof(thrd_t) == sizeof(pthread_t));

namespace {

pthread_mutex_t* posix(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* posix(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }
int c11(int error) { return error == 0 ? thrd_success : error == ETIMEDOUT ? thrd_timedout : error == ENOMEM ? thrd_nomem : thrd_error; }

struct Start {
  thrd_start_t function;
  void* argument;
};
void* run(void* given) {
  const std::unique_ptr<Start> start(static_cast<Start*>(given));
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(start->function(start->argument)));
}

}  // namespace

extern "C" {

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  auto start = std::make_unique<Start>(Start{function, argument});
  const int error = pthread_create(thread, nullptr, run, start.get());
  if (error == 0) (void)start.release();
  return c11(error);
}
int thrd_join(thrd_t thread, int* result) {
  void* returned = nullptr;
  const int error = pthread_join(thread, &returned);
  if (result) *result = static_cast<int>(reinterpret_cast<std::intptr_t>(returned));
  return c11(error);
}

int mtx_init(mtx_t* mutex, int type) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, type & mtx_recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
  const int error = pthread_mutex_init(posix(mutex), &attributes);
  pthread_mutexattr_destroy(&attributes);
  return c11(error);
}
int mtx_lock(mtx_t* mutex) { return c11(pthread_mutex_lock(posix(mutex))); }
int mtx_unlock(mtx_t* mutex) { return c11(pthread_mutex_unlock(posix(mutex))); }
void mtx_destroy(mtx_t* mutex) { pthread_mutex_destroy(posix(mutex)); }

int cnd_init(cnd_t* condition) { return c11(pthread_cond_init(posix(condition), nullptr)); }
int cnd_signal(cnd_t* condition) { return c11(pthread_cond_signal(posix(condition))); }
int cnd_broadcast(cnd_t* condition) { return c11(pthread_cond_broadcast(posix(condition))); }
int cnd_wait(cnd_t* condition, mtx_t* mutex) { return c11(pthread_cond_wait(posix(condition), posix(mutex))); }
int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  return c11(pthread_cond_timedwait(posix(condition), posix(mutex), until));
}
void cnd_destroy(cnd_t* condition) { pthread_cond_destroy(posix(condition)); }

}  // extern "C"
