#!/usr/bin/env python3
# Makes testdata/pickle/ and testdata/torch_pickles/, where the fuzzers begin: make_seeds.py TESTDATA. The second
# are the pickles inside of the sample files.
import glob, os, pickle, sys, zipfile
from collections import Counter, OrderedDict, defaultdict

root = sys.argv[1]


def write(folder, name, data):
    os.makedirs(os.path.join(root, folder), exist_ok=True)
    with open(os.path.join(root, folder, name), "wb") as f:
        f.write(data)


shared = [1, 2]
loop = {"a": shared}
loop["self"] = loop
everything = [None, True, False, 0, -1, 255, 65536, 2**40, -2**70, 1.5, float("inf"), 1 + 2j, "text", "é€😀", "", b"",
              b"\x00\xff", bytearray(b"ab"), (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], shared, shared, {}, {1: 2, "k": None},
              {1, 2}, frozenset([3]), OrderedDict(a=1), defaultdict(list, k=[1]), Counter("aab"), range(3), len, loop]
for protocol in range(6):
    write("pickle", "everything_p%d.pkl" % protocol, pickle.dumps(everything, protocol))

hand = {
    "inst": b"(K\x01im\nC\n.", "obj": b"(cm\nC\nK\x01o.", "newobj_ex": b"\x80\x04cm\nC\n)}X\x01\0\0\0kK\x02s\x92.",
    "build": b"cm\nC\n)\x81}K\x01K\x02sb.", "persistent": b"(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0"
    b"0X\x03\0\0\0cpuK\x10tQ.", "persid": b"P0\n.", "ext": b"\x80\x02\x82\x01.", "buffer": b"\x80\x05\x97.",
    "quoted": b"S'a\\n\\x41\\101\\''\n.", "escaped": b"Vh\\u00e9\\U0001f600\\\n.", "long4": b"\x80\x02\x8b\x04\0\0\0\x01\x02\x03\xff.",
    "lines": b"(I01\nI-5\nL99999999999999999999L\nF1e-08\nFnan\ng0\nt.", "gets": b"]p0\n(g0\nh\0j\0\0\0\0et.",
    "marks": b"((((1111N.", "self": b"]q\0h\0a.", "laughs": b"]q\0" + b"0](h\0h\0h\0eq\0" * 6 + b".",
    "keys": b"}(K\x01NG\x3f\xf0\0\0\0\0\0\0N\x88N(K\x01tN(K\x01tNX\x01\0\0\0aNU\x01aNu.",
    "encode": b"c_codecs\nencode\n(X\x03\0\0\0a\xc3\xbfX\x06\0\0\0latin1tR.",
    "enum": b"}(X\x01\0\0\0acm\nE\nX\x01\0\0\0v\x85RX\x01\0\0\0bcbuiltins\ngetattr\ncm\nE\nX\x01\0\0\0V\x86Ru.",
    "numpy": b"cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(U\x02f4I00\nI01\ntR(K\x03U\x01<NNNJ\xff\xff\xff\xff"
    b"J\xff\xff\xff\xffK\0tbC\x04\0\0\x80\x3ftR.",
    "frombuffer": b"cnumpy.core.numeric\n_frombuffer\n(C\x06\1\2\3\4\5\6cnumpy\ndtype\n(U\x02u2I00\nI01\ntR(K\x03"
    b"U\x01>NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb(K\x03K\x01tU\x01FtR.",
}
for name, data in hand.items():
    write("pickle", name + ".pkl", data)

for path in sorted(glob.glob(os.path.join(root, "torch", "v*", "*.pth")) + glob.glob(os.path.join(root, "odd", "*.pth"))):
    if not zipfile.is_zipfile(path):
        continue
    with zipfile.ZipFile(path) as z:
        zipfile.ZipExtFile._update_crc = lambda self, data: None # nocrc.pth has none
        for entry in z.namelist():
            if entry.endswith("data.pkl"):
                data = z.read(entry)
    if len(data) < 2000 and ("v1.13" not in path):
        write("torch_pickles", os.path.basename(path)[:-4] + ".pkl", data)
