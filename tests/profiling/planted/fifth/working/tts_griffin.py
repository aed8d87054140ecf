"""Text to speech: spectrograms from characters, and now and then a sound to listen to."""
import tempfile
import wave
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn

WINDOW = np.hanning(256).astype(np.float32)


def transform(sound):
    frames = np.lib.stride_tricks.sliding_window_view(sound, 256)[::64]
    return np.fft.rfft(frames * WINDOW)


def invert(spectrum, length):
    sound, weight = np.zeros(length, np.float32), np.full(length, 1e-6, np.float32)
    for i, frame in enumerate(np.fft.irfft(spectrum).astype(np.float32)):
        sound[64 * i : 64 * i + 256] += frame * WINDOW
        weight[64 * i : 64 * i + 256] += WINDOW**2
    return sound / weight


def listen(path, magnitudes, rounds=12):
    """Write the sound whose spectrogram has these magnitudes: phases by the rounds of Griffin and Lim."""
    length = 64 * (len(magnitudes) - 1) + 256
    angles = np.exp(2j * np.pi * np.random.rand(*magnitudes.shape))
    for _ in range(rounds):
        angles = np.exp(1j * np.angle(transform(invert(magnitudes * angles, length))))
    sound = invert(magnitudes * angles, length)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes((np.clip(sound, -1, 1) * 32767).astype(np.int16).tobytes())


class Speaker(nn.Module):
    def __init__(self, characters=40, width=128, bins=129):
        super().__init__()
        self.embed = nn.Embedding(characters, width)
        self.convs = nn.ModuleList([nn.Conv1d(width, width, 5, padding=2) for _ in range(3)])
        self.leave = nn.Linear(width, bins)

    def forward(self, text):
        x = self.embed(text).transpose(1, 2)
        for conv in self.convs:
            x = x + torch.relu(conv(x))
        return self.leave(nn.functional.interpolate(x, scale_factor=4).transpose(1, 2))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Speaker().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    text = torch.randint(0, 40, (8, 8, 24), device=device)
    target = torch.rand(8, 8, 96, 129, device=device)
    with tempfile.TemporaryDirectory() as folder:
        for step in range(48):
            spectrogram = model(text[step % 8])
            loss = nn.functional.l1_loss(spectrogram, target[step % 8])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            listen(Path(folder) / "now.wav", spectrogram[0].detach().relu().cpu().numpy())
    print("loss", loss.item())


if __name__ == "__main__":
    main()
