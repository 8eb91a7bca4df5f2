/* Workers that die, hang, or leave less than they must. */
#include <math.h>

#include "selftest/selftest_cases.h"

#define FRESH(spoil_function, its_topic, reason_words)                                             \
  .start = SELFTEST_FRESH, .spoil = (spoil_function), .by = SELFTEST_GATE, .topic = (its_topic),   \
  .words = (reason_words)

#define REFUSED(spoil_function, error_words)                                                       \
  .start = SELFTEST_FRESH, .spoil = (spoil_function), .by = SELFTEST_REFUSAL, .words = (error_words)

static void crashes(selftest_scene *s) {
  s->timing_ends = "kill -SEGV $$";
}
static void crashes_in_placement(selftest_scene *s) {
  s->placement_ends = "kill -FPE $$";
}
static void hangs(selftest_scene *s) {
  s->timing_ends = "exec sleep 60";
  s->timeout_ns = INT64_C(200000000);
}
static void ends_badly(selftest_scene *s) {
  s->timing_ends = "exit 3";
}
static void ends_without_a_word(selftest_scene *s) {
  s->without[0] = "worker.json";
}
static void talks_garbage(selftest_scene *s) {
  s->timing_ends = "echo '{\"schema\": ' >\"$5/worker.json\"";
}
static void leaves_a_child(selftest_scene *s) {
  s->timing_ends = "sleep 60 & exit 0";
}
static void provider_refused(selftest_scene *s) {
  s->not_finished = true;
  s->reason = "the library has no provider of that name";
}
static void too_few_samples(selftest_scene *s) {
  s->n_samples = SELFTEST_SAMPLES - 1;
}
static void a_sample_of_zero(selftest_scene *s) {
  s->samples[3] = 0;
}
static void samples_of_floats(selftest_scene *s) {
  s->float_samples = true;
}
static void samples_missing(selftest_scene *s) {
  s->without[0] = "samples.npy";
}
static void outputs_missing(selftest_scene *s) {
  s->without[0] = "outputs.npz";
}
static void outputs_cut(selftest_scene *s) {
  s->timing_ends = "printf PK >\"$5/outputs.npz\"";
}
static void library_of_another(selftest_scene *s) {
  s->other_library = true;
}
static void plugin(selftest_scene *s) {
  s->has_plugin = true;
}
static void plugin_of_another(selftest_scene *s) {
  s->has_plugin = s->other_plugin = true;
}
static void talks_without_end(selftest_scene *s) {
  s->timing_ends = "yes | head -c 80000000; exec sleep 30"; /* more than is kept of it */
  s->timeout_ns = INT64_C(10000000000);
}
static void options_of_another(selftest_scene *s) {
  s->other_options = true;
}
static void graph_of_another(selftest_scene *s) {
  s->other_graph = true;
}
static void timing_not_made(selftest_scene *s) {
  s->skip = "timing";
}
static void placement_not_made(selftest_scene *s) {
  s->skip = "placement";
}
/* Bundles that contradict themselves are refused before anything runs. */
static void mask_missing(selftest_scene *s) {
  selftest_drop(&s->arrays, "mask");
}
static void input_missing(selftest_scene *s) {
  selftest_drop(&s->arrays, "x");
}
static void mask_of_halves(selftest_scene *s) {
  if (!selftest_failed(s)) selftest_f32(s, "mask")[0] = 0.5f;
}
static void reference_of_another_shape(selftest_scene *s) {
  assay_tensor *t = selftest_array(s, "ref.f32.momentum");
  if (t != NULL) selftest_reshape(t, 3, (const int64_t[]){SELFTEST_B, 3, SELFTEST_N});
}
static void nan_in_a_valid_row(selftest_scene *s) {
  if (!selftest_failed(s)) selftest_f32(s, "x")[1] = (float)NAN;
}

const selftest_case selftest_run_cases[] = {
    {"control: a provider from a plug-in", "", .start = SELFTEST_FRESH, .spoil = plugin,
     .by = SELFTEST_PASSES},
    {"the worker crashes", "", FRESH(crashes, ASSAY_TOPIC_CRASHED, "signal 11")},
    {"the worker crashes after the numbers", "",
     FRESH(crashes_in_placement, ASSAY_TOPIC_CRASHED, "signal 8")},
    {"the worker hangs", "", FRESH(hangs, ASSAY_TOPIC_TIMED_OUT, "was ended")},
    {"the worker ends with a failure", "", FRESH(ends_badly, ASSAY_TOPIC_FAILED, "status 3")},
    {"the worker ends without a word", "",
     FRESH(ends_without_a_word, ASSAY_TOPIC_CRASHED, "no usable worker.json")},
    {"the worker talks garbage", "",
     FRESH(talks_garbage, ASSAY_TOPIC_CRASHED, "no usable worker.json")},
    {"the worker talks without end", "",
     FRESH(talks_without_end, ASSAY_TOPIC_FAILED, "printed more than")},
    {"the worker leaves processes behind", "",
     FRESH(leaves_a_child, ASSAY_TOPIC_FAILED, "left processes behind")},
    {"the provider is not to be had", "Python's onnxruntime goes on without",
     FRESH(provider_refused, ASSAY_TOPIC_FAILED, "no provider of that name")},
    {"a sample is missing", "", FRESH(too_few_samples, ASSAY_TOPIC_FAILED, "samples")},
    {"a sample of no time at all", "", FRESH(a_sample_of_zero, ASSAY_TOPIC_FAILED, "above zero")},
    {"samples that are not whole nanoseconds", "",
     FRESH(samples_of_floats, ASSAY_TOPIC_FAILED, "int64")},
    {"no samples", "", FRESH(samples_missing, ASSAY_TOPIC_FAILED, "samples.npy")},
    {"no outputs", "", FRESH(outputs_missing, ASSAY_TOPIC_FAILED, "outputs.npz")},
    {"outputs are cut", "", FRESH(outputs_cut, ASSAY_TOPIC_FAILED, "outputs.npz")},
    {"the case has no mask", "", REFUSED(mask_missing, "'mask' is not in the case")},
    {"the case lacks an input", "", REFUSED(input_missing, "input 'x' is not in the case")},
    {"a mask of halves", "", REFUSED(mask_of_halves, "neither 0 nor 1")},
    {"a reference of another shape", "", REFUSED(reference_of_another_shape, "ref.f32.momentum")},
    {"NaN in a valid row of the inputs", "", REFUSED(nan_in_a_valid_row, "is not finite")},
    {"another library was mapped", "two packages installed",
     FRESH(library_of_another, ASSAY_TOPIC_FAILED, "not the one that was asked for")},
    {"another plug-in was mapped", "",
     FRESH(plugin_of_another, ASSAY_TOPIC_FAILED, "is not what was mapped")},
    {"the session had other options", "timing with profiling on",
     FRESH(options_of_another, ASSAY_TOPIC_FAILED, "not those that were asked for")},
    {"another graph was executed", "Olive, by its cache",
     FRESH(graph_of_another, ASSAY_TOPIC_FAILED, "the graph that was executed is not")},
    {"numbers and timing were never made", "",
     FRESH(timing_not_made, ASSAY_TOPIC_MISSING, "was not made"), .is_incomplete = true},
    {"placement was never made", "", FRESH(placement_not_made, ASSAY_TOPIC_MISSING, "was not made"),
     .is_incomplete = true},
};
const size_t selftest_n_run_cases = sizeof selftest_run_cases / sizeof *selftest_run_cases;
