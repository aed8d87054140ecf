"""A stand-in for CANN's graph engine under torchair, torch_npu's compiler for `torch.compile(backend="npu")`.

torchair's own Python stays: it lowers each operator of the graph to one of the graph engine, and refuses by name what
it cannot lower. Of its library `_torchair`, which would hand that graph to CANN, the modules here stand in; the graph
that PyTorch captured then runs on the simulated NPU's own kernels. What the engine would fuse is therefore not shown.

The build copies this folder into the simulator, which imports it into the program under another name: modules here
import relatively, and nothing of the workbook."""
