// Preloaded under ThreadSanitizer: tells it what GLib and GStreamer synchronise with.
//
// Their libraries are not instrumented, and their locks are futexes and atomic counters, which
// ThreadSanitizer cannot see: everything handed over through a queue would be reported. Each
// function here does what it replaces and says so: an unlock releases, a lock acquires, a reference
// given up does both. Nothing of ours is named here, and nothing is hidden that GLib does not
// order.
#include <dlfcn.h>
#include <gst/gst.h>

#undef g_once_init_enter
#undef g_once_init_leave

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}

namespace {

/// The function of that name in the library that really has it.
template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define REAL(name) static auto* const real = next<decltype(name)>(#name)

extern "C" {

void g_mutex_lock(GMutex* mutex) {
  REAL(g_mutex_lock);
  real(mutex);
  __tsan_acquire(mutex);
}

gboolean g_mutex_trylock(GMutex* mutex) {
  REAL(g_mutex_trylock);
  const gboolean locked = real(mutex);
  if (locked) __tsan_acquire(mutex);
  return locked;
}

void g_mutex_unlock(GMutex* mutex) {
  REAL(g_mutex_unlock);
  __tsan_release(mutex);
  real(mutex);
}

void g_cond_wait(GCond* cond, GMutex* mutex) {
  REAL(g_cond_wait);
  __tsan_release(mutex);
  real(cond, mutex);
  __tsan_acquire(mutex);
}

gboolean g_cond_wait_until(GCond* cond, GMutex* mutex, gint64 end_time) {
  REAL(g_cond_wait_until);
  __tsan_release(mutex);
  const gboolean signalled = real(cond, mutex, end_time);
  __tsan_acquire(mutex);
  return signalled;
}

void g_rec_mutex_lock(GRecMutex* mutex) {
  REAL(g_rec_mutex_lock);
  real(mutex);
  __tsan_acquire(mutex);
}

gboolean g_rec_mutex_trylock(GRecMutex* mutex) {
  REAL(g_rec_mutex_trylock);
  const gboolean locked = real(mutex);
  if (locked) __tsan_acquire(mutex);
  return locked;
}

void g_rec_mutex_unlock(GRecMutex* mutex) {
  REAL(g_rec_mutex_unlock);
  __tsan_release(mutex);
  real(mutex);
}

void g_async_queue_push(GAsyncQueue* queue, gpointer data) {
  REAL(g_async_queue_push);
  __tsan_release(queue);
  real(queue, data);
}

gpointer g_async_queue_pop(GAsyncQueue* queue) {
  REAL(g_async_queue_pop);
  gpointer data = real(queue);
  __tsan_acquire(queue);
  return data;
}

gpointer g_async_queue_try_pop(GAsyncQueue* queue) {
  REAL(g_async_queue_try_pop);
  gpointer data = real(queue);
  __tsan_acquire(queue);
  return data;
}

gpointer g_async_queue_timeout_pop(GAsyncQueue* queue, guint64 timeout) {
  REAL(g_async_queue_timeout_pop);
  gpointer data = real(queue, timeout);
  __tsan_acquire(queue);
  return data;
}

gboolean g_once_init_enter(volatile void* location) {
  REAL(g_once_init_enter);
  const gboolean first = real(location);
  if (!first) __tsan_acquire(const_cast<void*>(location));
  return first;
}

void g_once_init_leave(volatile void* location, gsize result) {
  REAL(g_once_init_leave);
  __tsan_release(const_cast<void*>(location));
  real(location, result);
}

void gst_mini_object_unref(GstMiniObject* object) {
  REAL(gst_mini_object_unref);
  __tsan_release(object);
  __tsan_acquire(object);
  real(object);
}

void g_object_unref(gpointer object) {
  REAL(g_object_unref);
  __tsan_release(object);
  __tsan_acquire(object);
  real(object);
}

void gst_object_unref(gpointer object) {
  REAL(gst_object_unref);
  __tsan_release(object);
  __tsan_acquire(object);
  real(object);
}

void gst_atomic_queue_push(GstAtomicQueue* queue, gpointer data) {
  REAL(gst_atomic_queue_push);
  __tsan_release(queue);
  real(queue, data);
}

gpointer gst_atomic_queue_pop(GstAtomicQueue* queue) {
  REAL(gst_atomic_queue_pop);
  gpointer data = real(queue);
  __tsan_acquire(queue);
  return data;
}

gboolean gst_element_post_message(GstElement* element, GstMessage* message) {
  REAL(gst_element_post_message);
  __tsan_release(message);
  return real(element, message);
}

GstMessage* gst_bus_timed_pop_filtered(GstBus* bus, GstClockTime timeout, GstMessageType types) {
  REAL(gst_bus_timed_pop_filtered);
  GstMessage* message = real(bus, timeout, types);
  if (message) __tsan_acquire(message);
  return message;
}

}  // extern "C"
