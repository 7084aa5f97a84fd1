#pragma once
// What the machine is and what this process takes of it.

#include <cstdint>
#include <string>
#include <string_view>

namespace zoo {

/// The value of the first line "key : value" of a file of /proc, "" if there is none.
std::string proc_value(const char* file, std::string_view key);

/// The processor's name, "" where the system does not tell (as on some Arm machines).
std::string processor_name();

/// The most memory this process has held at once, in bytes; 0 where the system does not tell.
int64_t peak_memory_bytes();

/// Gives free memory back to the system and forgets the peak so far, so that peak_memory_bytes()
/// tells of what comes next. @return the bytes held now; 0 where the system does not tell
int64_t reset_peak_memory();
/// What the system could still give to processes, in bytes; 0 where it does not tell.
int64_t free_memory_bytes();

/// Lets this process keep the memory of freed tensors for the next ones, where the C library gives
/// it back to the system again and again and pays for cleared pages each time. For a program, at
/// its start; does nothing without glibc.
void keep_freed_memory();

}  // namespace zoo
