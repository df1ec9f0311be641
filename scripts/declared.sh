# What the sources declare, for the scripts that hold other places to it (source this file from the root of the repository).

cpp_awk=$PWD/scripts/cpp.awk

# members HEADERS...: "kind|scope|name|detail|header" for what they declare for users; scripts/cpp.awk says what that is.
members() { printf '%s\n' "$@" | awk -f "$cpp_awk" -f <(echo 'BEGIN { while ((getline path < "-") > 0) members(path) }'); }

# messages FILES...: "file|text" for each error text of a user's mistakes.
messages() { printf '%s\n' "$@" | awk -f "$cpp_awk" -f <(echo 'BEGIN { while ((getline path < "-") > 0) messages(path) }'); }

# public: the headers that users have by including those of sinter/: all that these include, but for what the parts of Sinter have among themselves.
public() {
  find sinter -name '*.h' | LC_ALL=C sort | awk '
    function add(path) { if (!(path in known) && path !~ internal) { known[path] = 1; list[++count] = path } }
    BEGIN {
      internal = "^(ir/(access|attributes|body|layout|object_store|op|ops|size_text|value)|ir/ops/.*|runtime/(buffer|view)|runtime/file/(event_file|object_cache)|frontend/core/record)\\.h$";
      while ((getline path < "-") > 0) add(path);
      for (i = 1; i <= count; ++i) {
        while ((getline line < list[i]) > 0)
          if (line ~ /^#include "/) { split(line, part, "\""); if ((getline first < part[2]) > 0) add(part[2]); close(part[2]) }
        close(list[i]);
        if (list[i] != "sinter/sinter.h") print list[i];
      }
    }' | LC_ALL=C sort
}

# ops: "op||name||header" for the ops: those of the structs in the list of ir/ops.h.
ops() {
  awk '
    FILENAME != "ir/ops.h" {
      if (match($0, /^struct [A-Za-z0-9]+/)) type = substr($0, 8, RLENGTH - 7);
      if (match($0, /string_view name = "[a-z0-9_]+"/)) { split($0, part, "\""); name[type] = part[2]; file[type] = FILENAME }
      next
    }
    /^using Op = / { inside = 1; sub(/^.*</, "") }
    inside {
      sub(/\/\/.*/, ""); last = /;/; gsub(/[>;,]/, " ");
      for (i = split($0, type_list, /[ \t]+/); i > 0; --i) {
        type = type_list[i];
        if (type != "") print "op||" (type in name ? name[type] : "?" type) "||" (type in name ? file[type] : FILENAME);
      }
      if (last) inside = 0;
    }' ir/ops/*.h ir/ops.h
}
