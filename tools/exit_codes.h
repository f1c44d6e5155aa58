// Exit codes of the program: part of its interface, documented in --help and in the README.
#pragma once

namespace busbw::tools {

constexpr int kExitDone = 0;     // did what was asked
constexpr int kExitFinding = 1;  // a bound was missed, or something was found
constexpr int kExitInput = 2;    // the user's file or command line is wrong
constexpr int kExitSystem = 3;   // the operating system, verbs or CUDA refused
constexpr int kExitBug = 70;     // a bug in busbw

}  // namespace busbw::tools
