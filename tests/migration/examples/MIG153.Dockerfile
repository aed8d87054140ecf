# --- case
FROM nvidia/cuda:12.1.0-devel-ubuntu22.04  
#    ^ MIG153.image manual

# --- case
FROM --platform=linux/amd64 nvcr.io/nvidia/pytorch:23.10-py3 AS base
#                           ^ MIG153.image manual

# --- case
ARG BASE=pytorch/pytorch:2.1.0-cuda12.1-cudnn8-devel
#        ^ MIG153.image manual
FROM $BASE

# --- case
FROM ubuntu:22.04
ENV CUDA_VISIBLE_DEVICES=0 说明=1
#   ^ MIG127.renamed rewrite
# --- after
FROM ubuntu:22.04
ENV ASCEND_RT_VISIBLE_DEVICES=0 说明=1

# --- case
ENV NVIDIA_VISIBLE_DEVICES all
#   ^ MIG153.variable manual

# --- case
ENV NCCL_DEBUG INFO
#   ^ MIG153.nccl advice

# --- case
ENV NCCL_SOCKET_IFNAME 网卡
#   ^ MIG153.nccl manual

# --- case
RUN pip install 'flash-attn>=2' \
#                ^ MIG128.library unsupported
    && echo 完成

# --- case
RUN pip install torch --index-url https://download.pytorch.org/whl/cu121
#                                         ^ MIG127.wheel manual

# --- near miss
# FROM nvidia/cuda:12.1.0 旧镜像
FROM ubuntu:22.04

# --- near miss
FROM python:3.11-slim

# --- near miss
FROM quay.io/ascend/torch-npu:2.9.0.post2-910b-ubuntu22.04-py3.11

# --- near miss
RUN pip install numpy transformers

# --- near miss
ENV PATH=/opt/bin:$PATH

# --- near miss
LABEL 说明="原为 nvidia 镜像"
