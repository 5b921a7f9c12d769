// The energy that a GPU has taken, where its driver tells it: NVML, loaded when it is asked.
#pragma once

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <string>

namespace cuface::test {

class EnergyCounter {
 public:
  /// Of the current device.
  EnergyCounter() {
    library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!library_) {
      why_ = "there is no libnvidia-ml.so.1";
      return;
    }
    int (*init)() = nullptr;
    int (*handle)(const char*, void**) = nullptr;
    if (!find("nvmlInit_v2", init) || !find("nvmlShutdown", shut_down_) ||
        !find("nvmlDeviceGetHandleByPciBusId_v2", handle) ||
        !find("nvmlDeviceGetTotalEnergyConsumption", energy_))
      return;
    int device = 0;
    char bus[32] = "";
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetPCIBusId(bus, sizeof bus, device) != cudaSuccess) {
      why_ = "CUDA does not name its device";
      return;
    }
    if (!succeeds("nvmlInit", init())) return;
    is_up_ = true;
    if (!succeeds("nvmlDeviceGetHandleByPciBusId", handle(bus, &device_))) return;
    unsigned long long millijoules = 0;
    succeeds("nvmlDeviceGetTotalEnergyConsumption", energy_(device_, &millijoules));
  }
  ~EnergyCounter() {
    if (is_up_) shut_down_();
    if (library_) dlclose(library_);
  }
  EnergyCounter(const EnergyCounter&) = delete;
  EnergyCounter& operator=(const EnergyCounter&) = delete;

  /// Why joules() cannot be asked; empty where it can.
  const std::string& why() const { return why_; }
  /// Since the driver was loaded. It grows some ten times a second.
  double joules() const {
    unsigned long long millijoules = 0;
    energy_(device_, &millijoules);
    return 1e-3 * static_cast<double>(millijoules);
  }

 private:
  template <typename Function>
  bool find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (!function) why_ = std::string("libnvidia-ml.so.1 has no ") + name;
    return function;
  }
  bool succeeds(const char* what, int result) {
    if (result != 0) why_ = std::string(what) + " gives " + std::to_string(result);
    return result == 0;
  }

  std::string why_;
  void *library_ = nullptr, *device_ = nullptr;
  bool is_up_ = false;
  int (*shut_down_)() = nullptr;
  int (*energy_)(void*, unsigned long long*) = nullptr;
};

}  // namespace cuface::test
