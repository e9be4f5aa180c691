"""Pictures as a model gets them: in order, cropped, fitted and encoded, with hashes of what was sent and from what.

Before comes first, the closer look at what decides comes last. Pictures only ever shrink, to a size that no model
shrinks further, so that the bytes hashed here are the pixels judged. Labels stay out: a model is told number and role.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, replace
from hashlib import sha256
from math import ceil, sqrt

import cv2
import numpy as np

from judges.protocol import Evidence, KeptPicture, LabelledPicture, Role
from runs.schema.verdict import SentImage
from vision.cameras.protocol import Picture
from vision.detect.block import find_block
from vision.detect.box import find_box

MEDIA_TYPE = "image/jpeg"
PATCH_PX = 28  # a picture costs one token a patch of this side: facts measured on two model generations
LONG_EDGE_PX = 1456  # 16:9 at this width is 1,560 patches
MAX_PATCHES = 1568  # what no model shrinks
JPEG_QUALITY = 90
CROP_MIN_PX = 336  # edges under 200 px hurt; a multiple of the patch
CROP_MARGIN = 2.0  # the crop's side, in sides of what decides
CROP_LARGEST = 0.6  # of the picture's height; a crop beyond that shows nothing closer


@dataclass(frozen=True, slots=True, eq=False)
class SentPicture:
    """A picture ready to be sent. `index` counts from 1; `crop_of` is the index of the picture that it is a part of."""

    index: int
    role: Role
    jpeg: bytes
    width_px: int
    height_px: int
    sha256_source: str
    crop_of: int | None = None
    crop_px: tuple[int, int, int, int] | None = None
    is_crop: bool = False

    @property
    def sha256_sent(self) -> str:
        """Hash of the bytes that are sent."""
        return sha256(self.jpeg).hexdigest()

    @property
    def base64(self) -> str:
        """The bytes as they stand in a request."""
        return b64encode(self.jpeg).decode("ascii")

    @property
    def tokens(self) -> int:
        """What it costs to look at, in input tokens."""
        return patches(self.width_px, self.height_px)

    def record(self, image: str | None) -> SentImage:
        """Its line in the audit; `image` is where the bytes are kept."""
        return SentImage(
            index=self.index,
            role=self.role,
            sha256_sent=self.sha256_sent,
            sha256_source=self.sha256_source,
            width_px=self.width_px,
            height_px=self.height_px,
            n_bytes=len(self.jpeg),
            crop_of=self.crop_of,
            crop_px=self.crop_px,
            image=image,
        )


_Made = tuple[LabelledPicture, LabelledPicture | None, tuple[int, int, int, int] | None]
"""A picture to be sent, and where it was cut out: of which, and left, top, width, height in px."""


def patches(width_px: int, height_px: int) -> int:
    """How many patches, and so tokens, a picture has."""
    return ceil(width_px / PATCH_PX) * ceil(height_px / PATCH_PX)


def fitted_size(width_px: int, height_px: int) -> tuple[int, int]:
    """The largest size of that shape that no model shrinks; never larger than it is."""
    scale = min(1.0, LONG_EDGE_PX / max(width_px, height_px))
    while True:
        fitted = max(1, round(width_px * scale)), max(1, round(height_px * scale))
        over = patches(*fitted) / MAX_PATCHES
        if over <= 1:
            return fitted
        scale *= min(0.995, sqrt(1 / over))


def prepare(evidence: Evidence, *, crops: bool) -> tuple[SentPicture, ...]:
    """The evidence's pictures in the order in which a model gets them, each encoded once.

    Args:
        crops: also cut a closer look out of the last pictures from before and after, where the decisive place is found
            and the evidence brings no closer look itself.
    """
    made: list[_Made] = [(picture, None, None) for picture in evidence.pictures]
    if crops and not any(p.crop for p in evidence.pictures):
        made += _closer_looks(evidence)
    made.sort(key=lambda item: _rank(item[0]))
    number = {id(item[0]): index for index, item in enumerate(made, start=1)}
    return tuple(
        _encoded(index, picture, None if whole is None else number[id(whole)], part, whole)
        for index, (picture, whole, part) in enumerate(made, start=1)
    )


def sent_again(kept: tuple[KeptPicture, ...]) -> tuple[SentPicture, ...]:
    """Pictures that were sent before, ready to be sent once more: the very same bytes in the same order."""
    return tuple(
        SentPicture(
            index=each.record.index,
            role=each.record.role,
            jpeg=each.jpeg,
            width_px=each.record.width_px,
            height_px=each.record.height_px,
            sha256_source=each.record.sha256_source,
            crop_of=each.record.crop_of,
            crop_px=each.record.crop_px,
            is_crop=each.record.crop_of is not None,
        )
        for each in kept
    )


def reordered(pictures: tuple[SentPicture, ...], repeat: int) -> tuple[SentPicture, ...]:
    """The same pictures in the order of the n-th ask, renumbered. Before stays ahead of after; 0 is the usual order.

    Every second ask shows the closer looks ahead of their whole pictures, so that another one is first and last.
    """
    if repeat % 2 == 0:
        return pictures
    order = sorted(pictures, key=lambda p: (_rank_of(p.role, crop=False), not p.is_crop, p.index))
    number = {picture.index: index for index, picture in enumerate(order, start=1)}
    return tuple(
        replace(picture, index=index, crop_of=None if picture.crop_of is None else number[picture.crop_of])
        for index, picture in enumerate(order, start=1)
    )


def _rank(picture: LabelledPicture) -> int:
    return _rank_of(picture.role, picture.crop)


def _rank_of(role: Role, crop: bool) -> int:
    return 2 * ("before", "during", "after").index(role) + crop


def _encoded(
    index: int,
    picture: LabelledPicture,
    crop_of: int | None,
    part: tuple[int, int, int, int] | None,
    whole: LabelledPicture | None,
) -> SentPicture:
    image = picture.image_bgr
    size = fitted_size(image.shape[1], image.shape[0])
    if size != (image.shape[1], image.shape[0]):
        image = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    options = [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY]
    options += [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444]  # a small block's colour edges
    done, jpeg = cv2.imencode(".jpg", image, options)
    assert done, "OpenCV encodes any picture of 8 bits"
    source = picture if whole is None else whole
    return SentPicture(
        index=index,
        role=picture.role,
        jpeg=jpeg.tobytes(),
        width_px=size[0],
        height_px=size[1],
        sha256_source=source.source_sha256 or source.sha256,
        crop_of=crop_of,
        crop_px=part,
        is_crop=picture.crop,
    )


def _closer_looks(evidence: Evidence) -> list[_Made]:
    """The same part of the last pictures from before and after, cut out of the originals; none where it isn't found."""
    before, after = evidence.last("before"), evidence.last("after")
    if after is None:
        return []
    centre, side_px = _decisive(evidence, before, after)
    if centre is None:
        return []
    high, wide = after.image_bgr.shape[:2]
    side = PATCH_PX * ceil(max(CROP_MIN_PX, CROP_MARGIN * side_px) / PATCH_PX)
    if side > min(CROP_LARGEST * high, wide):
        return []
    left = int(np.clip(round(centre[0] - side / 2), 0, wide - side))
    top = int(np.clip(round(centre[1] - side / 2), 0, high - side))
    looks: list[_Made] = []
    for whole in (before, after):
        if whole is not None and whole.image_bgr.shape == after.image_bgr.shape:
            part: Picture = np.ascontiguousarray(whole.image_bgr[top : top + side, left : left + side])
            looks.append((LabelledPicture("closer", whole.role, part, crop=True), whole, (left, top, side, side)))
    return looks


def _decisive(
    evidence: Evidence, before: LabelledPicture | None, after: LabelledPicture
) -> tuple[tuple[float, float] | None, float]:
    """Centre and side in px of what decides: the box for a place, the block's old place for a pick."""
    wholes = [p for p in (after, before) if p is not None]
    if evidence.stage == "place":
        boxes = [find_box(p.image_bgr, evidence.view, evidence.settings).best for p in wholes]
        box = next((b for b in boxes if b is not None), None)
        if box is None or not box.corners_px:
            return None, 0.0
        corners = np.asarray(box.corners_px)
        centre = corners.mean(axis=0)
        return (float(centre[0]), float(centre[1])), float(np.ptp(corners, axis=0).max())
    blocks = [find_block(p.image_bgr, evidence.view, evidence.settings).best for p in reversed(wholes)]
    block = next((b for b in blocks if b is not None), None)
    return (None, 0.0) if block is None else (block.centre_px, 4 * max(block.size_px))
