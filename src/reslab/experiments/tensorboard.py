"""The logs once more as TensorBoard event files, one a sitting, where TensorBoard is installed.

Each begins by telling readers to forget what came after the step it goes on from, so curves stay whole across resumes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reslab.errors import UserError


class Board:
    """Event files in a folder; without TensorBoard's package, nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            from tensorboard.compat.proto import event_pb2, summary_pb2
            from tensorboard.summary.writer.record_writer import RecordWriter
        except ImportError:
            self.events = None
            return
        self.events, self.summaries, self.writer = event_pb2, summary_pb2, RecordWriter

    def begin(self, step: int) -> None:
        """Start this sitting's file, numbered so that readers take the sittings in order; it goes on after `step`."""
        self.path = self.folder / f"events.out.tfevents.{len(list(self.folder.glob('*'))):06d}"
        if self.events is not None:
            self._write(file_version="brain.Event:2")
            restart = self.events.SessionLog(status=self.events.SessionLog.START)
            self._write(step=step + 1, session_log=restart)

    def add(self, group: str, entry: Mapping[str, float]) -> None:
        """Write a log's entry: each value under its name, at the entry's step."""
        if self.events is not None:
            values = [
                self.summaries.Summary.Value(tag=f"{group}/{name}", simple_value=value)
                for name, value in entry.items()
                if name != "step"
            ]
            self._write(step=int(entry["step"]), summary=self.summaries.Summary(value=values))

    def _write(self, **fields: Any) -> None:
        """Append one event; the file is open no longer than that."""
        assert self.events is not None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                self.writer(file).write(self.events.Event(wall_time=time.time(), **fields).SerializeToString())
        except OSError as error:
            raise UserError(f"cannot write {self.path}: {error.strerror}; free some space and run again") from error
