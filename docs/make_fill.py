"""Makes the pictures and the figures of `docs/fill.md`: the field's way from one arc, then a whole fill of a new cell.

Run it with the venv's Python from the checkout; it works in a scratch cell and rewrites the page between its marks.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from runner.config import Config
from runner.table.approach_arc import FIELD_PLACE_DEG
from runner.table.cell_tables import open_tables
from runner.table.density import density_map
from runner.table.fill.cell_files import fill_cell, swept_approach
from runner.table.fill.sequence import Filled, fill
from runner.table.holes import Asked, find_holes
from runner.table.postures import arm_of
from runner.table.reach_maps import PLACE_TABLE, draw_density, draw_holes, draw_reach_map, reach_map
from runner.table.region import Ground
from runner.table.square_maps import to_png

DOCS = Path(__file__).parent
BEGIN, END = "<!-- made by docs/make_fill.py -->\n", "<!-- end -->\n"


def main() -> None:
    config = Config()
    arm, base = arm_of(config)
    ground = Ground.of(config)
    with tempfile.TemporaryDirectory() as scratch:
        tables = open_tables(Path(scratch), config)
        arc = fill(tables.reach, swept_approach(config, "place", FIELD_PLACE_DEG), arm, base, config, ground)
        filled = fill_cell(Path(scratch), config, ground)
        after = open_tables(Path(scratch), config)
    named = [("one arc, before", arc.before), ("one arc, scanned", arc.scanned), ("filled", filled.after)]
    (DOCS / "fill-holes.png").write_bytes(to_png(draw_holes(named)))
    over = Ground.of(config, region=PLACE_TABLE)
    asked = Asked.of(after.reach, arm, config)
    found = reach_map(asked, find_holes(asked, after.approach_place, over), arm, base)
    (DOCS / "fill-map.png").write_bytes(to_png(draw_reach_map(found)))
    bands = {"pick": config.table.pick_band_y_m, "place": config.table.place_band_y_m}
    maps = [
        (f"{phase} band, {when}", density_map(table, band))
        for phase, band in bands.items()
        for when, table in (("before", tables.reach), ("after", filled.table))
    ]
    (DOCS / "fill-density.png").write_bytes(to_png(draw_density(maps)))
    page = (DOCS / "fill.md").read_text(encoding="utf-8")
    start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    (DOCS / "fill.md").write_text(page[:start] + figures(arc, filled) + page[end:], encoding="utf-8")


def figures(arc: Filled, filled: Filled) -> str:
    """The page's tables and the sentence that counts."""
    lines: list[str] = []
    for title, one in (("From one arc, as the field", arc), ("From the cell's own approach grid", filled)):
        lines += [f"| {title} | " + " | ".join(one.after.counts()) + " | rows |", "| --- " * 7 + "|"]
        for stage in one.stages:
            lines.append(f"| {stage.name} | " + " | ".join(map(str, stage.counts.values())) + f" | {stage.rows:,} |")
        lines.append("")
    told = arc.as_dict()
    seeds, searched = arc.seeds.as_dict(), filled.proofs.searched
    assert searched.covered_from_m is not None
    sizes = ", ".join(str(len(c.squares)) for c in arc.clusters)
    by_covering = len(filled.proofs.squares) - searched.by_lengths
    lines += [
        f"From one arc {seeds['with_seed']} of the {seeds['holes']} squares that are not dense have a seed, the",
        f"largest joint difference {seeds['smallest_difference_deg']:.2f}° to",
        f"{seeds['largest_difference_deg']:.2f}°; they fall",
        f"into {len(arc.clusters)} clusters ({sizes} members, at most "
        f"{max(c.diameter_deg for c in arc.clusters):.1f}° across). Scanning round them filled",
        f"{told['filled_by_scanning']} squares; {told['filled_by_direct_solution']} more needed an approach pose of",
        f"their own. Of the rest {searched.by_lengths} are proved by the lengths of the links, {by_covering} by",
        f"covering the joint space in {searched.covering_pieces:,} pieces: no pose in the band lies beyond",
        f"{searched.covered_from_m * 1000:.1f} mm from the base axis.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
