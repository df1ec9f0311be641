# What the sources declare, for the scripts that hold other places to it (source this file from the root of the repository).

cpp_awk=$PWD/scripts/cpp.awk

# members HEADERS...: "kind|scope|name|detail|header" for what they declare for users; scripts/cpp.awk says what that is.
members() { printf '%s\n' "$@" | awk -f "$cpp_awk" -f <(echo 'BEGIN { while ((getline path < "-") > 0) members(path) }'); }

# messages FILES...: "file|text" for each error text of a user's mistakes.
messages() { printf '%s\n' "$@" | awk -f "$cpp_awk" -f <(echo 'BEGIN { while ((getline path < "-") > 0) messages(path) }'); }

# public: the headers that users include, and what these include from their own folders, but for what is the front end's own.
public() {
  local header
  find sinter -name '*.h' ! -name sinter.h  # optional ones
  for header in $(sed -n 's/^#include "\(frontend\/[^"]*\)"/\1/p' sinter/sinter.h); do
    echo "$header"
    sed -n "s|^#include \"\(${header%/*}/[^\"]*\)\"|\1|p" "$header"
  done | grep -vE '/(record|settings)\.h$' | sort -u
}

# structs ROOT: "struct NAME of HEADER" for what users may write as {.member = …}: what the public headers of layers, optimizers, training, steps and
# weights below a folder declare with members that are public, and without a base.
structs() {
  (
    cd "$1"
    mapfile -t headers < <(public | grep -E '^frontend/((nn|optim|train)/|(checkpoint/options|compile/(run|step)|core/image|weights/state_dict)\.h$)')
    members "${headers[@]}" | awk -F'|' '
      $1 == "type" { known[$3] = 1 }
      $1 == "type" && $4 == "" && !($2 in known) { header[$3] = $5; order[++types] = $3 }
      $1 == "field" { has_fields[$2] = 1 }
      END { for (i = 1; i <= types; ++i) if (order[i] in has_fields) print "struct " order[i] " of " header[order[i]] }'
  )
}

# sections ROOT: "section|name|header" for what the headers below a folder declare, by the sections of docs/reference.md.
sections() {
  (
    cd "$1"
    # The names of the ops: those of the structs in the list of ir/ops.h.
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
          if (type != "") print "Ops|" (type in name ? name[type] : "?" type) "|" (type in name ? file[type] : FILENAME);
        }
        if (last) inside = 0;
      }' ir/ops/*.h ir/ops.h
    members frontend/core/ops/*.h frontend/core/image.h frontend/nn/*.h frontend/optim/*.h frontend/train/metric.h frontend/train/curve.h frontend/train/callback.h \
      frontend/linalg/linalg.h sinter/eigen.h | awk -F'|' '
      function print_as(section) { print section "|" $3 "|" $5 }
      function is_a(type, base,  part, i, n) {
        n = split(bases[type], part, " ");
        for (i = 1; i <= n; ++i) if (part[i] == base || is_a(part[i], base)) return 1;
        return 0;
      }
      $1 == "type" { bases[$3] = $4; header[$3] = $5; order[++types] = $3 }
      $1 == "type" && $2 == "eigen" { print_as("Eigen") }
      $1 != "function" { next }
      $2 == "linalg" { print_as("Linear algebra") }
      $2 == "eigen" { print_as("Eigen") }
      $2 == "init" && $4 == "Initializer" { print_as("Initializers") }
      $2 == "schedule" && $4 == "Schedule" { print_as("Schedules") }
      $2 == "metric" && $4 == "Pointer" { print_as("Metrics") }
      $2 == "metric" && $4 != "Pointer" || $2 == "goal" { print_as("Curves and thresholds") }
      $2 == "loss" && $4 ~ /^(Loss|Tensor)$/ { print_as("Losses") }
      $5 ~ /^frontend\/(core\/(ops\/[a-z]+|image)|nn\/activation)\.h$/ && $4 ~ /^(Tensor|TopK|std::vector<Tensor>)$/ { print_as("Functions") }
      END {
        for (i = 1; i <= types; ++i) {
          if (is_a(order[i], "Module")) print "Layers|" order[i] "|" header[order[i]];
          if (is_a(order[i], "Optimizer")) print "Optimizers|" order[i] "|" header[order[i]];
          if (is_a(order[i], "Metric")) print "Metrics|" order[i] "|" header[order[i]];
          if (is_a(order[i], "Callback")) print "Callbacks|" order[i] "|" header[order[i]];
        }
      }'
  )
}
