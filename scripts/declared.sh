# What the sources declare, for the scripts that hold other places to it (source this file from the root of the repository).

cpp_awk=$PWD/scripts/cpp.awk

# members HEADERS...: "kind|scope|name|detail|header" for what they declare for users; scripts/cpp.awk says what that is.
members() { printf '%s\n' "$@" | awk -f "$cpp_awk" -f <(echo 'BEGIN { while ((getline path < "-") > 0) members(path) }'); }

# messages FILES...: "file|text" for each error text of a user's mistakes.
messages() { printf '%s\n' "$@" | awk -f "$cpp_awk" -f <(echo 'BEGIN { while ((getline path < "-") > 0) messages(path) }'); }
