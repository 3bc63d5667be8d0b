"""Our parameter names, parsed."""

from __future__ import annotations

from reslab.networks import build
from reslab.networks.weights.places import Place, parse_place
from reslab.spec import find


def test_places_count_as_the_paper_does() -> None:
    """Stages from conv2, blocks and layers from one."""
    assert parse_place("blocks.conv4_6.layers.2.norm.running_var") == Place(
        part="layer", operator="norm", leaf="running_var", stage=4, block=6, layer=3
    )
    assert parse_place("blocks.conv3_1.shortcut.conv.weight") == Place(
        part="projection", operator="conv", leaf="weight", stage=3, block=1
    )
    assert parse_place("stem.conv.bias") == Place(part="stem", operator="conv", leaf="bias")


def test_every_tensor_of_the_papers_networks_has_a_place() -> None:
    """And each its own."""
    for name in ("resnet-50", "plain-34", "resnet-56", "resnet-34-v1.5"):
        places = [parse_place(key) for key in build(find(name), device="meta").state_dict()]
        assert None not in places
        assert len(set(places)) == len(places)


def test_what_others_do_not_have_has_none() -> None:
    """Gates and excitations."""
    assert parse_place("blocks.conv2_1.gate.conv.weight") is None
    assert parse_place("blocks.conv2_1.excitation.scale.0.weight") is None
