# Reads C++ as awk programs need it: comments are left out, and adjacent literals are one.
#   scan(path)   makes of a file Count tokens: Token[i], and Kind[i], which is "w" for a word or number, "s" for the text of a literal, "p" for any
#                other character. Lines of the preprocessor are left out.
#   behind(i)    the number of the token that closes the bracket at token i

function scan(path,  line, close_raw, in_comment, at) {
  Count = 0;
  close_raw = ""; in_comment = 0;
  while ((getline line < path) > 0) {
    if (close_raw == "" && !in_comment && line ~ /^[ \t]*#/) continue;
    line = line "\n";
    while (line != "") {
      if (close_raw != "") {
        at = index(line, close_raw);
        if (!at) { Token[Count] = Token[Count] line; break }
        Token[Count] = Token[Count] substr(line, 1, at - 1);
        line = substr(line, at + length(close_raw)); close_raw = "";
      } else if (in_comment) {
        at = index(line, "*/");
        if (!at) break;
        line = substr(line, at + 2); in_comment = 0;
      } else if (match(line, /^[ \t\n]+/)) line = substr(line, RLENGTH + 1);
      else if (line ~ /^\/\//) break;
      else if (line ~ /^\/\*/) { line = substr(line, 3); in_comment = 1 }
      else if (match(line, /^R"[^(]*\(/)) {
        close_raw = ")" substr(line, 3, RLENGTH - 3) "\"";
        note("s", ""); line = substr(line, RLENGTH + 1);
      } else if (match(line, /^"([^"\\]|\\.)*"/)) { note("s", unescaped(substr(line, 2, RLENGTH - 2))); line = substr(line, RLENGTH + 1) }
      else if (match(line, /^[A-Za-z0-9_]+('[0-9]+)*/)) { note("w", substr(line, 1, RLENGTH)); line = substr(line, RLENGTH + 1) }
      else if (match(line, /^'([^'\\]|\\.)+'/)) { note("p", substr(line, 1, RLENGTH)); line = substr(line, RLENGTH + 1) }
      else { note("p", substr(line, 1, 1)); line = substr(line, 2) }
    }
  }
  close(path);
}

function note(kind, text) {
  if (kind == "s" && Count && Kind[Count] == "s") Token[Count] = Token[Count] text;
  else { Token[++Count] = text; Kind[Count] = kind }
}

function unescaped(text) {
  gsub(/\\n/, " ", text); gsub(/\\"/, "\"", text); gsub(/\\\\/, "\\", text);
  return text;
}

function behind(i,  depth) {
  for (depth = 0; i <= Count; ++i) {
    if (Kind[i] != "p") continue;
    if (index("([{", Token[i])) ++depth;
    else if (index(")]}", Token[i]) && --depth == 0) return i;
  }
  return Count;
}

# What a header declares for users, as lines "kind|scope|name|detail|header":
#   type       scope: the outer class or the namespace; detail: its bases
#   enum       the same, without detail
#   alias      the same; detail: the last name of what it stands for
#   function   scope: the namespace within sinter; detail: what it returns. Constants are functions too
#   method, field, enumerator   scope: the class or the enum
#   uses       a declaration of this name mentions the type `detail`
function members(path) { scan(path); Path = path; At = 1; in_scope("", "", 1) }

function in_scope(space, owner, visible,  i, k, name, first, last, bases, inner) {
  while (At <= Count && Token[At] != "}") {
    if (Token[At] == ";") { ++At; continue }
    if (Token[At] ~ /^(public|private|protected)$/ && Token[At + 1] == ":") { visible = Token[At] == "public"; At += 2; continue }
    if (Token[At] == "template") { ++At; skip_angles(); continue }
    if (Token[At] == "requires") { ++At; while (Token[At] == "(" || Token[At] == "{") At = behind(At) + 1; continue }
    if (Token[At] == "concept") { while (At <= Count && Token[At] != ";") ++At; continue }
    if (Token[At] == "namespace") {
      for (inner = ""; Token[At] != "{"; ++At) inner = Token[At];
      if (inner == "detail") { At = behind(At) + 1; continue }
      last = behind(At); ++At;
      in_scope(inner == "sinter" || inner == "namespace" ? space : inner, "", 1);
      At = last + 1;
      continue;
    }
    first = At;
    if (Token[At] ~ /^(class|struct|enum)$/) {
      for (i = At; i <= Count && Token[i] != "{" && Token[i] != ";"; ++i) ;
      if (Token[i] != "{") { At = i + 1; continue }
      if (Token[At] == "enum") { if (visible) enumeration(owner != "" ? owner : space, i); At = behind(i) + 1; continue }
      name = Token[At + 1]; bases = "";
      for (k = At + 2; k < i; ++k) if (Kind[k] == "w" && Token[k] !~ /^(public|private|protected|virtual|final)$/) bases = bases " " Token[k];
      if (visible) print "type|" (owner != "" ? owner : space) "|" name "|" bases "|" Path;
      last = behind(i); At = i + 1;
      in_scope(space, name, visible && Token[first] == "struct");
      At = last + 1;
      continue;
    }
    if (Token[At] == "using" && Token[At + 2] == "=") { alias(owner != "" ? owner : space, visible); continue }
    declaration(space, owner, visible);
  }
}

# `enum class Name : type { first, second = 2 }`, whose bracket is at token `open`.
function enumeration(scope, open,  k, name, last) {
  name = Token[At + (Token[At + 1] ~ /^(class|struct)$/ ? 2 : 1)];
  print "enum|" scope "|" name "||" Path;
  last = behind(open);
  for (k = open + 1; k < last; ++k) {
    print "enumerator|" name "|" Token[k] "||" Path;
    while (k < last && Token[k] != ",") { if (Kind[k] == "p" && index("([{", Token[k])) k = behind(k); ++k }
  }
}

# `using Name = other::Type;`
function alias(scope, visible,  name, depth, last) {
  name = Token[At + 1];
  for (At += 3; At <= Count && Token[At] != ";"; ++At) {
    if (Kind[At] == "p" && index("([{", Token[At])) { At = behind(At); continue }
    if (Token[At] == "<") ++depth;
    else if (Token[At] == ">") --depth;
    else if (!depth && Kind[At] == "w") last = Token[At];
  }
  if (visible) print "alias|" scope "|" name "|" last "|" Path;
}

function skip_angles(  depth) {
  depth = 0;
  do {
    if (Token[At] == "<") ++depth;
    else if (Token[At] == ">" && Token[At - 1] != "-") --depth;
    else if (Token[At] == "(") At = behind(At);
    ++At;
  } while (depth > 0 && At <= Count);
}

# One declaration of a function or of variables, printed if users see it.
function declaration(space, owner, visible,  first, last, k, open, name, hidden, angles, assigned) {
  first = At; open = 0; hidden = 0; assigned = 0; angles = 0;
  for (k = At; k <= Count && Token[k] != ";"; ++k) {
    if (Token[k] ~ /^(override|final|delete|using|friend|static_assert|typedef|operator)$/) hidden = 1;
    if (Token[k] == "=") assigned = 1;
    if (!open && !assigned) { if (Token[k] == "<") ++angles; else if (Token[k] == ">") --angles }
    if (Token[k] == "(") { if (!open && !assigned && !angles && Token[k - 1] != "decltype") open = k; k = behind(k) }
    else if (Token[k] == "{") {
      k = behind(k);
      if (open && !assigned && Token[k + 1] !~ /^[,{]$/) break;  # the body, not a member of a constructor's list
    }
  }
  last = k; At = k + 1;
  if (hidden || !visible) return;
  if (open) {
    name = Token[open - 1];
    if (name == owner || Token[open - 2] == "~") mentions(owner, first, last);
    else declared(owner == "" ? "function" : "method", owner == "" ? space : owner, name, first, open - 2, last);
    return;
  }
  # `double beta1 = 0.9, beta2 = 0.999;`
  name = 0;
  for (k = first; k <= last; ++k) {
    if (Token[k] == "<") ++angles;
    else if (Token[k] == ">") --angles;
    else if (Kind[k] == "p" && index("([{", Token[k])) k = behind(k);
    else if (angles) continue;
    else if (Token[k] ~ /^[,;=]$/) {
      if (name && !open) open = name;  # the first name: what stands before it is the type of all
      if (name) declared(owner == "" ? "function" : "field", owner == "" ? space : owner, Token[name], first, open - 1, last);
      name = 0;
      if (Token[k] == "=") while (k < last && Token[k + 1] !~ /^[,;]$/) { ++k; if (Kind[k] == "p" && index("([{", Token[k])) k = behind(k) }
    } else if (Kind[k] == "w") name = k;
  }
}

function declared(kind, scope, name, first, before, last,  k, detail) {
  for (k = first; k <= before; ++k) if (Token[k] !~ /^(const|static|virtual|extern|inline|explicit|constexpr|&)$/) detail = detail Token[k];
  print kind "|" scope "|" name "|" detail "|" Path;
  mentions(name, first, last);
}

function mentions(name, first, last,  k) {
  for (k = first; k <= last; ++k)
    if (Kind[k] == "w" && Token[k] ~ /^[A-Z][A-Za-z0-9]*$/ && Token[k] != name) print "uses||" name "|" Token[k] "|" Path;
}

# The texts that a source file gives its errors, as lines "file|text": the literals of each `UserError(…)`, and in rooms that read what users give also
# those of `fail(…)` and `refuse(…)`, with … for what is put in between.
function messages(path,  i, k, end, where, text, count) {
  scan(path);
  for (i = 1; i < Count; ++i) {
    if (Kind[i] != "w" || Token[i + 1] != "(") continue;
    if (Token[i] !~ /^(UserError|NodeError)$/ && !(Token[i] ~ /^(fail|refuse)$/ && path !~ /^(codegen|passes)\//)) continue;
    end = behind(i + 1); where = ""; text = ""; count = 0; k = i + 2;
    if (Token[i] ~ /Error$/ && Kind[k] == "s" && Token[k + 1] == ",") { where = "[" Token[k] "] "; k += 2 }
    if (where != "" && !(Kind[k] == "s" || Token[k] == "str" && Kind[k + 2] == "s")) where = where "…";
    for (; k < end; ++k) if (Kind[k] == "s") text = text (count++ ? "…" : where) Token[k];
    sub(/^ +/, "", text); sub(/ +$/, "", text);
    if (count) print path "|" text;
  }
}
