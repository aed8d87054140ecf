"""The stand-in libraries: what is built for which torch_npu, and how."""
