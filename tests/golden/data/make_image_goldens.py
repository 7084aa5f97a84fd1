"""Makes images/* and images.json: pictures in many forms, what Pillow reads in them, and what it makes
of them by resizing; and red.png and blue.png, for tests that need a picture.

    python make_image_goldens.py        Pillow 12.3.0 (13.0.0 gives the same), numpy 2; seed 7
"""
import io
import json
import os

import numpy
from PIL import Image, ImageOps

HERE = os.path.dirname(os.path.abspath(__file__))
random = numpy.random.default_rng(7)


def smooth(height, width):
    """A picture without sharp edges, as JPEG likes it: (height, width, 3) bytes."""
    y, x = numpy.mgrid[0:height, 0:width]
    planes = [127 + 100 * numpy.sin(x / 5 + k) * numpy.cos(y / 7 - k) for k in range(3)]
    return numpy.stack(planes, -1).round().astype(numpy.uint8)


def values(image):
    return numpy.asarray(image).flatten().tolist()


def main():
    files, entries = {}, {}

    def add(name, image, expected=None, **options):
        buffer = io.BytesIO()
        image.save(buffer, format="JPEG" if name.endswith("jpg") else "PNG", **options)
        files[name] = buffer.getvalue()
        if expected is None:
            expected = ImageOps.exif_transpose(Image.open(io.BytesIO(files[name]))).convert("RGB")
        entries[name] = {"height": expected.height, "width": expected.width, "pixels": values(expected)}

    colours = Image.fromarray(random.integers(0, 256, (5, 7, 3), dtype=numpy.uint8))
    add("rgb.png", colours)
    add("grey.png", Image.fromarray(numpy.array([[0, 128], [255, 64]], numpy.uint8)))
    add("grey_alpha.png", Image.merge("LA", (colours.convert("L"), colours.getchannel(0))))
    rgba = numpy.array([[[10, 20, 30, 0], [200, 100, 50, 128]]], numpy.uint8)
    add("rgba.png", Image.fromarray(rgba))
    add("palette.png", colours.quantize(8))
    add("palette_transparent.png", colours.quantize(8), transparency=3)
    add("bits.png", colours.convert("1"))
    wide = random.integers(0, 65536, (3, 4)).astype(numpy.uint16)
    # Pillow cuts 16-bit greys off at 255; what is meant is their share of 65535.
    rounded = ((wide.astype(numpy.int64) * 255 + 32895) >> 16).astype(numpy.uint8)
    add("grey16.png", Image.fromarray(wide), Image.fromarray(rounded).convert("RGB"))
    photo = Image.fromarray(smooth(24, 35))
    add("rgb.jpg", photo, quality=92)
    add("progressive.jpg", photo, quality=80, progressive=True, subsampling=0)
    add("grey.jpg", photo.convert("L"), quality=92)
    add("cmyk.jpg", photo.convert("CMYK"), quality=95)
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        add(f"turned{orientation}.png", colours, exif=exif)
    exif[0x0112] = 6
    add("turned6.jpg", photo, exif=exif, quality=92)

    source = Image.fromarray(random.integers(0, 256, (9, 7, 3), dtype=numpy.uint8))
    filters = {"nearest": Image.Resampling.NEAREST, "bilinear": Image.Resampling.BILINEAR,
               "bicubic": Image.Resampling.BICUBIC, "lanczos": Image.Resampling.LANCZOS}
    resized = [{"interpolation": name, "height": height, "width": width,
                "pixels": values(source.resize((width, height), kind))}
               for name, kind in filters.items()
               for height, width in ((4, 3), (9, 5), (12, 15), (1, 1), (20, 2))]
    luminance = {"rgb": values(source), "grey": values(source.convert("L"))}

    for name, colour in (("red", (220, 30, 30)), ("blue", (20, 40, 230))):
        Image.new("RGB", (8, 8), colour).save(os.path.join(HERE, name + ".png"))

    folder = os.path.join(HERE, "images")
    os.makedirs(folder, exist_ok=True)
    for name, content in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    with open(os.path.join(HERE, "images.json"), "w") as file:
        json.dump({"files": entries, "source": {"height": 9, "width": 7, "pixels": values(source)},
                   "resized": resized, "luminance": luminance}, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
