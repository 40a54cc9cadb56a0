"""The link checker finds what is broken, and nothing else."""

from pathlib import Path

from website.check_links import broken_links

GOOD = (
    '<h1 id="top">A</h1><a href="b.html#part">b</a> <a href="https://example.org/">elsewhere</a> <a href="#top">up</a>'
)
BAD = """
<p id="part">B</p> <a href="no.html">x</a> <a href="index.html#no">x</a> <img src="no.png">
<script src="https://cdn.example.org/x.js"></script> <link rel="stylesheet" href="//fonts.example.org/a.css">
<img src="data:image/png;base64,AAAA"> <a href="sub/">folder</a>
"""


def test_good_pages_have_no_broken_links(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(GOOD)
    (tmp_path / "b.html").write_text('<p id="part">B</p>')
    assert broken_links(tmp_path) == []


def test_every_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(GOOD)
    (tmp_path / "b.html").write_text(BAD)
    (tmp_path / "sub").mkdir()
    assert broken_links(tmp_path) == [
        "b.html: loads //fonts.example.org/a.css",
        "b.html: loads https://cdn.example.org/x.js",
        "b.html: no such anchor: index.html#no",
        "b.html: no such file: no.html",
        "b.html: no such file: no.png",
        "b.html: no such file: sub/",
    ]


def test_a_site_without_pages_is_broken(tmp_path: Path) -> None:
    assert len(broken_links(tmp_path)) == 1
