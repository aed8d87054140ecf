"""Offline models (.om) of the simulated NPU: the converter `atc`, and the container that `acl.mdl` loads.

Every option of a conversion is written into an ONNX graph: shapes, image preprocessing as nodes, half precision as
pairs of casts. The runtime only runs that graph, with onnxruntime on the CPU. What an option means is that of its
public page (https://www.hiascend.com/document, "ATC"); what no public page says is said to be not known.

The build copies this folder into the simulator: modules here import relatively, and nothing of ours."""
