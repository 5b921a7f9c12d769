// Stands for our plugin, by its file name, on the call stack of the trace's test.
extern "C" __attribute__((visibility("default"))) void call_from_plugin(void (*what)(void*),
                                                                        void* data) {
  what(data);
  asm volatile("");  // a call, not a jump
}
