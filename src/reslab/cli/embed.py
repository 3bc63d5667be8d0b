"""`reslab embed RUN|WEIGHTS-FILE|NAME FOLDER|DATASET|IMAGE... [weights=FILE] [--layer NAME] --out FILE.safetensors`."""

from pathlib import Path

from reslab.cli.terminal.show import SPEAKING, print_heading, progress_console, say
from reslab.cli.words.subjects import RunsFolder, SubjectWord, runs_root
from reslab.cli.words.trained import ImageWord, image_bar, note_bad, read_image_words
from reslab.errors import UserError
from reslab.files import is_folder, list_folder, refuse_closed_place
from reslab.numbers import count
from reslab.spec import name_of
from reslab.spec.words import preprocess_fields


def embed(subject: SubjectWord, *words: ImageWord, out: Path, layer: str = "pooled", runs: RunsFolder = None) -> None:
    """Write the features of images at any layer to a file.

        reslab embed resnet-20 photos/ weights=cifar10 --out features.safetensors

    The feature map is averaged, so each image is one row of numbers.

    Parameters
    ----------
    words
        A folder with one subfolder per class (labels are written too), or images and folders of images. '-' reads paths
        from standard input. Then fields: weights=FILE|cifar10|imagenet, preprocess.FIELD=value, and
        data.on_bad_image=skip to skip images that cannot be read.
    out
        The safetensors file to write.
    layer
        A layer or stage: conv1, conv3_x, conv4_2, pooled, logits.
    """
    paths, fields = read_image_words("embed", words, ("weights", "data.on_bad_image"))
    if out.suffix != ".safetensors":
        raise UserError(f"--out is {out}; name a file that ends in .safetensors")
    if not paths:
        raise UserError("embed needs images; give a folder, files, or - for a list on standard input")
    refuse_closed_place(out)
    with progress_console.status("loading") as status, note_bad(fields) as on_bad:
        from reslab.data.catalogue import open_data
        from reslab.delivery.embedding import write_embedding
        from reslab.delivery.pictures import find_images, label_pictures, read_images
        from reslab.experiments.probe import open_extractor
        from reslab.experiments.subjects import load_trained, refuse_overwriting
        from reslab.runtime.execution import choose_device

        labelled = len(paths) == 1 and _has_classes(Path(paths[0]))
        images = [] if labelled else find_images(paths, on_bad=on_bad)
        trained = load_trained(subject, fields, runs_root(runs))
        refuse_overwriting(out, subject, fields, trained.run)
        device = choose_device()
        extractor = open_extractor(trained, preprocess_fields(fields), device=device)
        if labelled:
            data = label_pictures(open_data(paths[0], known=trained.data, listener=SPEAKING), on_bad=on_bad)
            pictures, class_names = [data.train, data.test], data.class_names
            total = sum(map(len, pictures))
        else:
            pictures, class_names, total = [read_images(images, on_bad=on_bad)], None, len(images)
        status.stop()
        with image_bar("embedding", total) as listener:
            stream = (picture for part in pictures for picture in part)
            (embedding,) = extractor.embed(stream, [layer], class_names=class_names, listener=listener)
    about = {
        "subject": trained.origin,
        "network": name_of(trained.network.spec),
        "preprocess": extractor.intake.preprocess.describe(),
    }
    write_embedding(embedding, out, about=about)
    print_heading(trained.origin, f"{about['network']}, {about['preprocess']}")
    rows, channels = embedding.features.shape
    labels = f", with labels of {len(class_names)} classes" if class_names else ""
    say(f"wrote {out}: {count(rows)} images x {count(channels)} features of {layer}{labels}")


def _has_classes(folder: Path) -> bool:
    """Whether a folder is a dataset: train inside, two folders or more, a class each, or shards.

    Images with several labels each are images like any others.
    """
    from reslab.data.photos.label_list import find_list
    from reslab.data.photos.shards import has_shards

    if not is_folder(folder) or find_list(folder):
        return False
    inside = [path for path in list_folder(folder) if path.is_dir() and not path.name.startswith(".")]
    return len(inside) >= 2 or (folder / "train").is_dir() or has_shards(folder)
