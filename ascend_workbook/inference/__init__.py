"""Inference: a trained model exported to ONNX, held against its offline model, quantised; what serving would hold."""
