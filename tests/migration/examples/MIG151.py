# --- case
m = AutoModel.from_pretrained('模型', load_in_8bit=True)
#                                                  ^ MIG151.bitsandbytes manual

# --- case
m = AutoModel.from_pretrained(p, attn_implementation='flash_attention_2')
#                                                    ^ MIG151.flash manual

# --- case
options['attn_implementation'] = 'flash_attention_2'  # 注意力
#                                ^ MIG151.flash manual

# --- case
a = TrainingArguments('out', optim='paged_adamw_32bit')
#                                  ^ MIG151.bitsandbytes manual

# --- case
from transformers import BitsAndBytesConfig
b = BitsAndBytesConfig(load_in_4bit=True)
#   ^ MIG151.bitsandbytes manual
#                                   ^ MIG151.bitsandbytes manual

# --- near miss
m = AutoModel.from_pretrained('模型', load_in_8bit=False)

# --- near miss
m = AutoModel.from_pretrained(p, load_in_8bit=args.eight)

# --- near miss
m = AutoModel.from_pretrained(p, attn_implementation='sdpa')

# --- near miss
a = TrainingArguments('out', optim='adamw_torch')

# --- near miss: only imported
from transformers import BitsAndBytesConfig, AutoModel
ok = isinstance(c, AutoModel)  # 量化
