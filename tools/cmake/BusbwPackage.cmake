# The .deb: `cpack -G DEB` in a build tree. Its Depends are the runtime packages of
# tools/packages.txt;
# a test compares them with the libraries that the program really needs.
file(STRINGS ${PROJECT_SOURCE_DIR}/tools/packages.txt lines REGEX "^runtime ")
set(depends "")
foreach(line ${lines})
  string(REGEX REPLACE "^runtime +([^ ]+).*$" "\\1" package "${line}")
  list(APPEND depends ${package})
endforeach()
list(JOIN depends ", " CPACK_DEBIAN_PACKAGE_DEPENDS)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/tools/packages.txt)

set(CPACK_PACKAGE_NAME busbw)
set(CPACK_PACKAGE_VENDOR "busbw")
set(CPACK_PACKAGE_CONTACT "the busbw developers <busbw@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
include(CPack)
