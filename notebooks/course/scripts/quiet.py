"""Two more quiet surprises, for the lesson on migration. Made for a GPU.

    python quiet.py
"""

import torch


def main():
    big = torch.tensor([1e8]).cuda().double()
    print(f"100000000 + 1 - 100000000 = {(big + 1 - 1e8).item():g}, computed in {big.dtype}")
    print(f"log gamma of 5: {torch.lgamma(torch.full((1,), 5.0).cuda()).item():.4f}")


if __name__ == "__main__":
    main()
