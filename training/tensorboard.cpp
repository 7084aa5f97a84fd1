#include "training/tensorboard.h"

#include <array>
#include <bit>
#include <chrono>
#include <fstream>

#include "core/error.h"

namespace zoo {

namespace {

// Protocol buffers' wire format: a key (field number and wire type), then the value.
enum WireType : uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

template <class T>
void put_fixed(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_key(std::string& out, uint64_t field, WireType type) {
  put_varint(out, field << 3 | type);
}

void put_bytes(std::string& out, uint64_t field, std::string_view bytes) {
  put_key(out, field, kBytes);
  put_varint(out, bytes.size());
  out += bytes;
}

// Fields of Event: wall_time 1, step 2, file_version 3, summary 5, session_log 7.
std::string event_at(int64_t step) {
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::string event;
  put_key(event, 1, kFixed64);
  put_fixed(event, std::bit_cast<uint64_t>(now));
  put_key(event, 2, kVarint);
  put_varint(event, static_cast<uint64_t>(step));
  return event;
}

/// The checksum that TFRecord stores: rotated and shifted, since checksums of checksums are weak.
uint32_t masked_crc(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8u; }

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      table[i] = i;
      for (int bit = 0; bit < 8; ++bit)
        table[i] = table[i] >> 1 ^ ((table[i] & 1) != 0 ? 0x82f63b78u : 0u);
    }
    return table;
  }();
  uint32_t crc = ~uint32_t{0};
  for (const char byte : bytes)
    crc = crc >> 8 ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

TensorboardWriter::TensorboardWriter(const fs::path& folder, int64_t first_step) {
  require_writable_folder(folder);
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  file_ = folder / cat("events.out.tfevents.", now, ".zoo.", first_step);
  std::string version = event_at(first_step);
  put_bytes(version, 3, "brain.Event:2");
  write_event(std::move(version));
  if (first_step == 0) return;
  std::string restart = event_at(first_step + 1);
  put_bytes(restart, 7, std::string{'\x08', '\x01'});  // SessionLog: status = START
  write_event(std::move(restart));
}

void TensorboardWriter::scalars(int64_t step,
                                const std::vector<std::pair<std::string, double>>& values) {
  std::string summary;
  for (const auto& [tag, value] : values) {
    std::string entry;  // Summary.Value: tag 1, simple_value 2
    put_bytes(entry, 1, tag);
    put_key(entry, 2, kFixed32);
    put_fixed(entry, std::bit_cast<uint32_t>(static_cast<float>(value)));
    put_bytes(summary, 1, entry);
  }
  std::string event = event_at(step);
  put_bytes(event, 5, summary);
  write_event(std::move(event));
}

void TensorboardWriter::write_event(std::string event) {
  std::string length, frame;
  put_fixed(length, uint64_t{event.size()});
  frame = length;
  put_fixed(frame, masked_crc(length));
  frame += event;
  put_fixed(frame, masked_crc(event));
  std::ofstream out(file_, std::ios::app | std::ios::binary);
  out.write(frame.data(), static_cast<std::streamsize>(frame.size()));
  out.close();
  if (!out) throw DataError(utf8(file_) + ": cannot be written; is the disk full?");
}

}  // namespace zoo
