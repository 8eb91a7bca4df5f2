#!/usr/bin/env python3
# Makes testdata/odd/: PyTorch files that torch.save does not write, and pickles that want to do harm. Needs Python
# 3 and nothing else: make_odd.py FOLDER. Equal bytes every time.
import io, os, struct, sys, zipfile

OUT = sys.argv[1]
os.makedirs(OUT, exist_ok=True)


def text(s):
    b = s.encode()
    return b"X" + struct.pack("<I", len(b)) + b


def integer(n):
    if -(2**31) <= n < 2**31:
        return b"J" + struct.pack("<i", n)
    b = n.to_bytes(n.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(b)]) + b


def numbers(values):
    return b"(" + b"".join(integer(v) for v in values) + b"t"


def named(module, name):
    return b"c" + module.encode() + b"\n" + name.encode() + b"\n"


def storage(cls="FloatStorage", key="0", n=4, extra=b""):
    return b"(" + text("storage") + named("torch", cls) + text(key) + text("cpu") + integer(n) + extra + b"tQ"


def tensor(size=(4,), stride=(1,), offset=0, st=None, tail=b""):
    return (named("torch._utils", "_rebuild_tensor_v2") + b"(" + (st or storage()) + integer(offset) + numbers(size) +
            numbers(stride) + b"\x89" + named("collections", "OrderedDict") + b")R" + tail + b"tR")


def dict_of(**entries):
    return b"}(" + b"".join(text(k) + v for k, v in entries.items()) + b"u"


def legacy(name, keys=("0",), sizes=(4,), values=struct.pack("<4f", 1, 2, 3, 4), little=b"\x88", version=1001, tail=b"", body=None):
    storage6 = storage(extra=b"N")
    parts = [b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", integer(version),
             dict_of(protocol_version=integer(1001), little_endian=little), body or dict_of(w=tensor(st=storage6)),
             b"](" + b"".join(text(k) for k in keys) + b"e"]
    with open(os.path.join(OUT, name), "wb") as f:
        f.write(b"".join(b"\x80\x02" + p + b"." for p in parts))
        for n in sizes:
            f.write(struct.pack("<q", n) + values)
        f.write(tail)


def save(name, body, data={"0": struct.pack("<4f", 1, 2, 3, 4)}, extra={}, method=0, version=b"3\n", pickle=None, prefix="a/"):
    with zipfile.ZipFile(os.path.join(OUT, name), "w", method) as z:
        def put(n, b):
            z.writestr(zipfile.ZipInfo(n, (1980, 1, 1, 0, 0, 0)), b, method)
        put(prefix + "data.pkl", pickle or b"\x80\x02" + body + b".")
        for n, b in extra.items():
            put(n, b)
        for key, b in data.items():
            put(prefix + "data/" + key, b)
        if version:
            put(prefix + "version", version)


good = dict_of(w=tensor())
save("good.pth", good)
save("deflated.pth", dict_of(w=tensor(size=(2, 2), stride=(1, 2)), v=tensor(size=(64,), st=storage(key="1", n=64))),
     data={"0": struct.pack("<4f", 1, 2, 3, 4), "1": struct.pack("<64f", *range(64))}, method=8)
save("byteorder_big.pth", good, extra={"a/byteorder": b"big"})
save("byteorder_odd.pth", good, extra={"a/byteorder": b"middle"})
save("torchscript.pth", good, extra={"a/constants.pkl": b"\x80\x02).", "a/code/m.py": b"pass"})
save("two_pickles.pth", good, extra={"b/data.pkl": b"\x80\x02N."})
save("no_version.pth", good, version=None)
save("version_99.pth", good, version=b"99\n")
save("short_storage.pth", good, data={"0": b"\0" * 12})
save("long_storage.pth", good, data={"0": b"\0" * 20})
save("no_storage.pth", good, data={})
save("bad_key.pth", dict_of(w=tensor(st=storage(key="../0"))))
save("unknown_class.pth", dict_of(w=tensor(st=storage(cls="FancyStorage"))))
save("class_twice.pth", dict_of(w=tensor(), v=tensor(st=storage(cls="IntStorage"))))
save("view_of_storage.pth", dict_of(w=tensor(st=storage(extra=b"(" + text("1") + integer(0) + integer(2) + b"t"))))
save("past_the_end.pth", dict_of(w=tensor(size=(2, 2), stride=(3, 1))))
save("offset_past_the_end.pth", dict_of(w=tensor(offset=1)))
save("negative_offset.pth", dict_of(w=tensor(offset=-1)))
save("negative_stride.pth", dict_of(w=tensor(stride=(-1,), offset=3)))
save("negative_size.pth", dict_of(w=tensor(size=(-1,))))
save("rank_mismatch.pth", dict_of(w=tensor(size=(2, 2), stride=(1,))))
save("rank_65.pth", dict_of(w=tensor(size=(1,) * 65, stride=(1,) * 65)))
save("stride_overflow.pth", dict_of(w=tensor(size=(3, 3), stride=(2**62, 2**62))))
save("shape_overflow.pth", dict_of(w=tensor(size=(2**40, 2**40), stride=(0, 0))))
save("claims_2_gib.pth", dict_of(**{name: tensor(size=(2**14, 2**14), stride=(0, 0)) for name in "ab"}))
save("expanded_2_60.pth", dict_of(w=tensor(size=(2**30, 2**30), stride=(0, 0))))
save("odd_arguments.pth", dict_of(w=named("torch._utils", "_rebuild_tensor_v2") + b"(" + integer(1) + b"tR"))
save("parameter_of_itself.pth", dict_of(
    w=named("torch._utils", "_rebuild_parameter") + b"(" * 1 + (named("torch._utils", "_rebuild_parameter") + b"(") * 20 +
    tensor() + b"\x88" + b"}" + b"tR" * 1 + (b"\x88}tR") * 20))
