#!/bin/sh
# tests/providers/webgpu.sh ASSAY: both models on WebGPU (software Vulkan). Attention qualifies with every node on the
# device. HEPTv2 does not: ONNX Runtime's WebGPU has no ScatterElements and computes no int64 there, and the session that
# may not fall back is refused with those nodes by name; where the policy allows them, it passes with copies. The
# attention24 form is caught: the operator is missing there, and runs on the CPU in silence where it may.
. "$(dirname "$0")/lib.sh"
warm webgpu
warm webgpu 's|"allowed_cpu_ops": \[\]|"allowed_cpu_ops": ["Add", "Cast", "Div", "Mul", "Reshape", "ScatterElements", "Split", "Transpose"]|' \
  integers-on-cpu
warm webgpu 's|"config": {}|"config": {"session.disable_cpu_ep_fallback": "0"}|' silent
run="$assay run --iterations 2 --warmup 1 --placement-runs 2"

"$assay" export --model attention --layers 1 --sweep 100 --name attention -o attention >/dev/null
"$assay" export --model heptv2 --layers 1 --shapes static --sweep 100 --name heptv2 -o heptv2 >/dev/null
"$assay" export --model attention --layers 1 --attention attention24 --shapes static --sweep 100 --name attention24 \
  -o attention24 >/dev/null

expect 0 $run --runtime webgpu.json --bundle attention -o qualified
says out.txt QUALIFIED
placement=qualified/runs/webgpu/attention/b1-n100/placement
says $placement/result.json '"placement": "pass"' '"provider": "WebGpuExecutionProvider"'
says $placement/result.json '"known": true' '"n_elsewhere": 0,'
! grep -q '"provider": "CPUExecutionProvider"' $placement/result.json || fail "nodes on the CPU in $placement"

expect 1 $run --runtime webgpu.json --bundle heptv2 --bundle attention24 -o refused
says out.txt 'NOT QUALIFIED'
says refused/runs/webgpu/heptv2/b1-n100/placement/result.json '"status": "failed"' \
  'nodes would run on CPUExecutionProvider' "ScatterElements 'sorting/rank'"
says refused/runs/webgpu/attention24/b1-n100/placement/result.json '"status": "failed"' \
  "Attention 'backbone.0/attention/Attention'"

expect 0 $run --runtime integers-on-cpu.json --bundle heptv2 -o allowed
placement=allowed/runs/integers-on-cpu/heptv2/b1-n100/placement
says $placement/result.json '"placement": "pass"' '"op": "MemcpyToHost"' '"op": "ScatterElements"'
! grep -q '"n_allowed": 0' $placement/result.json || fail "no node was allowed in $placement"

# Where the fallback is permitted and no policy asks for it, the run succeeds, and is judged by where its nodes were.
expect 1 $run --runtime silent.json --bundle attention24 -o silent
says out.txt 'placement 1'
says silent/runs/silent/attention24/b1-n100/timing/result.json '"numbers": "pass"'
says silent/runs/silent/attention24/b1-n100/placement/result.json '"placement": "fail"' \
  "Attention 'backbone.0/attention/Attention' on CPUExecutionProvider"

for package in qualified refused allowed silent; do expect 0 "$assay" verify $package; done
echo "attention qualifies; heptv2 and attention24 are refused by name"
