"""Writes small images byte by byte, so that tests can write wrong ones too and need no package for it."""
import base64
import struct
import zlib

# 16 x 16 pixels, the left half (200, 40, 40), the right half (40, 40, 200), quality 60.
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09P"
    "T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT0//wAARCAAQABADASIAAhEBAxEB/8QAFAABAAAAAAAAAAAAAAAAAAAABf/EABQQAQAAAAAAAAAAAAAAAAAAAAD/xAAVAQEBAAAAAAAAAAAAAAAA"
    "AAAEBf/EABkRAAIDAQAAAAAAAAAAAAAAAAAFQoHBQ//aAAwDAQACEQMRAD8AGGkhp6PpWlNxC8P/2Q==")


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(rows, channels, width=None, height=None, packed=None):
    """`rows`: lists of bytes; what the header says and the compressed data can be lies."""
    data = b"".join(b"\0" + bytes(row) for row in rows)
    header = struct.pack(">IIBBBBB", width or len(rows[0]) // channels, height or len(rows), 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data) if packed is None else packed) + chunk(b"IEND", b"")


def png_of(array):
    """uint8, height x width or height x width x channels"""
    return png([row.ravel().tolist() for row in array], 1 if array.ndim == 2 else array.shape[2])


def bmp_of(array):
    """uint8, height x width x 3"""
    height, width, _ = array.shape
    rows = b"".join(row[:, ::-1].tobytes() + b"\0" * (-3 * width % 4) for row in array[::-1])
    return b"BM" + struct.pack("<IHHI", 54 + len(rows), 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, len(rows), 2835, 2835, 0, 0) + rows
