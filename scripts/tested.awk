# The judge of scripts/check-tested. Reads, as `which` says, what members(), flags() and messages() print; `tests` is a file with the paths of the tests,
# `list` the one with what no test can reach. Needs scripts/cpp.awk.

# ---- what is to be named ----
which == "members" && $1 == "uses" { carry($4, $3); next }
which == "members" && $1 == "type" {
  is_type[$3] = 1; types[++type_count] = $3; bases[$3] = $4;
  carry($3, $3);
  if ($2 ~ /^[A-Z]/) carry($3, $2);
  next;
}
which == "members" && $1 == "enum" { next }
which == "members" && $1 == "alias" { stands_for[$3] = $4; next }
which == "members" && $1 == "enumerator" { want($2 "::" $3); next }
which == "members" {
  if ($1 == "function") { want(($2 == "" ? "" : $2 "::") $3); next }
  owners[$3] = owners[$3] " " $2;
  if ($1 == "method") has_methods[$2] = 1;
  else part_types[$2] = part_types[$2] " " $4;
  want($2 "." $3);
  next;
}
which == "flags" { want($1 == "flag" ? $2 : "command " $2); next }
which == "messages" { file = $1; sub(/^[^|]*\|/, ""); if (!($0 in source)) { source[$0] = file; texts[++text_count] = $0 } }

function want(thing) { if (!(thing in wanted)) { wanted[thing] = 1; things[++thing_count] = thing } }
# A test that has `word` may mean the members of `type`.
function carry(type, word) { if (!((type, word) in carried)) { carried[type, word] = 1; carriers[type] = carriers[type] " " word } }
# A class stands for those that it derives from.
function stand_for_bases(type, word,  part, i, n) {
  n = split(bases[type], part, " ");
  for (i = 1; i <= n; ++i) if (part[i] != word) { is_base[part[i]] = 1; carry(part[i], word); stand_for_bases(part[i], word) }
}
# Options are structs of that name, and structs without methods within these.
function find_options(  round, i, k, n, part) {
  for (i = 1; i <= type_count; ++i) if (types[i] ~ /Options$/) is_option[types[i]] = 1;
  for (round = 1; round <= 2; ++round)
    for (i = 1; i <= type_count; ++i) {
      if (!(types[i] in is_option)) continue;
      n = split(part_types[types[i]], part, " ");
      for (k = 1; k <= n; ++k) if ((part[k] in is_type) && !(part[k] in has_methods)) is_option[part[k]] = 1;
    }
}