save("bool_of_2.pth", dict_of(w=tensor(st=storage(cls="BoolStorage"))), data={"0": b"\1\0\2\1"})
save("negated_int.pth", dict_of(w=tensor(st=storage(cls="CharStorage"), tail=dict_of(neg=b"\x88"))), data={"0": b"\1\0\2\1"})
save("state_set.pth", dict_of(w=tensor() + b"}b"))
save("not_a_tensor.pth", dict_of(model_state_dict=dict_of(w=tensor(), lr=integer(3))))
save("nothing.pth", dict_of(epoch=integer(3)))
save("empty.pth", b"}")
save("list_root.pth", b"](" + tensor() + b"e")
save("int_keys.pth", dict_of(state_dict=b"}" + integer(1) + tensor() + b"s"))
save("prefixes.pth", dict_of(state_dict=b"}(" + b"".join(
    text("module._orig_mod.module." + k) + tensor() for k in
    ["nn0_id.0.weight", "conv_reg.2.norm0.bias", "final_norm_reg.weight", "nn_pid.0.bias", "task_loss_weighter.log_vars"]) + b"u"))
save("some_prefixes.pth", dict_of(state_dict=b"}(" + text("module.a") + tensor() + text("b.module.c") + tensor() + b"u"))
save("both_names.pth", dict_of(state_dict=b"}(" + text("nn0_id.0.weight") + tensor() + text("_nn0_id.0.weight") + tensor() + b"u"))
save("repeated_key.pth", b"}(" + text("w") + integer(1) + text("w") + tensor() + b"u")
save("trailing.pth", b"", pickle=b"\x80\x02}..")
save("system.pth", dict_of(w=tensor(), x=named("os", "system") + b"(" + text("echo no > /tmp/assay_was_here") + b"tR"))
save("cycle.pth", b"}q\0(" + text("w") + tensor() + text("self") + b"h\0" + b"u")
save("pid_odd.pth", dict_of(w=b"(" + text("other") + b"tQ"))

save("no_folder.pth", good, prefix="")
save("newer.pth", good, extra={"a/.format_version": b"1", "a/.storage_alignment": b"64", "a/byteorder": b"little",
                               "a/.data/serialization_id": b"0573335438576142944111387808966045840332"})
save("many_names.pth", dict_of(n0=tensor(size=(2**22,), stride=(0,)) + b"q\x00", **{"n%d" % i: b"h\x00" for i in range(1, 70)}))
legacy("legacy.pth")
legacy("legacy_big.pth", little=b"\x89")
legacy("legacy_version.pth", version=1002)
legacy("legacy_unused.pth", keys=("0", "1"), sizes=(4, 4))
legacy("legacy_missing.pth", keys=(), sizes=())
legacy("legacy_twice.pth", keys=("0", "0"), sizes=(4, 4))
legacy("legacy_length.pth", sizes=(3,))
legacy("legacy_tail.pth", tail=b"x")
legacy("legacy_keys.pth", keys=(), sizes=(), body=b"}")
legacy("legacy_module.pth", body=dict_of(w=tensor(st=storage(extra=b"N")), m=b"(" + text("module") + named("m", "Net") +
                                         text("m.py") + text("class Net") + b"tQ"))

with open(os.path.join(OUT, "eval.pkl"), "wb") as f:
    f.write(b"\x80\x04" + named("builtins", "eval") + b"(" + text("1+1") + b"tR" + b"0" +
            named("builtins", "getattr") + named("os", "nothing") + text("system") + b"\x86R" + b"0" +
            b"\x8c\x09mlpf.conf\x8c\x09os.system\x93" + b"0}.")
with open(os.path.join(OUT, "members.pkl"), "wb") as f:
    f.write(b"\x80\x04}(" + text("mode") + named("builtins", "getattr") + named("mlpf.conf", "RegressionMode") +
            text("DIRECT_ELEMTYPE_SPLIT") + b"\x86R" + text("dataset") + named("builtins", "getattr") +
            named("mlpf.conf", "Dataset") + text("CLIC_HITS") + b"\x86R" + text("path") +
            named("pathlib", "PosixPath") + b"(" + text("/") + text("a") + text("b") + b"tR" + b"u.")
