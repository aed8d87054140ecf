# --- case
import torch
for b in data:
    l = f(b)
    l.backward()
    总和 += l.item()
#           ^ MIG133.sync advice
    n.append(m.tolist())
#            ^ MIG133.sync advice

# --- case
import torch
for b in data:
    l = f(b)
    l.backward()
    log.append((l.detach().cpu(), g.item()))
#               ^ MIG133.sync advice
#                                 ^ MIG133.sync advice

# --- near miss
import torch
for b in data:
    l = f(b)
    l.backward()
    if i % 100 == 0:  # 偶尔
        print(l.item())

# --- near miss
for b in data:
    total += f(b).item()

# --- near miss
import torch
for b in data:
    l = f(b)
    l.backward()
print(l.item())

# --- near miss
import torch
for b in data:
    l = f(b)
    l.backward()
    d.item(3)

# --- near miss
import torch
for b in data:
    l = f(b)
    l.backward()
    total += l.item()
