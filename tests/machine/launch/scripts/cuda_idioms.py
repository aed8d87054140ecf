"""What GPU scripts do with torch.cuda, each on its own line of output."""

import io
import warnings

import torch

warnings.simplefilter("ignore")


def expect(name, condition):
    print(f"{'ok' if condition else 'WRONG'} {name}")


def raises(name, call):
    try:
        call()
    except Exception as error:  # noqa: BLE001
        print(f"raises {name}: {type(error).__name__}: {error}".splitlines()[0])
    else:
        print(f"SILENT {name}")


device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
expect("device.type", device.type == "cuda")
expect("count", torch.cuda.device_count() == 1 and torch.cuda.current_device() == 0)
expect("name", "CPU standing in for CUDA" in torch.cuda.get_device_name(0))
expect("capability", torch.cuda.get_device_capability()[0] >= 7 and torch.cuda.is_bf16_supported())
expect("properties", torch.cuda.get_device_properties(0).total_memory > 0)
cpu = torch.device("cpu")
for name, tensor in {
    "factory": torch.zeros(2, device="cuda"),
    "factory index": torch.ones(2, device=0),
    "factory device": torch.full((2,), 1.0, device=device),
    "like": torch.randn_like(torch.zeros(2), device="cuda"),
    "tensor": torch.tensor([1.0], device="cuda:0"),
    "as_tensor": torch.as_tensor([1.0], device=device),
    "to str": torch.zeros(2).to("cuda"),
    "to device dtype": torch.zeros(2).to(device, torch.float16),
    "to keyword": torch.zeros(2).to(device="cuda", non_blocking=True),
    "to index": torch.zeros(2).to(0),
    "cuda": torch.zeros(2).cuda(),
    "cuda index": torch.zeros(2).cuda(0, non_blocking=True),
    "cuda device": torch.zeros(2).cuda(device),
    "new": torch.zeros(2).new_zeros(3, device="cuda"),
    "type": torch.zeros(2).type("torch.cuda.HalfTensor"),
    "legacy": torch.cuda.FloatTensor([1.0]),
    "pin": torch.zeros(2).pin_memory().cuda(),
    "empty pinned": torch.empty(2, pin_memory=True),
    "linspace": torch.linspace(0, 1, 3, device=device),
    "fftfreq": torch.fft.fftfreq(4, device="cuda"),
}.items():
    expect(name, tensor.device == cpu and not tensor.is_cuda)
expect("type of a tensor on the GPU", torch.zeros(2).cuda().half().type() == "torch.cuda.HalfTensor")
expect("type of a parameter on the GPU", torch.nn.Linear(2, 2).cuda().half().weight.type() == "torch.cuda.HalfTensor")
expect("type taken back", torch.zeros(2).type(torch.zeros(2).cuda().half().type()).dtype == torch.float16)
expect("type of a tensor brought back", torch.zeros(2).cuda().cpu().type() == "torch.FloatTensor")
expect("dtype kept", torch.zeros(2).to(device, torch.float16).dtype == torch.float16)
model = torch.nn.Sequential(torch.nn.Linear(2, 2, device="cuda"), torch.nn.Dropout(0.5)).cuda().to(device).to("cuda:0")
expect("module", next(model.parameters()).device == cpu)
expect("module to dtype", torch.nn.Linear(2, 2).to("cuda", torch.float64).weight.dtype == torch.float64)
expect("data parallel", torch.nn.DataParallel(torch.nn.Linear(2, 2)).cuda()(torch.zeros(1, 2)).shape == (1, 2))
with torch.device("cuda"):
    expect("default device", torch.zeros(2).device == cpu)
torch.set_default_device("cuda")
expect("set default device", torch.nn.Linear(2, 2).weight.device == cpu)
torch.set_default_device("cpu")
with torch.cuda.device(0):
    torch.cuda.synchronize()
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
start.record()
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side), torch.cuda.stream(stream=side):
    torch.ones(100).sum()
