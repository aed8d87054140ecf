"""Runs any unmodified training script in a child process and observes it.

    from ascend_workbook.machine import device
    from ascend_workbook.machine.launch import LaunchSpec, launch
    spec = LaunchSpec(script=Path("train.py"), out=Path("runs/demo/dry_run"), steps=20)
    result = launch(spec.on(device.find()))
    result.losses        # one number per step
    result.trouble       # None, or the sentence that says what went wrong

**A step** is an `optimizer.step` that really happened: micro-batches of gradient accumulation belong to one
step, and an update that a GradScaler left out for infinite gradients is none. With several optimisers a step
is a round of them (`Rounds` in child/observer.py); each update is then listed in `updates` and the step's loss is
their sum.

**The loss** of an update is the mean of the one-element tensors that `backward` started from since the
update before, unscaled where a GradScaler scaled them. A script that divides its loss by the number of
micro-batches before `backward` therefore shows the divided loss, on every device alike. Or it is what
`loss_regex` finds in the output.

**The gradient norm** is the L2 norm over all gradients of the optimiser before the update, unscaled. Where the
script clips with `torch.nn.utils.clip_grad_norm_` it is the norm before clipping.

**Plugins** ride along in the child: see child/observer.py for what they may do and an example.

Transforms: `none`; `baseline_cpu`, the CPU standing in for CUDA (child/baseline/); `transfer_to_npu`,
torch_npu's own. The workbook's `helpers` and `course` are not importable in the child.
"""

from ascend_workbook.machine.launch.launch import launch
from ascend_workbook.machine.launch.result import ChildError, LaunchResult, Progress, RunLog, Step, join_simulator_parts
from ascend_workbook.machine.launch.spec import STANDING_IN, TRANSFORMS, LaunchSpec, Plugin

__all__ = [
    "STANDING_IN",
    "TRANSFORMS",
    "ChildError",
    "LaunchResult",
    "LaunchSpec",
    "Plugin",
    "Progress",
    "RunLog",
    "Step",
    "launch",
    "join_simulator_parts",
]
