// A header of the consumer's own that happens to have the path of one of Sinter's.
#pragma once

inline constexpr float consumer_offset = 2;
