// Mutations of .sinter files that get past checksums.
#pragma once

#include "fuzz/target.h"

namespace sinter::fuzz {

/// Target::mutate. Mostly changes what sections hold, knowing that they are Protobuf messages, names of ops, shapes and so on, and puts the file
/// together again with sizes and checksums right; sometimes changes header and table and mends the checksums; sometimes just bytes.
std::size_t mutate_container(std::uint8_t* data, std::size_t size, std::size_t most, std::uint32_t seed, ByteMutator bytes);

}  // namespace sinter::fuzz
