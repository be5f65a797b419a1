"""Views in an object store: whole or not at all."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from commands.stranger import FINISHED, USAGE, Prompt, sites
from store.conftest import Bucket


@pytest.fixture
def job(home: Prompt, serve: Any) -> Prompt:
    url = serve({"/": sites.page(["/a", "/b"], "start"), "/a": sites.page([], "a"), "/b": sites.page([], "b")}).url()
    assert home.crawl_here(url, "-o", "job").code == FINISHED
    return home


def test_a_file_is_one_object(bucket: Bucket, job: Prompt) -> None:
    assert job.here("export", "urls", "job", "--to", "urls.txt").code == FINISHED
    said = job.here("export", "urls", "job", "--to", bucket.address("views/urls.txt"))
    assert said.code == FINISHED, said.text
    assert bucket.objects() == {"views/urls.txt": (job.cwd / "urls.txt").read_bytes()}


def test_a_folder_is_complete_with_its_list(bucket: Bucket, job: Prompt) -> None:
    for _ in range(2):
        assert job.here("export", "csv", "job", "--to", bucket.address("views/csv")).code == FINISHED
        found = bucket.objects()
        told = json.loads(found.pop("views/csv/nephila-manifest.json"))
        assert {f"views/csv/{name}": [size, digest] for name, (size, digest) in told.items()} == {
            key: [len(data), hashlib.sha256(data).hexdigest()] for key, data in found.items()
        }
        assert len(found) == 5


def test_a_folder_that_fails_is_not_there(bucket: Bucket, job: Prompt) -> None:
    bucket.fault = lambda method, path: "500" if method == "PUT" and "/visit" in path else ""
    said = job.here("export", "csv", "job", "--to", bucket.address("views/csv"))
    assert (said.code, "the view is not there" in said.err) == (USAGE, True), said.text
    assert bucket.objects() == {}


@pytest.mark.parametrize("to", ["s3://", "s3://bucket"])
def test_an_address_without_a_name(bucket: Bucket, job: Prompt, to: str) -> None:
    assert job.here("export", "urls", "job", "--to", to).code == USAGE
