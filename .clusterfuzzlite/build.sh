#!/bin/bash -eu
# Make .ci/fuzz.py a program of its own in $OUT, with its Python and all packages.
# Kernels are compiled without sanitizers here: `make sanitize` tests them.
unset CFLAGS CXXFLAGS
python3.12 -m venv "$WORK/venv"
export PIP_CONSTRAINT=.github/constraints.txt
"$WORK/venv/bin/python" -m pip install --quiet ".[fuzz]" pyinstaller==6.22.3
"$WORK/venv/bin/pyinstaller" --log-level WARN --onefile --name fuzz_readers.pkg --collect-all sktopic \
    --distpath "$OUT" --workpath "$WORK/build" --specpath "$WORK" .ci/fuzz.py
cat > "$OUT/fuzz_readers" <<'WRAPPER'
#!/bin/sh
# LLVMFuzzerTestOneInput: ClusterFuzzLite takes a program with this word for a target
exec "$(dirname "$0")/fuzz_readers.pkg" "$@"
WRAPPER
chmod +x "$OUT/fuzz_readers"
