"""Sealed files of tensors, wherever the tensors live."""

import hashlib
import json
import math
from pathlib import Path

import pytest
import torch

from reslab.errors import UserError
from reslab.runtime.sealed import bring_home, read_safetensors, read_sealed, unseal, write_sealed


def test_what_is_at_home_stays() -> None:
    """Tensors in the host's memory are not copied."""
    tensor = torch.arange(6.0)
    assert bring_home({"a": tensor})["a"].data_ptr() == tensor.data_ptr()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_views_of_device_memory_are_written_as_they_are(tmp_path: Path) -> None:
    """Views into shared memory, of any layout and type, read back as what they showed."""
    flat = torch.arange(48.0, device="cuda")
    tensors = {
        "first": flat[:8],
        "kernel": flat[8:32].as_strided((2, 3, 2, 2), (12, 1, 6, 3), 8),
        "count": torch.tensor(7, device="cuda"),
        "narrow": torch.arange(4, dtype=torch.bfloat16, device="cuda")[1:],
    }
    path = tmp_path / "tensors.safetensors"
    write_sealed(path, tensors, {"step": 1})
    read, about = read_sealed(path)
    assert about["step"] == 1
    assert all(torch.equal(read[name], tensor.cpu()) for name, tensor in tensors.items())


def test_numbers_that_are_not_finite_are_null_inside(tmp_path: Path) -> None:
    """What files say is JSON; those of early versions may have NaN inside, and are whole all the same."""
    path, tensors = tmp_path / "new.safetensors", {"a": torch.arange(3.0)}
    write_sealed(path, tensors, {"metrics": {"loss": math.nan, "error": torch.tensor(math.inf)}})
    read, metadata = read_safetensors(path)
    assert "NaN" not in metadata["reslab"] and "Infinity" not in metadata["reslab"]
    assert unseal(path, read, metadata)["metrics"] == {"loss": None, "error": None}
    digest = hashlib.sha256(b'{"loss":NaN}')
    digest.update(b"a torch.float32 (3,)\n" + tensors["a"].numpy().tobytes())
    old = {"reslab": json.dumps({"loss": math.nan, "digest": digest.hexdigest()})}
    assert math.isnan(unseal(path, tensors, old)["loss"])


def test_what_is_sealed_is_read_back(tmp_path: Path) -> None:
    """Tensors, what they are, and their digest; the same content is the same bytes."""
    paths = [tmp_path / name for name in ("one.safetensors", "two.safetensors")]
    for path, names in zip(paths, ("ab", "ba"), strict=True):
        write_sealed(path, {name: torch.arange(3.0) for name in names}, {"step": 2, "values": [1, None]})
    assert paths[0].read_bytes() == paths[1].read_bytes()
    tensors, about = read_sealed(paths[0])
    assert sorted(tensors) == ["a", "b"]
    assert (about.pop("step"), about.pop("values"), list(about)) == (2, [1, None], ["digest"])


def test_what_was_damaged_is_told(tmp_path: Path) -> None:
    """Cut short, it cannot be read; changed, it does not match; what is not sealed is no sealed file."""
    path = tmp_path / "a.safetensors"
    write_sealed(path, {"a": torch.arange(3.0)}, {"step": 2})
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(UserError, match=r"a\.safetensors is damaged or truncated \(.*\); fetch or write it again"):
        read_safetensors(path)
    path.write_bytes(whole[:-1] + b"\0")
    with pytest.raises(UserError, match="is damaged: its content does not match its digest; fetch or write it again"):
        read_sealed(path)
    assert list(read_safetensors(path)[0]) == ["a"]
    with pytest.raises(UserError, match=r"is damaged or truncated"):
        read_sealed(tmp_path / "gone.safetensors")
