"""Scans in C over real pages cut and scrambled, under the compiler's address and behaviour checks: no byte outside is touched."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

_MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include "SOURCE"
static uint64_t state = 88172645463325252ull;
static uint64_t next(uint64_t below) { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return state % below; }
CHECK
int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (!file) return 2;
        fseek(file, 0, SEEK_END);
        size_t size = (size_t)ftell(file);
        rewind(file);
        uint8_t *page = malloc(size + 1);
        if (fread(page, 1, size, file) != size) return 2;
        fclose(file);
        for (int turn = 0; turn < 60; turn++) {
            size_t length = turn ? next(size + 1) : size;
            if (turn > 30 && length > 400) length = next(400);
            size_t from = turn % EVERY ? 0 : next(size - length + 1);
            uint8_t *part = malloc(length ? length : 1);          /* exactly as long: one byte more is caught */
            memcpy(part, page + from, length);
            for (uint64_t n = turn > 5 && length ? next(20) : 0; n; n--) part[next(length)] = NOISE[next(sizeof NOISE - 1)];
            int wrong = check(part, length);
            if (wrong) return wrong;
            free(part);
        }
        free(page);
    }
    puts("sound");
    return 0;
}
"""


def hold(tmp_path: Path, source: Path, check: str, noise: str, files: Iterable[Path], *, every: int) -> None:
    """`check` is the text of `static int check(uint8_t *part, size_t length)`, 0 for a sound answer; it has `next(below)` for
    random numbers. One part in `every` begins anywhere in its page, the others at its start; `noise` (a C string) is what some
    bytes are overwritten with."""
    if not (compiler := shutil.which("cc")):
        pytest.skip("no C compiler")
    text = _MAIN.replace("SOURCE", str(source)).replace("CHECK", check).replace("NOISE", noise)
    (tmp_path / "checker.c").write_text(text.replace("EVERY", str(every)))
    flags = ["-std=c11", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    subprocess.run([compiler, *flags, str(tmp_path / "checker.c"), "-o", str(tmp_path / "checker")], check=True)
    done = subprocess.run([str(tmp_path / "checker"), *map(str, files)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "sound\n"), done.stderr[-2000:]
