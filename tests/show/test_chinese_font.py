"""The font that charts write Chinese in: a regular face, simplified where there is one, without a warning."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTCollection, TTFont
from matplotlib import font_manager

from ascend_workbook.show import charts, chinese_font
from tests.show.test_view import sample

LETTERS = [*map(ord, "算子 模拟")]


@pytest.fixture(autouse=True)
def fonts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for fonts that is all this machine has."""
    plain = [entry for entry in font_manager.fontManager.ttflist if entry.name == "DejaVu Sans"]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", plain)
    monkeypatch.setattr(chinese_font, "FOLDERS", (str(tmp_path),))
    font_manager.fontManager._findfont_cached.cache_clear()
    chinese_font.find_cjk_font.cache_clear()
    yield tmp_path
    font_manager.fontManager._findfont_cached.cache_clear()
    chinese_font.find_cjk_font.cache_clear()


def make_face(family: str, weight: int) -> TTFont:
    """A font whose every letter is a square."""
    builder = FontBuilder(1000, isTTF=True)
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for corner in ((0, 800), (800, 800), (800, 0)):
        pen.lineTo(corner)
    pen.closePath()
    builder.setupGlyphOrder([".notdef", "square"])
    builder.setupCharacterMap(dict.fromkeys(LETTERS, "square"))
    builder.setupGlyf({".notdef": TTGlyphPen(None).glyph(), "square": pen.glyph()})
    builder.setupHorizontalMetrics(dict.fromkeys((".notdef", "square"), (1000, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    style = "Bold" if weight >= 700 else "Regular"
    builder.setupNameTable({"familyName": family, "styleName": style, "fullName": f"{family} {style}"})
    builder.setupOS2(usWeightClass=weight)
    builder.setupPost()
    return builder.font


def write_collection(path: Path, *faces: tuple[str, int]) -> None:
    collection = TTCollection()
    collection.fonts = [make_face(*face) for face in faces]
    collection.save(path)


def draw(caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder) -> list[str]:
    """What matplotlib has to say about a chart with Chinese on it."""
    with caplog.at_level(logging.WARNING, logger="matplotlib"):
        charts.draw_chart(sample("bars", "算子"), "zh").savefig("/dev/null", format="png")
    missing = [str(warning.message) for warning in recwarn if "算" in str(warning.message)]
    return [record.getMessage() for record in caplog.records] + missing


def chosen(family: str | None) -> tuple[str, int]:
    """The file and the face that matplotlib takes for a family."""
    path = font_manager.findfont(font_manager.FontProperties(family=family), fallback_to_default=False)
    return Path(path).name, getattr(path, "face_index", 0)


def test_the_regular_face_of_a_collection_is_taken(
    fonts: Path, caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    """As Debian's fonts-noto-cjk has them: the bold file first, Japanese before simplified Chinese."""
    for style, weight in (("Bold", 700), ("Regular", 400)):
        families = ("Noto Sans CJK JP", "Noto Sans CJK KR", "Noto Sans CJK SC", "Noto Sans Mono CJK SC")
        write_collection(fonts / f"NotoSansCJK-{style}.ttc", *((family, weight) for family in families))
    family = chinese_font.find_cjk_font()
    assert family == "Noto Sans CJK SC"
    if chinese_font.sees_all_faces():
        assert chosen(family) == ("NotoSansCJK-Regular.ttc", 2)
    assert draw(caplog, recwarn) == []


def test_an_older_matplotlib_gets_the_simplified_face_as_a_file_of_its_own(
    fonts: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    """It reads a collection's first face alone. The second time the file is there."""
    cache = fonts.parent / f"{fonts.name}-cache"
    cache.mkdir()
    monkeypatch.setattr("matplotlib.get_cachedir", lambda: str(cache))
    monkeypatch.setattr(chinese_font, "sees_all_faces", lambda: False)
    for style, weight in (("Bold", 700), ("Regular", 400)):
        families = ("Noto Sans CJK JP", "Noto Sans Mono CJK SC", "Noto Sans CJK SC")
        write_collection(fonts / f"NotoSansCJK-{style}.ttc", *((family, weight) for family in families))
    assert chinese_font.find_cjk_font() == "Noto Sans CJK SC"
    (made,) = cache.iterdir()
    assert TTFont(made)["name"].getDebugName(1) == "Noto Sans CJK SC" and chosen("Noto Sans CJK SC")[0] == made.name
    written = made.stat().st_mtime_ns
    assert chinese_font.extract_simplified(fonts / "NotoSansCJK-Regular.ttc") == made
    assert made.stat().st_mtime_ns == written and draw(caplog, recwarn) == []
    assert chinese_font.extract_simplified(fonts / "other.ttf") == fonts / "other.ttf"


REAL = sorted(Path("/usr/share/fonts").rglob("NotoSansCJK-Regular.ttc"))


@pytest.mark.skipif(not REAL, reason="fonts-noto-cjk is not installed")
def test_the_real_collections_regular_simplified_face_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chinese_font, "FOLDERS", (str(REAL[0].parent),))
    family = chinese_font.find_cjk_font()
    assert family == "Noto Sans CJK SC"
    assert chosen(family)[0] in ("NotoSansCJK-Regular.ttc", chinese_font.extract_simplified(REAL[0]).name)


JAPANESE = ("NotoSansCJKjp-Regular", "Noto Sans CJK JP", 400)
SIMPLIFIED = ("NotoSansSC-Regular", "Noto Sans SC", 400)
BOLD = ("NotoSansSC-Bold", "Noto Sans SC", 700)
KOREAN = ("SourceHanSansK-Regular", "Source Han Sans K", 400)
MEDIUM = ("wqy-zenhei", "WenQuanYi Zen Hei", 500)
HALF_WIDTH = ("SourceHanSansHWSC-Regular", "Source Han Sans HW SC", 400)
SOURCE = ("SourceHanSansSC-Regular", "Source Han Sans SC", 400)


@pytest.mark.parametrize(
    ("faces", "best"),
    [
        ((JAPANESE, SIMPLIFIED), SIMPLIFIED),
        ((BOLD, KOREAN), KOREAN),
        ((BOLD, MEDIUM), MEDIUM),
        ((JAPANESE, MEDIUM), MEDIUM),
        ((HALF_WIDTH, SOURCE), SOURCE),
        ((BOLD,), BOLD),
    ],
)
def test_the_nearest_to_regular_and_simplified_is_taken_without_a_warning(
    fonts: Path,
    faces: tuple[tuple[str, str, int], ...],
    best: tuple[str, str, int],
    caplog: pytest.LogCaptureFixture,
    recwarn: pytest.WarningsRecorder,
) -> None:
    """Even where a single bold file is all there is."""
    for name, family, weight in faces:
        make_face(family, weight).save(fonts / f"{name}.ttf")
    assert chinese_font.find_cjk_font() == best[1]
    assert draw(caplog, recwarn) == []


def test_without_such_a_font_charts_are_in_english(fonts: Path) -> None:
    make_face("Some Sans", 400).save(fonts / "SomeSans-Regular.ttf")
    assert chinese_font.find_cjk_font() is None
    report = sample("bars", "add")
    assert charts.draw_chart(report, "zh").axes[0].get_title() == charts.draw_chart(report, "en").axes[0].get_title()