end.record()
expect("events", start.elapsed_time(end) >= 0)
expect("memory", torch.cuda.max_memory_allocated() == 0 and torch.cuda.memory_stats()["anything"] == 0)
torch.cuda.empty_cache()
torch.cuda.reset_peak_memory_stats()

# the two random streams
torch.manual_seed(5)
first = torch.rand(3)
torch.manual_seed(5)
torch.nn.functional.dropout(torch.ones(100).cuda(), 0.5)
torch.rand(7, device="cuda")
torch.cuda.manual_seed_all(9)
expect("the GPU's draws leave the CPU's stream alone", torch.equal(first, torch.rand(3)))
torch.cuda.manual_seed(3)
state = torch.cuda.get_rng_state()
drawn = torch.nn.functional.dropout(torch.ones(50, device="cuda"), 0.5), torch.rand(4, device="cuda")
torch.cuda.set_rng_state(state)
again = torch.nn.functional.dropout(torch.ones(50, device="cuda"), 0.5), torch.rand(4, device="cuda")
expect("the GPU's stream repeats", all(torch.equal(a, b) for a, b in zip(drawn, again)))
generator = torch.Generator(device="cuda").manual_seed(1)
expect("generator", isinstance(generator, torch.Generator))
a = torch.rand(3, device="cuda", generator=generator)
expect("generator repeats", torch.equal(a, torch.rand(3, device="cuda", generator=generator.manual_seed(1))))

torch.manual_seed(5)
torch.nn.functional.dropout(torch.ones(50), 0.5)
expect("a tensor of the CPU's draws from its stream", not torch.equal(first, torch.rand(3)))

# checkpoints
buffer = io.BytesIO()
torch.save({"w": torch.ones(2).cuda()}, buffer)
for place in (None, "cuda:0", device, {"cuda:1": "cuda:0"}, lambda storage, _: storage.cuda(0)):
    buffer.seek(0)
    loaded = torch.load(buffer, map_location=place, weights_only=not callable(place))
    expect(f"load {type(place).__name__}", torch.equal(loaded["w"], torch.ones(2)))

# autocast
x = torch.randn(4, 4)
with torch.autocast("cuda"):
    expect("autocast float16", torch.mm(x, x).dtype == torch.float16 and torch.is_autocast_enabled())
    expect("autocast dtype", torch.get_autocast_gpu_dtype() == torch.float16)
    with torch.autocast("cuda", enabled=False):
        expect("autocast off", torch.mm(x, x).dtype == torch.float32)
with torch.autocast(device_type=x.device.type):
    expect("autocast by tensor", torch.mm(x, x).dtype == torch.float16)
with torch.cuda.amp.autocast(dtype=torch.bfloat16):
    expect("autocast bfloat16", torch.mm(x, x).dtype == torch.bfloat16)
expect("autocast left", torch.mm(x, x).dtype == torch.float32 and not torch.is_autocast_enabled())


class Twice(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx, value):
        return value * 2

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, grad):
        return grad * 2


with torch.autocast("cuda"):
    expect("custom_fwd", Twice.apply(x.half()).dtype == torch.float32)


@torch.jit.script
def scripted(n: int) -> torch.Tensor:
    return torch.zeros(n) + torch.ones(n)


expect("jit", scripted(3).sum() == 3)
torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.benchmark = True
torch.set_float32_matmul_precision("high")
expect("precision", torch.get_float32_matmul_precision() == "high")

raises("no such device", lambda: torch.zeros(1, device="cuda:3"))
raises("no such device by cuda()", lambda: torch.zeros(1).cuda(7))
raises("CUDAGraph", lambda: torch.cuda.CUDAGraph())
raises("make_graphed_callables", lambda: torch.cuda.make_graphed_callables(model, (x,)))
raises("memory_snapshot", lambda: torch.cuda.memory_snapshot())
raises("jiterator", lambda: torch.cuda.jiterator._create_jit_fn("template <typename T> T f(T x) { return x; }")(x))
raises("way past the map", lambda: torch._C._VariableFunctions.zeros(1, device="cuda"))
expect("compile", torch.compile(model, mode="max-autotune")(torch.ones(1, 2)).shape == (1, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
