# --- case
s = Session('模型', providers=['CUDAExecutionProvider'])
#                              ^ MIG159.provider manual

# --- near miss
s = Session('模型', providers=['CPUExecutionProvider'])

# --- near miss
print('CUDAExecutionProvider is missing')

# --- near miss
'CUDAExecutionProvider'
