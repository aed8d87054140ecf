// The part of MSPTI that the stand-in has: numbers and records as the public reference of MSPTI's C interface gives them
// (https://www.hiascend.com/document, "MSPTI C API"; https://gitcode.com/Ascend/mspti, docs/en/c_api). torch_npu's wheel
// ships no header of it.
#pragma once

#include <cstddef>
#include <cstdint>

#define MSPTI_RECORD __attribute__((__packed__)) __attribute__((aligned(8)))

enum msptiResult {
  MSPTI_SUCCESS = 0,
  MSPTI_ERROR_INVALID_PARAMETER = 1,
  MSPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 2,
  MSPTI_ERROR_MAX_LIMIT_REACHED = 3,
  MSPTI_ERROR_QUEUE_EMPTY = 5,
  MSPTI_ERROR_INNER = 999,
};

enum msptiActivityKind : uint32_t {
  MSPTI_ACTIVITY_KIND_INVALID = 0,
  MSPTI_ACTIVITY_KIND_MARKER = 1,
  MSPTI_ACTIVITY_KIND_KERNEL = 2,
  MSPTI_ACTIVITY_KIND_API = 3,
  MSPTI_ACTIVITY_KIND_HCCL = 4,
  MSPTI_ACTIVITY_KIND_MEMORY = 5,
  MSPTI_ACTIVITY_KIND_MEMSET = 6,
  MSPTI_ACTIVITY_KIND_MEMCPY = 7,
  MSPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION = 8,
  MSPTI_ACTIVITY_KIND_COMMUNICATION = 9,
  MSPTI_ACTIVITY_KIND_ACL_API = 10,
  MSPTI_ACTIVITY_KIND_NODE_API = 11,
  MSPTI_ACTIVITY_KIND_RUNTIME_API = 12,
  MSPTI_ACTIVITY_KIND_COUNT,
};

enum msptiExternalCorrelationKind : uint32_t {
  MSPTI_EXTERNAL_CORRELATION_KIND_INVALID = 0,
  MSPTI_EXTERNAL_CORRELATION_KIND_UNKNOWN = 1,
  MSPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2 = 4,
  MSPTI_EXTERNAL_CORRELATION_KIND_SIZE,
};

struct MSPTI_RECORD msptiActivity {
  msptiActivityKind kind;
};

struct MSPTI_RECORD msptiActivityKernel {
  msptiActivityKind kind;
  uint64_t start, end;
  uint32_t deviceId, streamId;
  uint64_t correlationId;
  const char *type, *name;
};

struct MSPTI_RECORD msptiActivityApi {
  msptiActivityKind kind;
  uint64_t start, end;
  uint32_t processId, threadId;
  uint64_t correlationId;
  const char* name;
};

struct MSPTI_RECORD msptiActivityHccl {
  msptiActivityKind kind;
  uint64_t start, end;
  uint32_t deviceId, streamId;
  uint64_t bandWidth;
  const char *name, *commName;
};

struct MSPTI_RECORD msptiActivityCommunication {
  msptiActivityKind kind;
  uint32_t dataType;
  uint64_t count;
  uint32_t deviceId, streamId;
  uint64_t start, end;
  const char *algType, *name, *commName;
  uint64_t correlationId;
};

struct MSPTI_RECORD msptiActivityMemcpy {
  msptiActivityKind kind;
  uint32_t copyKind;
  uint64_t bytes, start, end;
  uint32_t deviceId, streamId;
  uint64_t correlationId;
  uint8_t isAsync;
};

struct MSPTI_RECORD msptiActivityExternalCorrelation {
  msptiActivityKind kind;
  msptiExternalCorrelationKind externalKind;
  uint64_t externalId, correlationId;
};

using msptiBuffersCallbackRequestFunc = void (*)(uint8_t** buffer, size_t* size, size_t* maxNumRecords);
using msptiBuffersCallbackCompleteFunc = void (*)(uint8_t* buffer, size_t size, size_t validSize);
using msptiCallbackFunc = void (*)(void* userdata, uint32_t domain, uint32_t id, const void* data);
using msptiSubscriberHandle = struct msptiSubscriber_st*;
