"""Families of kernels by names that stand in public traces of NVIDIA, AMD and NPU."""

from __future__ import annotations

import pytest

from ascend_workbook.profiling.families import FAMILIES, UNKNOWN, family_of

ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::"
NAMES = {
    "gemm": """
        nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT
        nvjet_tst_64x64_64x8_2x1_v_bz_splitK_TNT
        sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas
        ampere_sgemm_128x64_tn
        void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>(cutlass_80::Params)
        void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, __nv_bfloat16, true>(x)
        void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false>(x)
        Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x128x16_ISA1201_WS32_WG16_8_1_WGMXCC1
        Custom_Cijk_Ailk_Bljk_F8NH_HHS_BH_Bias_AS_SAB_SAV_shortname0_gfx942
        fused_moe_kernel
        triton_tem_fused_addmm_3
        aclnnMatmul_MatMulV3Common_MatMulV3
        aclnnGroupedMatmulV4_GroupedMatmul
        aclnnMatmul_MatMulV2
        BatchMatMulV2
        MatMulV2""",
    "attention": """
        void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<128, 128, 64, 4, false>>(x)
        void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<(int)128>>(x)
        fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Params)
        fmhaSm100aKernel_QE4m3KvE2m1OE4m3H128PagedKvDenseP16VarSeqQ8Kv128PersistentSwapsAbForGen
        void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::Mainloop>>>(x)
        kernel_unified_attention
        void aiter::fmha_fwd_hd128_bf16_causal
        attn_fwd
        aclnnFlashAttentionScore_FlashAttentionScore_FlashAttentionScore
        aclnnFlashAttentionScoreGrad_FlashAttentionScoreGrad_FlashAttentionScoreGrad
        FusedInferAttentionScore
        PromptFlashAttention""",
    "conv": """
        sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4
        void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(x)
        igemm_fwd_gtcx3_nhwc_fp16_bx0_ex1_bt128x256x32_wt32x32x8
        void implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1, false, false, true>(x)
        aclnnConvolution_Conv2d_Conv2D
        Conv2DBackpropFilter""",
    "norm": """
        void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>(int, float)
        void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(x)
        void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(x)
        FusedAddRMSNormKernel
        triton_red_fused_add_mean_mul_pow_rsqrt_2
        triton_per_fused_native_layer_norm_0
        aclnnRmsNorm_RmsNorm_RmsNorm
        LayerNormV3
        BNTrainingUpdate
        void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<float, float, 32>(x)""",
    "softmax": """
        void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, false, false>(float*, float const*)
        void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float, float, float>(x)
        aclnnSoftmax_SoftmaxAiCore_SoftmaxV2
        void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(x)""",
    "elementwise": f"""
        {ELEMENTWISE}CUDAFunctor_add<float>, at::detail::Array<char*, 3>>(int, x)
        {ELEMENTWISE}GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)>(int)
        void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>)>(x)
        triton_poi_fused_native_layer_norm_4
        aclnnMul_MulAiCore_Mul
        aclnnAdd_AddAiCore_Add
        aclnnInplaceOne_OnesLikeAiCore_OnesLike
        Gelu
        RealDiv
        SwiGlu""",
    "layout": f"""
        {ELEMENTWISE}bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)>(int)
        void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 3, 128, 1>(x)
        aclnnFlashAttentionScore_TransposeAiCore_Transpose
        aclnnInplaceCopy_TransposeAiCore_Transpose
        aclnnCast_CastAiCore_Cast
        trans_TransData_12
        ConcatD""",
    "collective": """
        ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)
        ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)
        void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*, vllm::RankSignals, vllm::Signal*)
        multimem_all_reduce_kernel
        void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<x>(y)
        hcom_allReduce__484_0_1""",
    "copy": """
        Memcpy DtoH (Device -> Pageable)
        Memset (Device)
        __amd_rocclr_copyBuffer
        __amd_rocclr_fillBufferAligned
        MEMCPY_ASYNC""",
    "optimizer": """
        void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<4>, FusedAdamMath>
        ApplyAdamW
        ForeachAddcdivScalarList
        ApplyMomentum""",
    "index": f"""
        {ELEMENTWISE[:-12]}index_elementwise_kernel<128, 4, at::native::gpu_index_kernel>(x)
        void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long, unsigned int, 2, 2, -2, true>(x)
        void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<x>(y)
        void moe::dev::routing::routingCustom::routingIndicesClusterKernel
        aclnnIndexSelect_GatherV2AiCore_GatherV2
        EmbeddingDenseGrad""",
    "reduction": """
        void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float>>>(x)
        aclnnMean_ReduceMeanAiCore_ReduceMean
        triton_red_fused_sum_1""",
    "random": """
        void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float, float, unsigned int, 1, 4, bool>(x)
        DropOutDoMask""",
    "pooling": """
        void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(int)
        MaxPoolWithArgmaxV1""",
}
CASES = [(name.strip(), family) for family, names in NAMES.items() for name in names.strip().splitlines()]


@pytest.mark.parametrize(("name", "family"), CASES)
def test_a_real_name_has_its_family(name: str, family: str) -> None:
    assert family_of(name) == family


def test_every_family_has_real_names() -> None:
    assert set(NAMES) == set(FAMILIES)


def test_a_name_that_tells_nothing_has_no_family() -> None:
    assert family_of("kernel_0") == UNKNOWN and family_of("我的核") == UNKNOWN


def test_the_kind_of_an_event_comes_before_its_name() -> None:
    assert family_of("MatMulV2", "communication") == "collective"
    assert family_of("gather", "copy") == "copy"