# ---- what tests name ----
function read_test(path,  i, line) {
  if (path ~ /\.(cpp|h)$/) {
    scan(path);
    name_in_code();
    for (i = 1; i <= Count; ++i) if (Kind[i] == "s") said = said Token[i] "\n";
    return;
  }
  while ((getline line < path) > 0) {
    if (line ~ /^[ \t]*#/) continue;
    gsub(/\\/, "", line); said = said line "\n";
  }
  close(path);
}

function name_in_code(  i, k, n, part) {
  split("", here);
  split("", spaces); space_count = 0;
  for (i = 1; i <= Count; ++i) {
    if (Kind[i] == "w") here[Token[i]] = 1;
    if (Token[i] == "namespace") {
      for (k = i + 1; k < Count && Token[k] ~ /^[A-Za-z_0-9:]+$/; ++k) if (Kind[k] == "w") spaces[++space_count] = Token[k];
    }
  }
  for (i = 1; i <= Count; ++i) {
    if (Kind[i] != "w") continue;
    if (Token[i] in is_type) named["class " Token[i]] = 1;
    if (Token[i - 1] == ":" && Kind[i - 3] == "w") {
      named[Token[i - 3] "::" Token[i]] = 1;
      if (Token[i - 3] in stands_for) named[stands_for[Token[i - 3]] "::" Token[i]] = 1;
    }
    else if (Token[i + 1] == "(" && Token[i - 1] != ".") {
      named[Token[i]] = 1;
      for (k = 1; k <= space_count; ++k) named[spaces[k] "::" Token[i]] = 1;
      if ((Token[i] in owners) && is_overridden(i)) { n = split(owners[Token[i]], part, " "); for (k = 1; k <= n; ++k) named[part[k] "." Token[i]] = 1 }
    }
    if (Token[i - 1] !~ /^[.>:]$/ || !(Token[i] in owners)) continue;
    n = split(owners[Token[i]], part, " ");
    for (k = 1; k <= n; ++k) if (!((part[k] "." Token[i]) in named) && is_meant(part[k], i)) named[part[k] "." Token[i]] = 1;
  }
}

# Whether a test declares what stands at token i, to override it.
function is_overridden(i,  k) {
  k = behind(i + 1) + 1;
  if (Token[k] == "const") ++k;
  return Token[k] == "override" || Token[k] == "final";
}

# Whether the member at token i may be one of `type`.
function is_meant(type, i,  j, w, n, word) {
  n = split(carriers[type], word, " ");
  for (j = 1; j <= n; ++j) {
    if (!(word[j] in here)) continue;
    if (!(type in is_option)) return 1;
    for (w = i - 1; w > 0 && w > i - 150; --w) if (Token[w] == word[j]) return 1;
  }
  return 0;
}

# The runs of three words of a piece of an error's text, or all that it has, in run[].
function runs(piece,  i, n, word) {
  n = split(piece, word, " ");
  if (n < 3) { sub(/^ +/, "", piece); sub(/ +$/, "", piece); run[1] = piece; return length(piece) > 7 && piece !~ /^\[[^ ]*\]$/ }
  for (i = 1; i + 2 <= n; ++i) { run[i] = word[i] " " word[i + 1] " " word[i + 2]; sub(/[;:,.?()]+$/, "", run[i]) }
  return n - 2;
}

function count_runs(text,  p, i, n, m, piece, mine) {
  n = split(text, piece, "…");
  for (p = 1; p <= n; ++p) { m = runs(piece[p]); for (i = 1; i <= m; ++i) if (!mine[run[i]]++) ++texts_with[run[i]] }
}

# Whether tests say a run of the text that no other text has; where it has none, its longest piece.
function is_said(text,  p, i, n, m, piece, has_own, longest) {
  n = split(text, piece, "…");
  for (p = 1; p <= n; ++p) {
    if (length(piece[p]) > length(longest)) longest = piece[p];
    m = runs(piece[p]);
    for (i = 1; i <= m; ++i) if (texts_with[run[i]] == 1) { has_own = 1; if (index(said, run[i])) return 1 }
  }
  sub(/^ +/, "", longest); sub(/ +$/, "", longest);
  return !has_own && index(said, longest) > 0;
}

function complain(text) { print text; bad = 1 }

function judge(thing, is_named) {
  ++judged;
  if (!is_named && !(thing in excused)) complain("no test names " thing);
  if (is_named && (thing in excused)) complain(list ": a test names this, take it out: " thing);
  exists[thing] = 1;
}

END {
  for (i = 1; i <= type_count; ++i) stand_for_bases(types[i], types[i]);
  find_options();
  while ((getline line < list) > 0) {
    if (line ~ /^#/ || line == "") continue;
    at = index(line, "  # ");
    if (!at) { complain(list ": no reason: " line); continue }
    excused[substr(line, 1, at - 1)] = 1; ++excuses;
  }
  while ((getline path < tests) > 0) read_test(path);
  for (i = 1; i <= thing_count; ++i) {
    thing = things[i]; name = thing; sub(/^command /, "", name);
    judge(thing, thing == name && thing !~ /^--/ ? (thing in named) : said ~ ("(^|[^-A-Za-z0-9_])" name "([^-A-Za-z0-9_]|$)"));
  }
  for (i = 1; i <= type_count; ++i) if (bases[types[i]] != "" && !(types[i] in is_base)) judge("class " types[i], ("class " types[i]) in named);
  for (i = 1; i <= text_count; ++i) count_runs(texts[i]);
  for (i = 1; i <= text_count; ++i) judge(source[texts[i]] ": " texts[i], is_said(texts[i]));
  for (thing in excused) if (!(thing in exists)) complain(list ": there is no such thing, take it out: " thing);
  if (!bad) printf "check-tested: tests name %d of %d things, %d of them texts of errors; %s excuses the rest\n", judged - excuses, judged, text_count, list;
  exit bad;
}
