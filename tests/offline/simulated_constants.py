# SPDX-License-Identifier: Apache-2.0
"""The time offset, the pedestal and the noise of each input of the simulated detector, as its description's seed draws them: what a calibration run would have found."""
import math

MASK = (1 << 64) - 1


def splitmix(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


class Xoshiro:
    def __init__(self, seed):
        self.s = []
        for _ in range(4):
            seed = splitmix(seed)
            self.s.append(seed)

    @staticmethod
    def rotl(x, k):
        return (x << k | x >> 64 - k) & MASK

    def bits(self):
        s = self.s
        result = self.rotl(s[1] * 5 & MASK, 7) * 9 & MASK
        t = s[1] << 17 & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = self.rotl(s[3], 45)
        return result

    def uniform(self):
        return (self.bits() >> 11) * 2.0**-53

    def gaussian(self):
        total = 0
        for _ in range(3):
            b = self.bits()
            total += sum(b >> shift & 0xFFFF for shift in (0, 16, 32, 48))
        return (total - 6 * 65535) / 65536.0


def pedestals_and_noise(inputs, signals):
    """(pedestal, noise) in counts, by number of the input; `signals` is that part of the detector's description."""
    random, found = Xoshiro(signals["seed"]), []
    least, most = signals["noise_range"]
    peak = signals["noise_typical"]
    for _ in range(inputs):
        u = random.uniform()
        if u * (most - least) < peak - least:
            noise = least + math.sqrt(u * (most - least) * (peak - least))
        else:
            noise = most - math.sqrt((1 - u) * (most - least) * (most - peak))
        low, high = signals["pedestal_range"]
        found.append((low + (high - low) * random.uniform(), noise))
        random.gaussian()  # its time
    return found


def time_offsets(inputs, spread, seed):
    """ns, by number of the input: 16 to each board."""
    random, offsets = Xoshiro(seed), []
    for _ in range(inputs):
        random.uniform()  # its noise
        random.uniform()  # its pedestal
        offsets.append(spread * random.gaussian())
    return offsets
