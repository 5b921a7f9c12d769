"""This build, installed below a folder as a packager does it (DESTDIR), and the environment of a user of that."""
import os
import subprocess
import sysconfig

from programs import BUILD


class Installed:
    """Installs below a folder, which must be empty."""

    def __init__(self, folder):
        done = subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", folder],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert done.returncode == 0, f"meson install: {done.stdout}"
        plugins = list(folder.rglob("gstreamer-1.0/libgstcuface.so"))
        assert len(plugins) == 1, f"{len(plugins)} plugins are installed"
        self.plugin, self.lib = plugins[0], plugins[0].parents[1]
        multiarch = sysconfig.get_config_var("MULTIARCH") or ""
        self.prefix = self.lib.parents[1] if self.lib.name == multiarch else self.lib.parent

    def environment(self):
        """Variables for programs that use what was installed, and nothing of the build folder."""
        paths = {"PATH": self.prefix / "bin", "GST_PLUGIN_PATH": self.plugin.parent, "LD_LIBRARY_PATH": self.lib,
                 "GI_TYPELIB_PATH": self.lib / "girepository-1.0", "PKG_CONFIG_PATH": self.lib / "pkgconfig",
                 "GST_PRESET_PATH": self.prefix / "share/gstreamer-1.0/presets"}
        rest = {name: os.environ[name] for name in os.environ if name not in paths or name == "PATH"}
        rest.pop("CUFACE_BUILD_ROOT", None)
        rest["GST_REGISTRY"] = str(self.prefix / "registry.bin")
        rest |= {name: str(path) for name, path in paths.items()}
        rest["PATH"] += ":" + os.environ["PATH"]
        return rest
