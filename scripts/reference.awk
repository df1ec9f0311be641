# The judge of scripts/check-reference. Reads, as `which` says, the paths of the public headers, what members() and ops() print, and the page.

function complain(text) { print page text; bad = 1 }
function keep(text) { if (updated != "") printf "%s", text > updated }

which == "headers" { headers[++header_count] = $0; next }
which == "things" && $1 == "uses" { next }
which == "things" {
  if (($1, $2, $3, $5) in known) next;
  known[$1, $2, $3, $5] = 1;
  ++things; kind[things] = $1; scope[things] = $2; name[things] = $3; file[things] = $5;
  if ($1 == "type" || $1 == "enum") { is_type[$3, $5] = 1; outer[$3, $5] = $2 }
  if ($1 == "field") has_fields[$2, $5] = 1;
  next;
}

# ---- the page ----
in_block && $0 == "```" { in_block = 0; compare(block); next }
in_block { block = block $0 "\n"; next }
marker != "" && $0 == "```cpp" { in_block = 1; block = ""; next }
marker != "" { compare("") }
{ keep($0 "\n") }
/^```/ { other_block = !other_block }
other_block { next }
/^<!-- (struct|enum class) [A-Za-z0-9_]+ of [^ ]+ -->$/ { marker = substr($0, 6, length($0) - 9); at = FNR; next }
/^<!-- headers .* -->$/ {
  n = split(substr($0, 14, length($0) - 17), path, " ");
  for (i = 1; i <= n; ++i) assign(path[i]);
  next;
}
/^## / { sections[++section] = substr($0, 4) }
/^#/ { heading_count = names_in($0, heading) }
!/^\|/ { head_count = 0; in_table = 0 }
/^\|/ && !in_table { in_table = 1; head_count = names_in($0, head_names) }
{
  n = names_in($0, here);
  for (i = 1; i <= n; ++i) {
    named[section, here[i]] = 1;
    for (k = 1; k <= n; ++k) beside[section, here[k], here[i]] = 1;
    for (k = 1; k <= heading_count; ++k) beside[section, heading[k], here[i]] = 1;
    for (k = 1; k <= head_count; ++k) beside[section, head_names[k], here[i]] = 1;
  }
}

# The names with which quoted code begins: `f(x)` f, `Encoder::fit(table)` Encoder and fit, `clip.value` clip and value.
function names_in(line, list,  n, i, part, code, count) {
  n = split(line, part, "`");
  for (i = 2; i <= n; i += 2)
    for (code = part[i]; match(code, /^[A-Za-z_][A-Za-z0-9_]*/); sub(/^(::|\.)/, "", code)) {
      list[++count] = substr(code, 1, RLENGTH);
      code = substr(code, RLENGTH + 1);
      if (code !~ /^(::|\.)/) break;
    }
  return count;
}

# The present section is about the headers of this path, in which * stands for any name.
function assign(path,  i, pattern, any) {
  pattern = path; gsub(/\./, "\\.", pattern); gsub(/\*/, "[^/]*", pattern); pattern = "^" pattern "$";
  for (i = 1; i <= header_count; ++i) if (headers[i] ~ pattern) any = has(headers[i]);
  for (i = 1; i <= things; ++i) if (kind[i] == "op" && file[i] ~ pattern) any = has(file[i]);
  if (!any) complain(":" FNR ": there is no public header " path);
}
function has(path) {
  if (!((path, section) in is_about)) { is_about[path, section] = 1; about[path] = about[path] " " section }
  return 1;
}

# The declaration in a header that begins with these words, with the comment above it; "" if there is none.
function declaration(head, path,  line, comment, text, complete) {
  while ((getline line < path) > 0) {
    if (text == "") {
      if (index(line, head " ") != 1) { comment = line ~ /^\/\/\// ? comment line "\n" : ""; continue }
      text = comment; complete = line ~ /};$/;
    }
    text = text line "\n";
    if (complete || line ~ /^};/) { close(path); return text }
  }
  close(path);
  return "";
}

# The block after a marker has ended; it had this text.
function compare(block,  head, path, text, part) {
  head = path = marker; sub(/ of .*/, "", head); sub(/.* of /, "", path);
  text = declaration(head, path);
  if (text == "") complain(":" at ": " path " declares no " head);
  else if (updated == "" && text != block) complain(":" at ": the block is not the " marker "; scripts/check-reference --update makes it so");
  keep("```cpp\n" text "```\n");
  sub(/.* /, "", head); shown[head, path] = 1;
  marker = ""; ++blocks;
}

# Whether a block has this type, or one that it is declared in.
function is_shown(type, path) {
  if ((type, path) in shown) return 1;
  return ((type, path) in is_type) && ((outer[type, path], path) in is_type) && is_shown(outer[type, path], path);
}

# Whether a section of the header names it: as a member, beside its type.
function is_named(path, type, word,  n, i, part) {
  n = split(about[path], part, " ");
  for (i = 1; i <= n; ++i) if (type == "" ? ((part[i], word) in named) : ((part[i], type, word) in beside)) return 1;
  return 0;
}

function titles(path,  n, i, part, text) {
  n = split(about[path], part, " ");
  for (i = 1; i <= n; ++i) text = text (text == "" ? "" : ", ") sections[part[i]];
  return text;
}

function judge(i,  path, type, head) {
  path = file[i];
  if (name[i] ~ /^\?/) { complain(": " path " lists " substr(name[i], 2) ", but no header below it has such an op"); return }
  if (!(path in about)) { if (!missing[path]++) complain(": no section has <!-- headers " path " -->"); return }
  type = ((scope[i], path) in is_type) ? scope[i] : "";
  if (kind[i] == "enum" || kind[i] == "type" && name[i] ~ /Options$/ && ((name[i], path) in has_fields)) {
    if (is_shown(name[i], path)) return;
    head = (kind[i] == "enum" ? "enum class " : "struct ") name[i];
    complain(": nothing shows " head "; add <!-- " head " of " path " --> where it belongs, then scripts/check-reference --update");
    must_be_shown[name[i], path] = 1;
    return;
  }
  if (type != "" && (is_shown(type, path) || ((type, path) in must_be_shown))) return;
  if ((kind[i] == "type") && is_shown(name[i], path) || is_named(path, type, name[i])) return;
  complain(": section \"" titles(path) "\" does not name `" name[i] "` of " (type != "" ? "`" type "` of " : "") path);
}

END {
  if (in_block) complain(":" at ": the block does not end");
  else if (marker != "") compare("");
  if (updated != "") exit bad;
  for (i = 1; i <= things; ++i) judge(i);
  if (!bad) printf "check-reference: %s names all %d things, %d of them in blocks as they are declared\n", page, things, blocks;
  exit bad;
}
