"""Sets from labelled pictures: rows that can be used are, the others are named with their line and the reason."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from judges.labelled import read_set
from runner.calibrate.judge_set.errors import BadLabels, SetExists
from runner.calibrate.judge_set.folder import set_from_folder

HEADER = "picture,before,stage,label,kind,gripper_value,labelled_by,blind,id\n"


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    (folder / "more").mkdir(parents=True)
    for number, name in enumerate(("a.jpg", "b.png", "more/c.jpg")):
        picture = np.random.default_rng(number).integers(0, 255, (120, 160, 3), dtype=np.uint8)
        assert cv2.imwrite(str(folder / name), picture)
    (folder / "broken.jpg").write_bytes(b"no picture")
    return folder


def write(photos, text: str) -> None:
    (photos / "labels.csv").write_text(text, encoding="utf-8")


def test_rows_become_items_with_copies_of_their_pictures(tmp_path, photos, read_grip):
    write(
        photos,
        HEADER + "a.jpg,b.png,place,yes,clean,100,Maya,yes,first\n" + "more/c.jpg,,Pick,NO,,20,,,\n",
    )
    made, left_out = set_from_folder(tmp_path / "set", photos, read=read_grip)
    assert left_out == []
    one, two = read_set(tmp_path / "set").content.items
    assert (one.id, one.stage, one.label, one.kind, one.labelled_by, one.blind) == (
        "first",
        "place",
        "yes",
        "clean",
        "Maya",
        True,
    )
    assert one.grip.holding is False
    assert (two.stage, two.label, two.kind, two.before, two.blind) == ("pick", "no", "unknown", None, None)
    assert two.grip.reason == "the jaws have closed on nothing"
    assert (made.folder / one.after).read_bytes() == (photos / "a.jpg").read_bytes()
    assert (made.folder / one.before).read_bytes() == (photos / "b.png").read_bytes()


def test_rows_that_cannot_be_used_are_left_out_and_named(tmp_path, photos, read_grip):
    rows = (
        "a.jpg,,place,yes,,,,,same",
        "a.jpg,,place,unsure,,,,,",
        "a.jpg,,drop,yes,,,,,",
        "gone.jpg,,place,yes,,,,,",
        "broken.jpg,,place,yes,,,,,",
        "../labels.jpg,,place,yes,,,,,",
        ",,place,yes,,,,,",
        "a.jpg,,place,no,,wide,,,",
        "a.jpg,,place,no,,nan,,,",
        "a.jpg,,place,no,,,,perhaps,",
        "b.png,,place,no,,,,,same",
        "b.png,,place,no,,,,,x,y,z",
        "b.png,gone.png,place,no,,,,,",
    )
    write(photos, HEADER + "\n".join(rows) + "\n")
    made, left_out = set_from_folder(tmp_path / "set", photos, read=read_grip)
    assert [item.id for item in made.content.items] == ["same"]
    whys = (
        "line 3: label is yes or no, not 'unsure'",
        "line 4: stage is pick or place, not 'drop'",
        "line 5: gone.jpg: ",
        "line 6: broken.jpg: ",
        "line 7: ../labels.jpg lies outside the folder of pictures",
        "line 8: no picture is named",
        "line 9: gripper_value is a number from 0 to 100, not 'wide'",
        "line 10: gripper_value is a number from 0 to 100, not 'nan'",
        "line 11: blind is yes or no, not 'perhaps'",
        "line 12: the id 'same' stands there twice",
        "line 13: no picture is named, or there are more values than columns",
        "line 14: gone.png: ",
    )
    assert len(left_out) == len(whys)
    for told, why in zip(left_out, whys, strict=True):
        assert told.startswith(why)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("picture,stage\na.jpg,place\n", "its header lacks label"),
        ("picture,stage,label,verdict\n", "its header has 'verdict', which no set holds"),
        ("", "its header lacks picture, stage, label"),
        ("picture,stage,label\n", "no row can be used"),
        ("picture,stage,label\na.jpg,place,maybe\n", "no row can be used; line 2: label is yes or no"),
    ],
)
def test_a_list_of_which_nothing_can_be_used_is_refused(tmp_path, photos, read_grip, text, why):
    write(photos, text)
    with pytest.raises(BadLabels, match=why):
        set_from_folder(tmp_path / "set", photos, read=read_grip)
    assert not (tmp_path / "set").exists()


def test_no_list_and_a_list_in_another_encoding_are_refused(tmp_path, photos, read_grip):
    with pytest.raises(BadLabels, match="there is no such file"):
        set_from_folder(tmp_path / "set", photos, read=read_grip)
    (photos / "labels.csv").write_bytes("picture,stage,label\nä.jpg,place,yes\n".encode("utf-16"))
    with pytest.raises(BadLabels, match="can't be read"):
        set_from_folder(tmp_path / "set", photos, read=read_grip)


def test_a_spreadsheets_byte_order_mark_does_no_harm(tmp_path, photos, read_grip):
    (photos / "labels.csv").write_text("Picture, Stage ,LABEL\na.jpg, place , yes \n", encoding="utf-8-sig")
    made, left_out = set_from_folder(tmp_path / "set", photos, read=read_grip)
    assert (len(made.content.items), left_out) == (1, [])


def test_a_set_is_never_written_over(tmp_path, photos, read_grip):
    write(photos, "picture,stage,label\na.jpg,place,yes\n")
    with pytest.raises(SetExists):
        set_from_folder(photos, photos, read=read_grip)
