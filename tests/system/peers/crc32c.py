# SPDX-License-Identifier: Apache-2.0
"""CRC-32C as docs/formats.md defines it, quick enough in plain Python: a message is one big integer, and folding its
front half onto its back half costs a few shifts of that integer instead of a table look-up per byte.

Why folding is right: bytes are taken least significant bit first, so in the little-endian integer of n bits, bit i is the
coefficient of x^(n-1-i) of the message polynomial. With front F (low bits) and back B of m bits the message is F·x^m + B, and
modulo the CRC polynomial x^m may be replaced by its remainder, 32 bits long: F·(x^m mod P) + B is a shorter message with
the same remainder."""

_POLYNOMIAL = 0x82F63B78  # reflected: bit 31 is x^0


def _table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _table()
_SHORT = 5  # at 2^5 + 64 bits the table is quicker


def _power_of_x(exponent: int) -> int:
    """x^exponent mod P, reflected."""
    value = 1 << 31
    for _ in range(exponent):
        value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
    return value


def _times(a: int, b: int) -> int:
    """The product mod P of two reflected remainders."""
    product = 0
    for bit in range(31, -1, -1):
        if a >> bit & 1:
            product ^= b
        b = b >> 1 ^ (_POLYNOMIAL if b & 1 else 0)
    return product


_folds = {}


def _fold(k: int):
    """The shifts that multiply by x^(2^(k-1) + 64) mod P, which folds 2^k + 64 bits to 2^(k-1) + 64."""
    if k not in _folds:
        power = _power_of_x(1)
        for _ in range(k - 1):
            power = _times(power, power)
        power = _times(power, _power_of_x(64))
        _folds[k] = [bit for bit in range(32) if power >> bit & 1]
    return _folds[k]


def crc32c(data) -> int:
    message = int.from_bytes(data, "little") ^ 0xFFFFFFFF if len(data) >= 4 else None
    if message is None:
        crc, rest = 0xFFFFFFFF, bytes(data)
    else:
        # Zeros in front change nothing once the initial value is inside the message.
        k = max(_SHORT, (len(data) * 8 - 64 - 1).bit_length())
        message <<= (1 << k) + 64 - len(data) * 8
        while k > _SHORT:
            half = 1 << (k - 1)
            front = message & ((1 << half) - 1)
            message >>= half
            product = 0
            for shift in _fold(k):
                product ^= front << shift
            message ^= product << 33  # (half + 64) - (half + 31): the product's last bit onto the message's
            k -= 1
        crc, rest = 0, message.to_bytes(((1 << _SHORT) + 64) // 8, "little")
    for byte in rest:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
