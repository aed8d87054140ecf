"""Fetches the profiles of the list from their public addresses, by commit, and keeps none whose checksum differs."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Callable, Optional

from tools.profiles.catalogue import ProfileFile, PublicProfile

ADDRESS = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"
SECONDS = 120


def download_file(repository: str, commit: str, path: str) -> bytes:
    """Return a file of a repository at a commit, from its public address. Raises OSError naming the address."""
    address = ADDRESS.format(repository=repository, commit=commit, path=urllib.parse.quote(path))
    try:
        with urllib.request.urlopen(address, timeout=SECONDS) as answer:
            content: bytes = answer.read()
    except (urllib.error.URLError, OSError) as error:
        raise OSError(f"{address}: {error}; with a clone of the repository: --from FOLDER") from error
    return content


def read_from_mirror(mirror: Path) -> Callable[[str, str, str], bytes]:
    """Return a reader of files in clones below a folder: OWNER/NAME, or OWNER+NAME/repo."""

    def read(repository: str, commit: str, path: str) -> bytes:
        for clone in (mirror / repository, mirror / repository.replace("/", "+") / "repo"):
            if clone.is_dir():
                command = ["git", "-C", str(clone), "cat-file", "blob", f"{commit}:{path}"]
                done = subprocess.run(command, capture_output=True, check=False)
                if done.returncode:
                    raise OSError(f"{clone} has no {path} at {commit}: {done.stderr.decode(errors='replace').strip()}")
                return done.stdout
        raise OSError(f"{mirror} has no clone of {repository}: it must be in {mirror / repository}")

    return read


def take_member(archive: bytes, member: str) -> bytes:
    """Return one file of a tar archive. Raises OSError where the archive has no such member."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        stream = opened.extractfile(member) if member in opened.getnames() else None
        if stream is None:
            raise OSError(f"the archive has no {member}")
        return stream.read()


def is_whole(path: Path, file: ProfileFile) -> bool:
    """Return whether a file is there with the checksum of the list."""
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256


def fetch_profiles(
    profiles: Iterable[PublicProfile], folder: Path, read: Optional[Callable[[str, str, str], bytes]] = None
) -> Iterator[str]:
    """Fetch what is not there yet into `folder`, and yield a line a profile: fetched, there already, or why not."""
    read = read or download_file
    archives: dict[tuple[str, str, str], bytes] = {}
    for profile in profiles:
        missing = [file for file in profile.files if not is_whole(profile.place_file(file, folder), file)]
        try:
            for file in missing:
                address = (profile.repository, profile.commit, file.path)
                content = archives.get(address) or read(*address)
                if file.member:
                    archives = {address: content}
                    content = take_member(content, file.member)
                if hashlib.sha256(content).hexdigest() != file.sha256:
                    raise OSError(f"{file.path} of {profile.repository} at {profile.commit} is not what was judged")
                place = profile.place_file(file, folder)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
        except (OSError, tarfile.TarError) as error:
            yield f"{profile.name}: not fetched: {error}"
        else:
            yield f"{profile.name}: {'fetched' if missing else 'there already'}"
