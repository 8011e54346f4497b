# An overlay port in a checkout or an unpacked release: vcpkg install ppsched --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_configure_meson(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -Dtests=false -Dpython=false)
vcpkg_install_meson()
vcpkg_fixup_pkgconfig()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/ppsched)
# CMake's file finds the library from the folder in which it is. The line above moved this folder one level up.
vcpkg_replace_string("${CURRENT_PACKAGES_DIR}/share/ppsched/ppsched-config.cmake" "/../../.." "/../..")
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
