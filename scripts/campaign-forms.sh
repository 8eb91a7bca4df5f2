#!/bin/sh
# scripts/campaign-forms.sh PACKAGE [CASES]: every form of attention in both precisions on the CPU: both seeded models, seven
# controlled cases each (B=1 with N=100, 500, 1000, 2000, 4000; B=2 and 4 with N=1000), few samples, one report. With
# FORMS_TRAINED=FOLDER... it takes the trained models of these folders (checkpoints/*.pth, model_kwargs.pkl) too: FP16 of trained
# weights may miss the tolerance, and says so. Interrupted, the same command goes on where it stopped.
set -eu
cd "$(dirname "$0")/.."
package=$1
bundles=build/bundles/campaign-forms
assay=build/assay
cases=${2:---sweep 100,500,1000,2000,4000 --batches 2,4}
list=

# A bundle is as good as the program that wrote it: made again when the program is newer.
export_form() { # NAME OPTION...
  bundle=$bundles/$1
  list="$list --bundle $bundle"
  if [ ! -e "$bundle/manifest.json" ] || [ $assay -nt "$bundle/manifest.json" ]; then
    rm -rf "$bundle"
    [ ! -e "$package/package.json" ] || rm -rf "$package"
    mkdir -p $bundles
    name=$1
    shift
    # shellcheck disable=SC2086
    $assay export "$@" $cases --name "$name" -o "$bundle"
  fi
}

forms() { # NAME OPTION...
  model=$1
  shift
  for dtype in float32 float16; do
    for form in decomposed attention24 mha; do
      export_form "$model-$form-$dtype" "$@" --attention $form --dtype $dtype
    done
    export_form "$model-attention24-nonpad-$dtype" "$@" --attention attention24 --mask-form nonpad --dtype $dtype
  done
}

forms attention --model attention --preset cld --seed 42
forms heptv2 --model heptv2 --preset cld --seed 42
for folder in ${FORMS_TRAINED:-}; do
  forms "$(basename "$folder")" --checkpoint "$(ls "$folder"/checkpoints/*.pth "$folder"/*.pth 2>/dev/null | tail -n 1)" \
    --config "$folder/model_kwargs.pkl"
done
# shellcheck disable=SC2086
$assay run --runtime cpu $list --iterations 5 --warmup 1 -o "$package" >/dev/null || status=$?
$assay report --require-complete "$package"
exit "${status:-0}"
