# --- case
from torch._six import inf  # 无穷
^ MIG121.removed rewrite
# --- after
from math import inf  # 无穷

# --- case
from torch._six import string_classes
^ MIG121.removed manual

# --- near miss
from math import inf  # 无穷

# --- near miss: six itself
import six
from six import string_types
