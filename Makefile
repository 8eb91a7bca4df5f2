# Each target does its own set-up: `make demo` and `make check` are all that a fresh machine needs.
#
#   make deps          Debian packages and the pinned ONNX Runtime
#   make build         build/assay
#   make demo          qualifies both models on the CPU; demo/report/report.html
#   make check         all tests; ends with "N passed, N failed, N skipped"
#   make campaign-cpu  the fourteen controlled cases on the CPU; campaign-cpu/report/report.html
#   make campaign-forms  every form of attention in both precisions on the CPU; campaign-forms/report/report.html
#   make providers     WebGPU on software Vulkan, OpenVINO, DNNL and XNNPACK, into deps/; the tests then run on them, too
#   make check-migraphx-compiler  both models through MIGraphX's compiler, no GPU needed; its traces judged
#   make check-device RUNTIME=cuda  placement, sort, integers, kernels and sampler on a real device; check-device/cuda/
#   make bench         evaluator and readers against PyTorch and others, harness against a bare loop, sampler
#   make chaos         kills a small campaign at 50 random moments and completes it again (COUNT=50 SEED=…)
#   make flip          changes a finished package in 500 places; verify must name the file each time (COUNT=500 SEED=…)
#   make page-check    report pages in a browser (chromium, axe-core), with pictures of them in page-check/
#   make fuzz          long fuzzing (FUZZ_SECONDS=60 for each parser)
#   make clean         removes what was built and measured; keeps deps/
#
# ASSAY_ORT=/path/to/libonnxruntime.so replaces the pinned runtime. CC=clang is honoured by a fresh build.

.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
.PHONY: page-check all deps build check check-device check-migraphx-compiler providers demo campaign-cpu campaign-forms bench chaos flip fuzz clean

DEMO     := demo
RUNTIME  ?= cpu
CAMPAIGN := campaign-cpu
FUZZ_SECONDS ?= 60

all: build

deps:
	@scripts/deps.sh packages ort

build: deps
	@scripts/build.sh build

demo: build
	@scripts/demo.sh $(DEMO)

campaign-cpu: build
	@scripts/campaign-cpu.sh $(CAMPAIGN)

check-migraphx-compiler: build
	@scripts/check-migraphx-compiler.sh

campaign-forms: build
	@scripts/campaign-forms.sh campaign-forms

check: build
	@scripts/deps.sh ort-versions onnx
	@scripts/check.sh

providers: deps
	@scripts/providers.sh

check-device: build
	@scripts/check-device.sh '$(RUNTIME)'

bench: build
	@bench/evaluator/run.sh
	@bench/harness/run.sh
	@bench/load/run.sh
	@bench/sampler/run.sh

chaos: build
	@scripts/chaos.sh

flip: build
	@scripts/flip.sh

page-check: build
	@scripts/page-check.sh

fuzz: deps
	@scripts/fuzz.sh $(FUZZ_SECONDS)

clean:
	rm -rf build build-san build-gcc build-fuzz $(DEMO) $(CAMPAIGN) campaign-forms chaos-failed check-device check-migraphx page-check
