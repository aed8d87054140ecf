"""Whole folders to and from object storage: parallel, resumable after a kill, checked by a manifest.

upload.py and download.py plan and move the files as jobs of jobs.py; files.py has their sums and one that is not whole
yet, manifest.py says that all of them are. verb.py makes reports of it.
"""
