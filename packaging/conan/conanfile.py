# SPDX-License-Identifier: Apache-2.0
"""Recipe for Conan 2, in a checkout or an unpacked release: conan create packaging/conan"""
import os
import re

from conan import ConanFile
from conan.tools.files import copy, load
from conan.tools.layout import basic_layout
from conan.tools.meson import Meson, MesonToolchain

ROOT = os.path.join("..", "..")


class Ppsched(ConanFile):
    name = "ppsched"
    license = "Apache-2.0"
    description = "Pipeline-parallel schedules as data: generate, check, evaluate, export"
    topics = ("pipeline-parallelism", "scheduling", "distributed-training")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    languages = "C"

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, ROOT, "include", "ppsched", "version.h"))
        self.version = ".".join(re.search(rf"PPSCHED_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH"))

    def export_sources(self):
        root = os.path.join(self.recipe_folder, ROOT)
        for pattern in ("LICENSE", "meson.build", "meson_options.txt", "include/*", "lib/*", "bindings/meson.build", "bindings/cpp/*",
                        "bindings/cmake/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def layout(self):
        basic_layout(self, src_folder=".")

    def build_requirements(self):
        self.tool_requires("meson/[>=1.0]")

    def generate(self):
        toolchain = MesonToolchain(self)
        toolchain.project_options.update({"tests": False, "python": False})
        toolchain.generate()

    def build(self):
        meson = Meson(self)
        meson.configure()
        meson.build()

    def package(self):
        Meson(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.libs = ["ppsched"]
        self.cpp_info.set_property("cmake_target_name", "ppsched::ppsched")
        self.cpp_info.set_property("pkg_config_name", "ppsched")
