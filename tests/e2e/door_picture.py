# SPDX-License-Identifier: Apache-2.0
"""One picture of known pixels: the bytes of a JPEG or PNG file, and what docs/data.md says that it becomes. Pillow is the
second opinion for what it reads; PNGs of other depths and interlaced ones are written here. For door_pictures.py."""

import io
import struct
import zlib

import numpy
from PIL import Image, ImageOps

TURNS = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.transpose(1, 0, 2),
    6: lambda a: numpy.rot90(a, -1),
    7: lambda a: a.transpose(1, 0, 2)[::-1, ::-1],
    8: lambda a: numpy.rot90(a, 1),
}
ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # by the number of components
GREY_KINDS = ("L", "1", "LA", "jpeg L", "bits")
COLOUR_KINDS = ("RGB", "RGBA", "P", "PA", "jpeg RGB", "jpeg CMYK", "tRNS", *GREY_KINDS)


class Picture:
    """data; colour, deep, orientation; grey or rgb 8-bit pixels, upright, that differ from the stored by `tolerance`."""

    deep, values, tolerance = False, None, 0

    def luma(self, rgb):
        return numpy.rint(rgb @ numpy.array([0.299, 0.587, 0.114])).astype(numpy.uint8)

    def pixels(self, channels, scale=None):
        """height x width x channels"""
        if scale:
            low, high = scale
            eight = numpy.floor((numpy.clip(self.values, low, high) - low) * 255 / (high - low) + 0.5)
        elif self.deep:
            eight = numpy.rint(self.values / 257)
        else:
            eight = self.eight
        eight = eight.astype(numpy.uint8)
        if channels == 3:
            return numpy.broadcast_to(eight, (*eight.shape[:2], 3))
        if eight.shape[2] == 1:
            return eight
        return self.grey[:, :, None] if self.grey is not None else self.luma(eight)[:, :, None]


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def packed(rows, bits):
    """Rows of height x width x components, each behind its filter byte."""
    out = b""
    for row in rows.reshape(rows.shape[0], -1):
        text = "".join(f"{value:0{bits}b}" for value in row.tolist())
        text += "0" * (-len(text) % 8)
        out += b"\0" + int(text, 2).to_bytes(len(text) // 8, "big")
    return out


def png(values, bits, interlaced, exif, transparent=None):
    height, width, components = values.shape
    head = struct.pack(">IIBBBBB", width, height, bits, COLOUR_TYPES[components], 0, 0, int(interlaced))
    passes = [values[y::down, x::across] for x, y, across, down in (ADAM7 if interlaced else ((0, 0, 1, 1),))]
    data = b"".join(packed(part, bits) for part in passes if part.size)
    blocks = [chunk(b"IHDR", head)]
    if exif:
        blocks.append(chunk(b"eXIf", exif))
    if transparent is not None:
        blocks.append(chunk(b"tRNS", struct.pack(f">{components}H", *transparent)))
    half = len(zlib.compress(data)) // 2
    blocks += [chunk(b"IDAT", zlib.compress(data)[:half]), chunk(b"IDAT", zlib.compress(data)[half:])]
    return b"\x89PNG\r\n\x1a\n" + b"".join(blocks) + chunk(b"IEND", b"")


def exif_of(orientation, order):
    """A TIFF block with one entry; None: no block."""
    if orientation is None:
        return None
    mark, sign = (b"II*\0", "<") if order == "little" else (b"MM\0*", ">")
    return mark + struct.pack(sign + "IHHHIHHI", 8, 1, 0x0112, 3, 1, orientation, 0, 0)


def on_black(values, most):
    """Components of which the last may be transparency, laid onto black: exactly, rounded."""
    if values.shape[2] % 2:
        return values
    colours, alpha = values[:, :, :-1].astype(numpy.int64), values[:, :, -1:].astype(numpy.int64)
    return (2 * colours * alpha + most) // (2 * most)


def drawn(rng, size, components, most, low=0):
    """Noise, or a smooth area: JPEG keeps the second better."""
    height, width = size
    if rng.random() < 0.3:
        return numpy.array(
            [[[rng.randint(low, most) for _ in range(components)] for _ in range(width)] for _ in range(height)]
        )
    steps = numpy.linspace(0, 1, height)[:, None, None] * rng.random() + numpy.linspace(0, 1, width)[None, :, None]
    return (low + (most - low) * (steps * [rng.random() / 2 for _ in range(components)])).astype(numpy.int64)


def own_png(rng, values, bits, orientation, transparent=None):
    """A PNG that Pillow cannot write: its pixels are known from `values`."""
    out, most = Picture(), 2**bits - 1
    exif = exif_of(orientation, rng.choice(["little", "big"]))
    out.data = png(values, bits, rng.random() < 0.4, exif, transparent)
    components = values.shape[2]
    if transparent is not None:
        hit = (values == transparent).all(axis=2, keepdims=True)
        values = numpy.where(hit, 0, values)
    out.kind = f"{bits} bits, {components} components, tRNS {transparent}"
    out.colour, out.deep, out.orientation = components > 2, bits == 16, orientation or 1
    turned = TURNS[out.orientation if 1 <= out.orientation <= 8 else 1](on_black(values, most))
    out.values = turned if out.deep else None
    out.eight = numpy.rint(turned * 255 / most)
    out.grey = None
    out.tolerance = 1 if components % 2 == 0 or components > 2 else 0  # 16 bits may lose alpha's rest, and luma rounds
    return out


def deep_picture(rng, size, orientation, limits, grey):
    low, high = limits
    components = rng.choice([1, 1, 2] if grey else [1, 1, 2, 3, 4])
    values = drawn(rng, size, components, high, low)
    transparent = None
    if components in (1, 3) and rng.random() < 0.2:
        transparent = values[rng.randrange(size[0]), rng.randrange(size[1])].tolist()
    elif components % 2 == 0:
        values[:, :, -1] = rng.choice([65535, 65535, 30000])
    return own_png(rng, values, 16, orientation, transparent)


def saved(rng, kind, values, exif):
    """Of 8 bits, by Pillow."""
    options, mode = {"format": "PNG"}, kind.split()[-1]
    if kind.startswith("jpeg"):
        options = {"format": "JPEG", "quality": rng.choice([60, 90, 100]), "progressive": rng.random() < 0.3}
        if mode == "RGB":
            options["subsampling"] = rng.choice([0, 1, 2])
    if mode in ("P", "PA"):
        image = Image.fromarray(values[:, :, 0] % 7, "P")
        image.putpalette([rng.randrange(256) for _ in range(21)])
        if mode == "PA":
            options["transparency"] = rng.choice([3, bytes(rng.randrange(256) for _ in range(7))])
    elif mode == "1":
        image = Image.fromarray((values[:, :, 0] > 60).astype(numpy.uint8) * 255, "L").convert("1")
    else:
        image = Image.fromarray(values[:, :, 0] if values.shape[2] == 1 else values, mode)
    if mode == "RGB" and kind == "tRNS":
        options["transparency"] = tuple(values[0, 0].tolist())
    if exif:
        options["exif"] = b"Exif\0\0" + exif
    data = io.BytesIO()
    image.save(data, **options)
    return data.getvalue()


def pillow_picture(rng, kind, height, width, orientation):
    out = Picture()
    out.kind = kind
    components = {"L": 1, "1": 1, "P": 1, "PA": 1, "LA": 2, "RGB": 3, "RGBA": 4, "CMYK": 4}[kind.split()[-1]]
    values = drawn(rng, (height, width), components, 255).astype(numpy.uint8)
    out.data = saved(rng, kind, values, exif_of(orientation, rng.choice(["little", "big"])))
    out.colour, out.orientation = kind in COLOUR_KINDS and kind not in GREY_KINDS, orientation or 1
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(out.data)))
    out.tolerance = 3 if kind.startswith("jpeg") else 1 if out.colour or kind == "LA" else 0
    if kind in ("RGBA", "LA", "PA"):
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, (0, 0, 0, 255)), image)
    out.eight = numpy.asarray(image.convert("RGB") if out.colour else image.convert("RGB").getchannel(0))
    out.eight = out.eight.reshape(*out.eight.shape[:2], -1)
    out.grey = None
    if kind == "jpeg RGB":  # the luma is in the file: it is not computed from rounded colours
        image = Image.open(io.BytesIO(out.data))
        image.draft("L", image.size)
        out.grey = numpy.asarray(ImageOps.exif_transpose(image).convert("L"))
    return out


