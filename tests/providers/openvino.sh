#!/bin/sh
# tests/providers/openvino.sh ASSAY: both models qualify on OpenVINO's CPU device, each compiled into one node, with
# dynamic and with static shapes, and with dynamic ones that the runtime fixes.
. "$(dirname "$0")/lib.sh"
warm openvino
warm openvino 's|"static": false|"static": true|' fixed
for shapes in dynamic static; do
  for model in attention heptv2; do
    "$assay" export --model $model --shapes $shapes --sweep 100,200 --batches 2 --batch-n 100 --name $model-$shapes \
      -o $model-$shapes >/dev/null
  done
done
run="$assay run --iterations 2 --warmup 1 --placement-runs 2"
expect 0 $run --runtime openvino.json --bundle attention-dynamic --bundle attention-static --bundle heptv2-dynamic \
  --bundle heptv2-static -o package
says out.txt QUALIFIED
expect 0 $run --runtime fixed.json --bundle attention-dynamic --bundle heptv2-dynamic -o fixed
for case in b1-n100 b1-n200 b2-n100; do
  b=${case#b}
  says fixed/runs/fixed/heptv2-dynamic/$case/timing/result.json "\"B\": \"${b%-*}\"" "\"N\": \"${case#*-n}\""
done
# Each graph is one compiled node, of which the runtime says what it is made of: all nodes of the model.
for result in package/runs/openvino/*/*/placement/result.json fixed/runs/fixed/*/*/placement/result.json; do
  says "$result" '"n_compiled": 1,' '"n_elsewhere": 0,' '"n_unknown": 0' '"known": true,'
  ! grep -q '"n_covered": 0' "$result" || fail "no node of the model is covered in $result"
done
# A dynamic model on a runtime of static shapes: a graph for each shape, of the model's own nodes, kept and executed.
[ "$(ls fixed/graphs | wc -l)" = 6 ] || fail "not 6 graphs: $(ls fixed/graphs)"
for result in fixed/runs/fixed/*/*/*/result.json; do
  says "$result" '"kept": true' '"folded": true'
  case $result in *heptv2*) says "$result" '"n_removed": 35' ;; *) says "$result" '"n_removed": 0' ;; esac
done
for package in package fixed; do expect 0 "$assay" verify $package; done

# Its own cache: empty for each process, or kept, with a folder for each case; nothing is compiled in warm calls.
"$assay" doctor --runtime "$root/deps/runtimes/openvino.json" --show |
  sed 's|"device_type": "CPU"|"device_type": "CPU", "cache_dir": "programs"|' >cold.json
sed 's|"caches": "fresh"|"caches": "kept"|' cold.json >kept.json
for line in 'cold cold cold' 'kept first cold' 'kept second warm'; do
  set -- $line
  expect 0 $run --runtime $1.json --bundle attention-static -o $2
  expect 0 "$assay" report $2 --no-plots
  for result in $2/runs/$1/attention-static/*/timing/result.json; do
    says "$result" '"name": "cache_dir"' '"n_files_after": 1'
    case $3 in cold) says "$result" '"n_files_before": 0' ;; *) says "$result" '"n_files_before": 1' ;; esac
  done
  says $2/runs/$1/attention-static/b1-n100/placement/result.json '"session": 1,' '"later": 0'
  says $2/report/table.csv ",$3,"
  expect 0 "$assay" verify $2
done
[ "$(ls programs | wc -l)" = 3 ] || fail "not a folder for each of 3 cases: $(ls programs)"

# A runtime that cannot be had is status 3 with the reason, in seconds, and so is a plug-in that offers nothing here.
"$assay" doctor --runtime openvino.json --show | sed 's|"device_type": "CPU"|"device_type": "GPU"|' >gpu.json
expect 3 "$assay" doctor --runtime gpu.json
says out.txt "runtime 'gpu.json'" OpenVINOExecutionProvider
echo "both models qualify, compiled"
