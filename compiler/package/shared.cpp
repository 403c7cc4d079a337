// The shared libraries are made of archives; CMake wants a source of their own.
