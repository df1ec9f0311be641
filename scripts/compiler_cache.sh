# Sourced by the scripts that build. ${launcher[@]}: what cmake needs to compile through ccache, where that is installed. The settings stand here, since a
# user's own would not do: with a base_dir, the precompiled header of one checkout is given to another, and names the files of the first.
launcher=()
if command -v ccache >/dev/null; then
  launcher=("-DCMAKE_CXX_COMPILER_LAUNCHER=env;CCACHE_SLOPPINESS=pch_defines,time_macros;CCACHE_BASEDIR=;ccache")
fi
