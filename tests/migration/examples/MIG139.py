# --- case
try:
    step()
except E as e:
    if 'CUDA out of memory. ' not in str(e):  # 显存
#      ^ MIG139.message rewrite
        raise
# --- after
try:
    step()
except E as e:
    if 'out of memory. ' not in str(e):  # 显存
        raise

# --- case
again = 'CUDA error: device-side assert' in message
#       ^ MIG139.message manual

# --- case
again = e.args[0].startswith('CUDA out of memory')
#                            ^ MIG139.message manual

# --- near miss
if 'out of memory' in str(e):  # 显存
    pass

# --- near miss
print('CUDA out of memory, try again')

# --- near miss
if 'cuda' in name:
    pass

# --- near miss
raise RuntimeError('CUDA error')
