# --- case
peak = 312e12  # A100 的峰值
#      ^ MIG120.peak manual

# --- case
mfu = flops / 989.5e12
#             ^ MIG120.peak manual

# --- case
带宽 = ((['h100', 'pcie'], 2.0e12), (['a100'], 1.5e12))
#                          ^ MIG120.peak manual
#                                              ^ MIG120.peak manual

# --- case
TFLOPS = {'NVIDIA A100-SXM4-80GB': 312, 'cpu': 1}
#                                  ^ MIG120.peak manual

# --- near miss
规模 = 1e12

# --- near miss
n = 312

# --- near miss
s = '312e12'

# --- near miss
d = {'A100': '训练卡', 'H100': None}

# --- near miss
rows = [('a100', 'h100'), ('卡', 8)]

# --- near miss
run('A100', 8)
