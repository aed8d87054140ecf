// Training steps, counted where torch.optim.Optimizer.step returns. Not counted unless asked for.
#pragma once

#include <cstdint>

namespace npu_sim {

// From now on. torch wraps every optimizer's step in a record_function named "Optimizer.step#CLASS.step"
// (torch/optim/optimizer.py, profile_hook_step); torch_npu's fused ones are subclasses.
void count_training_steps();

// The step that is under way: 1 until an optimizer's first step() has returned.
int64_t training_step();

}  // namespace npu_sim