def any_picture(rng, kinds, height, width, orientation):
    """height and width are those that people see."""
    if orientation is not None and 5 <= orientation <= 8:
        height, width = width, height
    kind = rng.choice(kinds)
    if kind == "bits":
        bits = rng.choice([1, 2, 4, 8])
        return own_png(rng, drawn(rng, (height, width), 1, 2**bits - 1), bits, orientation)
    if kind == "tRNS":
        values = drawn(rng, (height, width), rng.choice([1, 3]), 255)
        return own_png(rng, values, 8, orientation, values[0, 0].tolist())
    return pillow_picture(rng, kind, height, width, orientation)


def brought_to(pixels, size, resize):
    """float64, height x width x channels: areas where it shrinks, linear where it grows."""
    height, width, channels = pixels.shape
    if (height, width) == (size, size):
        return pixels.astype(numpy.float64)
    longer, shorter = max(height, width), min(height, width)
    if resize == "crop":
        left, top = (width - shorter) // 2, (height - shorter) // 2
        pixels = pixels[top : top + shorter, left : left + shorter]
        to = (size, size)
    else:
        to = tuple(max(1, (2 * n * size + longer) // (2 * longer)) for n in (width, height))
    out = numpy.zeros((size, size, channels))
    left, top = (size - to[0]) // 2, (size - to[1]) // 2
    for c in range(channels):
        out[top : top + to[1], left : left + to[0], c] = plane_brought_to(pixels[:, :, c], to)
    return out


def areas(before, after):
    """after x before: how much of each old pixel lies in each new one."""
    edges = numpy.arange(after + 1) * before / after
    old = numpy.arange(before)
    cover = numpy.minimum(edges[1:, None], old + 1) - numpy.maximum(edges[:-1, None], old)
    return numpy.clip(cover, 0, None) * after / before


def plane_brought_to(plane, to):
    height, width = plane.shape
    if max(width, height) >= max(to):  # Pillow's BOX takes whole pixels only
        return areas(height, to[1]) @ plane.astype(numpy.float64) @ areas(width, to[0]).T
    floats = numpy.ascontiguousarray(plane, dtype=numpy.float32)
    return numpy.asarray(Image.fromarray(floats, "F").resize(to, Image.Resampling.BILINEAR))
