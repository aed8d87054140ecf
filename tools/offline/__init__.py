"""The workbook as one archive that sets itself up without a network: bundle.py makes it, install.py is inside."""
