"""Whole folders to and from object storage: parallel, resumable after a kill, checked by a manifest.

upload.py and download.py plan, sending.py and receiving.py move one file each as jobs of pool.py; partial.py is a file
that is not whole yet, manifest.py what says that all of them are. verb.py makes reports of it.
"""
