#!/usr/bin/env bash
# Megatron-LM's pretrain_gpt.py through MindSpeed on four simulated NPUs, two by tensor and two by pipeline, beside the
# same Megatron-LM on the CPU over gloo: ten steps, whose losses must agree.
#
#   MEGATRON=Megatron-LM MINDSPEED=MindSpeed bash notebooks/scripts/megatron_tiny.sh runs/megatron
#
# Both are folders of yours; nothing is downloaded and neither is written to. Pairs that were run:
#   Megatron-LM core_r0.8.0 (baf94af3c667) with MindSpeed 2.1.0_core_r0.8.0 (1e898a29c750)
#   Megatron-LM core_v0.12.1 (a845aa7e12b3) with MindSpeed 26.1.0_core_r0.12.1 (57a33053c4ec)
# PRECISION=fp16 takes MindSpeed's own example's; the default is fp32, which both compute alike to the last printed digit.
set -euo pipefail

out=${1:?usage: MEGATRON=FOLDER MINDSPEED=FOLDER bash megatron_tiny.sh OUT}
python=${PYTHON:-python3}
precision=${PRECISION:-fp32}
here=$(cd "$(dirname "$0")" && pwd)
tool=("$python" "$here/../megatron/sides.py")

"${tool[@]}" check --megatron "${MEGATRON:-}" --mindspeed "${MINDSPEED:-}" --precision "$precision" --out "$out"
out=$(cd "$out" && pwd)
mindspeed=$(cd "$MINDSPEED" && pwd)
"${tool[@]}" prepare --megatron "$MEGATRON" --mindspeed "$MINDSPEED" --out "$out"

# Megatron-LM's Makefile asks `python3` for pybind11's headers.
PATH=$(dirname "$(command -v "$python")"):$PATH
export PATH CUDA_DEVICE_MAX_CONNECTIONS=1 OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} PYTHONWARNINGS=ignore
simulated=(env "PYTHONPATH=$mindspeed${PYTHONPATH:+:$PYTHONPATH}" "$python" -m ascend_simulator run --devices 4 --)

# The guide's own call, smaller; without MindSpeed and a compiled Apex, Megatron-LM wants the two --no- options of the
# third line. Dropout is left out and weights are drawn on the host: both sides then start and go on alike.
size=(--num-layers 4 --hidden-size 64 --ffn-hidden-size 224 --num-attention-heads 4 --seq-length 64)
size+=(--max-position-embeddings 64 --micro-batch-size 1 --global-batch-size 4 --train-iters 10)
options=(--transformer-impl local --no-persist-layer-norm --no-gradient-accumulation-fusion)
options+=(--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1)
options+=(--make-vocab-size-divisible-by 1 --lr 1.0e-3 --min-lr 1.0e-4 --lr-warmup-fraction 0.01 --weight-decay 0.1)
options+=(--clip-grad 1.0 --init-method-std 0.01 --no-masked-softmax-fusion --attention-softmax-in-fp32)
options+=(--disable-bias-linear --attention-dropout 0 --hidden-dropout 0 --use-cpu-initialization)
options+=(--distributed-backend nccl --log-interval 1 --save-interval 1000 --eval-interval 1000 --eval-iters 1)
[ "$precision" = fp32 ] || options+=("--$precision" --initial-loss-scale 4096)
words=(--tokenizer-type GPT2BPETokenizer --vocab-file "$out/data/vocab.json" --merge-file "$out/data/merges.txt")
data=(--split 990,5,5 --data-path "$out/data/tiny_text_document" "${words[@]}")
ranks=(-m torch.distributed.run --standalone --nproc_per_node 4)

# run NAME FOLDER COMMAND...: in that folder, its output kept; the end of it is shown where it fails
run() {
    local name=$1 folder=$2
    shift 2
    echo "$name ..."
    if ! (cd "$folder" && "$@") >"$out/$name.log" 2>&1; then
        tail -n 40 "$out/$name.log" >&2
        echo "megatron_tiny.sh: $name failed; all of its output is in $out/$name.log" >&2
        exit 2
    fi
}

# Data needs no NPU. With the adaptor for core 0.12.1 the script's worker processes would not end: torch_npu's graph
# module, which MindSpeed imports, answers SIGTERM for them.
run data "$out/cpu" env TORCH_DEVICE_BACKEND_AUTOLOAD=0 "$python" tools/preprocess_data.py \
    --input "$out/data/tiny.json" --output-prefix "$out/data/tiny" "${words[@]}" --append-eod --workers 1
run npu "$out/npu" "${simulated[@]}" "$python" "${ranks[@]}" pretrain_gpt.py "${size[@]}" "${options[@]}" "${data[@]}"
run cpu "$out/cpu" env TORCH_DEVICE_BACKEND_AUTOLOAD=0 "$python" "${ranks[@]}" "$here/../megatron/sides.py" cpu pretrain_gpt.py \
    "${size[@]}" "${options[@]}" "${data[@]}"
"${tool[@]}" compare "$out/npu.log" "$out/cpu.log" --precision "$precision" --steps 10
